"""The second reader, written from docs/checkpoint-format.md alone, and the engine agree: with lost
directories, and for plain values of all kinds."""

import collections
import ctypes
import itertools
import shutil
import struct
from pathlib import Path

import pytest
from checkpoint.parity import Files, factor, inverse, times
from checkpoint.plain_process import plain_process, start_again, torch  # noqa: F401
from checkpoint.reader import crc32c, read_manifest
from checkpoint.test_dcp import both, job
from checkpoint.values import Named, Size, Tensor, decode, state_of, states_of
from robustrun import checkpoint
from robustrun._checkpoint import c_api

JOB = Path(__file__).with_name("own_states_job.py")


def test_its_arithmetic_agrees_with_the_papers():
    assert crc32c(b"123456789") == 0xE3069283 and crc32c(b"") == 0  # RFC 3720's polynomial
    assert crc32c(bytes(32)) == 0x8A9136AA and crc32c(b"\xff" * 32) == 0x62A8AB43  # its B.4
    assert times(0x80, 2) == 0x1D and times(7, 11) == times(11, 7) == 49
    assert all(times(a, inverse(a)) == 1 for a in range(1, 256))
    assert {factor(0, c, 5, 1) for c in range(5)} == {1} and factor(1, 2, 5, 2) == inverse(4)


def random_state(seed, count=9):
    g = torch.Generator().manual_seed(seed)
    return {f"t{i}": torch.randint(0, 256, (30_000 + 7001 * i,), dtype=torch.uint8, generator=g)
            for i in range(count)}


def raw(tensor):
    tensor = tensor.contiguous()
    size = tensor.numel() * tensor.element_size()
    return ctypes.string_at(tensor.data_ptr(), size) if size else b""


def by_the_engine(places):
    """{name of shard: bytes}"""
    found = {}
    with c_api.Checkpoint(places) as opened:
        for index, shard in enumerate(opened.shards):
            memory = ctypes.create_string_buffer(max(shard.bytes, 1))
            if shard.bytes:
                opened.read([(index, 0, shard.bytes, ctypes.addressof(memory))])
            found[shard.name] = memory.raw[:shard.bytes]
    return found


def folders_of(places):
    return [each for place in places for each in place.glob("step-*/*")]


def by_the_other(places):
    """The same, and its Files."""
    folders = folders_of(places)
    manifest = read_manifest(next(each / "MANIFEST" for each in folders
                                  if (each / "MANIFEST").exists()))
    files = Files(manifest, folders)
    return {each["name"]: files.read_shard(each) for each in manifest["shards"]}, files


def check_same(places, state):
    """Asserts that both readers find the saved data. Returns the second reader's Files."""
    start_again()
    found, files = by_the_other(places)
    assert found == {name: raw(each) for name, each in state.items()}
    assert found == by_the_engine(places)
    return files


def lose(place):
    shutil.rmtree(place)
    place.mkdir()


@pytest.mark.parametrize("count, parity", [(2, 1), (3, 2)] + [
    pytest.param(*each, marks=pytest.mark.nightly) for each in ((3, 1), (4, 1), (5, 2), (5, 3))])
