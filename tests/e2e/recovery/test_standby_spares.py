"""Standby workers on spare nodes: the replacement of a lost node has already imported."""


import pytest
from helpers.jobs import LOCKSTEP, kill_at_once, wait_until_gone
from helpers.processes import is_standby, program_of, wait_for

RANKS = 2  # of each of two nodes
# Ranks in step; each notes its identity after a step. A warm rank had imported `decimal` before.
SCRIPT = r"""
import os, sys
first_line = set(sys.modules)
import decimal
""" + LOCKSTEP.replace("    robustrun.step(step)\n", r"""    robustrun.step(step)
    own = f"identity.{attempt}.{rank}"
    if step == first + 1:
        with open(own + ".part", "w") as file:
            file.write(f"{os.getpid()} {'decimal' in first_line} {os.environ.get('LR', '')}")
        os.replace(own + ".part", own)
""")


def sleeps_on_its_socket(pid):
    try:
        return open(f"/proc/{pid}/syscall").read().split()[0] == "45"  # recvfrom
    except OSError:
        return False


class Warm:
    """A job of two nodes and a spare."""

    def __init__(self, nodes, *options, script=SCRIPT, **more):
        nodes.runner.write("job.py", script)
        self.runner = nodes.runner
        self.job = nodes("--nnodes=2", "--spares=1", f"--nproc-per-node={RANKS}", *options,
                         "job.py", str(10**9), "0.02", **more)
        self.identities(0)
        self.spare, = self.job.wait(self.job.spares, "the spare")

    def identities(self, attempt):
        """By rank: its pid, whether it started warm, and its LR."""
        files = [self.runner.folder / f"identity.{attempt}.{rank}" for rank in range(2 * RANKS)]
        self.job.wait(lambda: all(file.exists() for file in files), f"attempt {attempt}", 150)
        words = [file.read_text().split(" ") for file in files]
        return [(int(pid), warm == "True", lr) for pid, warm, lr in words]

    def standbys(self, node):
        return sorted(pid for pid in self.job.node_processes(node)[1:]
                      if b"shim" not in program_of(pid) and is_standby(pid))

    def waiting(self, node, besides=()):
        def there():
            pids = [pid for pid in self.standbys(node)
                    if pid not in besides and sleeps_on_its_socket(pid)]
            return len(pids) == RANKS and pids

        return self.job.wait(there, f"standbys of node {node}", 150)

    def lose(self, node):
        """Loses the node twice, so that the spare replaces it; returns the next attempt."""
        attempt = self.job.attempt()
        kill_at_once(self.job.node_processes(node))
        self.job.wait(lambda: self.job.attempt() > attempt, "another attempt")
        return self.job.attempt()

    def lose_for_good(self, node):
        self.identities(self.lose(node))
        return self.lose(node)


@pytest.mark.parametrize("mode", ["spares", "all"])
def test_a_spare_takes_over_with_its_standby_workers(nodes, mode):
    run = Warm(nodes, f"--standby={mode}")
    first, last = run.job.group()
    before = run.waiting(run.spare)
    if mode == "all":
        kept = run.runner.folder / "cache" / "robustrun" / "hot"
        wait_for(lambda: list(kept.glob("*.imports")), 60, "the list of imports in the cache")
    run.identities(run.lose(last))
    # A restart without the spare does not make new standby workers.
    assert run.waiting(run.spare) == before
    in_place = run.waiting(first) if mode == "all" else run.standbys(first)
    assert len(in_place) == (RANKS if mode == "all" else 0)

    after = run.identities(run.lose(last))
    assert run.job.group() == [first, run.spare]
    assert sorted(pid for pid, _, _ in after[RANKS:]) == before
    assert [warm for _, warm, _ in after] == [mode == "all"] * RANKS + [True] * RANKS
    if mode == "spares":  # it is no longer a spare
        run.job.moves()
        assert run.standbys(run.spare) == []
    assert run.job.stop().code == 143
    run.runner.expect_nothing_left()
    warm = [incident["warm"] for incident in run.runner.report(run.job.run)["incidents"]]
    # The agent that came back knows the imports, too.
    assert warm == ([2 * RANKS, 2 * RANKS] if mode == "all" else [0, RANKS])
    text = run.runner.run("report", "-v", str(run.job.run)).text
    assert f"{warm[1]} workers started warm" in text
    if mode == "all":
        # Workers that began warm list no imports: the spare gets the list of the earlier run.
        for path in run.runner.folder.glob("identity.*"):
            path.unlink()
        run = Warm(nodes, f"--standby={mode}")
        assert [warm for _, warm, _ in run.identities(0)] == [True] * 2 * RANKS
        run.waiting(run.spare)
        assert run.job.stop().code == 143


def test_an_update_replaces_the_standby_workers_of_spares(nodes):
    run = Warm(nodes)
    before = run.waiting(run.spare)
    updated = run.runner.run("update", str(run.job.run), "--env", "LR=0.5", "--now")
    assert updated.code == 0, updated.errors
    run.identities(1)
    wait_until_gone(before, 90, "standbys out of date")
    run.waiting(run.spare, besides=before)
    after = run.identities(run.lose_for_good(run.job.group()[1]))
    assert run.job.group()[1] == run.spare
    assert [(warm, lr) for _, warm, lr in after[RANKS:]] == [(True, "0.5")] * RANKS
    run.job.stop()
    run.runner.expect_nothing_left()


def test_without_standbys_the_spare_starts_as_usual(nodes):
    run = Warm(nodes, "--standby=off")
    run.job.moves(more=100)  # two seconds: a few of the supervisor's heartbeats
    assert run.standbys(run.spare) == []
    after = run.identities(run.lose_for_good(run.job.group()[1]))
    assert run.job.group()[1] == run.spare
    assert not any(warm for _, warm, _ in after)
    run.job.stop()


def test_a_spare_without_enough_memory_keeps_no_standby_workers_and_reports_it(nodes):
    """An installed module fakes the memory that a standby worker measures."""
    packages = nodes.runner.folder / "site-packages"
    packages.mkdir()
    (packages / "greedy.py").write_text(
        "import sys\n"
        "standby = sys.modules.get('robustrun._boot.standby')\n"
        "if standby:\n"
        "    standby._memory_kb = lambda: 1 << 40\n"
    )
    run = Warm(nodes, "--standby=spares", script="import greedy\n" + SCRIPT,
               env={"PYTHONPATH": str(packages)})
    run.job.says("are more than a tenth of")
    run.job.wait(lambda: not run.standbys(run.spare), "the end of standbys that are too large")
    after = run.identities(run.lose_for_good(run.job.group()[1]))
    assert run.job.group()[1] == run.spare
    assert not any(warm for _, warm, _ in after)
    run.job.stop()


def test_a_spare_that_comes_back_has_standby_workers_again(nodes):
    run = Warm(nodes, "--standby=spares")
    before = run.waiting(run.spare)
    joins = run.job.joins()
    kill_at_once(run.job.node_processes(run.spare))
    run.job.wait(lambda: run.job.joins() > joins, "the spare again")
    again = run.waiting(run.spare)
    assert not set(again) & set(before)
    run.job.stop()
    run.runner.expect_nothing_left()
