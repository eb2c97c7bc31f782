"""Fixtures for tests of GPUs: a fake of NVIDIA's library."""

import pathlib
import subprocess

import pytest


@pytest.fixture(scope="session")
def nvml(tmp_path_factory):
    """A folder with the fake libnvidia-ml.so.1."""
    folder = tmp_path_factory.mktemp("nvml")
    source = pathlib.Path(__file__).parent / "nvml_mock.c"
    subprocess.run(["cc", "-shared", "-fPIC", "-o", folder / "libnvidia-ml.so.1", source],
                   check=True)
    return folder
