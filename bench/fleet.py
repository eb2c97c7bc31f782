"""A run with many agents on this machine, connected over TLS as from others, and its journal.

The agents are real, with a worker each; or, for figures of the supervisor alone, one process
simulates them (tests/helpers/simulated_agents.cpp), and their workers do a step with every
heartbeat.
"""

import contextlib
import hashlib
import os
import pathlib
import resource
import secrets
import signal
import socket
import subprocess
import sys
import time

import journal
from harness import HELPERS, ROBUSTRUN, end_tree, patience, start, wait_for

FOREVER = ["/bin/sleep", "100000"]  # the fake worker


def cpu_seconds(pid):
    return sum(int((task / "schedstat").read_text().split()[0])
               for task in pathlib.Path(f"/proc/{pid}/task").iterdir()) / 1e9


def memory_mib(pid, field="VmRSS"):
    for line in pathlib.Path(f"/proc/{pid}/status").read_text().splitlines():
        if line.startswith(field + ":"):
            return int(line.split()[1]) / 1024
    return 0.0


class Run:
    """A run of `program` with these options and `workers` workers in all."""

    def __init__(self, folder, workers, *options, program=("--no-python", *FOREVER)):
        self.count = workers
        self.start = time.monotonic_ns()
        self.log = folder / "log"
        self.process = start([ROBUSTRUN, "--run-dir", folder / "run", *options, *program], folder,
                             output="log")
        self.journal = journal.Journal(folder / "run" / "journal")

    def __enter__(self):
        return self

    def __exit__(self, *_):
        end_tree(self.process, 60)

    def wait(self, condition, what, seconds=120):
        """The first true value of a condition on the journal's records."""
        def look():
            if self.process.poll() is not None:
                sys.exit(f"the run ended with {self.process.returncode}:\n{self.log.read_text()}")
            return condition(self.journal.update())

        return wait_for(look, what, seconds)

    def started(self, attempt):
        """WorkerStarted of every rank in an attempt, in the order of the journal."""
        def all_started(_):
            found = [record for record in self.journal.of("WorkerStarted")
                     if record.body.get(1, 0) == attempt]
            return found if len(found) == self.count else None

        return self.wait(all_started, f"{self.count} workers of attempt {attempt}")

    def agents(self):
        """Process ids of the agents, by node."""
        return {record.node: record.body[1] for record in self.journal.of("AgentJoined")}

    def after(self, moment, kind, rule=None):
        """The newest record of this kind and rule since a moment."""
        return self.wait(lambda records: next(
            (record for record in records[::-1] if record.at >= moment and record.kind == kind
             and (rule is None or record.rule == rule)), None), rule or kind)


class Fleet(Run):
    """`count` agents with a worker each."""

    def __init__(self, folder, count, *options, **rest):
        super().__init__(folder, count, "--launcher", "processes", "--nnodes", str(count),
                         "--nproc-per-node", "1", *options, **rest)


class Simulation(Run):
    """`count` simulated agents with `workers` each, which join a run of one real worker."""

    def __init__(self, folder, count, workers):
        # Both processes have a descriptor per agent.
        most = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
        resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))
        secret = folder / "secret"
        secret.touch(mode=0o600)
        secret.write_text(secrets.token_hex())
        with socket.create_server(("127.0.0.1", 0)) as free:
            endpoint = f"127.0.0.1:{free.getsockname()[1]}"
        super().__init__(folder, count * workers + 1, "--nnodes", str(count + 1), "--rdzv-backend",
                         "c10d", "--rdzv-endpoint", endpoint, "--rdzv-id", "bench",
                         "--secret-file", secret, "--preflight", "off")
        command = hashlib.sha256("\0".join(FOREVER).encode()).hexdigest()
        self.agents_process = start(
            [HELPERS / "simulated_agents", endpoint, "bench", secret, command, count, workers],
            folder, output="agents")

    def __exit__(self, *_):
        super().__exit__()
        with contextlib.suppress(subprocess.TimeoutExpired):
            self.agents_process.wait(patience(10))
        self.agents_process.kill()
        self.agents_process.wait()


def kill(pid, which=signal.SIGKILL):
    now = time.monotonic_ns()
    os.kill(pid, which)
    return now
