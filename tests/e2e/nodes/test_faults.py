"""Agents, workers and whole nodes that die or hang at random times, on one machine with one agent
per node. The job goes on or ends with the cause, and leaves nothing behind.

Rounds and seeds: nodes.rounds(). A seed's test draws the same victims and delays each time.
"""

import os
import signal
import time

import pytest
from helpers.jobs import (
    QUICK,
    descendants,
    dice,
    kill_at_once,
    lockstep,
    rounds,
    start_job,
    wait_until_gone,
)
from helpers.processes import is_alive, wait_for

WORLD = 4
PATIENT = ("--max-restarts=1000",)  # of workers that tests kill


def four_nodes(nodes, *arguments, steps=10**9, **options):
    job = nodes(
        f"--nnodes={WORLD}", "--spares=1", *PATIENT, *arguments, *lockstep(nodes.runner, steps),
        **options,
    )
    return job


def victims(job, kind, draw):
    """Pids of the processes that a fault of this kind ends."""
    group = draw.sample(job.group(), 2)
    agents = job.agents()
    workers = [job.node_workers(node) for node in group]
    return {
        "agent": lambda: [agents[group[0]]],
        "worker": lambda: workers[0],
        "two agents": lambda: [agents[node] for node in group],
        "two workers": lambda: workers[0] + workers[1],
        "agent and worker": lambda: [agents[group[0]], *workers[1]],
        "agent and its worker": lambda: [agents[group[0]], *workers[0]],
        "node": lambda: job.node_processes(group[0]),
        "two nodes": lambda: job.node_processes(group[0]) + job.node_processes(group[1]),
        "spare": lambda: [agents[node] for node in job.spares()[:1]],
    }[kind]()


def strike(job, kind, draw):
    """Ends a process of a working group; tries again if the group was just changing."""
    while True:
        try:
            pids = victims(job, kind, draw)
        except KeyError:  # an agent that is being lost
            pids = []
        if pids:
            break
        time.sleep(0.01)
    kill_at_once(pids)
    return pids


KINDS = [
    "agent", "worker", "two agents", "two workers", "agent and worker", "agent and its worker",
    "node", "two nodes",
]


@rounds(1)
def test_the_job_survives_any_death_while_it_runs(nodes, seed):
    draw = dice(seed, "running")
    job = four_nodes(nodes)
    job.moves(world=WORLD)
    for kind in draw.sample(KINDS, len(KINDS)):
        print("seed", seed, "kills", kind)
        time.sleep(draw.uniform(0, 0.3))
        attempt = job.attempt()
        dead = strike(job, kind, draw)
        job.wait(lambda before=attempt: job.attempt() > before, f"a new attempt after {kind}")
        wait_until_gone(dead, 20)
        job.moves(world=WORLD)
    assert job.stop().code == 128 + signal.SIGTERM
    nodes.runner.expect_nothing_left()


@rounds(2)
def test_the_job_survives_deaths_during_a_restart(nodes, seed):
    draw = dice(seed, "restart")
    job = four_nodes(nodes)
    job.moves(world=WORLD)
    for _ in range(3):
        first, second = draw.choice(KINDS), draw.choice(["agent", "node", "two agents"])
        print("seed", seed, "kills", first, "then", second)
        strike(job, first, draw)
        time.sleep(draw.uniform(0, 0.25))
        strike(job, second, draw)
        job.moves(world=WORLD, deadline_s=120)
    assert job.stop().code == 128 + signal.SIGTERM
    nodes.runner.expect_nothing_left()


@rounds(4)
def test_the_job_survives_a_death_while_it_starts(nodes, seed):
    draw = dice(seed, "start")
    job = four_nodes(nodes, steps=25)
    time.sleep(draw.uniform(0, 0.4))
    # Whatever runs by now: agents that have not connected, shims, workers.
    agents = job.children()
    if agents:
        agent = draw.choice(agents)
        pids = [agent] if draw.random() < 0.5 else [agent, *descendants(agent)]
        print("seed", seed, "kills", pids)
        kill_at_once(pids)
    finished = job.finish()
    assert finished.code == 0, finished.errors
    assert job.lines()[-1][1:] == (25, WORLD)
    nodes.runner.expect_nothing_left()


