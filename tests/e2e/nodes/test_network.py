"""Machines that lose their network or their power: namespaces with veth cables on a bridge, an sshd
in each. Heartbeats are five times a second, except in tests of the default."""

import os
import signal
import subprocess
import sys
import time

import pytest
from helpers.jobs import (
    AGENT_JOINED,
    QUICK,
    dice,
    listening_ports,
    lockstep,
    rounds,
    start_job,
    wait_until_gone,
)
from helpers.processes import read_environ


@pytest.fixture
def run(robustrun):
    def start(lab, *arguments, **options):
        return start_job(
            robustrun, f"--hosts=h[1-{len(lab.machines)}]", "--iface=eth0", *arguments,
            env=lab.home.environment(), prefix=lab.prefix, **options,
        )

    return start


@pytest.mark.parametrize(("transport", "six"), [  # each of both once, the other pairs nightly
    ("libssh2", True), ("openssh", False),
    pytest.param("libssh2", False, marks=pytest.mark.nightly),
    pytest.param("openssh", True, marks=pytest.mark.nightly),
])
def test_a_job_runs_on_machines_of_one_network(lab, run, robustrun, six, transport):
    machines = lab(3, six=six)
    job = run(machines, f"--ssh-transport={transport}", *lockstep(robustrun, 20))
    finished = job.finish()
    assert finished.code == 0, finished.errors
    assert job.group_names() == ["h1", "h2", "h3"]
    assert machines["h1"].address in finished.errors  # the table of nodes
    assert job.lines()[-1] == (0, 20, 3)
    for machine in machines.machines.values():
        wait_until_gone(machine.agents(), 20)


def test_a_spare_replaces_a_node_ten_seconds_after_its_cable_is_pulled(lab, run, robustrun):
    machines = lab(3)
    job = run(machines, "--nnodes=2", "--orphan-grace=1", *lockstep(robustrun))
    job.moves(world=2)
    job.wait(job.spares, "the spare")
    far = machines["h2"]
    workers, agents = far.workers(), far.agents()
    assert len(workers) == 1 and len(agents) == 1
    far.pull()
    began = time.monotonic()
    job.says("suspected", 8)  # before it is convicted
    job.wait(lambda: job.group_names() == ["h1", "h3"], "the spare in its place")
    took = time.monotonic() - began
    assert 9.0 < took < 25
    job.moves(world=2)
    assert "does not answer" in job.losses()[0][1]
    # The other side gets no message: it counts its own time.
    wait_until_gone([*workers, *agents], 60)
    job.stop()
    robustrun.expect_nothing_left()


def test_a_machine_without_power_is_replaced(lab, run, robustrun):
    machines = lab(3)
    job = run(machines, "--nnodes=2", *QUICK, *lockstep(robustrun))
    job.moves(world=2)
    job.wait(job.spares, "the spare")
    machines["h1"].lose_power()
    job.wait(lambda: job.group_names() == ["h3", "h2"], "the spare in its place")
    job.moves(world=2)
    job.stop()
    robustrun.expect_nothing_left()


@pytest.mark.parametrize("lease", ["default", pytest.param("quick", marks=pytest.mark.nightly)])
def test_a_cable_that_is_plugged_in_again_in_time_changes_nothing(lab, run, robustrun, lease):
    machines = lab(3)
    # The quick one twice as long as QUICK's: TCP tries again after 0.2, 0.6, 1.4 and 3 s.
    options = () if lease == "default" else (*QUICK, "--node-lost-after=4")
    job = run(machines, "--nnodes=2", *options, *lockstep(robustrun))
    job.moves(world=2)
    machines["h2"].pull()
    if lease == "default":
        job.says("suspected", 6)
    else:
        time.sleep(1.0)
    machines["h2"].plug()
    job.moves(world=2)
    job.moves(world=2, more=50)
    assert (job.attempt(), job.losses(), job.groups_formed()) == (0, [], 1)
    job.stop()
    robustrun.expect_nothing_left()


@pytest.mark.parametrize(
    "direction", ["output", pytest.param("input", marks=pytest.mark.nightly)])
def test_a_one_way_partition_is_a_loss_and_both_sides_know(lab, run, robustrun, direction):
    machines = lab(3)
    job = run(machines, "--nnodes=2", *QUICK, *lockstep(robustrun))
    job.moves(world=2)
    job.wait(job.spares, "the spare")
    far = machines["h2"]
    left = [*far.workers(), *far.agents()]
    far.drop(direction)
    job.wait(lambda: job.group_names() == ["h1", "h3"], "the spare in its place")
    job.moves(world=2)
    wait_until_gone(left, 60)
    job.stop()
    robustrun.expect_nothing_left()


def test_an_agent_that_comes_back_too_late_is_refused_and_kills_its_workers(lab, run, robustrun):
    machines = lab(3)
    job = run(machines, "--nnodes=2", *QUICK, "--orphan-grace=300", *lockstep(robustrun))
    job.moves(world=2)
    job.wait(job.spares, "the spare")
    far = machines["h2"]
    workers, agents = far.workers(), far.agents()
    far.pull()
    job.wait(lambda: job.group_names() == ["h1", "h3"], "the spare in its place")
    job.moves(world=2)
    assert far.workers() == workers, "cut off, it does not know yet"
    attempt = job.attempt()
    far.plug()
    wait_until_gone([*workers, *agents], 60)
    job.moves(world=2)
    assert job.attempt() == attempt, "what comes back does not disturb the others"
    # Later its machine is a spare again.
    job.wait(job.spares, "the machine as a spare", 150)
    job.stop()
    robustrun.expect_nothing_left()


