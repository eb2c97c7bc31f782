"""Inside a Slurm allocation of 8 nodes: until all agents are connected, and a torch job's start.

Agents: from the start of robustrun until the supervisor has journaled the last agent's hello,
beside `srun --ntasks-per-node=1 /bin/true` in the same allocation. Job: from the command until
every rank has done a step of a gloo training, beside srun with an environment set by hand and no
launcher in between. The cluster is the one of the tests: eight slurmds on this machine.
"""

import sys
import time
import uuid

import journal
from harness import (
    PYTHON,
    ROBUSTRUN,
    ROOT,
    Figure,
    Quick,
    Scratch,
    clean_environment,
    in_turns,
    median_ratio,
    wait_for,
)
from sshd import free_port

sys.path.append(str(ROOT / "tests" / "e2e"))
from helpers.runner import MARKER  # noqa: E402
from slurm.cluster import Cluster  # noqa: E402
from slurm.jobs import Allocation  # noqa: E402

NODES = 8
JOB = ROOT / "bench" / "ddp_job.py"
AGENTS_RATIO_MAX = 1.3
START_RATIO_MAX = 1.05  # equal, with the noise of eight interpreters on two cores
ROUNDS, JOB_ROUNDS = 20, 10
QUICK = Quick(35, "2 rounds of agents instead of 20, 1 training instead of 10", rounds=2)


class Bench:
    def __init__(self):
        self.marker = uuid.uuid4().hex
        self.cluster = Cluster(self.marker, NODES, kill_wait_s=2, grace_s=3, requeue_after_s=5)

    def __enter__(self):
        self.cluster.start()
        self.allocation = Allocation(self.cluster, NODES)
        return self

    def __exit__(self, *_):
        self.cluster.close()

    def environment(self, **more):
        return clean_environment(**self.allocation.environment(), **{MARKER: self.marker}, **more)

    def words(self):
        return ("srun", f"--jobid={self.allocation.job}", f"--nodes={NODES}",
                f"--ntasks={NODES}", "--ntasks-per-node=1", "--overlap")

    def empty(self):
        self.cluster.expect_empty()

    def agents_ms(self):
        with Scratch() as folder:
            start = time.monotonic_ns()
            self.cluster.run(ROBUSTRUN, "--run-dir", folder / "run", "--no-python", "/bin/true",
                             env=self.environment(), cwd=folder)
            joined = journal.read(folder / "run" / "journal").of("AgentJoined")
            assert len({record.node for record in joined}) == NODES, "not all agents connected"
            self.empty()
            return (max(record.at for record in joined) - start) / 1e6

    def true_ms(self):
        start = time.monotonic_ns()
        self.cluster.run(*self.words(), "/bin/true")
        return (time.monotonic_ns() - start) / 1e6

    def job_ms(self, command, **more):
        """Milliseconds until every rank has done its first step; then ends the command."""
        with Scratch() as folder:
            start = time.monotonic_ns()
            process = self.cluster.daemon(*(str(word) for word in command(folder)), cwd=folder,
                                          **more)
            try:
                wait_for(lambda: len(list(folder.glob("step.*[0-9]"))) == NODES,
                         f"the first step of {NODES} ranks", 180)
                steps = [int(path.read_text()) for path in folder.glob("step.*[0-9]")]
            finally:
                process.terminate()
                self.cluster.reap(process)
            self.empty()
            return (max(steps) - start) / 1e6

    def our_job_ms(self):
        pairs = [f"{name}={value}" for name, value in self.allocation.environment().items()]
        return self.job_ms(lambda folder: (
            "env", *pairs, f"PYTHON_EXEC={PYTHON}", ROBUSTRUN, "--run-dir", folder / "run", JOB,
            folder))

    def bare_job_ms(self):
        script = (f"export RANK=$SLURM_PROCID WORLD_SIZE={NODES} LOCAL_RANK=0 OMP_NUM_THREADS=1 "
                  f"MASTER_ADDR=127.0.0.1 MASTER_PORT={free_port()}; exec {PYTHON} {JOB} $0")
        return self.job_ms(lambda folder: (*self.words(), "sh", "-c", script, folder))


def measure(quick):
    with Bench() as bench:
        agents, true = in_turns(QUICK.rounds if quick else ROUNDS, bench.agents_ms, bench.true_ms)
        yield Figure(f"{NODES} agents connected", "ms", agents, true, f"at most {AGENTS_RATIO_MAX}",
                     median_ratio(agents, true) <= AGENTS_RATIO_MAX, "peer: srun /bin/true")
        ours, bare = in_turns(1 if quick else JOB_ROUNDS, bench.our_job_ms, bench.bare_job_ms)
        yield Figure(f"first step of {NODES} ranks", "ms", ours, bare, "never slower",
                     median_ratio(ours, bare) <= START_RATIO_MAX, "peer: srun python")
