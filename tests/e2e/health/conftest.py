"""What tests of GPUs get by a name: NVIDIA's library, played."""

import pathlib
import subprocess

import pytest


@pytest.fixture(scope="session")
def nvml(tmp_path_factory):
    """A folder with a libnvidia-ml.so.1 of the test's."""
    folder = tmp_path_factory.mktemp("nvml")
    source = pathlib.Path(__file__).parent / "nvml_mock.c"
    subprocess.run(["cc", "-shared", "-fPIC", "-o", folder / "libnvidia-ml.so.1", source],
                   check=True)
    return folder
