"""The tests that depend on torch, with other versions: `scripts/install-deps.sh torches`."""

import subprocess
from pathlib import Path

import pytest
from checkpoint.test_dcp import both, ckpt, job

TESTS = Path(__file__).resolve().parents[2]
PYTHONS = sorted(TESTS.parent.glob(".venv-torches/*/bin/python"))
SUITES = [
    "python/test_step.py",
    "e2e/checkpoint/test_dcp.py e2e/checkpoint/test_dcp_own.py",
    "e2e/test_torchrun_options.py",
    "e2e/test_demo.py e2e/recovery/test_restart.py",
]
with_each_torch = pytest.mark.parametrize("python", PYTHONS, ids=lambda path: path.parts[-3])


@pytest.mark.parametrize("suite", SUITES)
@with_each_torch
def test_the_tests_of_torch_pass_with_this_version(python, suite):
    files = [TESTS / name for name in suite.split()]
    done = subprocess.run([python, "-m", "pytest", "-q", "-rs", "-p", "no:cacheprovider", *files],
                          cwd=TESTS.parent)
    assert done.returncode == 0, "its output is above"


@pytest.fixture
def folder(tmp_path):
    for name in ("a", "a-2"):
        (tmp_path / name).mkdir()
    return tmp_path / "a"


@with_each_torch
def test_this_torch_loads_a_checkpoint_of_an_older_one(python, folder):
    job(4, "save", folder, "1", python=python)
    job(2, "reshard", folder, "1")
    assert "sound" in ckpt("verify", "--all", *both(folder))
