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
SwitchName=leaf2 Nodes=n3,n5
SwitchName=core Switches=leaf[1-2]
"""


@pytest.fixture
def two(slurm, robustrun):
    """Starts the lockstep job on two nodes of five; the other three are free."""
    cluster = slurm(5, options=("TopologyPlugin=topology/tree", "Licenses=token:1"),
                    files={"topology.conf": TOPOLOGY}, kill_wait_s=5)
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
    job.says(f"job {more} brought n4")  # others are idle as well, but under another switch
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
    # The lost one's agent is launched once more, and then never.
    job.says(f"the agent of n2 cannot be started: Slurm has taken it out of job "
             f"{two.allocation.job}")
    # The job goes with the run.
    assert job.stop().code == 128 + signal.SIGTERM
    cluster.wait_state(more, "COMPLETED", "CANCELLED")
    assert not token.exists()
    wait_for(lambda: not jobs(cluster), what="no job for nodes")


def test_a_job_that_is_no_longer_needed_is_cancelled(two, robustrun):
    cluster = two.cluster
    # All other nodes are taken.
    Allocation(cluster, 3, "--exclusive")
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


def replaced(job, count):
    """The jobs that were queued so far and the nodes that they brought, {id: node}, once there are
    `count` of them, and all ranks do steps."""
    def brought():
        found = re.findall(r"job (\d+) brought (n\d)", job.err())
        return len(found) >= count and {int(more): node for more, node in found}

    found = job.wait(brought, f"{count} nodes from jobs", 120)
    job.moves(world=len(job.group()))
    return found


def test_a_replacement_that_is_lost_is_replaced(two, robustrun):
    cluster = two.cluster
    job = two()
    for number in range(1, 4):
        # First the run's own second node, then the one that came in its place, and so on.
        lost = job.group_names()[1]
        lose(cluster, int(lost[1:]))
        found = replaced(job, number)
        job.wait(lambda lost=lost: lost not in job.group_names(), "a group without the lost node")
        job.moves(world=2)
    assert sorted(found.values()) == ["n3", "n4", "n5"]
    assert job.err().count("is queued for one more (--replace)") == 3
    assert "no node comes in place" not in job.err()
    wait_for(lambda: list(jobs(cluster)) == [max(found)], 30, "the end of jobs of lost nodes")
    excluded = cluster.show(max(found))["ExcNodeList"]
    lost = [node for node in found.values() if node not in job.group_names()]
    assert set(cluster.run("scontrol", "show", "hostnames", excluded).stdout.split()) == {
        "n1", "n2", *lost}
    assert job.stop().code == 128 + signal.SIGTERM
    wait_for(lambda: not jobs(cluster), what="no job for nodes")


def test_two_nodes_lost_one_after_the_other_are_replaced(slurm, robustrun):
    cluster = slurm(5, kill_wait_s=5)
    allocation = Allocation(cluster, 3, "--nodelist=n[1-3]")
    job = allocation.start(
        robustrun, "--nnodes=1:3", "--replace=2", "--slurm-poll=0.3", "--preflight=off",
        "--orphan-grace=30", "--wait-for-nodes=60", *lockstep(robustrun))
    job.moves(world=3)
    for number in (2, 3):
        lose(cluster, number)
        job.moves(world=2)
        replaced(job, number - 1)
        job.moves(world=3)
    assert sorted(job.group_names()) == ["n1", "n4", "n5"]
    assert len(jobs(cluster)) == 2
    assert job.err().count("is queued for one more (--replace)") == 2
    assert job.stop().code == 128 + signal.SIGTERM
    wait_for(lambda: not jobs(cluster), what="no job for nodes")


def test_a_job_that_waits_for_a_host_gets_any_other(two, robustrun):
    cluster = two.cluster
    holder = Allocation(cluster, 1, "--nodelist=n5", "--licenses=token:1")
    job = two("--replace-with=--licenses=token:1", "--slurm-poll=2")
    lose(cluster, 2)
    job.says("is queued for one more (--replace)")
    (more,) = jobs(cluster)
    assert cluster.show(more)["ReqNodeList"] == "n4"  # the idle one under the switch of the run
    job.says(f"job {more} waits in Slurm's queue (Licenses)")
    job.wait(lambda: cluster.show(more)["ReqNodeList"] == "(null)", "a job for any host")
    # Now that host is taken; with the demand for it the job would not start.
    Allocation(cluster, 1, "--nodelist=n4", "--exclusive")
    cluster.cancel(holder.job)
    assert replaced(job, 1)[more] in ("n3", "n5")
    assert job.err().count("is queued for") == 1
    job.stop()


def test_a_slurm_that_refuses_does_not_touch_the_run(two, robustrun):
    job = two("--replace-with=--partition=nowhere")
    lose(two.cluster, 2)
    job.says("no node comes in place of lost ones for now: sbatch ended with exit code 1: ")
    job.moves(world=1)
    assert job.err().count("no node comes in place") == 1
    assert not jobs(two.cluster)
    os.kill(job.process.pid, signal.SIGTERM)
    job.finish()
