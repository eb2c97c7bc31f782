"""`robustrun replay`: six "machines", one of which makes every group fail that it is in."""

import os
import signal

import pytest
from helpers.processes import wait_for

SUSPECT, CANDIDATES = 3, 4
SIX = ["--launcher=processes", "--hosts=n[1-6]", "--nproc-per-node=1"]
WITHIN_S = 400

# A job that fails on some machines and hangs on others: job.py FAILING HANGING, "-" for none.
JOB = """
import os, sys, time
machine = os.environ["ROBUSTRUN_NODE"]
with open("machines", "a") as file:
    file.write(machine + " " + os.environ["WORLD_SIZE"] + "\\n")
if machine in sys.argv[2].split(","):
    time.sleep(600)
sys.exit(7 if machine in sys.argv[1].split(",") else 0)
"""


def replay(robustrun, *words, env=None, timeout=WITHIN_S):
    return robustrun.run("replay", *words, env=env, timeout=timeout)


def test_the_machine_that_computes_other_bits_is_named(robustrun):
    pytest.importorskip("torch")
    finished = replay(robustrun, *SIX, env={"ROBUSTRUN_ALIGN_FLIP": "node=n4"})
    assert finished.code == SUSPECT, finished.errors
    assert finished.text == "n4\n"
    assert "h1 (n3,n4): failed" in finished.errors
    assert "v0 (n1,n4): failed" in finished.errors
    assert finished.errors.count("failed: ") == 2


@pytest.mark.parametrize("bad", ["n1", "n6"])
def test_the_users_own_job_names_the_machine(robustrun, bad):
    robustrun.write("job.py", JOB)
    # The variable is for robustrun submit.
    finished = replay(robustrun, *SIX, "job.py", bad, "-", env={"ROBUSTRUN_PARTITION": "gpu"})
    assert finished.code == SUSPECT, finished.errors
    assert finished.text == bad + "\n"
    # Two phases of three groups of two; a failure ends the peer, perhaps before its script starts.
    assert finished.errors.count(": passed") == 4
    assert finished.errors.count(": failed: exit code 7") == 2
    sizes = {line.split()[1] for line in (robustrun.folder / "machines").read_text().splitlines()}
    assert sizes == {"2"}


def test_a_fault_that_does_not_recur_names_no_machine(robustrun):
    robustrun.write("job.py", JOB)
    finished = replay(robustrun, *SIX, "job.py", "-", "-")
    assert finished.code == 0
    assert finished.text == ""
    assert "no group failed" in finished.errors


def test_two_faulty_machines_are_among_the_candidates(robustrun):
    robustrun.write("job.py", JOB)
    finished = replay(robustrun, *SIX, "job.py", "n1,n6", "-")
    assert finished.code == CANDIDATES
    assert {"n1", "n6"} <= set(finished.text.split())
    assert "more than one machine" in finished.errors


def test_a_hang_counts_as_a_failure_and_is_bounded(robustrun):
    robustrun.write("job.py", JOB)
    finished = replay(robustrun, *SIX, "--time-limit=20", "job.py", "-", "n3")
    assert finished.code == SUSPECT, finished.errors
    assert finished.text == "n3\n"


def test_a_group_that_lacks_a_machine_is_filled_up(robustrun):
    robustrun.write("job.py", JOB)
    finished = replay(robustrun, "--launcher=processes", "--hosts=n[1-5]", "--nproc-per-node=1",
                      "job.py", "n5", "-")
    assert finished.code == SUSPECT, finished.errors
    assert finished.text == "n5\n"
    assert "completed with" in finished.errors


def test_an_interrupt_ends_all_groups(robustrun):
    robustrun.write("job.py", JOB)
    running = robustrun.start("replay", *SIX, "job.py", "-", "n1,n2,n3,n4,n5,n6")
    machines = robustrun.folder / "machines"
    wait_for(lambda: machines.exists() and machines.read_text().count("\n") == 6, 150, "the start")
    os.kill(running.pid, signal.SIGINT)
    finished = running.finish()
    assert finished.code == 128 + signal.SIGINT
    robustrun.expect_nothing_left()


@pytest.mark.parametrize("words, why", [
    (["--launcher=processes", "--hosts=n[1-3]"], "fewer than 4 machines"),
    (["--nproc-per-node=1"], "no machines are named"),
    ([*SIX, "--unit=4", "job.py"], "too few"),
    (["--lose=n1", *SIX], "only for robustrun plan"),
])
def test_what_cannot_be_replayed_is_refused(robustrun, words, why):
    finished = replay(robustrun, *words)
    assert finished.code == 2
    assert why in finished.errors
