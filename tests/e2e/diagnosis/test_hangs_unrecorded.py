"""Hangs without records of operations: point-to-point over gloo, and before the first collective.
Stacks and steps show them. And hangs that recur in the same line of the script."""

import json
import pathlib
import re
import subprocess

import pytest
from helpers.jobs import start_job

HERE = pathlib.Path(__file__).parent
PAUSE_S = 40  # of p2p_job.py
NAMED_WITHIN_S = 150  # generous: others use the processors


def start(robustrun, script, *args, options=(), env=None, ranks=3):
    return start_job(robustrun, f"--nproc-per-node={ranks}", "--standby=off", *options,
                     HERE / script, *map(str, args), env=env)


def hang_said(job, words, within=NAMED_WITHIN_S):
    def said():
        lines = [line for line in job.err().splitlines() if "hang: " in line]
        return next((line for line in lines if all(word in line for word in words)), None)

    return job.wait(said, f"a hang with {words}", within)


def diagnosed(job):
    asked = subprocess.run([job.runner.binary, "diagnose", str(job.run), "--json"],
                           capture_output=True, text=True, timeout=60)
    assert asked.returncode == 0, asked.stderr
    return json.loads(asked.stdout)


def steps_of(job):
    status = subprocess.run([job.runner.binary, "status", str(job.run), "--json"],
                            capture_output=True, text=True, timeout=60)
    return json.loads(status.stdout)["steps"] if status.returncode == 0 else 0


def nightly(*values):
    return [pytest.param(each, marks=pytest.mark.nightly) for each in values]


@pytest.mark.parametrize("style", ["requests-stepless",
                                   *nightly("blocking", "blocking-stepless", "requests", "batch")])
def test_a_rank_that_blocks_point_to_point_peers_is_named_and_no_healthy_one(robustrun, style):
    job = start(robustrun, "p2p_job.py", 100000, 0.02, style, "sleep", 1, 500)
    job.wait(lambda: "fault sleep" in job.out(), "500 steps", NAMED_WITHIN_S)
    assert "hang" not in job.err()
    line = hang_said(job, ["rank 1 ", "p2p_job.py:", "rank 2 waits in "])
    assert re.search(r"it is in \w+ \(p2p_job\.py:\d+\)", line)
    assert ("src=RANK - 1" if style.startswith("blocking") else ".wait()") in line
    verdict = diagnosed(job)
    assert verdict["culprits"] == [1]
    assert 2 in verdict["victims"]
    job.stop()


def test_a_pause_of_a_rank_in_a_chain_of_sends_is_stalled_time_and_not_productive(robustrun):
    job = start(robustrun, "p2p_job.py", 100000, 0.02, "blocking", "pause", 1, 300,
                options=["--hang-timeout=300"])
    job.wait(lambda: "fault pause" in job.out(), "300 steps", NAMED_WITHIN_S)
    hang_said(job, ["rank 1 ", "p2p_job.py:", "rank 2 waits in "])
    assert "fault over" not in job.out()
    verdict = diagnosed(job)
    assert verdict["culprits"] == [1] and 2 in verdict["victims"], verdict
    job.wait(lambda: "fault over" in job.out(), "the end of the pause", 90)
    steps = steps_of(job)
    job.wait(lambda: steps_of(job) > steps + 50, "further steps", 90)
    job.stop()  # before robustrun has looked again: the end of the hang is in no record
    shares = robustrun.report(job.run)["time"]["shares"]
    stalled = sum(share["duration_s"] for share in shares if share["spent"] == "stalled")
    assert stalled > 0.9 * PAUSE_S, shares


@pytest.mark.parametrize("style", nightly("blocking", "requests-stepless"))
def test_a_healthy_job_of_point_to_point_operations_is_left_alone(robustrun, style):
    job = start(robustrun, "p2p_job.py", 2000, 0.02, style)
    ended = job.finish(300)
    assert ended.code == 0, ended.errors
    assert "hang" not in ended.errors


def test_a_lock_before_the_first_collective_is_named_by_the_stack(robustrun):
    job = start(robustrun, "locked_job.py")
    line = hang_said(job, ["rank 1 ", "has not entered", "locked_job.py:", "2 ranks wait for it"])
    assert "has no record" not in job.err(), line
    job.stop()


def test_hangs_in_the_same_line_are_counted_and_the_third_ends_the_run(robustrun):
    job = start(robustrun, "returning_hang_job.py",
                options=["--max-restarts=1", "--hang-timeout=10"], ranks=2)
    ended = job.finish(400)
    errors = ended.errors
    assert ended.code == 95, errors
    said = [line for line in errors.splitlines() if "hang: rank 1 " in line
            and "; the attempt ends in " in line]
    assert len(said) >= 3, errors  # the third as promptly as the first
    assert re.search(r"free restart.*another hang in returning_hang_job\.py:\d+ will count", errors)
    assert re.search(r"restart 1 of 1: .*; the hang in returning_hang_job\.py:\d+ came back",
                     errors)
    assert re.search(r"the script hung 3 times in returning_hang_job\.py:\d+", errors)


def test_a_deadlock_of_all_ranks_is_named_and_ends_the_run_when_it_comes_back(robustrun):
    job = start(robustrun, "deadlocked_job.py",
                options=["--max-restarts=1", "--hang-timeout=10"], ranks=2)
    line = hang_said(job, ["rank 0 waits in recv ", "rank 1 waits in recv "])
    assert "deadlocked_job.py:" in line
    ended = job.finish(400)
    errors = ended.errors
    assert ended.code == 95, errors
    at = r"deadlocked_job\.py:\d+"
    assert re.search(rf"free restart.*another hang in {at} will count", errors)
    assert re.search(rf"restart 1 of 1: .*; the hang in {at} came back", errors)
    assert re.search(rf"the script hung 3 times in {at}", errors)


@pytest.mark.parametrize("saves", [3, *nightly(6)])
def test_a_wait_is_not_reported_with_a_later_stack(robustrun, saves):
    """Saves of some seconds: no report has the line after the barrier that waited for it."""
    job = start(robustrun, "slow_save_job.py", saves)
    ended = job.finish(300)
    assert ended.code == 0, ended.errors
    lines = (HERE / "slow_save_job.py").read_text().splitlines()
    behind = {number for number, text in enumerate(lines, 1) if "# after the barrier" in text}
    assert behind
    told = re.findall(r"hang: .*barrier.*it is in (?:\w+ \()?slow_save_job\.py:(\d+)", ended.errors)
    assert not behind & set(map(int, told)), ended.errors