def test_lost_directories_are_rebuilt_to_the_same_bits(tmp_path, count, parity):
    state = random_state(count)
    kept = [tmp_path / f"kept-{each}" for each in range(count)]
    checkpoint.save(state, 1, directories=kept, parity=parity)
    assert check_same(kept, state).rebuilt == []
    some, gone = list(itertools.combinations(range(count), parity)), []
    for lost in some[:: max(1, len(some) // 5)]:
        places = [tmp_path / f"lost-{each}" for each in range(count)]
        for here, there in zip(kept, places, strict=True):
            shutil.copytree(here, there)
        data = [path.name for each in lost for path in places[each].glob("step-*/*/d-*")]
        for each in lost:
            lose(places[each])
        assert sorted(check_same(places, state).rebuilt) == sorted(data)
        gone += data
        for place in places:
            shutil.rmtree(place)
    assert gone, "there was nothing to lose"


@pytest.mark.nightly  # 25 MiB by the other reader
def test_each_range_of_several_extents_is_rebuilt(tmp_path):
    places = [tmp_path / name for name in "abc"]
    large = torch.arange(25 << 18, dtype=torch.int32)  # 25 MiB in four pieces
    state = {"large": large, **random_state(1, 3)}
    checkpoint.save(state, 1, directories=places, parity=1)
    lose(max(places, key=lambda place: sum(each.stat().st_size for each in place.rglob("d-*"))))
    files = check_same(places, state)
    (name,) = files.rebuilt
    (index,) = [i for i, each in enumerate(files.manifest["files"]) if each["name"] == name]
    ranges = [each["bytes"] for group in files.manifest["groups"] for each in group["data"]
              if each["file"] == index]
    assert max(ranges) == 8 << 20 and len(ranges) > 2, ranges


def test_damage_in_one_directory_and_loss_of_another_need_a_parity_of_two(tmp_path):
    places = [tmp_path / name for name in "abcd"]
    state = random_state(4)
    checkpoint.save(state, 1, directories=places, parity=2)
    (damaged,) = places[0].glob("step-*/*/d-*")
    content = bytearray(damaged.read_bytes())
    for at in (3, len(content) - 5):  # in the header, and behind it
        content[at] ^= 0x40
    damaged.write_bytes(content)
    lose(places[3])
    assert damaged.name in check_same(places, state).rebuilt
    lose(places[1])
    lose(places[2])
    with pytest.raises(checkpoint.CheckpointError):
        by_the_engine(places)
    with pytest.raises(AssertionError):
        by_the_other(places)


TENSOR = torch.tensor([[1.5, -2.0, 0.1]], dtype=torch.bfloat16)
VALUES = {
    "constants": [None, True, False], "ints": [0, 1, -1, 127, 128, -128, -129, 255, 256, 2**70,
                                               -2**63, -2**70],
    "floats": [0.1, -0.0, float("inf"), 5e-324, struct.unpack("<d", b"\1\0\0\0\0\0\xf8\x7f")[0]],
    "texts": ["", "a\u00e9\u4e2d\U0001f600\0", "\udcff\ud800"], "bytes": [b"", b"\0\xff" * 9],
    "nested": {"list": [[], [[1], ({},)]], "tuple": ((), (1, (2, [3])), None)},
    7: {-2**70: 1, None: 2, (1, "a"): 3, 2.5: 4, b"k": 5, True: 6},
}


def exact(value):
    """A key that is equal only for the same types, orders and bits."""
    if isinstance(value, dict):
        return type(value), [(exact(key), exact(each)) for key, each in value.items()]
    if type(value) in (list, tuple):
        return type(value), [exact(each) for each in value]
    return type(value), struct.pack("<d", value) if type(value) is float else value


def neutral(value):
    """The second reader's value for a value of torch."""
    if isinstance(value, torch.Tensor):
        names = {torch.bfloat16: "BF16", torch.float32: "F32", torch.int64: "I64",
                 torch.bool: "BOOL", torch.complex128: "complex128"}
        return Tensor(names[value.dtype], tuple(value.shape), raw(value))
    if isinstance(value, dict):
        made = {neutral(key): neutral(each) for key, each in value.items()}
        return collections.Counter(made) if type(value) is collections.Counter else made
    if type(value) is torch.Size:
        return Size(tuple(value))
    if type(value) in (list, tuple):
        return type(value)(map(neutral, value))
    return Named(str(value).rpartition(".")[2]) if isinstance(value, torch.dtype) else value


def test_plain_values_of_all_kinds_are_the_same_to_the_bit(tmp_path):
    state = {**VALUES, "types": (torch.float8_e4m3fn, torch.Size([2, 0])), "tensor": TENSOR,
             "counts": collections.Counter("abca"), "again": [TENSOR], "none": torch.empty(0, 3),
             "complex": torch.ones(2, dtype=torch.complex128)}
    places = [tmp_path / name for name in "abc"]
    own = {"loader": {"at": 3, "order": torch.arange(5), "deep": (None, [b"x"])}}
    checkpoint.save(state, 1, directories=places, own=own, parity=1)
    lose(places[1])
    start_again()
    _, files = by_the_other(places)
    assert exact(state_of(files.manifest, 0, files.read_shard)) == exact(neutral(state))
    found = states_of(files.manifest, 0)
    assert exact(found["own/loader"]) == exact(neutral(own["loader"]))
    assert sorted(found) == ["own/loader", "random", "robustrun", "tree"]
    assert found["random"]["torch"] == raw(torch.get_rng_state())
    back = {**dict.fromkeys(VALUES), "types": None, "tensor": torch.zeros_like(TENSOR),
            "counts": None, "again": [torch.zeros_like(TENSOR)], "none": torch.empty(0, 3),
            "complex": torch.zeros(2, dtype=torch.complex128)}
    loader = dict.fromkeys(own["loader"])
    back.update({"nested": {}, 7: {}, "counts": collections.Counter()})
    back.update({key: [] for key in ("constants", "ints", "floats", "texts", "bytes")})
    assert checkpoint.load_latest(back, places, own={"loader": loader}) == 1
    assert exact(neutral(back)) == exact(neutral(state))
    assert exact(neutral(loader)) == exact(neutral(own["loader"]))


@pytest.mark.parametrize("data", [b"\2N", b"\1NN", b"\1l\1\0\0\0", b"\1?", b"\1i\2\0\0\0\0"])
def test_bytes_that_are_not_a_value_are_refused(data):
    with pytest.raises((AssertionError, KeyError, struct.error)):
        decode(data)


@pytest.mark.parametrize("command", ["save", "save_same"])
def test_states_of_ranks_are_found_by_their_tree_and_their_shards(tmp_path, command):
    for name in ("a", "a-2"):
        (tmp_path / name).mkdir()
    folder = tmp_path / "a"
    job(3, command, folder, "4", script=JOB)
    _, files = by_the_other(both(folder))
    for rank in range(3):
        found = state_of(files.manifest, rank, files.read_shard)
        saved = torch.load(folder / f"whole.{rank}.pt", weights_only=True)
        assert exact(found) == exact(neutral(saved))
        if command == "save":
            assert states_of(files.manifest, rank)["own/dataloader"] == {"rank": rank}
