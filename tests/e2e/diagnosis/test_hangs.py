"""Hangs of a real gloo training: the terminal names the blocking rank, the place and the cause;
healthy pauses are left alone; a proven hang ends the attempt, and the next one goes on."""

import json
import pathlib
import re
import signal
import subprocess

from helpers.jobs import start_job

SCRIPT = pathlib.Path(__file__).parent / "faulty_job.py"
RANKS = 3
NAMED_WITHIN_S = 150  # generous for busy machines; bench/ measures the times


def start(robustrun, *fault, options=(), steps=100000, pace=0.05, env=None):
    return start_job(
        robustrun, f"--nproc-per-node={RANKS}", "--standby=off", *options, SCRIPT, str(steps),
        str(pace), *map(str, fault), env=env,
    )


def hang_said(job, words, since=0):
    """Waits for a line `hang: …` of robustrun that has all of these words."""

    def said():
        lines = [line for line in job.err()[since:].splitlines() if "hang: " in line]
        return next((line for line in lines if all(word in line for word in words)), None)

    return job.wait(said, f"a hang with {words}", NAMED_WITHIN_S)


def steps_done(job):
    status = subprocess.run([job.runner.binary, "status", "--json", str(job.run)],
                            capture_output=True, text=True, timeout=60)
    return json.loads(status.stdout)["steps"] if status.returncode == 0 else 0


def diagnose(job, *options):
    asked = subprocess.run([job.runner.binary, "diagnose", str(job.run), *options],
                           capture_output=True, text=True, timeout=60)
    assert asked.returncode == 0, asked.stderr
    return asked.stdout


FAULTS = {  # and their verdicts
    "sleep": ["has not entered", "all_reduce", "faulty_job.py", "2 ranks wait for it"],
    "loader": ["has not entered", "data loader"],
    "spin": ["has not entered", "faulty_job.py"],
    "gil": ["has not entered"],
}


def test_a_rank_that_does_not_enter_is_named_and_left_alone_with_hang_timeout_0(robustrun):
    """One fault after the other, the last of which does not end."""
    words = [word for i, fault in enumerate(FAULTS) for word in (fault, 1, 100 + 30 * i)]
    job = start(robustrun, *words, options=["--hang-timeout=0"])
    job.wait(lambda: steps_done(job) > 5, "steps", NAMED_WITHIN_S)
    # On a busy machine a rank may really be late for a moment.
    job.wait(lambda: json.loads(diagnose(job, "--json"))["culprits"] == [], "no culprit",
             NAMED_WITHIN_S)
    since = len(job.err())
    for fault, words in FAULTS.items():
        line = hang_said(job, ["rank 1 ", *words], since)
        assert "rank 0" not in line and "rank 2" not in line
        asked = diagnose(job)
        assert "rank 1 " in asked and "has not entered" in asked
        if fault != "gil":
            since = len(job.err())
            (robustrun.folder / f"over.{fault}").touch()
            job.wait(lambda at=since: "the hang is over" in job.err()[at:], "its end",
                     NAMED_WITHIN_S)
    assert job.attempt() == 0
    job.process.send_signal(signal.SIGTERM)
    assert not re.search(r"confirmed(?! in \d)", job.finish().errors)


def test_a_stopped_rank_is_named_forgiven_when_it_goes_on_and_else_ends_the_attempt(robustrun):
    job = start(robustrun)

    def stop(how_long):
        job.wait(lambda: steps_done(job) > 20, "steps", NAMED_WITHIN_S)
        subprocess.run([robustrun.binary, "inject", str(job.run), "stop", "--rank=2",
                        f"--for={how_long}"], check=True, capture_output=True)

    stop("11s")
    hang_said(job, ["rank 2 ", "stopped"])
    job.says("the hang is over", NAMED_WITHIN_S)
    assert job.attempt() == 0
    stop("1h")
    job.wait(lambda: "free restart" in job.err(), "another attempt", 180)
    job.stop()


def test_two_groups_in_opposite_order_are_an_inversion(robustrun):
    job = start(robustrun, "inversion", 2, 30)
    hang_said(job, ["rank"])
    job.stop()


def test_a_mismatch_of_collectives_is_named_and_the_next_attempt_goes_on(
        robustrun):
    job = start(robustrun, "order", 1, 30, steps=200, pace=0.02,
                options=["--summary-json", "summary.json"])
    line = hang_said(job, ["rank 1 ", "broadcast", "all_reduce"])
    assert "rank 2 " not in line
    ended = job.finish(300)
    assert ended.code == 0, ended.errors
    assert re.search(r"hang: rank 1 .*calls the operations in a different order", ended.errors)
    report = json.loads((robustrun.folder / "summary.json").read_text())
    assert report["attempts"] == 2
    # On a busy machine a poll may find a waiting rank late.
    convicted = [hang for hang in report["hangs"] if hang["stage"] == "convicted"]
    assert [hang["culprits"] for hang in convicted] == [[1]]


def test_healthy_pauses_are_no_hangs(robustrun):
    job = start(robustrun, steps=120, pace=0.01, options=["--summary-json", "summary.json"],
                env={"PAUSES": "checkpoint,evaluation,straggler,pause", "PAUSE_EVERY": "25",
                     "PAUSE_S": "4"})
    ended = job.finish(400)
    assert ended.code == 0, ended.errors
    report = json.loads((robustrun.folder / "summary.json").read_text())
    assert report["attempts"] == 1
    assert not [hang for hang in report["hangs"] if hang["stage"] == "convicted"]
