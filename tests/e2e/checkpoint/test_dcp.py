"""torch.distributed.checkpoint with robustrun's writer and reader, on real ranks over gloo."""

import importlib.metadata
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from helpers.forked_python import forked_python

BUILD = Path(os.environ.get("ROBUSTRUN_BUILD_DIR", "build")).resolve()
ROOT = Path(__file__).resolve().parents[3]
JOB = Path(__file__).with_name("dcp_job.py")
# Older: no FSDP on CPUs, async_save does not copy host tensors, plans are not cached.
TORCH = tuple(map(int, importlib.metadata.version("torch").split(".")[:2]))
with_newer_torch = pytest.mark.skipif(TORCH < (2, 7), reason="torch before 2.7")


def environment(**more):
    kept = {name: value for name, value in os.environ.items() if not name.startswith("ROBUSTRUN_")}
    return {**kept, "PYTHONPATH": str(ROOT / "python"), "OMP_NUM_THREADS": "1",
            "PYTHON_EXEC": forked_python().executable,
            "ROBUSTRUN_LIBRARY": str(BUILD / "share" / "robustrun" / "librobustrun.so"), **more}


def job(world, command, folder, *words, code=0, script=JOB, python=sys.executable, **more):
    """Runs the job; returns its stderr."""
    done = forked_python(python).run([script, str(world), command, folder, *words],
                                     environment(**more))
    assert done.returncode == code, done.stdout + done.stderr
    return done.stderr


def ckpt(*words, code=0, **more):
    done = subprocess.run([BUILD / "bin" / "robustrun", "ckpt", *words], capture_output=True,
                          text=True, timeout=600, env=environment(**more))
    assert done.returncode == code, done.stdout + done.stderr
    return done.stdout + done.stderr


def plain_python(program, *words):
    """An interpreter without robustrun: no environment, no foreign site folders."""
    done = forked_python().run(["-c", program, *words], {}, isolated=True)
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.fixture
def folder(tmp_path):
    for name in ("a", "a-2"):
        (tmp_path / name).mkdir()
    return tmp_path / "a"


def both(folder):
    return folder, Path(f"{folder}-2")


def test_four_ranks_then_two_then_eight_then_one_find_the_same_bits(folder):
    job(4, "save", folder, "1")
    job(2, "reshard", folder, "1")
    job(8, "reshard", folder, "2")
    job(1, "load", folder, "3")
    found = json.loads(ckpt("ls", "--json", *both(folder)))
    assert [(each["step"], each["state"]) for each in found] == \
        [(3, "committed"), (2, "committed"), (1, "committed")]
    assert "sound" in ckpt("verify", "--all", *both(folder))


@pytest.mark.parametrize("world", [4, pytest.param(8, marks=pytest.mark.nightly)])
def test_replicas_of_shards_are_read_once_and_a_failure_of_one_ends_all(folder, world):
    job(world, "save", folder, "1")
    job(world, "load_same", folder, "1")
    said = job(world, "fail_one", folder, "1", code=1)
    assert "this rank's disk is gone" in said


def test_sharded_tensors_of_four_ranks_are_loaded_by_two_and_three(folder):
    script = JOB.with_name("dcp_shards_job.py")
    job(4, "save_shards", folder, "7", script=script)
    for world in (2, 3, 4):
        job(world, "load_shards", folder, "7", script=script)


@with_newer_torch
def test_a_model_and_its_optimizer_sharded_over_four_go_on_over_two_and_one(folder):
    job(4, "save_fsdp", folder)
    job(2, "load_fsdp", folder)
    job(1, "load_fsdp", folder)


@with_newer_torch
@pytest.mark.parametrize("kind", ["THREAD", "PROCESS"])
def test_an_asynchronous_save_has_the_state_at_its_start(folder, kind):
    job(2, "save_async", folder, kind)
    job(1, "load", folder, "3")
    steps = [each["step"] for each in json.loads(ckpt("ls", "--json", *both(folder)))]
    assert steps == [2, 2, 1]  # the step that was saved twice has two folders
    job(1, "load_step", folder, "1")


@with_newer_torch
def test_cached_plans_of_dcp_do_not_bring_back_an_older_save(folder):
    job(2, "save_cached", folder)


def flip_a_bit(folder, name):
    """Damages the tensor in the newest checkpoint; returns the file."""
    whole = json.loads(ckpt("inspect", "--json", *both(folder)))
    shard = next(each for each in whole["shards"] if each["name"] == name)
    piece = shard["pieces"][0]
    name = whole["files"][piece["file"]]["name"]
    path = next(Path(each) / name for each in whole["folders"] if (Path(each) / name).exists())
    with open(path, "r+b") as file:
        file.seek(piece["offset"] + 5)
        byte = file.read(1)
        file.seek(-1, os.SEEK_CUR)
        file.write(bytes([byte[0] ^ 4]))
    return path


