"""Runs of robustrun in allocations of a private Slurm cluster (cluster.py)."""

import contextlib
import pathlib
import re

from helpers.jobs import start_job


class Allocation:
    """An allocation as the shell of salloc has it, on no node; kept until the cluster's end."""

    def __init__(self, cluster, nodes, *options):
        self.cluster, self.size = cluster, nodes
        said = cluster.run(
            "salloc", "--no-shell", "--no-kill", f"--nodes={nodes}", "--ntasks-per-node=1", *options
        ).stderr
        self.job = int(re.search(r"Granted job allocation (\d+)", said)[1])
        self.nodes = cluster.show(self.job)["NodeList"]

    def environment(self):
        return {
            **self.cluster.environment(),
            "SLURM_JOB_ID": str(self.job),
            "SLURM_JOBID": str(self.job),
            "SLURM_JOB_NODELIST": self.nodes,
            "SLURM_NODELIST": self.nodes,
            "SLURM_JOB_NUM_NODES": str(self.size),
            "SLURM_NNODES": str(self.size),
            # Our step does not use the allocation's number of tasks.
            "SLURM_NTASKS_PER_NODE": "7",
            "SLURM_NTASKS": "3",
            "SLURM_CPUS_PER_TASK": "2",
            "SLURM_MEM_PER_CPU": "1",
            "SLURM_MEM_PER_NODE": "1",
        }

    def start(self, runner, *arguments, env=None, **options):
        return start_job(
            runner, *arguments, env={**self.environment(), **(env or {})}, **options
        )

    def run(self, runner, *arguments, env=None, **options):
        return runner.run(*arguments, env={**self.environment(), **(env or {})}, **options)


def sruns(job):
    """Pids of robustrun's sruns and of their helpers."""
    return [
        pid for pid in job.runner.marked()
        if any(word.startswith(b"--job-name=robustrun-") for word in command(pid))
    ]


def command(pid):
    with contextlib.suppress(OSError):
        return pathlib.Path(f"/proc/{pid}/cmdline").read_bytes().split(b"\0")
    return []


def environ(pid):
    with contextlib.suppress(OSError):
        return pathlib.Path(f"/proc/{pid}/environ").read_bytes()
    return b""


def node_of(pid):
    """The name of the node on which Slurm started this process."""
    found = re.search(rb"SLURMD_NODENAME=([^\0]*)", environ(pid))
    return found[1].decode() if found else None
