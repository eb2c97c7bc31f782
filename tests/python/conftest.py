"""Fixtures of the tests of python/robustrun: the boot module, and a record like the agent's."""

import importlib.util
import os
import pathlib
import shutil
import struct
import subprocess
import sys
import tempfile

import pytest
from fake_agent import FakeAgent

ROOT = pathlib.Path(__file__).resolve().parents[2]
PACKAGE = ROOT / "python"
BOOT = PACKAGE / "robustrun" / "boot.py"
RECORD_BYTES = 4096
WHOLE_RECORD_BYTES = 36864  # with the table of communicators
# For tests that do not import it themselves.
NEEDS_TORCH = pytest.mark.skipif(importlib.util.find_spec("torch") is None,
                                 reason="could not import 'torch'")


def clean_environment(**extra):
    ours = ("ROBUSTRUN_", "TORCHELASTIC_", "PYTHON")
    env = {k: v for k, v in os.environ.items() if not k.startswith(ours)}
    env.update(PYTHONDONTWRITEBYTECODE="1", **extra)
    return env


def pytest_configure(config):
    config.addinivalue_line("markers", "nightly: takes too long for every run of the tests")


class RecordFile:
    """A progress record as the agent creates it, and a reader of its words."""

    def __init__(self, path, size=RECORD_BYTES):
        self.path = path
        head = struct.pack("<8sIIII", b"RRPROG01", 1, int(size > RECORD_BYTES), 3, 1)
        path.write_bytes(head.ljust(size, b"\0"))

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


    def communicators(self):
        """Slot -> its contents."""
        data, found = self.path.read_bytes()[RECORD_BYTES:], {}
        for slot in range(min(128, len(data) // 256)):
            fields = struct.unpack_from("<QQIIII64s64s9Q", data, slot * 256)
            if fields[0]:
                names = ("comm", "size", "rank", "source", "nodes", "name", "label", "entered",
                         "started", "done", "entered_at", "done_at")
                found[slot] = dict(zip(names, fields[1:], strict=False))
                for name in ("name", "label"):
                    found[slot][name] = found[slot][name].rstrip(b"\0").decode()
        return found


@pytest.fixture
def record(tmp_path):
    return RecordFile(tmp_path / "record")


class Ranks:
    """Workers of one gloo job on this machine, each with a record and a socket like the agent's."""

    def __init__(self, folder, source, size, **extra):
        (folder / "job.py").write_text(source)
        self.runtime = pathlib.Path(tempfile.mkdtemp(prefix="rr-"))  # sockets have short names
        self.records = [RecordFile(self.runtime / ("%d.0.record" % rank), WHOLE_RECORD_BYTES)
                        for rank in range(size)]
        self.sockets = [self.runtime / ("%d.0.fr" % rank) for rank in range(size)]
        self.processes = [
            subprocess.Popen(
                [sys.executable, "-u", str(BOOT), "script", "job.py", str(folder / "store")],
                cwd=folder, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                text=True, env=self.environment(rank, size, extra))
            for rank in range(size)]

    def environment(self, rank, size, extra):
        ours = dict(RANK=str(rank), WORLD_SIZE=str(size), GLOO_SOCKET_IFNAME="lo",
                    OMP_NUM_THREADS="1", ROBUSTRUN_FLIGHT_SOCKET=str(self.sockets[rank]))
        return self.records[rank].environment(**{**ours, **extra})

    def wait_for(self, line):
        """Waits until every rank has printed `line`, which must be its next line."""
        for process in self.processes:
            said = process.stdout.readline()
            assert said == line + "\n", said + process.stderr.read()

    def go_on(self):
        for process in self.processes:
            process.stdin.write("\n")
            process.stdin.flush()

    def finish(self):
        """(exit code, standard output, standard error) of every rank."""
        ends = [(*process.communicate(timeout=300), process.returncode)
                for process in self.processes]
        return [(code, out, error) for out, error, code in ends]

    def close(self):
        for process in self.processes:
            process.kill()
            process.wait()
            for stream in (process.stdin, process.stdout, process.stderr):
                stream.close()
        shutil.rmtree(self.runtime)


# Without torch's compiler, which takes as long as torch itself.
HELPERS = str(ROOT / "tests" / "e2e" / "helpers")
JOB = f"""
import os, sys
sys.path.append({HELPERS!r})
import light_torch, torch, torch.distributed as dist
def pause(line): print(line); input()
rank, size = int(os.environ["RANK"]), int(os.environ["WORLD_SIZE"])
dist.init_process_group("gloo", init_method="file://" + sys.argv[1], rank=rank, world_size=size)
"""


@pytest.fixture
def ranks(tmp_path):
    """ranks(source, size=2, **environment): starts a job, whose script begins with JOB;
    light=False: with torch's compiler."""
    started = []

    def start(source, size=2, light=True, **extra):
        job = JOB if light else JOB.replace("import light_torch, ", "import ")
        started.append(Ranks(tmp_path, job + source, size, **extra))
        return started[-1]

    yield start
    for job in started:
        job.close()


@pytest.fixture
def boot(tmp_path):
    """Runs a program under boot.py in tmp_path and returns the CompletedProcess (bytes)."""

    def run(mode, program, *args, env=None, interpreter=sys.executable):
        command = [interpreter, "-u", str(BOOT), mode, program, *args]
        return subprocess.run(command, cwd=tmp_path, env=env or clean_environment(),
                              stdin=subprocess.DEVNULL, capture_output=True, timeout=300)

    return run


@pytest.fixture
def serve(tmp_path, monkeypatch):
    """Starts a fake agent: serve(reply, …)."""
    path = tmp_path / "socket"
    monkeypatch.setenv("ROBUSTRUN_SOCKET", str(path))
    started = []

    def start(*replies):
        started.append(FakeAgent(path, replies))
        return started[0]

    yield start
    for agent in started:
        agent.close()