def test_damage_found_by_the_rank_that_reads_for_all_fails_all(folder):
    job(2, "save", folder, "1")
    flip_a_bit(folder, "model.complex")
    said = job(2, "load", folder, "1", code=1)
    assert "model.complex" in said and "cannot go on: rank" in said
    assert "poisoned: damaged" in ckpt("ls", *both(folder))


def test_a_flipped_bit_is_refused_by_tensor_and_the_next_start_takes_an_older_checkpoint(folder):
    job(2, "save", folder, "1")
    job(2, "save", folder, "2")
    path = flip_a_bit(folder, "model.columns")
    said = ckpt("export", *both(folder), "--to", "torch", str(folder / "x.pt"), code=1)
    assert "model.columns" in said
    assert not list(folder.glob("x.pt*"))
    said = job(2, "look", folder, "2", code=1)
    assert "model.columns" in said and str(path) in said
    assert "poisoned" not in ckpt("ls", *both(folder))
    said = job(2, "load", folder, "2", code=1)
    assert "model.columns" in said and str(path) in said
    assert "poisoned: damaged" in ckpt("ls", *both(folder))
    job(2, "load", folder, "1")


def test_an_error_in_read_metadata_is_reported_although_torch_swallows_it(folder):
    job(1, "save", folder, "1")
    for manifest in folder.parent.glob("*/step-*/*/MANIFEST"):
        manifest.write_bytes(b"RRMANIFE and nothing else")
    said = job(1, "load_newest", folder, "1", code=1)
    assert "robustrun: cannot load a checkpoint: there is no committed checkpoint" in said


@pytest.mark.parametrize("way", [pytest.param("torch", marks=with_newer_torch), "numpy"])
def test_a_tensor_that_changes_while_it_is_saved_is_refused_by_name(folder, way):
    said = job(2, "save_torn", folder, way)
    assert "ChangedWhileSaved: tensor 'model.columns' changed while step 2" in said
    found = json.loads(ckpt("ls", "--json", *both(folder)))
    assert [each["step"] for each in found if each["state"] == "committed"] == [3, 1]


def test_an_attempt_cannot_save_after_a_later_one_has_begun(folder):
    said = job(2, "zombie", folder, "", code=1, ROBUSTRUN_RUN_ID="otter", ROBUSTRUN_ATTEMPT="0")
    assert "generation 1 may not commit: 2 was admitted since" in said
    assert [each["step"] for each in json.loads(ckpt("ls", "--json", *both(folder)))
            if each["state"] == "committed"] == [2, 1]


def test_a_reader_does_not_disturb_a_job_that_saves(folder):
    job(1, "save", folder, "1", ROBUSTRUN_RUN_ID="otter", ROBUSTRUN_ATTEMPT="3")
    before = (folder / "FENCE").read_bytes()
    job(1, "look", folder, "1", ROBUSTRUN_RUN_ID="heron", ROBUSTRUN_ATTEMPT="0")
    assert (folder / "FENCE").read_bytes() == before
    job(1, "load", folder, "1", ROBUSTRUN_RUN_ID="heron", ROBUSTRUN_ATTEMPT="0")
    assert (folder / "FENCE").read_bytes() != before


def test_other_than_plain_values_are_refused_by_name_and_nothing_is_committed(folder):
    said = job(2, "save_odd", folder, code=1)
    # Up to torch 2.3 a dict without tensors is one value.
    name = "cannot save extra.odd.inside"
    assert name + ": a __main__.Odd has no neutral form" in said.replace("/", ".")
    assert "its state_dict()" in said
    assert all(each["state"] == "incomplete"
               for each in json.loads(ckpt("ls", "--json", *both(folder))))


def test_the_folders_contain_no_pickle(folder):
    job(2, "save", folder, "1")
    files = [path for each in both(folder) for path in each.rglob("*") if path.is_file()]
    assert len(files) > 6
    for path in files:
        content = path.read_bytes()
        assert b"data.pkl" not in content and b"ctorch" not in content, path


LOAD_EXPORTED = """
import inspect, sys, torch
import torch.distributed.checkpoint as dcp

safe = hasattr(torch.serialization, "add_safe_globals")  # before, neither bytes nor types are

def load(state, folder):
    if "checkpoint_id" in inspect.signature(getattr(dcp, "load", len)).parameters:
        dcp.load(state, checkpoint_id=folder)
    else:  # torch 2.1 and 2.2
        dcp.load_state_dict(state, dcp.FileSystemReader(folder), no_dist=True)
"""


