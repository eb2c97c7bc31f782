"""Standby workers with real packages: nothing that training scripts import reads what
differs between starts. More of them: e2e/recovery/nightly_packages.py."""

import importlib.util
import pathlib
import sys

import pytest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
from package_reads import READS, read_by_import  # noqa: E402


@pytest.mark.parametrize("module", READS)
def test_an_import_reads_nothing_of_the_attempt(module, tmp_path):
    if importlib.util.find_spec(module.partition(".")[0]) is None:
        pytest.skip(f"{module} is not installed: scripts/install-deps.sh test")
    read, error = read_by_import(sys.executable, module, tmp_path)
    assert error is None
    assert read == READS[module]
