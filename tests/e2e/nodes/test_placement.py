"""Which rank runs on which node when the network is known, and which spare replaces a lost node.

Six hosts below two switches, four places and two spares, one below each switch. --affinity=1 makes
two pairs of places that want to be below one switch each.
"""

import json

import pytest
from helpers.jobs import fields, lockstep, start_job
from recovery.test_resume import kill_supervisor, resume

RUN_STARTED = 1  # kind of the journal's record
LEAVES = {"east": ["h1", "h4", "h5"], "west": ["h2", "h3", "h6"]}
LEAF_OF = {host: leaf for leaf, hosts in LEAVES.items() for host in hosts}
PLACED = ("--topology=net.toml", "--parallel=pp=2,dp=auto", "--orphan-grace=30")
WORLD = 4


@pytest.fixture
def placed(farm, robustrun):
    tables = [f'[[switch]]\nname = "{leaf}"\nnodes = {hosts}\n' for leaf, hosts in LEAVES.items()]
    robustrun.write("net.toml", "\n".join(tables))
    hosts = farm(6)

    def start(*arguments):
        job = start_job(
            robustrun, "--hosts=h[1-6]", *PLACED, *arguments, *lockstep(robustrun),
            env=hosts.home.environment(),
        )
        job.moves(world=WORLD)
        return job

    start.hosts = hosts
    return start


def lose_a_node_of_the_last_spares_switch(job, hosts):
    """Loses a node whose replacement, without the topology, would be the first spare. Returns the
    lost node, the right spare, and the expected group."""
    job.wait(lambda: len(job.spares()) == 2, "both spares")
    before = job.group_names()
    spares = [host for host in LEAF_OF if host not in before]
    last = max(spares, key=names_by_number(job).index)
    lost = next(host for host in before if LEAF_OF[host] == LEAF_OF[last])
    hosts[lost].die()
    return lost, last, [last if host == lost else host for host in before]


def names_by_number(job):
    """The order of ranks by the run's specification in the journal."""
    spec = fields(job.records(RUN_STARTED)[0].body[1][0])
    return [fields(node)[1][0].decode() for node in spec[4]]


def report_of(job):
    return json.loads(job.runner.run("report", "--json", job.run).out)


def test_pairs_are_placed_below_one_switch(placed):
    job = placed("--nnodes=4", "--spares=2")
    names = job.group_names()
    # Stages of the pipeline: ranks 0 and 2, 1 and 3.
    assert LEAF_OF[names[0]] == LEAF_OF[names[2]]
    assert LEAF_OF[names[1]] == LEAF_OF[names[3]]
    assert LEAF_OF[names[0]] != LEAF_OF[names[1]]
    job.stop()
    assert "net.toml" in report_of(job)["placement"]


@pytest.mark.parametrize("resumed", [False, True])
def test_the_spare_of_the_same_switch_replaces_a_lost_node(placed, resumed):
    job = placed("--nnodes=4", "--spares=2")
    if resumed:
        kill_supervisor(job)
        job = resume(job, env=placed.hosts.home.environment())
        job.wait(lambda: job.err().count("connected again") >= WORLD, "all agents")
    lost, spare, expected = lose_a_node_of_the_last_spares_switch(job, placed.hosts)
    job.wait(lambda: job.group_names() == expected, "the spare of the same switch")
    job.moves(world=WORLD)
    status = job.runner.run("status", job.run).text
    job.stop()
    words = f"{spare} takes the place of {lost}: both are below leaf {LEAF_OF[spare]}"
    assert words in " ".join(status.split())
    report = report_of(job)
    assert report["placement"] == words
    # On a busy machine another node may have been silent for a moment later.
    assert any(words in incident["decision"] for incident in report["incidents"])


@pytest.mark.parametrize("first", ["h3", "h5"])
def test_rank_0_is_on_the_requested_node(placed, first):
    job = placed("--nnodes=4", "--spares=2", f"--rank0={first}")
    names = job.group_names()
    assert names[0] == first
    assert LEAF_OF[names[0]] == LEAF_OF[names[2]] != LEAF_OF[names[1]] == LEAF_OF[names[3]]
    job.stop()


def test_sizes_that_do_not_fit_a_smaller_group_are_reported(placed):
    job = placed("--include=h[1-4]", "--nnodes=3:4")
    before = job.group_names()
    placed.hosts[before[1]].die()
    job.moves(world=3)
    assert job.group_names() == [host for host in before if host != before[1]]
    job.says("nodes are not placed by topology")
    job.stop()
