"""Private Slurm clusters for tests: munged, slurmctld and a slurmd for each of the nodes n1, n2, …,
all on this machine, with key, sockets, state and logs in one folder under /tmp. The machine's own
Slurm and munge are neither used nor changed, and clusters may run side by side.

As root, Slurm runs as root. For another user it runs as that user and accepts only that user's
jobs, which is enough for tests.

Differences from a real cluster: nodes share host name, /tmp and processes (SLURMD_NODENAME tells
them apart); a node has more CPUs than the machine; and processes that leave their parents outlive
their step, unless the cluster has `proctrack="cgroup"`, which takes root. Slurm checks time limits
twice a minute and counts them in minutes: `Cluster.end_in` sets the end of a job to the second.
"""

import contextlib
import os
import pathlib
import shutil
import socket
import subprocess
import tempfile
import time

import pytest
from helpers.jobs import descendants, kill_at_once
from helpers.processes import HeldPort, is_alive, read_environ, wait_for
from helpers.runner import MARKER
from slurm import conf

DAEMONS = ("/usr/sbin/munged", "/usr/sbin/slurmctld", "/usr/sbin/slurmd")
FREEZER = "/sys/fs/cgroup/freezer"
# States that a job never leaves.
ENDED = (
    "BOOT_FAIL", "CANCELLED", "COMPLETED", "DEADLINE", "FAILED", "NODE_FAIL", "OUT_OF_MEMORY",
    "PREEMPTED", "TIMEOUT",
)
# A command that takes longer hangs.
COMMAND_S = 120


def need_slurm():
    missing = [daemon for daemon in DAEMONS if not os.access(daemon, os.X_OK)]
    if missing or not shutil.which("srun"):
        pytest.fail(f"no Slurm ({missing or 'srun'}): scripts/install-deps.sh test installs it")


def can_track_by_cgroup():
    """The freezer of cgroup v1, in which Slurm 22.05 keeps the processes of a step."""
    return os.geteuid() == 0 and os.access(FREEZER, os.W_OK)


def step_spool(pid):
    """The folder of a step daemon (slurmstepd), which is its node's; empty: of another process.
    Those of newer versions have no environment."""
    with contextlib.suppress(OSError):
        if pathlib.Path(f"/proc/{pid}/comm").read_text() == "slurmstepd\n":
            return os.readlink(f"/proc/{pid}/cwd")
    return ""


class Node:
    """One slurmd and everything that runs under it."""

    def __init__(self, cluster, name, address, port):
        self.cluster, self.name = cluster, name
        self.address, self.port = address, port
        self.spool = cluster.folder / self.name
        self.spool.mkdir()
        self.process = None

    def boot(self):
        """Starts the slurmd; `Cluster.wait_idle` waits until it has registered."""
        # Step daemons stay in this folder, which shows to which node they belong.
        self.process = self.cluster.daemon(
            "/usr/sbin/slurmd", "-D", "-N", self.name, "-f", self.cluster.conf, cwd=self.spool
        )

    def steps(self):
        """The step daemons (slurmstepd), which belong to init and outlive a slurmd."""
        return [pid for pid in self.cluster.processes() if step_spool(pid) == str(self.spool)]

    def processes(self):
        """The slurmd, the step daemons and all of their descendants."""
        needle = f"SLURMD_NODENAME={self.name}".encode()
        pids = [
            pid for pid in self.cluster.processes() if needle in read_environ(pid).split(b"\0")
        ]
        for step in self.steps():
            pids += [step, *descendants(step)]
        if self.process and self.process.poll() is None:
            pids.append(self.process.pid)
        return list(dict.fromkeys(pids))

    def kill_slurmd(self):
        """Kills the daemon alone: steps go on, and slurmctld gets no message."""
        self.process.kill()
        self.cluster.reap(self.process)

    def die(self):
        """Kills the machine: daemon, steps and tasks at once. Slurm would notice after minutes;
        `Cluster.declare_down` saves the wait. `boot` brings the node back."""
        kill_at_once(self.processes())
        self.cluster.reap(self.process)


