"""Injected faults: each does what its name says, and the run recovers."""

import os
import pathlib
import re
import signal

import pytest
from helpers.processes import wait_for

# Two ranks that count, one line in a file of their own each time they begin.
SCRIPT = r"""
import os, time
rank, attempt = os.environ["RANK"], os.environ["TORCHELASTIC_RESTART_COUNT"]
begun = open(f"begun.{rank}", "a")
begun.write(attempt + "\n")
begun.flush()
n = 0
while not os.path.exists("enough"):
    n += 1
    with open(f"count.{rank}", "w") as count:
        count.write(str(n))
    time.sleep(0.02)
"""


class Drill:
    def __init__(self, robustrun):
        self.robustrun = robustrun
        self.folder = robustrun.folder
        robustrun.write("job.py", SCRIPT)
        self.running = robustrun.start("--nproc-per-node=2", "job.py")
        self.wait_begun(1)

    def begun(self, rank):
        note = self.folder / f"begun.{rank}"
        return note.read_text().count("\n") if note.exists() else 0

    def wait_begun(self, times):
        wait_for(lambda: min(self.begun(0), self.begun(1)) >= times, what=f"start {times}")

    def count(self, rank):
        try:
            return int((self.folder / f"count.{rank}").read_text() or 0)
        except FileNotFoundError:
            return 0

    def counts_on(self, rank):
        before = self.count(rank)
        wait_for(lambda: self.count(rank) not in (0, before), what=f"rank {rank} counting on")

    def inject(self, *arguments):
        return self.robustrun.run("inject", *arguments)

    def explanations(self):
        """The injected fault of each incident in the report, without its node."""
        return [
            incident["injected"].partition(" on ")[0]
            for incident in self.robustrun.report()["incidents"]
        ]

    def finish(self):
        (self.folder / "enough").touch()
        return self.running.finish()


@pytest.fixture
def drill(robustrun):
    return Drill(robustrun)


@pytest.mark.parametrize("kind, signal", [("kill", "SIGKILL"), ("segfault", "SIGSEGV"),
                                          ("abort", "SIGABRT")])
def test_a_signal_hits_the_rank_and_the_group_restarts(drill, kind, signal):
    done = drill.inject(kind, "--rank=1")
    assert done.code == 0, done.errors
    assert re.search(rf"{kind}\s+rank 1 on \S+ \(pid \d+\)", done.text)
    drill.wait_begun(2)
    end = drill.finish()
    assert end.code == 0, end.errors
    assert f"rank 1 on {pathlib.Path('/etc/hostname').read_text().strip()}" in end.errors
    assert signal in end.errors


def test_an_exception_is_raised_in_the_script(drill):
    done = drill.inject("exception", "--rank=0")
    assert done.code == 0, done.errors
    drill.wait_begun(2)
    end = drill.finish()
    assert end.code == 0, end.errors
    assert "injected by robustrun inject" in end.errors
    assert drill.explanations() == ["exception of rank 0"]


def test_the_report_distinguishes_injected_faults_from_others(drill):
    assert drill.inject("stop", "--rank=0", "--for=0.05").code == 0
    assert drill.inject("kill", "--rank=1").code == 0
    drill.wait_begun(2)
    os.kill(drill.running.workers(2)[0], signal.SIGABRT)  # not an injected fault
    drill.wait_begun(3)
    assert drill.inject("agent-death").code == 0
    drill.wait_begun(4)
    end = drill.finish()
    assert end.code == 0, end.errors
    assert drill.explanations() == ["kill of rank 1", "", "agent-death"]
    faults = drill.robustrun.report()["injected"]
    assert [(f["kind"], f["rank"], f["attempt"]) for f in faults] == [
        ("stop", 0, 0), ("kill", 1, 0), ("agent-death", None, 2)
    ]
    text = drill.robustrun.run("report", "-v").text
    assert re.search(r"injected +stop of rank 0 on \S+, .* after the start", text)
    assert re.search(r"injected +kill of rank 1 on \S+$", text, re.MULTILINE)


def test_a_stopped_rank_goes_on_after_its_time(drill):
    done = drill.inject("stop", "--rank=0", "--for=1s")
    assert done.code == 0, done.errors
    drill.counts_on(0)
    end = drill.finish()
    assert end.code == 0, end.errors
    assert drill.begun(0) == 1


def test_a_held_interpreter_lock_ends_by_itself(drill):
    done = drill.inject("gil-lock", "--rank=1", "--for=1s")
    assert done.code == 0, done.errors
    drill.counts_on(1)
    assert drill.finish().code == 0
    assert drill.begun(1) == 1


def test_a_dead_agent_is_restarted(drill):
    done = drill.inject("agent-death")
    assert done.code == 0, done.errors
    drill.wait_begun(2)
    end = drill.finish()
    assert end.code == 0, end.errors
    assert "agent" in end.errors


def test_a_dead_supervisor_leaves_nothing(drill):
    assert drill.inject("supervisor-death").code == 0
    assert drill.running.finish().code == -9
    drill.robustrun.expect_nothing_left()
    report = drill.robustrun.report()
    assert report["outcome"] == "unfinished"
    assert [fault["kind"] for fault in report["injected"]] == ["supervisor-death"]


def test_a_drill_goes_on_until_the_run_ends(drill):
    # The second fault would come after the end, even on a busy machine.
    drills = drill.robustrun.start("inject", "kill", "--every=90s", "--seed=7")
    drill.wait_begun(2)
    assert drill.finish().code == 0
    end = drills.finish()
    assert end.code == 0, end.errors
    assert end.text.count("kill") == 1


def test_an_impossible_target_is_an_error(drill):
    assert drill.inject("kill", "--rank=9").code == 1
    assert "9" in drill.inject("kill", "--rank=9").errors
    assert drill.inject("no-such-kind").code == 2
    assert drill.inject("no-such-run", "kill").code == 2
    assert drill.finish().code == 0
