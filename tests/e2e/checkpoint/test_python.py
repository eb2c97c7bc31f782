"""robustrun.checkpoint with real torch: what is restored, and what is refused under which name."""

import collections
import ctypes
import shutil
import subprocess
import threading
import warnings

import pytest
from checkpoint.plain_process import plain_process, start_again, torch  # noqa: F401
from helpers.runner import BUILD
from robustrun import checkpoint
from robustrun._checkpoint import c_api
from robustrun._state import codec

DTYPES = sorted(str(each) for each in vars(torch).values() if isinstance(each, torch.dtype))


@pytest.fixture
def places(tmp_path):
    return [tmp_path / "a", tmp_path / "b"]


def raw(tensor):
    """Its bytes, whatever its type."""
    tensor = tensor.resolve_conj().resolve_neg().contiguous()
    size = tensor.numel() * tensor.element_size()
    return ctypes.string_at(tensor.data_ptr(), size) if size else b""


def random_tensor(dtype, *shape):
    size = torch.empty((), dtype=dtype).element_size()
    count = size
    for each in shape:
        count *= each
    if dtype == torch.bool:
        return torch.rand(shape) < 0.5
    return torch.randint(0, 256, (count,), dtype=torch.uint8).view(dtype).reshape(shape)


@pytest.mark.parametrize("lost", [0, 1, 2])
def test_with_parity_a_lost_directory_loses_nothing(tmp_path, lost):
    places = [tmp_path / name for name in "abc"]
    state = {"w": random_tensor(torch.float32, 3000, 1000), "small": torch.arange(5), "n": 3}
    checkpoint.save(state, 1, directories=places, parity=1)
    shutil.rmtree(places[lost])
    places[lost].mkdir()
    start_again()
    back = {"w": torch.zeros(3000, 1000), "small": torch.zeros(5, dtype=torch.int64), "n": 0}
    assert checkpoint.load_latest(back, directories=places) == 1
    assert raw(back["w"]) == raw(state["w"]) and raw(back["small"]) == raw(state["small"])
    assert back["n"] == 3
    ckpt = [str(BUILD / "bin" / "robustrun"), "ckpt"]
    said = subprocess.run([*ckpt, "repair", *map(str, places)], capture_output=True, text=True)
    assert said.returncode == 0 and str(places[lost]) in said.stdout, said
    assert subprocess.run([*ckpt, "verify", *map(str, places)]).returncode == 0


def test_parity_needs_an_extra_directory(places):
    with pytest.raises(checkpoint.CheckpointError, match="3 or more are needed"):
        checkpoint.save({"w": torch.zeros(4)}, 1, directories=places, parity=2)


def test_every_type_of_torch_comes_back_bit_for_bit_or_is_refused_by_name(places):
    tried = 0
    for name in DTYPES:
        dtype = getattr(torch, name[len("torch."):])
        try:
            saved = {"a": random_tensor(dtype, 5, 3), "scalar": random_tensor(dtype)}
            back = {key: torch.zeros_like(value) for key, value in saved.items()}
        except (RuntimeError, NotImplementedError, TypeError):
            continue  # torch itself cannot make one
        if saved["a"].is_quantized:
            continue
        checkpoint.save(saved, 1, places)
        assert checkpoint.load_latest(back, places) == 1
        assert all(raw(saved[key]) == raw(back[key]) and back[key].dtype == dtype for key in saved)
        tried += 1
    assert tried >= 13
    quantized = torch.quantize_per_tensor(torch.ones(3), 0.1, 0, torch.qint8)
    for bad, why in [(quantized, "quantized"), (torch.ones(2, 2).to_sparse(), "sparse"),
                     (torch.ones(2, device="meta"), "meta")]:
        with pytest.raises(checkpoint.CannotSave, match="'layer/bad'.*" + why):
            checkpoint.save({"layer": {"bad": bad}}, 2, places)
    assert checkpoint.load_latest(back, places) == 1


def test_every_shape_is_restored_into_every_memory_layout(places):
    whole = torch.arange(24, dtype=torch.float32).reshape(4, 6)
    numbers = torch.tensor([1 + 2j, 3 - 4j])
    saved = {"turned": whole.t(), "part": whole[1:3, ::2], "empty": torch.empty(0, 7),
             "scalar": torch.tensor(3), "last": whole.reshape(1, 4, 2, 3).to(
                 memory_format=torch.channels_last), "conj": numbers.conj(),
             "expanded": torch.ones(1, 3).expand(4, 3)}
    checkpoint.save(saved, 3, places)
    into = torch.zeros(6, 8)
    back = {"turned": torch.zeros(4, 6).t(), "part": into[:2, 1:7:2], "empty": torch.empty(0, 7),
            "scalar": torch.tensor(0), "last": torch.zeros(1, 4, 2, 3), "conj": torch.zeros_like(
                numbers), "expanded": torch.zeros(4, 3)}
    assert checkpoint.load_latest(back, places) == 3
    for name in saved:
        assert torch.equal(saved[name], back[name]), name
    assert into.sum() == whole[1:3, ::2].sum()  # memory around it is unchanged


