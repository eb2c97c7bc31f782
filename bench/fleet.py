"""A run with many agents on this machine, each over TLS as from another one, and its journal."""

import os
import pathlib
import signal
import subprocess
import sys
import time

import journal
from harness import ROBUSTRUN, clean_environment, wait_for

FOREVER = ["--no-python", "/bin/sleep", "100000"]  # the fake worker


def cpu_seconds(pid):
    return sum(int((task / "schedstat").read_text().split()[0])
               for task in pathlib.Path(f"/proc/{pid}/task").iterdir()) / 1e9


def memory_mib(pid, field="VmRSS"):
    for line in pathlib.Path(f"/proc/{pid}/status").read_text().splitlines():
        if line.startswith(field + ":"):
            return int(line.split()[1]) / 1024
    return 0.0


class Fleet:
    """`count` agents with a worker each."""

    def __init__(self, folder, count, *options, worker=FOREVER):
        self.count = count
        self.start = time.monotonic_ns()
        self.log = folder / "log"
        with open(self.log, "wb") as log:
            self.process = subprocess.Popen(
                [ROBUSTRUN, "--launcher", "processes", "--nnodes", str(count), "--nproc-per-node",
                 "1", "--run-dir", folder / "run", *options, *worker],
                cwd=folder, env=clean_environment(), stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL, stderr=log)
        self.journal = journal.Journal(folder / "run" / "journal")

    def __enter__(self):
        return self

    def __exit__(self, *_):
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGTERM)
        try:
            self.process.wait(60)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()

    def wait(self, condition, seconds=120):
        """The first true value of a condition on the journal's records."""
        def look():
            if self.process.poll() is not None:
                sys.exit(f"the run ended with {self.process.returncode}:\n{self.log.read_text()}")
            return condition(self.journal.update())

        return wait_for(look, seconds)

    def started(self, attempt):
        """WorkerStarted of every rank in an attempt, in the order of the journal."""
        def all_started(_):
            found = [record for record in self.journal.of("WorkerStarted")
                     if record.body.get(1, 0) == attempt]
            return found if len(found) == self.count else None

        return self.wait(all_started)

    def agents(self):
        """Process ids of the agents, by node."""
        return {record.node: record.body[1] for record in self.journal.of("AgentJoined")}

    def after(self, moment, kind, rule=None):
        return self.wait(lambda records: next(
            (record for record in records[::-1] if record.at >= moment and record.kind == kind
             and (rule is None or record.rule == rule)), None))


def kill(pid, which=signal.SIGKILL):
    now = time.monotonic_ns()
    os.kill(pid, which)
    return now
