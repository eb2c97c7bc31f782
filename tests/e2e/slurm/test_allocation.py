"""Runs inside a Slurm allocation: one srun starts all agents."""

import os
import signal

import pytest
from helpers.jobs import kill_at_once, lockstep, wait_until_gone
from helpers.processes import is_alive, wait_for
from slurm.cluster import can_track_by_cgroup
from slurm.jobs import Allocation, node_of, sruns

WORLD = 4


@pytest.fixture
def allocation(slurm):
    cluster = slurm(WORLD)
    return Allocation(cluster, WORLD)


@pytest.fixture
def four(robustrun, allocation):
    """Starts the lockstep job on the nodes of an allocation."""

    def start(*arguments, steps=10**9, **options):
        return allocation.start(
            robustrun, "--orphan-grace=30", "--max-restarts=1000", *arguments,
            *lockstep(robustrun, steps), **options,
        )

    start.allocation = allocation
    return start


def test_a_run_takes_the_whole_allocation_with_one_srun(four):
    job = four(steps=100)
    job.moves(world=WORLD)
    names = {node_of(agent) for agent in job.agents().values()}
    assert names == set(four.allocation.cluster.names)
    assert job.group_names() == four.allocation.cluster.names
    leaders = [pid for pid in sruns(job) if os.getsid(pid) == pid]
    assert len(leaders) == 1
    finished = job.finish()
    assert finished.code == 0, finished.errors
    four.allocation.cluster.expect_empty()


def test_a_check_covers_the_whole_allocation_and_leaves_nothing(robustrun, allocation):
    done = allocation.run(robustrun, "check", timeout=180)
    assert done.code == 0, done.errors
    assert [line.split()[0] for line in done.text.splitlines()[1:] if not line.startswith(" ")] == (
        allocation.cluster.names)
    assert f"pre-flight (fast): {WORLD} nodes checked" in done.errors
    assert list(robustrun.folder.glob("robustrun-runs/*")) == []
    allocation.cluster.expect_empty()


def test_the_supervisor_dies_and_is_replaced_while_the_workers_go_on(four):
    job = four()
    job.moves(world=WORLD)
    workers = job.workers_of()
    assert len(workers) == WORLD
    job.process.kill()
    job.process.wait()
    steps = len(job.lines())
    wait_for(lambda: len(job.lines()) > steps + 20, what="steps without a supervisor")
    again = resume(four, job)
    again.wait(lambda: again.err().count("connected again") >= WORLD, "all agents")
    again.moves(world=WORLD)
    assert again.attempt() == 0
    assert sorted(again.workers_of()) == sorted(workers)
    # It supervises, and starts agents as its predecessor did.
    agent = again.agents()[2]
    kill_at_once([agent])
    again.wait(lambda: again.attempt() == 1, "the next attempt")
    again.moves(world=WORLD)
    assert node_of(again.agents()[2]) == four.allocation.cluster.names[2]
    ended = again.stop()
    assert ended.code == 128 + signal.SIGTERM, ended.errors
    four.allocation.cluster.expect_empty()


def resume(four, job):
    out, err = job.run.with_suffix(".again.out"), job.run.with_suffix(".again.err")
    with open(out, "wb") as out_file, open(err, "wb") as err_file:
        running = job.runner.start("resume", job.run, stdout=out_file, stderr=err_file,
                                   env=four.allocation.cluster.environment())
    return type(job)(job.runner, running.process, job.run, out, err)


@pytest.mark.parametrize("how", [signal.SIGKILL, signal.SIGSTOP])
def test_a_lost_agent_is_replaced_by_a_second_srun(four, how):
    job = four("--node-suspect-after=1", "--node-lost-after=2", "--heartbeat-interval=0.3")
    job.moves(world=WORLD)
    victim = job.agents()[1]
    others = [job.agents()[node] for node in (0, 2, 3)]
    leftovers = [victim, *job.workers_of(1)]
    kill_at_once(leftovers, how)
    job.wait(lambda: job.joins() == WORLD + 1, "another agent")
    job.moves(world=WORLD)
    # The new agent has ended the hung one.
    wait_until_gone(leftovers, 60, "the old agent and its worker")
    assert all(map(is_alive, others))
    assert len([pid for pid in sruns(job) if os.getsid(pid) == pid]) == 2
    if how == signal.SIGKILL:
        # srun's message or the end of the connection, whichever comes first.
        assert [node for node, why in job.losses() if why] == [1]
    assert job.stop().code == 128 + signal.SIGTERM
    four.allocation.cluster.expect_empty()


