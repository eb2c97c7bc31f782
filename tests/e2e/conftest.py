"""Runs the real binary as a user would, in a folder of its own, and knows every process it made.

Each test has a marker in the environment of everything it starts: `marked()` finds what is alive
of it wherever it hid (setsid, double fork), and the end of a test kills by pid what is left.
"""

import contextlib
import dataclasses
import json
import os
import pathlib
import signal
import socket
import subprocess
import sys
import time
import uuid

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
BUILD = pathlib.Path(os.environ.get("ROBUSTRUN_BUILD_DIR", ROOT / "build"))
BINARY = BUILD / "bin" / "robustrun"
MARKER = "RR_TEST_MARKER"
# What a test must not inherit from the shell that runs the suite.
FOREIGN = (
    "PET_", "TORCHELASTIC_", "ROBUSTRUN_", "OMP_NUM_THREADS", "MASTER_", "LOGLEVEL", "NO_COLOR",
)


def wait_for(condition, deadline_s=60.0, what="the condition"):
    """The condition's first true value; fails after the deadline, which is generous: other tests
    use the processors, too. Polls, because the conditions are about other processes and files."""
    end = time.monotonic() + deadline_s
    while True:
        value = condition()
        if value:
            return value
        if time.monotonic() > end:
            raise AssertionError(f"{what} did not come true within {deadline_s} s")
        time.sleep(0.005)


def read_environ(pid):
    try:
        return pathlib.Path(f"/proc/{pid}/environ").read_bytes()
    except OSError:
        return b""


def is_alive(pid):
    """Running, not a zombie that nobody has reaped yet."""
    try:
        stat = pathlib.Path(f"/proc/{pid}/stat").read_text(errors="replace")
    except OSError:
        return False
    return stat.rpartition(")")[2].split()[0] not in ("Z", "X")


def command_of(pid):
    try:
        return pathlib.Path(f"/proc/{pid}/cmdline").read_bytes().split(b"\0")
    except OSError:
        return []


def program_of(pid):
    """Empty when the process has ended."""
    return b"".join(command_of(pid)[:1])


def children_of(pid):
    """Of all threads of a process; none when it has ended."""
    found = []
    with contextlib.suppress(OSError):
        for task in os.listdir(f"/proc/{pid}/task"):
            with contextlib.suppress(OSError):
                listed = pathlib.Path(f"/proc/{pid}/task/{task}/children").read_text()
                found += map(int, listed.split())
    return found


def open_files_of(pid):
    """What the descriptors of a process lead to; without those that it closes meanwhile."""
    found = []
    with contextlib.suppress(OSError):
        for entry in os.listdir(f"/proc/{pid}/fd"):
            with contextlib.suppress(OSError):
                found.append(os.readlink(f"/proc/{pid}/fd/{entry}"))
    return found


class HeldPort:
    """A TCP port that nobody else is given until close(): bound here, but not listened on, which
    leaves it to servers that set SO_REUSEADDR, as all do that may be started again at once."""

    def __init__(self, address=""):
        self._socket = socket.socket()
        self._socket.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        self._socket.bind((address, 0))
        self.number = self._socket.getsockname()[1]

    def close(self):
        self._socket.close()


def is_standby(pid):
    """An interpreter that has not become a worker: it has no progress record."""
    if b"ROBUSTRUN_STANDBY_SOCKET=" not in read_environ(pid):
        return False
    try:
        return ".record" not in pathlib.Path(f"/proc/{pid}/maps").read_text(errors="replace")
    except OSError:
        return False


def is_waiting_standby(pid):
    """It has sent what it has imported: it holds torch and sleeps on its socket."""
    try:
        maps = pathlib.Path(f"/proc/{pid}/maps").read_text(errors="replace")
        sleeps_in = pathlib.Path(f"/proc/{pid}/syscall").read_text().split()[0]
    except OSError:
        return False
    return "libtorch_cpu" in maps and sleeps_in == "45"  # recvfrom


@dataclasses.dataclass
class Finished:
    code: int
    out: bytes
    err: bytes

    @property
    def text(self):
        return self.out.decode(errors="replace")

    @property
    def errors(self):
        return self.err.decode(errors="replace")


class Running:
    """A robustrun that is still going."""

    def __init__(self, runner, process):
        self.runner = runner
        self.process = process

    @property
    def pid(self):
        return self.process.pid

    def children(self, pid=None):
        return children_of(pid or self.pid)

    def agent(self):
        def find():
            agents = [c for c in self.children() if b"agent" in command_of(c)[1:2]]
            return agents[0] if agents else None

        return wait_for(find, what="the agent's start")

    def shims(self, count=1):
        agent = self.agent()

        def find():
            shims = [c for c in self.children(agent) if b"robustrun-shim" in program_of(c)]
            return shims if len(shims) >= count else None

        return wait_for(find, what=f"the start of {count} shims")

    def workers(self, count=1):
        def find():
            pids = [w for shim in self.shims(count) for w in self.children(shim)]
            return pids if len(pids) >= count else None

        return wait_for(find, what=f"the start of {count} workers")

    def finish(self, timeout=180):
        out, err = self.process.communicate(timeout=timeout)
        return Finished(self.process.returncode, out, err)


