"""As python/test_packages.py, for some fifty packages (`scripts/install-deps.sh packages`). Not all
of them fit together: the reads of an import that fails halfway count too."""

import pathlib
import subprocess
import sys

import pytest

TESTS = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(TESTS))
from package_reads import MORE_READS, read_by_import  # noqa: E402

PYTHON = TESTS.parent / ".venv-packages" / "bin" / "python"


@pytest.mark.skipif(not PYTHON.exists(), reason="scripts/install-deps.sh packages")
@pytest.mark.parametrize("module", MORE_READS)
def test_an_import_reads_nothing_of_the_attempt(module, tmp_path):
    name = module.partition(".")[0]
    probe = f"import importlib.util as u, sys; sys.exit(u.find_spec({name!r}) is None)"
    if subprocess.run([PYTHON, "-c", probe], check=False).returncode != 0:
        pytest.skip(f"{module} is not installed")
    read, error = read_by_import(PYTHON, module, tmp_path)
    assert read <= MORE_READS[module], error