@rounds(3)
def test_a_death_at_the_end_prevents_neither_the_end_nor_the_exit_code(nodes, seed):
    draw = dice(seed, "shutdown")
    how = draw.choice([signal.SIGTERM, signal.SIGINT])
    job = four_nodes(nodes, "--shutdown-timeout=5")
    job.moves(world=WORLD)
    everyone = [pid for node in job.agents() for pid in job.node_processes(node)]
    job.process.send_signal(how)
    time.sleep(draw.uniform(0, 0.1))
    kill_at_once(draw.sample(everyone, 3))
    assert job.finish(90).code == 128 + how
    nodes.runner.expect_nothing_left()


def test_a_second_interrupt_ends_stubborn_workers_on_every_node(nodes):
    nodes.runner.write(
        "stubborn.py",
        "import os, signal, time\nrank = os.environ['RANK']\n"
        "signal.signal(signal.SIGINT, lambda *_: open('asked.' + rank, 'w').close())\n"
        "open('ready.' + rank, 'w').close()\nwhile True: time.sleep(1)\n",
    )
    job = nodes("--nnodes=3", "--nproc-per-node=2", "--shutdown-timeout=600", "stubborn.py")
    for word in ("ready", "asked"):
        for rank in range(6):
            job.wait((nodes.runner.folder / f"{word}.{rank}").exists, f"{word}.{rank}")
        job.process.send_signal(signal.SIGINT)
    assert job.finish(90).code == 130
    nodes.runner.expect_nothing_left()


# --- agents that hang ---------------------------------------------------------------------------


@pytest.mark.parametrize("seconds", [1, 5])
def test_a_short_hang_of_an_agent_changes_nothing(nodes, seconds):
    job = nodes("--nnodes=2", "--spares=1", "--node-suspect-after=3", *lockstep(nodes.runner))
    job.moves()
    agent = job.agents()[job.group()[1]]
    os.kill(agent, signal.SIGSTOP)
    try:
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            job.moves(deadline_s=5)  # the workers do not need it
    finally:
        os.kill(agent, signal.SIGCONT)
    job.moves()
    assert (job.attempt(), job.losses(), job.groups_formed()) == (0, [], 1)
    if seconds > 3:
        job.says("suspected")
        job.says("heard again")
    assert job.stop().code == 128 + signal.SIGTERM


def test_a_hung_agent_is_not_given_up_while_its_ranks_take_part(nodes):
    job = nodes("--nnodes=2", "--spares=1", *QUICK, *lockstep(nodes.runner))
    job.moves()
    agent = job.agents()[job.group()[1]]
    os.kill(agent, signal.SIGSTOP)
    end = time.monotonic() + 5  # --node-lost-after is 2 s
    while time.monotonic() < end:
        job.moves(deadline_s=5)
    os.kill(agent, signal.SIGCONT)
    job.moves()
    assert (job.attempt(), job.losses()) == (0, [])
    job.stop()


def test_a_hung_node_is_given_up_after_ten_seconds_and_replaced(nodes):
    """With the default lease: agent and worker are stopped, so the others wait in vain."""
    job = nodes("--nnodes=2", "--spares=1", *lockstep(nodes.runner))
    job.moves()
    node = job.group()[1]
    pids = job.node_processes(node)
    kill_at_once(pids, signal.SIGSTOP)
    began = time.monotonic()
    job.wait(job.losses, "the loss")
    silence = time.monotonic() - began
    job.moves(world=2)
    assert 9.0 < silence < 25
    assert job.losses()[0][0] == node
    assert "was silent for" in job.losses()[0][1]
    # It was killed when another agent took its place.
    wait_until_gone(pids, 20)
    job.stop()
    nodes.runner.expect_nothing_left()


# --- the supervisor dies ------------------------------------------------------------------------


@rounds(2)
def test_nothing_survives_the_supervisor_beyond_the_orphan_grace(nodes, seed):
    draw = dice(seed, "supervisor")
    job = four_nodes(nodes, "--orphan-grace=2")
    job.moves(world=WORLD)
    time.sleep(draw.uniform(0, 0.3))
    workers = job.workers_of()
    assert len(workers) == WORLD
    job.process.kill()
    job.end()
    nodes.runner.expect_nothing_left()