class Runner:
    def __init__(self, folder):
        self.folder = folder
        self.marker = uuid.uuid4().hex
        self.binary = BINARY
        self.environment = {
            name: value for name, value in os.environ.items() if not name.startswith(FOREIGN)
        }
        self.environment[MARKER] = self.marker
        self.environment["PYTHON_EXEC"] = sys.executable
        self.environment["TMPDIR"] = str(folder)
        self.environment["XDG_STATE_HOME"] = str(folder / "state")
        self.environment["XDG_CACHE_HOME"] = str(folder / "cache")
        self.started = []

    def write(self, name, text):
        path = self.folder / name
        path.write_text(text)
        return path

    def start(self, *arguments, env=None, argv0=None, **options):
        environment = {**self.environment, **(env or {})}
        options.setdefault("stdin", subprocess.DEVNULL)
        options.setdefault("stdout", subprocess.PIPE)
        options.setdefault("stderr", subprocess.PIPE)
        options.setdefault("cwd", self.folder)
        process = subprocess.Popen(
            [argv0 or self.binary, *arguments], env=environment, **options
        )
        self.started.append(process)
        return Running(self, process)

    def run(self, *arguments, timeout=180, **options):
        return self.start(*arguments, **options).finish(timeout)

    def marked(self):
        """Pids of everything alive that this test started, the test itself excepted."""
        needle = f"{MARKER}={self.marker}".encode()
        return [
            int(entry.name)
            for entry in pathlib.Path("/proc").iterdir()
            if entry.name.isdigit()
            and needle in read_environ(entry.name).split(b"\0")
            and is_alive(entry.name)
        ]

    def standbys(self):
        """Pids of interpreters that wait, or import."""
        return sorted(pid for pid in self.marked()
                      if b"shim" not in program_of(pid) and is_standby(pid))

    def waiting_standbys(self, count, besides=()):
        """Pids of `count` standby workers that have imported all; waits until they have."""
        def find():
            pids = [pid for pid in self.standbys()
                    if pid not in besides and is_waiting_standby(pid)]
            return len(pids) == count and pids

        return wait_for(find, 300, f"{count} standby workers")

    def expect_nothing_left(self, within_s=20.0):
        wait_for(lambda: not self.marked(), within_s, "the end of all descendants")

    def newest_run(self):
        """Waits for the first one."""
        runs = wait_for(lambda: list(self.folder.glob("robustrun-runs/*")), what="a run's folder")
        return max(runs, key=lambda run: run.stat().st_mtime)

    def report(self, run=None):
        finished = self.run("report", str(run or self.newest_run()), "--json")
        assert finished.code == 0, finished.errors
        return json.loads(finished.out)

    def close(self):
        for process in self.started:
            if process.poll() is None:
                process.kill()
            process.wait(timeout=30)
            for stream in (process.stdout, process.stderr, process.stdin):
                if stream:
                    stream.close()
        for _ in range(50):
            left = self.marked()
            if not left:
                return
            for pid in left:
                try:
                    os.kill(pid, signal.SIGKILL)
                except ProcessLookupError:
                    pass
            time.sleep(0.02)


@pytest.fixture
def robustrun(tmp_path):
    runner = Runner(tmp_path)
    yield runner
    runner.close()


@pytest.fixture(scope="session")
def nvml(tmp_path_factory):
    """A folder with a libnvidia-ml.so.1 of the test's."""
    folder = tmp_path_factory.mktemp("nvml")
    source = pathlib.Path(__file__).parent / "nvml_mock.c"
    subprocess.run(["cc", "-shared", "-fPIC", "-o", folder / "libnvidia-ml.so.1", source],
                   check=True)
    return folder


@pytest.fixture
def nodes(robustrun):
    """Starts jobs of several nodes on this machine, each node an agent of its own that calls home
    over TLS as from another machine."""
    from nodes import start_job

    def start(*arguments, **options):
        return start_job(robustrun, "--launcher=processes", *arguments, **options)

    start.runner = robustrun
    return start


@pytest.fixture
def farm(robustrun):
    """Hosts with sshd on loopback; `farm(5)` starts five and gives them back."""
    from ssh_server import Farm

    made = []

    def make(count, **options):
        made.append(Farm(robustrun.folder / f"farm{len(made)}", robustrun.marker, **options))
        return made[-1].add(count)

    yield make
    for one in made:
        one.close()


@pytest.fixture
def lab(robustrun):
    """Machines with a network of their own; `lab(4)` boots four and gives them back."""
    from machines import Lab

    made = []

    def make(count, **options):
        made.append(Lab(robustrun.folder / f"lab{len(made)}", robustrun.marker, **options))
        return made[-1].add(count)

    yield make
    for one in made:
        one.close()


@pytest.fixture
def slurm(robustrun):
    """A Slurm cluster on loopback; `slurm(4)` starts one of four nodes."""
    from slurm_cluster import Cluster

    made = []

    def make(count, **options):
        made.append(Cluster(robustrun.marker, count, **options))
        return made[-1].start()

    yield make
    for one in made:
        one.close()
