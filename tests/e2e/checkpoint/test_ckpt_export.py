"""robustrun ckpt export of per-rank states, and its leftovers."""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from checkpoint.test_dcp import both, ckpt, job, plain_python
from helpers.runner import BUILD, ROOT

torch = pytest.importorskip("torch")
sys.path.insert(0, str(ROOT / "python"))
os.environ["ROBUSTRUN_BUILD_DIR"] = str(BUILD.resolve())
from robustrun import checkpoint, export  # noqa: E402
from robustrun._checkpoint import c_api, sessions  # noqa: E402

JOB = Path(__file__).with_name("own_states_job.py")
WORLD = 3

# Compares the files with torch's own, in an interpreter without robustrun.
COMPARE = """
import json, sys, torch
assert "robustrun" not in sys.modules

def same(found, wanted, at):
    if isinstance(wanted, torch.Tensor):
        assert found.dtype == wanted.dtype and found.shape == wanted.shape, at
        assert torch.equal(*(each.contiguous().reshape(-1).view(torch.uint8)
                             for each in (found, wanted))), at
    elif isinstance(wanted, dict):
        assert list(found) == list(wanted), at
        for key in wanted:
            same(found[key], wanted[key], at + (key,))
    elif isinstance(wanted, (list, tuple)):
        assert type(found) == type(wanted) and len(found) == len(wanted), at
        for index, each in enumerate(wanted):
            same(found[index], each, at + (index,))
    else:
        assert type(found) == type(wanted) and found == wanted, at

def flat(value, path=()):
    items = ()
    if isinstance(value, dict):
        items = value.items()
    elif isinstance(value, (list, tuple)) and not isinstance(value, torch.Size):
        items = enumerate(value)
    made = {k: v for name, each in items for k, v in flat(each, path + (str(name),)).items()}
    return made or {".".join(path): value}

def tensors_of(flat_state):
    return {name: each for name, each in flat_state.items() if isinstance(each, torch.Tensor)}
"""


@pytest.fixture
def folder(tmp_path):
    for name in ("a", "a-2"):
        (tmp_path / name).mkdir()
    return tmp_path / "a"


@pytest.fixture(scope="module")
def saved_once(tmp_path_factory):
    folder = tmp_path_factory.mktemp("saved") / "a"
    for each in both(folder):
        each.mkdir()
    job(WORLD, "save", folder, "4", script=JOB)
    return folder


@pytest.fixture
def saved(saved_once, folder):
    """Of the test's own."""
    for here, there in zip(both(saved_once), both(folder), strict=True):
        shutil.copytree(here, there, dirs_exist_ok=True)
    return folder


@pytest.fixture
def out(tmp_path):
    (tmp_path / "out").mkdir()
    return tmp_path / "out"


def test_torch_loads_a_file_of_each_rank(saved, out):
    assert "step 4 is in" in ckpt("export", *both(saved), "--to", "torch", out / "x")
    assert sorted(each.name for each in (out / "x").iterdir()) == \
        [f"rank-{rank}.pt" for rank in range(WORLD)]
    for rank in range(WORLD):
        plain_python(COMPARE + """
same(*(torch.load(path, weights_only=True) for path in sys.argv[1:]), ())
""", out / "x" / f"rank-{rank}.pt", saved / f"whole.{rank}.pt")


def test_safetensors_loads_a_file_of_each_rank(saved, out):
    ckpt("export", *both(saved), "--to", "safetensors", out / "x")
    assert sorted(each.name for each in (out / "x").iterdir()) == sorted(
        f"rank-{rank}.{kind}" for rank in range(WORLD) for kind in ("safetensors", "objects.json"))
    for rank in range(WORLD):
        plain_python(COMPARE + """
from safetensors.torch import load_file
found, objects, wanted = load_file(sys.argv[1]), json.load(open(sys.argv[2])), flat(
    torch.load(sys.argv[3], weights_only=True))
tensors = tensors_of(wanted)
assert found.keys() == tensors.keys()
for name, tensor in tensors.items():
    same(found[name], tensor, name)
assert objects.keys() == wanted.keys() - tensors.keys(), objects.keys() ^ wanted.keys()
assert objects["plain.rank"] == wanted["plain.rank"] == int(sys.argv[4])
assert objects["plain.large"] == -2**70 and objects["deep.0.1"] is None
assert objects["deep.3.1"] == {"base64": ["AAA=", "AAE=", "AAI="][int(sys.argv[4])]}
""", out / "x" / f"rank-{rank}.safetensors", out / "x" / f"rank-{rank}.objects.json",
                     saved / f"whole.{rank}.pt", str(rank))


def test_one_ranks_state_is_exported_in_every_format(saved, out):
    for form in ("torch", "safetensors", "dcp"):
        ckpt("export", *both(saved), "--to", form, "--rank=1", out / form)
    assert sorted(each.name for each in (out / "safetensors").iterdir()) == \
        ["model.safetensors", "objects.json"]
    plain_python(COMPARE + """
import torch.distributed.checkpoint as dcp
from safetensors.torch import load_file
out, wanted = sys.argv[1], torch.load(sys.argv[2], weights_only=True)
same(torch.load(out + "/torch", weights_only=True), wanted, ())
tensors = tensors_of(flat(wanted))
for name, each in load_file(out + "/safetensors/model.safetensors").items():
    same(each, tensors.pop(name), name)
assert not tensors
wanted = {name: wanted[name] for name in ("model", "large", "mask")}
found = {"model": {name: torch.zeros_like(each) for name, each in wanted["model"].items()},
         "large": torch.zeros_like(wanted["large"]), "mask": torch.zeros_like(wanted["mask"])}
dcp.load(found, checkpoint_id=out + "/dcp")
same(found, wanted, ())
""", out, saved / "whole.1.pt")


