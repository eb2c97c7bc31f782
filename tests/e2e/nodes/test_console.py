"""The console of a job on several nodes: which output of its ranks it shows, and how."""

import os

import pytest

TOGETHER = """
import os, sys, time
rank, world = int(os.environ["RANK"]), int(os.environ["WORLD_SIZE"])
open(f"ready.{rank}", "w").close()
while len([f for f in os.listdir(".") if f.startswith("ready.")]) < world:
    time.sleep(0.005)
"""
# Lines that all ranks print at the same moment, that some print, and that only one prints.
TALK = TOGETHER + """
print("all of us", flush=True)
print("half", rank % 2, flush=True)
print("only", rank, flush=True)
"""
ALL = "--nnodes=3", "--nproc-per-node=2"


@pytest.fixture
def talk(nodes):
    nodes.runner.write("talk.py", TALK)

    def start(*arguments):
        for old in nodes.runner.folder.glob("ready.*"):
            old.unlink()
        return nodes(*ALL, *arguments, "talk.py")

    return start


def logged(job, rank):
    """The output of a rank, from its log file, on any node."""
    files = list(job.run.glob(f"logs/node{rank // 2}_*/attempt_0/{rank % 2}/stdout.log"))
    assert len(files) == 1, sorted(job.run.rglob("stdout.log"))
    return files[0].read_text().splitlines()


def test_equal_lines_of_ranks_on_all_nodes_are_shown_once(talk):
    job = talk("--fold-lines")
    finished = job.finish()
    assert finished.code == 0, finished.errors
    lines = finished.text.splitlines()
    assert lines.count("[ranks 0-5] all of us") == 1
    assert sum("all of us" in line for line in lines) == 1
    for rank in range(6):
        assert sum(line.endswith(f"only {rank}") for line in lines) == 1
    assert lines.count("[ranks 0,2,4] half 0") == 1
    assert lines.count("[ranks 1,3,5] half 1") == 1
    assert len(lines) == 9
    # A folded line keeps its place in the output of each of its ranks.
    all_ranks = lines.index("[ranks 0-5] all of us")
    for rank in range(6):
        own = next(i for i, line in enumerate(lines) if line.endswith(f"only {rank}"))
        half = lines.index(f"[ranks {'0,2,4' if rank % 2 == 0 else '1,3,5'}] half {rank % 2}")
        assert all_ranks < half < own
    for rank in range(6):
        assert logged(job, rank) == ["all of us", f"half {rank % 2}", f"only {rank}"]


def test_stderr_is_folded_on_stderr(nodes):
    nodes.runner.write("e.py", TOGETHER + "print('trouble', file=sys.stderr)\n")
    finished = nodes(*ALL, "--fold-lines", "e.py").finish()
    assert (finished.code, finished.text) == (0, ""), finished.errors
    assert finished.errors.count("trouble") == 1
    assert "[ranks 0-5] trouble" in finished.errors


def test_without_folding_every_line_of_every_rank_is_shown(talk):
    finished = talk().finish()
    assert finished.code == 0, finished.errors
    assert len(finished.text.splitlines()) == 18
    assert finished.text.count("all of us") == 6
    assert "[ranks" not in finished.text


@pytest.mark.parametrize("ranks, shown", [("0,4-5", {0, 4, 5}), ("3", {3}), ("2-3", {2, 3})])
def test_only_the_selected_ranks_are_shown(talk, ranks, shown):
    job = talk(f"--ranks-filter={ranks}")
    finished = job.finish()
    assert finished.code == 0, finished.errors
    said = [line for line in finished.text.splitlines() if "only" in line]
    assert {int(line.split()[-1]) for line in said} == shown
    assert len(finished.text.splitlines()) == 3 * len(shown)
    for rank in range(6):
        assert f"only {rank}" in logged(job, rank)


def test_a_filter_comes_before_the_folding(talk):
    lines = talk("--fold-lines", "--ranks-filter=1-3").finish().text.splitlines()
    assert "[ranks 1-3] all of us" in lines
    assert "[ranks 1,3] half 1" in lines
    assert sum("half 0" in line for line in lines) == 1
    assert {line.split()[-1] for line in lines if "only" in line} == {"1", "2", "3"}


def test_local_ranks_are_filtered_on_every_node(talk):
    finished = talk("--local-ranks-filter=1").finish()
    assert finished.code == 0, finished.errors
    said = [line for line in finished.text.splitlines() if "only" in line]
    assert {int(line.split()[-1]) for line in said} == {1, 3, 5}


@pytest.mark.parametrize("bad", ["x", "3-1", "-1", "1-"])
def test_an_invalid_filter_is_refused_before_anything_runs(talk, bad):
    job = talk(f"--ranks-filter={bad}")
    finished = job.finish()
    assert finished.code == 2, finished.errors
    assert "--ranks-filter" in finished.errors
    assert not list(job.runner.folder.glob("ready.*"))


def test_the_number_of_all_workers_is_checked_before_anything_runs(talk):
    job = talk("--expect-world=7")
    finished = job.finish()
    assert finished.code == 2, finished.errors
    assert "6" in finished.errors and "7" in finished.errors
    assert not list(job.runner.folder.glob("ready.*"))
    assert not os.path.exists(job.run / "journal")
    job = talk("--expect-world=6")
    assert job.finish().code == 0
    job.runner.expect_nothing_left()