def test_an_srun_that_is_killed_alone_takes_its_agents_along(four):
    job = four()
    job.moves(world=WORLD)
    old = list(job.agents().values())
    leader = next(pid for pid in sruns(job) if os.getsid(pid) == pid)
    os.kill(leader, signal.SIGKILL)
    wait_until_gone(old, 60, "the agents of the first srun")
    job.wait(lambda: job.joins() == 2 * WORLD, "new agents")
    job.moves(world=WORLD)
    assert job.stop().code == 128 + signal.SIGTERM
    four.allocation.cluster.expect_empty()


def test_an_srun_that_dies_with_its_session_is_not_missed(four):
    job = four()
    job.moves(world=WORLD)
    agents = job.agents()
    kill_at_once(sruns(job))
    job.moves(world=WORLD, more=50)
    assert job.agents() == agents
    assert job.attempt() == 0
    assert not sruns(job)
    assert job.stop().code == 128 + signal.SIGTERM
    four.allocation.cluster.expect_empty()


@pytest.mark.parametrize("ending", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_leaves_nothing(four, ending):
    job = four()
    job.moves(world=WORLD)
    job.process.send_signal(ending)
    assert job.finish().code == 128 + ending
    four.allocation.cluster.expect_empty()
    assert not sruns(job)


def test_agents_that_ignore_the_stop_order_are_ended_by_scancel(four):
    job = four()
    job.moves(world=WORLD)
    hung = job.agents()[3]
    os.kill(hung, signal.SIGSTOP)
    job.process.terminate()
    ended = job.finish()
    assert ended.code == 128 + signal.SIGTERM, ended.errors
    four.allocation.cluster.expect_empty()


def test_a_node_that_is_dead_before_the_start_is_left_out(four):
    cluster = four.allocation.cluster
    cluster[3].die()
    job = four("--nnodes=3", "--spares=1")
    job.moves(world=3, deadline_s=150)
    assert sorted(job.group_names()) == ["n1", "n2", "n4"]
    assert any(node == 2 and "n3" in why and "srun" in why for node, why in job.losses())
    assert job.stop().code == 128 + signal.SIGTERM
    cluster.expect_empty()


def test_a_node_that_slurm_reports_down_is_left_out(four):
    cluster = four.allocation.cluster
    cluster[2].die()
    cluster.declare_down("n2")
    job = four("--nnodes=3", "--spares=1")
    job.moves(world=3, deadline_s=150)
    assert sorted(job.group_names()) == ["n1", "n3", "n4"]
    # Slurm takes it out of the job; where it has not yet, its state is shown.
    assert any(words in why for _, why in job.losses()
               for words in ("Slurm has taken it out of job", "for Slurm it is down")), job.losses()
    assert job.stop().code == 128 + signal.SIGTERM
    cluster.expect_empty()


def test_a_node_that_dies_is_replaced_by_a_spare(four):
    job = four("--nnodes=3", "--spares=1")
    job.moves(world=3)
    four.allocation.cluster[2].die()
    job.wait(lambda: job.group_names() == ["n1", "n4", "n3"], "the spare in its place")
    job.moves(world=3)
    assert job.stop().code == 128 + signal.SIGTERM
    four.allocation.cluster.expect_empty()


@pytest.mark.skipif(not can_track_by_cgroup(), reason="needs the freezer of cgroup v1 and root")
def test_the_same_where_slurm_keeps_steps_in_cgroups(slurm, robustrun):
    cluster = slurm(2, proctrack="cgroup")
    allocation = Allocation(cluster, 2)
    job = allocation.start(robustrun, "--orphan-grace=30", *lockstep(robustrun))
    job.moves(world=2)
    kill_at_once([job.agents()[1]])
    job.wait(lambda: job.attempt() == 1, "the next attempt")
    job.moves(world=2)
    # linuxproc kills workers first, one by one, so they seem to have died on their own.
    for leader in [pid for pid in sruns(job) if os.getsid(pid) == pid]:
        os.kill(leader, signal.SIGKILL)
    job.wait(lambda: job.joins() == 5, "new agents")
    job.moves(world=2)
    restarts = [text for text in job.decisions() if "restart" in text]
    assert "free restart (likely not your code)" in restarts[-1]
    assert job.stop().code == 128 + signal.SIGTERM
    cluster.expect_empty()
