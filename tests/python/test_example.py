"""examples/train.py learns, and a resumed run repeats the undisturbed one bit for bit."""

import os
import re
import sys

import pytest
from conftest import HELPERS, NEEDS_TORCH, ROOT, clean_environment

sys.path.append(HELPERS)
from forked_python import forked_python  # noqa: E402

pytestmark = NEEDS_TORCH
TRAIN = ROOT / "examples" / "train.py"


def train(folder, *args, ranks=2, **environment):
    """Under torchrun; it and its workers are forks of one interpreter."""
    words = ["-m", "torch.distributed.run", "--standalone", "--nproc-per-node", str(ranks),
             str(TRAIN), *args]
    python = forked_python()
    done = python.run(words, clean_environment(
        OMP_NUM_THREADS="1", PYTHON_EXEC=python.executable, **environment), folder)
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_a_resumed_run_has_the_same_losses_to_the_last_bit(tmp_path):
    train(tmp_path, "--steps", "60", "--curve", "whole")
    stopped = ["--checkpoint", "saved", "--every", "10", "--curve", "halves"]
    train(tmp_path, "--steps", "34", *stopped)
    assert "resumed from saved/step-30.pt" in train(tmp_path, "--steps", "60", *stopped)
    whole = (tmp_path / "whole").read_text().splitlines()
    halves = (tmp_path / "halves").read_text().splitlines()
    assert len(whole) == 60 and len(halves) == 34 + 30
    assert halves[:34] + halves[38:] == whole
    assert halves[34:38] == halves[30:34]  # done twice, with the same result
    assert sorted(p.name for p in (tmp_path / "saved").iterdir()) == ["step-50.pt", "step-60.pt"]


@pytest.mark.nightly
def test_verified_checkpoints_resume_to_the_last_bit_too(tmp_path):
    build = os.environ.get("ROBUSTRUN_BUILD_DIR", str(ROOT / "build"))
    package = {"PYTHONPATH": str(ROOT / "python"), "ROBUSTRUN_BUILD_DIR": build}
    train(tmp_path, "--steps", "30", "--curve", "whole")
    ours = ["--verified", "--checkpoint", "saved", "--every", "10", "--curve", "halves"]
    train(tmp_path, "--steps", "14", *ours, **package)
    assert "resumed from step 10" in train(tmp_path, "--steps", "30", *ours, **package)
    whole = (tmp_path / "whole").read_text().splitlines()
    halves = (tmp_path / "halves").read_text().splitlines()
    assert halves[:14] + halves[18:] == whole and halves[14:18] == halves[10:14]
    manifests = (tmp_path / "saved").glob("step-*/*/MANIFEST")
    kept = sorted(each.parent.parent.name for each in manifests)
    assert kept == ["step-000000000020", "step-000000000030"]


def test_it_learns(tmp_path):
    out = train(tmp_path, "--steps", "500", "--pid-dir", "pids", ranks=1)
    losses = [float(loss) for loss in re.findall(r"loss (\S+)", out)]
    assert losses[-1] < losses[0] / 4
    assert (tmp_path / "pids" / "rank-0.pid").read_text().isdigit()