def test_exports_load_in_torch_and_dcp_where_robustrun_is_not_installed(folder):
    job(4, "save", folder, "1")
    job(1, "whole", folder, "1")  # the expected values, by torch alone
    for form in ("torch", "dcp"):
        assert "step 1 is in" in ckpt("export", *both(folder), "--to", form, "--step=1",
                                      str(folder / form))
    program = LOAD_EXPORTED + """
wanted = torch.load(sys.argv[1], weights_only=safe)
if sys.argv[2] == "torch":
    found = torch.load(sys.argv[3], weights_only=safe)
else:
    found = {"model": {name: torch.zeros_like(each) for name, each in wanted["model"].items()},
             "extra": {"epoch": 0, "name": 0, "betas": (0, 0), "flags": [0, 0, 0],
                       "sizes": {"a": 0, "kind": 0}, "empty": {}}}
    load(found, sys.argv[3])
    del wanted["extra"]["empty"], found["extra"]["empty"]
for each in (wanted, found):
    each["extra"].pop("empty", None)  # DCP since torch 2.4 keeps nothing of it
assert "robustrun" not in sys.modules
for name, tensor in wanted["model"].items():
    same = found["model"][name]
    assert tensor.dtype == same.dtype and tensor.shape == same.shape, name
    assert torch.equal(tensor.contiguous().reshape(-1).view(torch.uint8),
                       same.contiguous().reshape(-1).view(torch.uint8)), name
assert {k: list(v) if k == "betas" else v for k, v in found["extra"].items()} == \\
    {k: list(v) if k == "betas" else v for k, v in wanted["extra"].items()}
print(len(wanted["model"]))
"""
    for form in ("torch", "dcp"):
        assert int(plain_python(program, str(folder / "whole.pt"), form, str(folder / form))) > 9
    assert "is there already" in ckpt("export", *both(folder), "--to", "dcp", str(folder / "dcp"),
                                      code=1)
    assert "no type complex128, which 'model.complex'" in ckpt(
        "export", *both(folder), "--to", "safetensors", str(folder / "st"), code=1)


def test_a_save_of_a_plain_script_is_exported_too(folder):
    job(1, "save_plain", folder, "5")
    ckpt("export", folder, "--to", "torch", folder / "torch", PYTHON_EXEC=sys.executable)  # no fork
    for form in ("dcp", "safetensors"):
        ckpt("export", folder, "--to", form, folder / form)
    program = LOAD_EXPORTED + """
import json
from safetensors.torch import load_file
wanted = torch.load(sys.argv[1] + "/whole.pt", weights_only=True)
found = torch.load(sys.argv[1] + "/torch", weights_only=True)
flat = load_file(sys.argv[1] + "/safetensors/model.safetensors")
loaded = {"model": {name: torch.zeros_like(each) for name, each in wanted["model"].items()}}
load(loaded, sys.argv[1] + "/dcp")
assert "robustrun" not in sys.modules and len(wanted["model"]) == 4
for name, tensor in wanted["model"].items():
    for same in (found["model"][name], flat["model." + name], loaded["model"][name]):
        assert torch.equal(tensor, same), name
assert found["optimizer"]["param_groups"] == wanted["optimizer"]["param_groups"]
assert found["optimizer"]["state"].keys() == wanted["optimizer"]["state"].keys()
assert json.load(open(sys.argv[1] + "/safetensors/objects.json"))["epoch"] == 5
"""
    plain_python(program, str(folder))


@with_newer_torch
def test_an_export_loads_in_safetensors_where_robustrun_is_not_installed(folder):
    job(4, "save_fsdp", folder)
    out = folder / "out"
    ckpt("export", folder, "--to", "safetensors", str(out))
    program = """
import json, sys, torch
from safetensors.torch import load_file
found = load_file(sys.argv[2] + "/model.safetensors")
objects = json.load(open(sys.argv[2] + "/objects.json"))
def flat(value, path=()):
    if isinstance(value, dict):
        return {k: v for name, each in value.items() for k, v in flat(each, path + (name,)).items()}
    if isinstance(value, (list, tuple)):
        return {k: v for i, each in enumerate(value)
                for k, v in flat(each, path + (str(i),)).items()}
    return {".".join(path): value}
wanted = flat(torch.load(sys.argv[1], weights_only=True))
assert "robustrun" not in sys.modules
tensors = {name: each for name, each in wanted.items() if isinstance(each, torch.Tensor)}
assert tensors.keys() == found.keys(), tensors.keys() ^ found.keys()
for name, tensor in tensors.items():
    assert torch.equal(tensor, found[name]) and tensor.dtype == found[name].dtype, name
assert {name: each for name, each in wanted.items() if name not in tensors} == flat(objects)
print(len(tensors), len(objects))
"""
    tensors, objects = map(int, plain_python(program, str(folder / "whole.pt"), str(out)).split())
    assert tensors > 12 and objects > 3