def test_an_impossible_export_says_what_to_do(saved, out):
    said = ckpt("export", *both(saved), "--to", "dcp", out / "x", code=1)
    assert "each of 3 ranks saved its own state in step 4" in said
    assert "--to torch or safetensors, or --rank N" in said
    said = ckpt("export", *both(saved), "--to", "torch", "--rank=3", out / "x", code=1)
    assert "step 4 was saved by ranks 0 to 2; there is no rank 3" in said
    job(2, "save_same", saved, "5", script=JOB)
    said = ckpt("export", *both(saved), "--to", "torch", "--rank=0", out / "x", code=1)
    assert "step 5 has one state for all ranks" in said
    assert "--rank is for ckpt export" in ckpt("inspect", *both(saved), "--rank=0", code=2)
    ckpt("export", *both(saved), "--to", "torch", "--step=4", "--rank=0", out / "x")
    assert [each.name for each in out.iterdir()] == ["x"]


def test_damage_of_the_last_rank_leaves_no_files_of_the_others(saved, out):
    whole = json.loads(ckpt("inspect", "--json", *both(saved)))
    shard = next(each for each in whole["shards"] if (each["name"], each["rank"]) == ("large", 2))
    name = whole["files"][shard["pieces"][0]["file"]]["name"]
    path = next(Path(each) / name for each in whole["folders"] if (Path(each) / name).exists())
    content = bytearray(path.read_bytes())
    content[shard["pieces"][0]["offset"] + 9] ^= 1
    path.write_bytes(content)
    for form, *words in (["torch"], ["safetensors"], ["dcp", "--rank=2"]):
        said = ckpt("export", *both(saved), "--to", form, *words, out / "x", code=1)
        assert "'large'" in said and str(path) in said and "Traceback" not in said
        assert list(out.iterdir()) == []
    ckpt("export", *both(saved), "--to", "torch", "--rank=1", out / "x")


@pytest.mark.parametrize("form, words", [("torch", ()), ("safetensors", ()), ("dcp", ["--rank=1"])])
def test_an_export_that_fills_the_disk_is_removed(saved, out, form, words):
    size = 1 if words else 2  # MB; a rank's state takes 1.6
    if os.geteuid() != 0:
        pytest.skip("mounting takes root")
    subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={size}m", "none", out], check=True)
    try:
        said = ckpt("export", *both(saved), "--to", form, *words, out / "x", code=1)
        assert "No space left on device" in said and "Traceback" not in said
        assert list(out.iterdir()) == []
    finally:
        subprocess.run(["umount", out], check=True)


@pytest.fixture
def plain_process(monkeypatch):
    """Outside of any launcher, in the state of a process that has just started."""
    for name in ("ROBUSTRUN_RUN_ID", "WORLD_SIZE", "RANK", checkpoint.DIRECTORY_VARIABLE):
        monkeypatch.delenv(name, raising=False)
    checkpoint._close()
    sessions._session = None
    yield
    checkpoint._close()


def test_a_ranks_state_that_is_too_large_for_a_file_has_an_index(saved, out, monkeypatch):
    monkeypatch.setattr(export, "FILE_BYTES_MAX", 1 << 20)
    assert export.export(both(saved), "safetensors", out / "x") == 4
    from safetensors.torch import load_file

    for rank in range(WORLD):
        index = json.loads((out / "x" / f"rank-{rank}.safetensors.index.json").read_text())
        found = {}
        for name in set(index["weight_map"].values()):
            assert name.startswith(f"rank-{rank}-0000") and name.endswith("-of-00003.safetensors")
            for tensor, value in load_file(out / "x" / name).items():
                assert index["weight_map"][tensor] == name
                found[tensor] = value
        wanted = torch.load(saved / f"whole.{rank}.pt", weights_only=True)
        assert found.keys() == index["weight_map"].keys()
        assert torch.equal(found["large"], wanted["large"])
        assert torch.equal(found["model.0.weight"], wanted["model"]["0.weight"])


def test_two_items_with_the_same_name_are_both_exported_or_neither(folder, out, plain_process):
    state = {"a": {"b": torch.tensor(1)}, "a.b": torch.tensor(2), "s": 3, 1: 4}
    checkpoint.save(state, 1, directories=both(folder))
    export.export(both(folder), "torch", out / "x", rank=0)
    found = torch.load(out / "x", weights_only=True)
    assert found == {"a": {"b": torch.tensor(1)}, "a.b": torch.tensor(2), "s": 3, 1: 4}
    for form in ("safetensors", "dcp"):
        with pytest.raises(ValueError, match="both be named 'a.b'"):
            export.export(both(folder), form, out / "y")
    with pytest.raises(c_api.NotFound):
        export.export(both(folder), "torch", out / "y", step=2)
    assert [each.name for each in out.iterdir()] == ["x"]