def test_tied_weights_are_written_once_and_stay_tied(places):
    def tied():
        model = torch.nn.ModuleDict({"first": torch.nn.Linear(50, 50), "second": torch.nn.Linear(
            50, 50)})
        model["second"].weight = model["first"].weight
        return model

    model, back = tied(), tied()
    checkpoint.save(model, 1, places)
    with c_api.Checkpoint(places) as found:
        assert sum(each.bytes for each in found.shards) == 50 * 50 * 4 + 2 * 50 * 4
    checkpoint.load_latest(back, places)
    assert torch.equal(back["second"].weight, model["first"].weight)
    assert back["second"].weight is back["first"].weight


def test_plain_values_of_all_kinds_come_back_in_place(places):
    inner = {"list": [1, 2.5, None, True, "ä\udcff", b"\0\xff"], 7: (1, (2, [3])), -2**70: 2**70,
             "nan": float("inf"), "dtype": torch.bfloat16, "size": torch.Size([3, 0]),
             "counts": collections.Counter("abca")}
    saved = {"inner": inner, "epoch": 12, "mixed": [torch.ones(2), {"best": 0.5}],
             "pair": (torch.zeros(1), 4)}
    checkpoint.save(saved, 1, places)
    back_inner = {"old": 1}
    back = {"inner": back_inner, "epoch": 0, "mixed": [torch.zeros(2), {"best": None}],
            "pair": (torch.ones(1), 0)}
    tensor = back["pair"][0]
    checkpoint.load_latest(back, places)
    assert back_inner == inner and back["inner"] is back_inner
    assert type(back_inner["counts"]) is collections.Counter
    assert type(back_inner["size"]) is torch.Size and type(back_inner[7][1]) is tuple
    assert back["mixed"][1] == {"best": 0.5} and back["mixed"][0].sum() == 2
    assert back["pair"] == (tensor, 4) and tensor.item() == 0
    for bad, name in [({"deep": {"fn": print}}, "deep/fn"), ({"set": {1}}, "set"),
                      ([object()], "0"), ({"point": collections.namedtuple("P", "x")(1)}, "point")]:
        with pytest.raises(checkpoint.NotNeutral, match=f"cannot save state/{name}: "):
            checkpoint.save(bad, 2, places)
    itself = {}
    itself["me"] = itself
    with pytest.raises(checkpoint.NotNeutral, match="in itself"):
        checkpoint.save(itself, 2, places)
    with pytest.raises(checkpoint.NotNeutral, match="both named 'a/b'"):
        checkpoint.save({"a": {"b": torch.ones(1)}, "a/b": torch.ones(2)}, 2, places)


def test_damaged_plain_values_only_raise_an_error():
    data = codec.encode({"a": [1, 2.0, "x", b"y", (None, True)], "s": torch.Size([1])})
    for at in range(len(data)):
        with pytest.raises(codec.Damaged):
            codec.decode(data[:at])
        for value in (0, 0x6C, 0x64, 0xFF):
            try:
                codec.decode(data[:at] + bytes([value]) + data[at + 1:])
            except codec.Damaged:
                pass
    for bad in (b"\x01" + b"l\x01\0\0\0" * 100 + b"N", b"\x01l\xff\xff\xff\x7f",
                b"\x01d\x01\0\0\0l\0\0\0\0N", b"\x01D\x04\0\0\0load", b"\x02N", b"\x01NN"):
        with pytest.raises(codec.Damaged):
            codec.decode(bad)


def test_a_mismatch_is_named_and_nothing_is_changed(places):
    checkpoint.save({"a": torch.ones(2), "b": torch.ones(3), "gone": torch.ones(1), "n": {"x": 1},
                     "model": torch.nn.Linear(2, 2)}, 1, places)
    wanted = {"a": torch.zeros(2), "b": torch.zeros(4), "new": torch.zeros(1), "n": [],
              "model": torch.nn.Linear(2, 2, bias=False)}
    with pytest.raises(checkpoint.StateMismatch) as told:
        checkpoint.load_latest(wanted, places)
    for words in ("'b' has shape (4,) here and (3,)", "'new' is not in the checkpoint",
                  "'gone' is in the checkpoint, but not in the state",
                  "'n' is a list here and a dict",
                  "'model/bias' is in the checkpoint, but not in the state"):
        assert words in str(told.value)
    assert wanted["a"].sum() == 0
    with pytest.raises(checkpoint.StateMismatch, match="type F64 here and F32"):
        checkpoint.load_latest({"a": torch.zeros(2, dtype=torch.float64)}, places)
    with pytest.raises(checkpoint.StateMismatch, match="'loader' is requested per rank, but"):
        checkpoint.load_latest({}, places, own={"loader": {}})