class Cluster:
    def __init__(self, marker, count, cpus=8, gpus=0, proctrack="linuxproc", kill_wait_s=5,
                 grace_s=5, requeue_after_s=60, options=(), files=None):
        """`count` nodes with `cpus` CPUs and `gpus` GPUs each. A job that must end gets SIGTERM
        and, `kill_wait_s` later, SIGKILL. The partition "low", the default, is preempted by
        "high": its jobs get SIGTERM, and after `grace_s` they are requeued; `requeue_after_s` is
        how long Slurm delays their next start, and the limit for the launch of a step. `options`:
        more lines of slurm.conf; `files`: other files beside it, {name: text}."""
        need_slurm()
        # Not in the test's folder: the path of a step's socket has a limit of 107 bytes.
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="rr-slurm-", dir="/tmp"))
        self.marker, self.started = marker, []
        self.conf = self.folder / "slurm.conf"
        (self.folder / "state").mkdir()
        pid = os.getpid()
        network = f"127.{1 + (pid >> 8) % 250}.{pid % 256}"
        self.controller = f"{network}.254"
        # slurmd listens on all addresses, so that ports and not addresses tell nodes apart.
        self.held = [HeldPort() for _ in range(count + 1)]
        self.port, *ports = [port.number for port in self.held]
        # The freezer's folders are named after nodes only.
        prefix = f"p{self.port}n" if proctrack == "cgroup" else "n"
        self.nodes = [
            Node(self, f"{prefix}{number}", f"{network}.{number}", port)
            for number, port in enumerate(ports, 1)
        ]
        conf.write(self, cpus, gpus, proctrack, kill_wait_s, grace_s, requeue_after_s,
                         options)
        for name, text in (files or {}).items():
            (self.folder / name).write_text(text)

    def __getitem__(self, number):
        """The node of that number; the first is 1, as in its name."""
        return self.nodes[number - 1]

    @property
    def names(self):
        return [node.name for node in self.nodes]

    # The daemons.

    def environment(self):
        """The variables with which srun, sbatch and the like find this cluster. Slurm passes them
        to every task, whatever --export says, so they mark all processes of this cluster."""
        return {"SLURM_CONF": str(self.conf)}

    def _full_environment(self):
        """The environment of a user's shell, without the variables of a Slurm around this test."""
        kept = {
            name: value for name, value in os.environ.items()
            if not name.startswith(("SLURM_", "SBATCH_", "SRUN_", "SALLOC_"))
        }
        return {**kept, **self.environment(), MARKER: self.marker}

    def daemon(self, *words, cwd=None):
        with open(self.folder / "daemons.log", "ab") as log:
            process = subprocess.Popen(
                words, cwd=cwd or self.folder, env=self._full_environment(),
                stdin=subprocess.DEVNULL, stdout=log, stderr=log,
            )
        self.started.append(process)
        return process

    def reap(self, process):
        """`process` ends because the test wants it."""
        process.wait(timeout=COMMAND_S)
        if process in self.started:
            self.started.remove(process)

    def start(self):
        # munged trusts a folder in /tmp only with --force.
        self.daemon(
            "/usr/sbin/munged", "--foreground", "--force",
            *(f"--{what}-file={self.folder}/munge.{what}" for what in ("pid", "log", "seed")),
            f"--key-file={self.folder}/key", f"--socket={self.folder}/munge",
        )
        wait_for(lambda: self._go_on() and (self.folder / "munge").is_socket(), what="munged")
        self.daemon("/usr/sbin/slurmctld", "-D", "-i", "-f", self.conf)
        # A slurmd that does not find slurmctld at once tries again seconds later.
        wait_for(lambda: self._go_on() and self._listens(), what="slurmctld")
        for node in self.nodes:
            node.boot()
        self.wait_idle()
        return self

    def _listens(self):
        with contextlib.suppress(OSError), socket.create_connection((self.controller, self.port)):
            return True
        return False

    def _go_on(self):
        for process in self.started:
            if process.poll() is not None:
                raise AssertionError(f"{process.args[0]} ended:\n{self.logs()}")
        return True

    def logs(self):
        """The last lines of every daemon's log, and Slurm's lists of jobs and nodes."""
        tails = {
            path.name: path.read_text(errors="replace").splitlines()[-15:]
            for path in sorted(self.folder.glob("*.log"))
        }
        for words in (("scontrol", "show", "job"), ("sinfo", "-N", "-o", "%N %T %E")):
            with contextlib.suppress(OSError, subprocess.SubprocessError):
                tails[" ".join(words)] = self.run(*words, check=False).stdout.splitlines()
        return "\n".join(f"== {name}\n" + "\n".join(lines) for name, lines in tails.items())

    def processes(self):
        """Pids of all living processes of this cluster: daemons, steps and processes of jobs."""
        needle = f"SLURM_CONF={self.conf}".encode()
        return [
            int(entry.name) for entry in pathlib.Path("/proc").iterdir()
            if entry.name.isdigit() and is_alive(entry.name)
            and (needle in read_environ(entry.name).split(b"\0")
                 or step_spool(entry.name).startswith(f"{self.folder}/"))
        ]

    def job_processes(self):
        """Living processes of jobs, without the daemons of Slurm and the test's own commands (srun,
        salloc), which run on no node."""
        return [
            pid for pid in self.processes()
            if any(word.startswith(b"SLURMD_NODENAME=")
                   for word in read_environ(pid).split(b"\0"))
        ]

    def expect_empty(self, within_s=30.0):
        """Asserts that no job has left a process on any node."""
        wait_for(lambda: not self.job_processes(), within_s, "the end of everything on the nodes")

    def close(self):
        """Ends everything by pid, without Slurm, which would be slow; may be called again."""
        end = time.monotonic() + 20
        while (left := self.processes()) and time.monotonic() < end:
            kill_at_once(left)
            time.sleep(0.02)  # they may take a moment to end, and their children get other parents
            for process in self.started:
                with contextlib.suppress(subprocess.TimeoutExpired):
                    process.wait(timeout=0.05)
        assert not left, f"cannot kill {left}"
        for node in self.nodes:
            # Kept by Slurm for each node; the deepest folders first.
            root = pathlib.Path(f"{FREEZER}/slurm_{node.name}")
            if (self.folder / "cgroup.conf").exists() and root.exists():
                for folder in [*sorted(root.rglob("*/"), reverse=True), root]:
                    with contextlib.suppress(OSError):
                        folder.rmdir()
        for port in self.held:
            port.close()
        shutil.rmtree(self.folder, ignore_errors=True)
        assert not self.folder.exists(), f"cannot remove {self.folder}"

    # The user's commands.

    def run(self, *words, check=True, timeout=COMMAND_S, env=None, cwd=None):
        """Runs srun, scontrol, …; returns its output."""
        finished = subprocess.run(
            [str(word) for word in words], env={**self._full_environment(), **(env or {})},
            cwd=cwd or self.folder, stdin=subprocess.DEVNULL, capture_output=True, text=True,
            timeout=timeout,
        )
        if check and finished.returncode != 0:
            raise AssertionError(f"{words}: {finished.returncode}\n{finished.stderr}")
        return finished

    def sbatch(self, script, *options, **more):
        """Submits the text of a batch script; returns the job's id. Its output goes to
        `cluster.folder / "ID.out"` if no option says otherwise."""
        path = self.folder / f"batch{time.monotonic_ns()}.sh"
        path.write_text(script)
        out = self.run("sbatch", "--parsable", f"--output={self.folder}/%j.out",
                       "--open-mode=append", *options, path, **more)
        return int(out.stdout.split(";")[0])

    def output(self, job):
        path = self.folder / f"{job}.out"
        return path.read_text(errors="replace") if path.exists() else ""

    def show(self, job):
        """The fields of `scontrol show job`, as {name: text}."""
        out = self.run("scontrol", "show", "job", "--oneliner", job).stdout
        return dict(word.split("=", 1) for word in out.split() if "=" in word)

    def state(self, job):
        return self.show(job)["JobState"]

    def wait_state(self, job, *states, within_s=60.0):
        """Waits for one of the states; returns it."""
        seen = []

        def reached():
            seen[:] = [self.state(job)]
            return seen[0] in states and seen[0]

        try:
            return wait_for(reached, within_s, f"job {job} in {states}")
        except AssertionError as error:
            raise AssertionError(
                f"{error}: it is {seen}\n{self.output(job)}\n{self.logs()}"
            ) from None

    def wait_end(self, job, within_s=60.0):
        return self.wait_state(job, *ENDED, within_s=within_s)

    def cancel(self, job, *options):
        self.run("scancel", *options, job)

    def end_in(self, job, seconds):
        """Moves the end of the job's time limit; Slurm acts on it up to 30 s later."""
        when = time.strftime("%Y-%m-%dT%H:%M:%S", time.localtime(time.time() + seconds))
        self.run("scontrol", "update", f"JobId={job}", f"EndTime={when}")

    def drain(self, name):
        self.run("scontrol", "update", f"NodeName={name}", "State=DRAIN", "Reason=test")

    def declare_down(self, name):
        """Does what Slurm does when it notices that a node is dead."""
        self.run("scontrol", "update", f"NodeName={name}", "State=DOWN", "Reason=test")

    def resume(self, name):
        """Resumes the node once Slurm has finished with its former state. Slurm refuses that for a
        node that it has taken back by itself."""
        words = ("scontrol", "update", f"NodeName={name}", "State=RESUME")
        refused = []

        def is_back():
            done = self.run(*words, check=False)
            refused[:] = [done.stderr.strip(), self.node_state(name)]
            return done.returncode == 0 or refused[1] in ("idle", "mixed", "allocated")

        try:
            wait_for(is_back, 60, f"{name} to resume")
        except AssertionError as error:
            raise AssertionError(f"{error}: {refused}") from None

    def node_state(self, name):
        return self.run("sinfo", "--noheader", "--nodes", name, "--partition=low",
                        "--format=%T").stdout.strip()

    def wait_node(self, name, *states, within_s=60.0):
        """States as sinfo has them: idle, mixed, allocated, draining, drained, down, …; a node
        that does not answer has a trailing star."""
        return wait_for(lambda: self.node_state(name).rstrip("*") in states, within_s,
                        f"{name} in {states}")

    def wait_idle(self, within_s=60.0):
        def idle():
            self._go_on()
            out = self.run("sinfo", "--noheader", "--partition=low", "--states=idle",
                           "--format=%D").stdout
            return sum(map(int, out.split())) == len(self.nodes)

        try:
            wait_for(idle, within_s, "all nodes idle")
        except AssertionError as error:
            raise AssertionError(f"{error}\n{self.logs()}") from None
