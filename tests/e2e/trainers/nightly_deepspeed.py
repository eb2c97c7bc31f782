"""DeepSpeed on CPUs, which first compiles its communication there: minutes.

With deepspeed in .venv or in .venv-packages (`scripts/install-deps.sh packages`).
"""

import subprocess
import sys

import pytest
from helpers.runner import ROOT
from trainers.test_trainers import Contest

PYTHONS = [sys.executable, str(ROOT / ".venv-packages" / "bin" / "python")]


def has_deepspeed(python):
    try:
        return subprocess.run(
            [python, "-c", "import importlib.util as u; assert u.find_spec('deepspeed')"],
            stderr=subprocess.DEVNULL).returncode == 0
    except FileNotFoundError:
        return False


def test_deepspeeds_engine(robustrun):
    python = next(filter(has_deepspeed, PYTHONS), None)
    if python is None:
        pytest.skip("deepspeed is not installed")
    robustrun.environment["PYTHON_EXEC"] = python
    contest = Contest(robustrun, "deepspeed_job.py", timeout=1200)
    finished = contest.check(env={"DS_ACCELERATOR": "cpu"})
    assert finished.text.count("loaded step 10") == 2
