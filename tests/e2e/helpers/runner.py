"""Runs the real binary as a user would, in a folder of its own, and tracks all of its processes.

Each test has a marker in the environment of everything it starts: `marked()` finds its living
processes wherever they hide (setsid, double fork), and the end of a test kills the rest by pid.
"""

import dataclasses
import json
import os
import pathlib
import signal
import subprocess
import sys
import time
import uuid

from helpers.processes import (
    children_of,
    command_of,
    is_alive,
    is_standby,
    is_waiting_standby,
    program_of,
    read_environ,
    wait_for,
)

ROOT = pathlib.Path(__file__).resolve().parents[3]
BUILD = pathlib.Path(os.environ.get("ROBUSTRUN_BUILD_DIR", ROOT / "build"))
BINARY = BUILD / "bin" / "robustrun"
MARKER = "RR_TEST_MARKER"
# What a test must not inherit from the shell that runs the suite.
FOREIGN = (
    "PET_", "TORCHELASTIC_", "ROBUSTRUN_", "OMP_NUM_THREADS", "MASTER_", "LOGLEVEL", "NO_COLOR",
    "GITHUB_",
)


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
    """A running robustrun."""

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
        """Pids of standby workers that wait or import."""
        return sorted(pid for pid in self.marked()
                      if b"shim" not in program_of(pid) and is_standby(pid))

    def waiting_standbys(self, count, besides=()):
        """Waits for `count` standby workers that have done their imports; returns their pids."""
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
