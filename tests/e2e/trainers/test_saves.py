"""Lightning and HF Trainer that save through robustrun's engine end as an undisturbed run does."""

import os
import pathlib
import re
import subprocess
import sys

import pytest
from helpers.runner import BUILD

HERE = pathlib.Path(__file__).parent
LAST_LINE = re.compile(r"resumed from (\S+), (?:epoch|step) (\d+), weights (\w+)")


def run(robustrun, name, *arguments):
    folder = robustrun.folder / name
    folder.mkdir()
    done = robustrun.run("--nproc-per-node=2", "--max-restarts=1", "--standby=off", *arguments,
                         cwd=folder, env={"OMP_NUM_THREADS": "1"}, timeout=400)
    assert done.code == 0, done.errors
    return LAST_LINE.findall(done.text)


def test_a_killed_run_of_lightning_ends_with_the_weights_of_a_calm_one(robustrun):
    killed, calm = run(robustrun, "both", str(HERE / "lightning_saves_job.py"))
    assert calm[0] == "None"
    assert killed == ("out/last.ckpt", "5", calm[2])


@pytest.mark.nightly
def test_a_killed_run_of_hf_trainer_ends_with_the_weights_of_a_calm_one(robustrun):
    (calm,) = run(robustrun, "calm", str(HERE / "hf_saves_job.py"), "calm")
    (killed,) = run(robustrun, "killed", str(HERE / "hf_saves_job.py"))
    assert calm[0] == "None"
    assert killed == ("out/.robustrun-resume/checkpoint-6", "10", calm[2])


IN_ONE_PROCESS = """
import os, torch
from robustrun.integrations.lightning import RobustCheckpointIO

io = RobustCheckpointIO()

def raises(kind, call, *arguments):
    try:
        call(*arguments)
    except kind:
        return True

def state(step, value):
    return {"global_step": step, "state_dict": {"a": torch.full((3,), value)}}

for step, value in ((3, 1), (3, 2), (2, 3)):
    io.save_checkpoint(state(step, value), "last.ckpt")
    loaded = io.load_checkpoint("last.ckpt")
    assert loaded["global_step"] == step and loaded["state_dict"]["a"].tolist() == [value] * 3
torch.save(state(1, 1), "torch.ckpt")
assert io.load_checkpoint("torch.ckpt")["global_step"] == 1
assert raises(FileExistsError, io.save_checkpoint, state(2, 2), "torch.ckpt")
assert raises(FileNotFoundError, io.load_checkpoint, "missing.ckpt")
os.mkdir("empty.ckpt")
assert raises(FileNotFoundError, io.load_checkpoint, "empty.ckpt")
assert raises(TypeError, io.save_checkpoint, {"call": print}, "refused.ckpt")
io.remove_checkpoint("last.ckpt")
assert sorted(os.listdir(".")) == ["empty.ckpt", "torch.ckpt"]
"""


def test_lightnings_files_may_be_overwritten_and_older_ones_are_read(tmp_path):
    python_path = str(BUILD / "share" / "robustrun" / "python")
    subprocess.run([sys.executable, "-c", IN_ONE_PROCESS], cwd=tmp_path, check=True, timeout=180,
                   env={**os.environ, "PYTHONPATH": python_path})
