"""Nodes in place of lost ones, from jobs of their own (--replace). Real Slurm on loopback."""

import os
import re
import signal
import stat

import pytest
from helpers.jobs import lockstep
from helpers.processes import read_environ, wait_for
from slurm.jobs import Allocation, command, node_of

TOPOLOGY = """
SwitchName=leaf1 Nodes=n[1-2],n4
SwitchName=leaf2 Nodes=n[3]
SwitchName=core Switches=leaf[1-2]
"""


@pytest.fixture
def two(slurm, robustrun):
    """Starts the lockstep job on two nodes of four; the other two are free."""
    cluster = slurm(4, options=("TopologyPlugin=topology/tree",), files={"topology.conf": TOPOLOGY},
                    kill_wait_s=5)
    allocation = Allocation(cluster, 2, "--nodelist=n[1-2]", "--time=60")

    def start(*options, **more):
        job = allocation.start(
            robustrun, "--nnodes=1:2", "--replace=1", "--slurm-poll=0.3", "--preflight=off",
            "--orphan-grace=30", "--wait-for-nodes=60", *options, *lockstep(robustrun), **more,
        )
        job.moves(world=2)
        return job

    start.cluster, start.allocation = cluster, allocation
    return start


def lose(cluster, number):
    cluster[number].die()
    cluster.declare_down(f"n{number}")


def jobs(cluster):
    """{id: (state, nodes)} of the jobs for more nodes."""
    listed = cluster.run("squeue", "--noheader", "--format=%i|%j|%T|%N").stdout
    rows = [line.split("|") for line in listed.splitlines()]
    return {int(job): (state, nodes) for job, name, state, nodes in rows
            if name.startswith("replace-")}


def test_a_lost_node_is_replaced_by_a_job_near_the_run(two, robustrun):
    cluster = two.cluster
    job = two()
    token = job.run / "agents" / "join"
    assert stat.S_IMODE(token.stat().st_mode) == 0o600
    lose(cluster, 2)
    job.says("is queued for one more (--replace)")
    more = int(re.search(r"1 of 2 nodes is there: job (\d+) is queued", job.err())[1])
    job.says(f"job {more} brought n4")  # n3 is idle as well, but under another switch
    job.wait(lambda: job.group_names() == ["n1", "n4"], "the new node")
    job.moves(world=2)
    shown = cluster.show(more)
    assert shown["ExcNodeList"] == "n[1-2]"
    # It has the run's own end, and no secret anywhere that others may read.
    assert shown["Requeue"] == "0"
    assert int(shown["TimeLimit"].split(":")[1]) in (58, 59)
    secret = token.read_text().split()[-1]
    agent = next(pid for pid in job.agents().values() if node_of(pid) == "n4")
    for text in (cluster.run("scontrol", "write", "batch_script", more, "-").stdout.encode(),
                 read_environ(agent), b"\0".join(command(agent))):
        assert secret.encode() not in text
    assert job.err().count("is queued for") == 1
    # The job goes with the run.
    assert job.stop().code == 128 + signal.SIGTERM
    cluster.wait_state(more, "COMPLETED", "CANCELLED")
    assert not token.exists()
    wait_for(lambda: not jobs(cluster), what="no job for nodes")


def test_a_job_that_is_no_longer_needed_is_cancelled(two, robustrun):
    cluster = two.cluster
    # All other nodes are taken.
    Allocation(cluster, 2, "--exclusive")
    job = two()
    lose(cluster, 2)
    job.says("is queued for one more (--replace)")
    job.says("waits in Slurm's queue (")
    (waiting,) = jobs(cluster)
    steps = len(job.lines())
    job.wait(lambda: len(job.lines()) > steps + 20, "steps on one node")
    assert job.stop().code == 128 + signal.SIGTERM
    assert f"the run is over: job {waiting} is cancelled" in job.err()
    wait_for(lambda: not jobs(cluster), what="no job for nodes")
    assert cluster.state(waiting) == "CANCELLED"


def test_a_slurm_that_refuses_does_not_touch_the_run(two, robustrun):
    job = two("--replace-with=--partition=nowhere")
    lose(two.cluster, 2)
    job.says("no node comes in place of lost ones for now: sbatch ended with exit code 1: ")
    job.moves(world=1)
    assert job.err().count("no node comes in place") == 1
    assert not jobs(two.cluster)
    os.kill(job.process.pid, signal.SIGTERM)
    job.finish()