def test_a_supervisor_cut_off_for_a_while_ends_nothing(lab, run, robustrun):
    """All processes live, but the supervisor is cut off for a while: the workers go on."""
    machines = lab(3)
    job = run(machines, "--nnodes=3", *lockstep(robustrun))
    job.moves(world=3)
    machines.within_hub("ip", "link", "set", "cable", "down")
    end = time.monotonic() + 4
    while time.monotonic() < end:
        job.moves(world=3, deadline_s=5)
    machines.within_hub("ip", "link", "set", "cable", "up")
    job.moves(world=3)
    job.says("heard again")
    assert (job.attempt(), job.losses()) == (0, [])
    job.stop(90)
    robustrun.expect_nothing_left()


def test_workers_outlive_an_absent_supervisor_only_for_the_grace_period(lab, run, robustrun):
    machines = lab(2)
    job = run(machines, *QUICK, *lockstep(robustrun))
    job.moves(world=2)
    left = [p for m in machines.machines.values() for p in [*m.workers(), *m.agents()]]
    assert len(left) == 4
    machines.within_hub("ip", "link", "set", "cable", "down")
    wait_until_gone(left, 60)
    job.process.kill()
    job.end()
    robustrun.expect_nothing_left()


@rounds(1)
def test_cables_and_power_fail_at_random(lab, run, robustrun, seed):
    """Four machines for a group of three, any one of them away at a time."""
    draw = dice(seed, "cables")
    machines = lab(4)
    job = run(machines, "--nnodes=3", "--max-restarts=1000", *QUICK, *lockstep(robustrun))
    job.moves(world=3)
    for _ in range(2):
        job.wait(job.spares, "a spare", 150)
        time.sleep(draw.uniform(0, 0.5))
        victim = machines[draw.choice(job.group_names())]
        how = draw.choice(["pull", "lose_power", "crash", "input", "output"])
        print("seed", seed, how, victim.name)
        if how in ("input", "output"):
            victim.drop(how)
        else:
            getattr(victim, how)()
        # On a busy machine another one may fail meanwhile; it is retried after 40 s.
        job.wait(lambda name=victim.name: name not in job.group_names(), "a group without it", 150)
        job.moves(world=3)
        if how in ("input", "output"):
            victim.pass_all()
        elif how == "pull":
            victim.plug()
        else:
            victim.boot()
    job.stop()
    robustrun.expect_nothing_left()


def test_a_flood_before_the_first_agent_does_not_delay_it(lab, robustrun):
    """The agents' addresses are known because the user has named the hosts."""
    machines = lab(2)
    sshds = [machine.init for machine in machines.machines.values()]

    def joined_within():
        for pid in sshds:
            os.kill(pid, signal.SIGSTOP)
        job = start_job(robustrun, "--hosts=10.77.0.[1-2]", "--iface=eth0", "--standby=off",
                        *lockstep(robustrun), env=machines.home.environment(),
                        prefix=machines.prefix)
        job.wait(lambda: listening_ports(job.pid), "the port")
        (port,) = listening_ports(job.pid)
        machines.flood(port)
        began = time.monotonic()
        for pid in sshds:
            os.kill(pid, signal.SIGCONT)
        job.wait(lambda: len(job.records(AGENT_JOINED)) == 2, "the agents")
        return job, time.monotonic() - began

    job, took_s = joined_within()
    for _ in range(4):
        if took_s < 5:  # as strangers they need 7 s at least
            break
        job.stop()  # they were slow because others compute on this machine
        job, took_s = joined_within()
    assert took_s < 5
    job.moves(world=2)
    job.stop()


# A client of torch's store; prints how many bytes of the answer to a ping it gets.
PING = """
import socket, struct, sys
with socket.create_connection((sys.argv[1], int(sys.argv[2])), 20) as store:
    try:
        store.sendall(bytes(1) + struct.pack("<I", 0x3C85F7CE) + bytes([13]) + b"ping")
        print(len(store.recv(4)))
    except ConnectionError:
        print(0)
"""


def test_the_store_of_the_ranks_serves_machines_of_the_run_alone(lab, robustrun):
    machines = lab(3)
    job = start_job(robustrun, "--hosts=h[1-2]", "--iface=eth0", *lockstep(robustrun),
                    env=machines.home.environment(), prefix=machines.prefix)
    job.moves(world=2)
    worker = read_environ(machines["h1"].workers()[0]).decode().split("\0")
    variables = dict(each.split("=", 1) for each in worker if "=" in each)
    assert variables["TORCHELASTIC_USE_AGENT_STORE"] == "True"

    def answer_to(machine):
        return int(subprocess.run(
            ["nsenter", "-t", str(machine.init), "-n", sys.executable, "-c", PING,
             variables["MASTER_ADDR"], variables["MASTER_PORT"]],
            capture_output=True, check=True).stdout)

    assert answer_to(machines["h2"]) == answer_to(machines["h1"]) == 4
    assert answer_to(machines["h3"]) == 0
    job.says(f"has refused a connection from {machines['h3'].address}: no node of this run", 20)
    job.moves(world=2)
    job.stop()