class Hooked(torch.nn.Module):
    """Its state_dict() is a copy and has an item that is not a tensor."""

    def __init__(self):
        super().__init__()
        self.weight = torch.nn.Parameter(torch.zeros(3))
        self.extra = None

    def get_extra_state(self):
        return {"extra": self.extra}

    def set_extra_state(self, state):
        self.extra = state["extra"]


def test_modules_whose_state_dict_is_a_copy_are_loaded_too(places):
    model = Hooked()
    model.weight.data += 5
    model.extra = ["x"]
    checkpoint.save(model, 1, places)
    back = Hooked()
    checkpoint.load_latest(back, places)
    assert back.weight.sum() == 15 and back.extra == ["x"]


def training():
    model = torch.nn.Sequential(torch.nn.Linear(4, 8), torch.nn.BatchNorm1d(8),
                                torch.nn.Dropout(0.5), torch.nn.Linear(8, 1))
    optimizer = torch.optim.Adam(model.parameters(), lr=0.1)
    return {"model": model, "optimizer": optimizer, "losses": [],
            "scheduler": torch.optim.lr_scheduler.OneCycleLR(optimizer, 0.5, total_steps=50)}


def run(state, steps):
    for _ in range(steps):
        state["optimizer"].zero_grad()
        loss = state["model"](torch.randn(16, 4)).square().mean()
        loss.backward()
        state["optimizer"].step()
        state["scheduler"].step()
        state["losses"].append(loss.item())


def test_a_resumed_training_draws_the_same_numbers_and_has_the_same_losses(places):
    numpy = pytest.importorskip("numpy")
    import random

    first = training()
    run(first, 3)
    checkpoint.save(first, 3, places)
    run(first, 4)
    drawn = random.random(), numpy.random.rand()
    second = training()
    start_again()
    assert checkpoint.load_latest(second, places) == 3
    run(second, 4)
    assert second["losses"] == first["losses"] and len(first["losses"]) == 7
    assert (random.random(), numpy.random.rand()) == drawn