def test_workers_go_on_for_the_orphan_grace(nodes):
    # No standby workers, which end at another time.
    job = nodes("--nnodes=2", "--orphan-grace=6", "--standby=off", *lockstep(nodes.runner))
    job.moves(world=2)
    workers = job.workers_of()
    assert len(workers) == 2
    job.process.kill()
    job.end()
    before = len(job.lines())
    wait_for(lambda: len(job.lines()) > before + 10, 5, "steps without a supervisor")
    assert all(map(is_alive, workers))
    nodes.runner.expect_nothing_left()


def test_without_orphan_grace_nothing_survives_the_supervisor(nodes):
    job = nodes("--nnodes=2", "--orphan-grace=0", *lockstep(nodes.runner))
    job.moves(world=2)
    job.process.kill()
    job.end()
    nodes.runner.expect_nothing_left()


@rounds(2)
def test_supervisor_and_agent_at_once_leave_nothing(nodes, seed):
    draw = dice(seed, "supervisor and agent")
    job = four_nodes(nodes, "--orphan-grace=2")
    job.moves(world=WORLD)
    kill_at_once([job.pid, draw.choice(list(job.agents().values()))])
    job.end()
    nodes.runner.expect_nothing_left()


def test_the_journal_names_the_cause_of_an_unfinished_run(nodes):
    job = four_nodes(nodes, "--orphan-grace=1")
    job.moves(world=WORLD)
    node = job.group()[2]
    os.kill(job.agents()[node], signal.SIGKILL)
    job.moves(world=WORLD)
    job.process.kill()
    job.end()
    report = nodes.runner.report(job.run)
    assert report["outcome"] == "unfinished"
    assert "agent" in report["incidents"][0]["ended"]
    nodes.runner.expect_nothing_left()


# --- exhaustion ---------------------------------------------------------------------------------


def limited(soft):
    import resource

    return lambda: resource.setrlimit(resource.RLIMIT_NOFILE, (soft, soft))


def test_few_descriptors_are_enough_for_four_nodes(nodes):
    job = four_nodes(nodes, steps=60, preexec_fn=limited(64))
    job.moves(world=WORLD)
    kill_at_once([job.agents()[job.group()[1]]])
    finished = job.finish()
    assert finished.code == 0, finished.errors
    nodes.runner.expect_nothing_left()


@pytest.mark.parametrize("limit", [12, 16, 20, 28, 32])
def test_too_few_descriptors_are_reported(nodes, limit):
    """No matter how early they run out: the job succeeds, or an error gives the cause."""
    job = nodes("--nnodes=3", *lockstep(nodes.runner, 20), preexec_fn=limited(limit))
    finished = job.finish()
    assert finished.code in (0, 1, 2, 94), finished.errors
    if finished.code:
        assert "open files" in finished.errors or "descriptors" in finished.errors
    nodes.runner.expect_nothing_left()


@pytest.mark.skipif(os.geteuid() != 0, reason="mounting a small disk takes root")
def test_a_full_disk_under_the_run_directory_does_not_stop_the_job(nodes):
    import subprocess

    mount = nodes.runner.folder / "small"
    mount.mkdir()
    subprocess.run(["mount", "-t", "tmpfs", "-o", "size=256k", "none", mount], check=True)
    try:
        nodes.runner.write(
            "loud.py",
            "import os, time\nfor n in range(3000): print(f'{n:0120d}', flush=n % 100 == 0)\n"
            "if os.environ['TORCHELASTIC_RESTART_COUNT'] == '0': time.sleep(300)\n",
        )
        job = start_job(
            nodes.runner, "--launcher=processes", "--nnodes=3", "--preflight=off", "loud.py",
            run="small/run",
        )
        job.wait(lambda: job.out().count("\n") >= 9000, "all lines on the console")
        kill_at_once([job.agents()[1]])
        finished = job.finish()
        assert finished.code == 0, finished.errors
        assert finished.text.count("\n") == 18000
        assert "No space left" in finished.errors
    finally:
        subprocess.run(["umount", "-l", mount], check=True)
    nodes.runner.expect_nothing_left()


def test_a_missing_script_starts_nothing(nodes):
    finished = nodes("--nnodes=2", "no-such-script.py").finish()
    assert finished.code == 2
    assert "no-such-script.py" in finished.errors
    nodes.runner.expect_nothing_left()
