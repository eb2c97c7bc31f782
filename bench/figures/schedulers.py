"""What Slurm does to a job: from a drain, and from a lost node, until all ranks do steps again.

Drain: two nodes and a spare in one allocation, `[drain] act = "now"`; from Slurm's answer that it
drains a node until every rank of a gloo training has done a step on the others. Requeue: a job of
two nodes loses one; from that moment (for Slurm, too, which is told at once) until every rank of
the requeued job has done a step, beside `sbatch --requeue` with torchrun. Slurm holds every
requeued job for REQUEUE_S. The cluster is the one of the tests, on this machine.
"""

import sys
import time
import uuid

import harness
import journal
from sshd import free_port

sys.path.append(str(harness.ROOT / "tests" / "e2e"))
from helpers.runner import MARKER  # noqa: E402
from slurm.cluster import Cluster  # noqa: E402
from slurm.jobs import Allocation  # noqa: E402

RANKS = 2
JOB = harness.ROOT / "bench" / "ddp_job.py"
REQUEUE_S = 5
ROUNDS = 10
DRAIN_MAX_S = 10
REQUEUE_RATIO_MAX = 1.0
QUICK = harness.Quick(55, "1 round instead of 10; torchrun gets what is left of the time")


class Bench:
    """A cluster of three nodes, for one round."""

    def __init__(self):
        self.marker = uuid.uuid4().hex
        self.cluster = Cluster(self.marker, 3, kill_wait_s=5, grace_s=3,
                               requeue_after_s=REQUEUE_S)

    def __enter__(self):
        self.cluster.start()
        return self

    def __exit__(self, *_):
        self.cluster.close()

    def environment(self, **more):
        own = {**self.cluster.environment(), MARKER: self.marker}
        return harness.clean_environment(**own, **more)


def steps(folder):
    """When each process of the job had done its first step, by its rank."""
    return [(int(path.name.split(".")[1]), int(path.read_text()))
            for path in folder.glob("step.*[0-9]")]


def fresh_steps(folder, since, what):
    """When all ranks had done a step in processes that began after `since`."""
    def done():
        times = {rank: at for rank, at in steps(folder) if at > since}
        return len(times) == RANKS and max(times.values())

    return harness.wait_for(done, what, 180)


def drain_ms():
    with Bench() as bench, harness.Scratch() as folder:
        allocation = Allocation(bench.cluster, 3)
        (folder / "policy.toml").write_text('[drain]\nact = "now"\n')
        pairs = [f"{name}={value}" for name, value in allocation.environment().items()]
        run = bench.cluster.daemon(
            "env", *pairs, f"PYTHON_EXEC={harness.PYTHON}", harness.ROBUSTRUN,
            "--run-dir", folder / "run", "--nnodes=2", "--spares=1",
            "--slurm-poll=0.5", "--preflight=off",
            f"--policy={folder / 'policy.toml'}", JOB, folder, cwd=folder)
        try:
            fresh_steps(folder, 0, "the first step of all ranks")
            bench.cluster.drain("n2")
            told = folder / "run" / "journal"
            reports = lambda: journal.read(told).of("NodeHealth")  # noqa: E731
            seen = harness.wait_for(reports, "the drain", 60)[0].at
            return (fresh_steps(folder, seen, "steps on the spare") - seen) / 1e6
        finally:
            run.terminate()
            bench.cluster.reap(run)


def requeue_ms(submit):
    """`submit(bench, folder)` queues the job."""
    with Bench() as bench, harness.Scratch() as folder:
        job = submit(bench, folder)
        fresh_steps(folder, 0, "the first step of all ranks")
        lost = time.monotonic_ns()
        bench.cluster[2].die()
        bench.cluster.declare_down("n2")
        done = fresh_steps(folder, lost, "steps of the requeued job")
        bench.cluster.cancel(job)
        bench.cluster.wait_end(job)
        return (done - lost) / 1e6


def ours(bench, folder):
    out = bench.cluster.run(
        harness.ROBUSTRUN, "submit", "--nodes=2", "--preflight=off", "--wait-for-nodes=0",
        "--sbatch=--output=out.%j", JOB, folder, env=bench.environment(), cwd=folder)
    return int(out.stdout)


def torchruns(bench, folder):
    script = (f"#!/bin/bash\nexport OMP_NUM_THREADS=1\n"
              f"srun --nodes=2 --ntasks-per-node=1 {harness.PYTHON} -m torch.distributed.run "
              f"--nnodes=2 "
              f"--nproc-per-node=1 --rdzv-backend=c10d --rdzv-endpoint=127.0.0.1:{free_port()} "
              f"--rdzv-id=$SLURM_JOB_ID.${{SLURM_RESTART_COUNT:-0}} {JOB} {folder}\n")
    return bench.cluster.sbatch(script, "--requeue", "--nodes=2", "--ntasks-per-node=1",
                                "--exclusive", env=bench.environment(), cwd=folder)


def measure(quick):
    rounds = QUICK.rounds if quick else ROUNDS
    (drains,) = harness.in_turns(rounds, drain_ms)
    yield harness.Figure("drain seen until steps on the spare", "ms", drains, [],
                         f"under {DRAIN_MAX_S} s", max(drains) < DRAIN_MAX_S * 1000)
    our, peer = harness.in_turns(rounds, lambda: requeue_ms(ours),
                                 lambda: harness.or_absent(lambda: requeue_ms(torchruns)))
    our, peer, absent = harness.with_peer(our, peer, "torchrun")
    met = harness.median_ratio(our, peer) <= REQUEUE_RATIO_MAX if peer else None
    yield harness.Figure("node lost until steps of the requeued job", "ms", our, peer,
                         "never slower", met,
                         "; ".join(filter(None, (absent, "peer: sbatch --requeue with torchrun; "
                                                 f"both with Slurm's delay of {REQUEUE_S} s"))))