def test_a_damaged_checkpoint_is_marked_poisoned_and_the_previous_one_is_taken(places):
    state = {"a": torch.ones(1000)}
    assert checkpoint.load_latest(state, places) is None
    for step in (1, 2):
        state["a"] += 1
        saved = checkpoint.save(state, step, places)
        assert saved.committed
    data = sorted((places[0] / saved.attempt).glob("*.safetensors"))[0]
    content = bytearray(data.read_bytes())
    content[len(content) // 2 + 100] ^= 4
    data.write_bytes(content)
    with pytest.warns(RuntimeWarning, match="tensor 'a'.*damaged"):
        assert checkpoint.load_latest(state, places, read_only=True) == 1
    assert not c_api.catalogue(places)[0].poisoned
    with pytest.warns(RuntimeWarning):
        assert checkpoint.load_latest(state, places) == 1 and state["a"][0] == 2
    assert c_api.catalogue(places)[0].poisoned == "damaged"
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert checkpoint.load_latest(state, places) == 1
    for each in places:
        for data in each.glob("*/*/*.safetensors"):
            data.unlink()
    with pytest.warns(RuntimeWarning), pytest.raises(checkpoint.NotFound, match="is missing"):
        checkpoint.load_latest(state, places)  # never a start without a checkpoint


@pytest.mark.parametrize("way", ["torch", "numpy"])
def test_a_tensor_that_changes_while_it_is_saved_is_refused_by_name(places, monkeypatch, way):
    state = {"calm": torch.ones(10), "torn": torch.ones(100)}
    checkpoint.save(state, 1, places)
    write = c_api.Save.write

    def write_and_change(self, *arguments):
        write(self, *arguments)
        if way == "torch":
            state["torn"].add_(1)
        else:
            state["torn"].numpy()[7] = 3  # without torch's notice

    monkeypatch.setattr(c_api.Save, "write", write_and_change)
    with pytest.raises(checkpoint.ChangedWhileSaved, match="tensor 'torn' changed while step 2"):
        checkpoint.save(state, 2, places)
    monkeypatch.undo()
    assert checkpoint.load_latest(state, places) == 1
    assert checkpoint.save(state, 3, places).committed


def test_an_older_attempt_that_still_runs_gets_an_error(places, monkeypatch):
    state = {"a": torch.ones(1)}
    monkeypatch.setenv("ROBUSTRUN_RUN_ID", "job")
    monkeypatch.setenv("ROBUSTRUN_ATTEMPT", "0")
    checkpoint.save(state, 1, places)
    with c_api.Engine(places, "job", 1):
        pass
    with pytest.raises(checkpoint.Conflict):
        checkpoint.save(state, 2, places)
    # A reader does not stop the attempt.
    start_again()
    monkeypatch.setenv("ROBUSTRUN_ATTEMPT", "1")
    checkpoint.save(state, 2, places)
    # Another supervisor continues the run and uses a restart number again.
    start_again()
    monkeypatch.setenv("ROBUSTRUN_INCARNATION", "2")
    with c_api.Engine(places, "job", 2, 1):
        pass
    assert checkpoint.save(state, 3, places).committed
    with pytest.raises(c_api.Conflict):
        c_api.Engine(places, "job", 2, 1)
    monkeypatch.delenv("ROBUSTRUN_RUN_ID")
    assert checkpoint.load_latest(state, places, read_only=True) == 3


def read_by_system_calls():
    """Bytes that this process has read from any file."""
    with open("/proc/self/io") as file:
        return int(file.readline().split()[1])


@pytest.mark.parametrize("way", ["auto", "ring", "direct", "buffered"])
def test_the_environment_sets_how_disks_are_read_and_written(places, monkeypatch, way):
    monkeypatch.setenv("ROBUSTRUN_CHECKPOINT_IO", way)
    monkeypatch.setenv("ROBUSTRUN_CHECKPOINT_PATIENCE", "120.5")
    assert c_api.io_options() == (("auto", "ring", "direct", "buffered").index(way), 120_500)
    state = {"a": torch.arange(3_000_000)}
    checkpoint.save(state, 1, places)
    back = {"a": torch.zeros(3_000_000, dtype=torch.int64)}
    before = read_by_system_calls()
    assert checkpoint.load_latest(back, places) == 1 and torch.equal(back["a"], state["a"])
    if way != "ring":  # whose reads are no system calls of their own
        assert read_by_system_calls() - before >= 24_000_000
    monkeypatch.setenv("ROBUSTRUN_CHECKPOINT_IO", "fast")
    with pytest.raises(ValueError, match="ROBUSTRUN_CHECKPOINT_IO must be one of auto, ring"):
        checkpoint.load_latest(back, places)
    monkeypatch.setenv("ROBUSTRUN_CHECKPOINT_IO", way)
    monkeypatch.setenv("ROBUSTRUN_CHECKPOINT_PATIENCE", "soon")
    with pytest.raises(ValueError, match="PATIENCE must be a number of seconds, not 'soon'"):
        checkpoint.load_latest(back, places)


def test_the_variable_and_what_is_kept(places, monkeypatch):
    monkeypatch.setenv(checkpoint.DIRECTORY_VARIABLE, ":".join(map(str, places)))
    state = {"a": torch.ones(1)}
    for step in range(1, 6):
        checkpoint.save(state, step, keep=2)
    assert [each.step for each in c_api.catalogue(places)] == [5, 4]
    assert all(each.verified for each in c_api.catalogue(places))
    monkeypatch.delenv(checkpoint.DIRECTORY_VARIABLE)
    with pytest.raises(ValueError, match=checkpoint.DIRECTORY_VARIABLE):
        checkpoint.save(state, 1)
    with pytest.raises(FileNotFoundError):
        checkpoint.save(state, 1, places[0] / "none" / "below")
    with pytest.raises(ValueError, match="keep=0"):
        checkpoint.save(state, 6, places, keep=0)


def test_rare_arguments_are_options_or_keywords(places):
    state = {"w": torch.arange(4096.0)}
    options = checkpoint.SaveOptions(parity=1)

    def data_files():
        newest = c_api.catalogue(places)[0].attempt
        return len(list((places[1] / newest).iterdir()))

    counts = []
    for arguments in ({"options": options}, {"parity": 1}, {"options": options, "parity": 0}, {}):
        assert checkpoint.save(state, 1 + len(counts), places, **arguments).committed
        counts.append(data_files())
    assert counts[0] == counts[1] > counts[2] == counts[3]  # a keyword replaces the option
    assert options == checkpoint.SaveOptions(parity=1)
    with pytest.raises(TypeError, match=r"save\(\) got an unexpected keyword argument 'paritee'"):
        checkpoint.save(state, 9, places, paritee=1)
    with pytest.raises(ValueError, match="drain_every=0: must be at least 1"):
        checkpoint.save(state, 9, places, drain_every=0)
    assert c_api.catalogue(places)[0].step == 4


def test_several_threads_may_save_in_turn(places):
    errors = []

    def save(number):
        try:
            for step in range(3):
                checkpoint.save({"n": torch.full((100,), number)}, 10 * number + step, places)
        except Exception as error:  # noqa: BLE001
            errors.append(error)

    threads = [threading.Thread(target=save, args=(number,)) for number in range(3)]
    for each in threads:
        each.start()
    for each in threads:
        each.join()
    assert not errors and len(c_api.catalogue(places)) == 9
