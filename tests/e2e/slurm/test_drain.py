"""What Slurm plans for nodes, and what Slurm is told about bad ones. Real Slurm on loopback."""

import json
import os
import re
import signal
import socket
import struct

import pytest
from helpers.jobs import kill_at_once, lockstep
from slurm.jobs import Allocation


def evict(job, node):
    """Asks the run to evict a node, as `robustrun top` does (docs/formats/control-socket.md)."""
    message = json.dumps({"command": "evict", "node": node}).encode()
    with socket.socket(socket.AF_UNIX) as control:
        control.connect((job.run / "control").read_text().splitlines()[0])
        control.sendall(struct.pack("<I", len(message)) + message)
        assert b'"evict"' in control.recv(4096)


@pytest.fixture
def three(slurm, robustrun):
    """Starts the lockstep job on two of three nodes."""
    cluster = slurm(3, options=("RebootProgram=/bin/true",))
    allocation = Allocation(cluster, 3)

    def start(*options):
        job = allocation.start(
            robustrun, "--nnodes=2", "--spares=1", "--orphan-grace=30", "--preflight=off",
            "--slurm-poll=0.3", *options, *lockstep(robustrun),
        )
        job.moves(world=2)
        return job

    start.cluster = cluster
    return start


def scheduler(robustrun, job):
    """Node to what Slurm plans for it, as `robustrun status` tells."""
    status = json.loads(robustrun.run("status", job.run, "--json").text)
    return {node["name"]: node["scheduler"] for node in status["nodes"] if node["scheduler"]}


def test_a_drained_node_is_left_at_the_next_restart_and_a_bad_one_is_drained(three, robustrun):
    cluster = three.cluster
    job = three("--on-bad-node=slurm-drain")
    cluster.drain("n2")
    job.says("n2: Slurm: it is draining (test); a spare takes its place at the next restart")
    assert scheduler(robustrun, job) == {"n2": "it is draining (test)"}
    job.moves(world=2)
    assert job.attempt() == 0
    kill_at_once(job.workers_of(0))
    job.says("n2 is taken out of the run: it is draining (test)")
    job.wait(lambda: job.group_names() == ["n1", "n3"], "the spare in its place")
    job.moves(world=2)
    # Slurm uses it again: it is a spare, which takes the place of a node that is evicted.
    cluster.run("scontrol", "update", "NodeName=n2", "State=RESUME")
    job.says("n2 is a spare again: Slurm uses it again")
    assert scheduler(robustrun, job) == {}
    evict(job, "n3")
    job.says("n3 is evicted: a user's order")
    job.says("--on-bad-node: n3 is drained in Slurm")
    job.wait(lambda: job.group_names() == ["n1", "n2"], "the other spare")
    assert re.search(r"Reason=robustrun .*: a user's order",
                     cluster.run("scontrol", "show", "node", "n3").stdout)
    assert job.err().count("n2: Slurm: it is draining") == 1
    assert job.stop().code == 128 + signal.SIGTERM
    cluster.expect_empty()
    # A list of hosts that is cut is not taken for all of Slurm's.
    tools = robustrun.folder / "tools"
    tools.mkdir()
    for name, does in (("sinfo", "head -c 17000000 /dev/zero"), ("scontrol", "exit 0")):
        (tools / name).write_text(f"#!/bin/sh\n{does}\n")
        (tools / name).chmod(0o755)
    path = f"{tools}:{os.environ['PATH']}"
    asked = robustrun.run("requeue", job.run, env={"SLURM_JOB_ID": "1", "PATH": path})
    assert "hosts that failed the run are not left out: sinfo prints more than" in asked.errors


def test_by_the_policy_a_node_to_be_rebooted_is_left_at_once(three, robustrun):
    policy = robustrun.folder / "policy.toml"
    policy.write_text('[drain]\nact = "now"\n')
    told = robustrun.folder / "told"
    command = robustrun.write("tell.sh", f"cat >> {told}\n")
    job = three(f"--policy={policy}", f"--on-bad-node=/bin/sh {command}")
    three.cluster.run("scontrol", "reboot", "ASAP", "reason=new kernel", "n1")
    job.says("n1: Slurm: it is to be rebooted (")
    job.says("n1 is given back to the scheduler; stopping all workers")
    job.wait(lambda: job.group_names() == ["n3", "n2"], "the spare in its place")
    job.moves(world=2)
    assert "free restart (nothing failed)" in job.err()
    # A node that is left to the scheduler is not bad; one that is evicted is.
    assert not told.exists()
    three.cluster.run("scontrol", "cancel_reboot", "n1")
    job.says("n1 is a spare again")
    evict(job, "n2")
    job.wait(told.exists, "the command")
    job.wait(lambda: told.read_text().endswith("}\n"), "its input")
    evidence = json.loads(told.read_text())
    assert (evidence["nodes"], evidence["why"]) == (["n2"], "n2 is evicted: a user's order")
    assert job.stop().code == 128 + signal.SIGTERM
    three.cluster.expect_empty()
