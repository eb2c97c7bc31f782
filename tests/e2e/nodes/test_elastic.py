"""Which nodes form the group when machines come and go: spares, shrinking, growing, waiting. How
soon is measured in bench/."""

import time

import pytest
from helpers.jobs import kill_at_once, lockstep, start_job


@pytest.fixture
def over(robustrun):
    def start(hosts, *arguments):
        return start_job(robustrun, *arguments, env=hosts.home.environment())

    return start


def test_survivors_keep_their_ranks_when_a_spare_comes_in(farm, over, robustrun):
    hosts = farm(5)
    job = over(hosts, "--hosts=h[1-5]", "--spares=1", *lockstep(robustrun))
    job.moves(world=4)
    assert job.group_names() == ["h1", "h2", "h3", "h4"]
    job.wait(job.spares, "the spare")
    hosts["h2"].die()
    job.wait(lambda: job.group_names() == ["h1", "h5", "h3", "h4"], "the spare in its place")
    job.moves(world=4)
    # It was asked, and not waited for until its lease was over.
    assert "was silent for" not in job.losses()[0][1], job.losses()
    job.stop()


def test_a_second_loss_of_the_same_agent_takes_the_spare(nodes):
    """Once in place, then not again."""
    job = nodes("--nnodes=2", "--spares=1", *lockstep(nodes.runner))
    job.moves(world=2)
    job.wait(job.spares, "the spare")
    first = job.group()
    for expected in (first, [first[0], 2]):
        attempt = job.attempt()
        kill_at_once([job.agents()[first[1]]])
        job.wait(lambda before=attempt: job.attempt() > before, "another attempt")
        job.moves(world=2)
        assert job.group() == expected
    job.stop()
    nodes.runner.expect_nothing_left()


def test_without_a_spare_the_group_shrinks_and_grows_back(farm, over, robustrun):
    hosts = farm(3)
    job = over(hosts, "--hosts=h[1-3]", "--nnodes=2:3", *lockstep(robustrun))
    job.moves(world=3)
    hosts["h2"].die()
    job.moves(world=2)
    assert job.group_names() == ["h1", "h3"]
    job.says("there is no spare: going on with 2 of 3 nodes")
    hosts["h2"].boot()
    job.moves(world=3, deadline_s=150)
    assert sorted(job.group_names()) == ["h1", "h2", "h3"]
    job.says("grows from 2 to 3 nodes")
    finished = job.stop()
    assert finished.code == 143
    assert len(robustrun.report(job.run)["incidents"]) == 2
    hosts.expect_empty()
    robustrun.expect_nothing_left()


def test_with_too_few_nodes_it_waits_and_says_for_what(farm, over, robustrun):
    hosts = farm(3)
    job = over(hosts, "--hosts=h[1-3]", "--nnodes=3", *lockstep(robustrun))
    job.moves(world=3)
    hosts["h3"].die()
    job.says("only 2 of the 3 nodes needed")
    said = job.err()
    assert "h3" in said and "waiting for more, at most" in " ".join(said.split())
    assert robustrun.marked()
    count = len(job.lines())
    hosts["h3"].boot()
    job.moves(world=3, deadline_s=150)
    assert job.group_names() == ["h1", "h2", "h3"]
    assert job.lines()[count][0] > job.lines()[count - 1][0], "a new attempt"
    job.stop()
    hosts.expect_empty()
    robustrun.expect_nothing_left()


@pytest.mark.parametrize("wait", ["0", "2s"])
def test_it_does_not_wait_longer_than_told(farm, over, robustrun, wait):
    hosts = farm(2)
    job = over(hosts, "--hosts=h[1-2]", f"--wait-for-nodes={wait}", *lockstep(robustrun))
    job.moves(world=2)
    hosts["h2"].die()
    began = time.monotonic()
    finished = job.finish(90)
    assert finished.code == 94, finished.errors
    assert time.monotonic() - began >= (2 if wait == "2s" else 0)
    assert "h2" in finished.errors
    report = robustrun.report(job.run)
    assert report["outcome"] == "failed" and "needed" in report["reason"]
    hosts.expect_empty()
    robustrun.expect_nothing_left()


def test_hosts_beyond_nnodes_are_spares(farm, over, robustrun):
    hosts = farm(3)
    job = over(hosts, "--hosts=h[1-3]", "--nnodes=1", *lockstep(robustrun))
    job.moves(world=1)
    job.wait(lambda: len(job.spares()) == 2, "two spares")
    hosts["h1"].die()
    job.moves(world=1)
    assert job.group_names() in (["h2"], ["h3"])
    job.stop()


def test_rank_0_is_where_it_was_asked_for(farm, over, robustrun):
    hosts = farm(3)
    job = over(hosts, "--hosts=h[1-3]", "--rank0=h2", *lockstep(robustrun, 3))
    finished = job.finish()
    assert finished.code == 0, finished.errors
    assert job.group_names() == ["h2", "h1", "h3"]


def test_a_lost_spare_disturbs_nobody_and_comes_back(farm, over, robustrun):
    hosts = farm(3)
    job = over(hosts, "--hosts=h[1-3]", "--nnodes=2", *lockstep(robustrun))
    job.moves(world=2)
    job.wait(job.spares, "the spare")
    hosts["h3"].die()
    job.wait(lambda: not job.spares(), "the loss of the spare")
    hosts["h3"].boot()
    job.wait(job.spares, "the spare again", 150)
    job.moves(world=2)
    assert (job.attempt(), job.groups_formed()) == (0, 1)
    job.stop()
