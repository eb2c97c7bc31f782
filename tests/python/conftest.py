"""Shared by the tests of python/robustrun: the boot module and a record like the agent's."""

import os
import pathlib
import struct
import subprocess
import sys

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
PACKAGE = ROOT / "python"
BOOT = PACKAGE / "robustrun" / "boot.py"
RECORD_BYTES = 4096


def clean_environment(**extra):
    ours = ("ROBUSTRUN_", "TORCHELASTIC_", "PYTHON")
    env = {k: v for k, v in os.environ.items() if not k.startswith(ours)}
    env.update(PYTHONDONTWRITEBYTECODE="1", **extra)
    return env


class RecordFile:
    """The progress record as the agent makes it, and a reader of words."""

    def __init__(self, path):
        self.path = path
        head = struct.pack("<8sIIII", b"RRPROG01", 1, 0, 3, 1)
        path.write_bytes(head.ljust(RECORD_BYTES, b"\0"))

    def environment(self, **extra):
        return clean_environment(ROBUSTRUN_RECORD=str(self.path), PYTHONPATH=str(PACKAGE), **extra)

    def word(self, offset):
        return struct.unpack_from("<Q", self.path.read_bytes(), offset)[0]

    def put_word(self, offset, value):
        with open(self.path, "r+b") as file:
            file.seek(offset)
            file.write(struct.pack("<Q", value))

    def metrics(self):
        data = self.path.read_bytes()
        cells = [struct.unpack_from("<24sd", data, 144 + 32 * i) for i in range(self.word(136))]
        return {name.rstrip(b"\0").decode(): value for name, value in cells}


@pytest.fixture
def record(tmp_path):
    return RecordFile(tmp_path / "record")


@pytest.fixture
def boot(tmp_path):
    """Runs a program under boot.py in tmp_path and returns the CompletedProcess (bytes)."""

    def run(mode, program, *args, env=None, interpreter=sys.executable):
        command = [interpreter, "-u", str(BOOT), mode, program, *args]
        return subprocess.run(command, cwd=tmp_path, env=env or clean_environment(),
                              stdin=subprocess.DEVNULL, capture_output=True, timeout=120)

    return run
