"""Somebody sets the clock while a job runs: robustrun counts by the monotonic one alone."""

import time

import pytest
from helpers.fake_clock import HOUR_S, FakeClock, is_under, log_offset
from helpers.jobs import lockstep, start_job
from helpers.processes import wait_for

# Short, and yet long enough for a machine that has much else to do.
LEASE = ("--heartbeat-interval=0.2", "--node-suspect-after=2", "--node-lost-after=3",
         "--orphan-grace=3")
JUMPS = (HOUR_S, -HOUR_S, 0)
# Longer than any lease of these, at the pace of lockstep().
STEPS_PER_JUMP = 170
STEPS = 1000


@pytest.fixture
def clock(robustrun):
    return FakeClock(robustrun.folder)


def note_the_time(job):
    """A harmless drill, for a line in the log: seconds by which the supervisor's clock is off."""
    before = job.err().count("injected fault")
    done = job.runner.run("inject", str(job.run), "stop", "--rank=1", "--for=0.01")
    assert done.code == 0, done.errors

    def line():
        lines = [text for text in job.err().splitlines() if "injected fault" in text]
        return lines[-1] if len(lines) > before else None

    return log_offset(wait_for(line, what="the drill in the log"))


def run_through_jumps(job, clock, world, supervisor_is_off):
    """The job does not even notice, and its report counts in true seconds."""
    begun, begun_at = time.monotonic(), time.time()
    job.moves(world=world)
    for jump in JUMPS:
        clock.set(jump)
        assert abs(clock.seen_by_programs() - jump) < 60
        assert abs(note_the_time(job) - (jump if supervisor_is_off else 0)) < 60
        job.moves(world=world, more=STEPS_PER_JUMP)
    finished = job.finish()
    taken = time.monotonic() - begun
    assert finished.code == 0, finished.errors
    assert (job.attempt(), job.losses(), job.joins()) == (0, [], world)
    report = job.runner.report(job.run)
    assert report["incidents"] == []
    assert STEPS_PER_JUMP * len(JUMPS) * 0.02 < report["duration_s"] < taken + HOUR_S / 10
    assert abs(report["started_s"] - begun_at) < HOUR_S / 10
    assert [fault["kind"] for fault in report["injected"]] == ["stop"] * len(JUMPS)
    times = [fault["at_s"] for fault in report["injected"]]
    assert times == sorted(times) and 0 < times[0] and times[-1] < report["duration_s"]
    assert "suspected" not in finished.errors
    job.runner.expect_nothing_left()


def test_the_clock_of_one_machine_jumps(nodes, clock):
    """Under the supervisor and all agents."""
    job = nodes("--nnodes=3", *LEASE, *lockstep(nodes.runner, STEPS), env=clock.environment())
    job.moves(world=3)
    assert all(map(is_under, [job.pid, *job.agents().values()]))
    run_through_jumps(job, clock, 3, supervisor_is_off=True)


@pytest.mark.parametrize(
    "where", ["node", pytest.param("supervisor", marks=pytest.mark.nightly)])
def test_the_clock_of_one_of_many_machines_jumps(farm, robustrun, clock, where):
    hosts = farm(3)
    if where == "node":
        hosts["h2"].restart_with(clock.environment())
    more = clock.environment() if where == "supervisor" else {}
    job = start_job(robustrun, "--hosts=h[1-3]", *LEASE, *lockstep(robustrun, STEPS),
                    env={**hosts.home.environment(), **more})
    job.moves(world=3)
    off = [job.pid] if where == "supervisor" else [job.agents()[1]]
    for pid in [job.pid, *job.agents().values()]:
        assert is_under(pid) == (pid in off)
    run_through_jumps(job, clock, 3, supervisor_is_off=where == "supervisor")
    hosts.expect_empty()


@pytest.mark.parametrize("jump", [HOUR_S, -HOUR_S])
def test_an_agent_is_let_in_whose_clock_is_an_hour_off(farm, robustrun, clock, jump):
    """Both ends check each other's certificates by their own clock."""
    hosts = farm(2)
    clock.set(jump)
    hosts["h2"].restart_with(clock.environment())
    job = start_job(robustrun, "--hosts=h[1-2]", *LEASE, *lockstep(robustrun, 20),
                    env=hosts.home.environment())
    job.moves(world=2)
    assert is_under(job.agents()[1]) and not is_under(job.agents()[0])
    finished = job.finish()
    assert finished.code == 0, finished.errors
    assert job.losses() == []
    hosts.expect_empty()
