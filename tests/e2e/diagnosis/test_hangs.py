"""Hangs of a real gloo training: the terminal names the blocking rank, the place and the cause;
healthy pauses are left alone; a proven hang ends the attempt, and the next one goes on."""

import json
import pathlib
import re
import signal
import subprocess

import pytest
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


@pytest.mark.nightly
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


CONVICTED_AFTER_S = 45  # its suspicion: no rank that is not still


def test_a_rank_that_only_sleeps_in_the_script_ends_the_attempt_within_seconds(robustrun):
    (robustrun.folder / "site.toml").write_text('[hangs]\nstill = "8s"\n')
    job = start_job(robustrun, "--nproc-per-node=2", "--standby=off", "--summary-json=summary.json",
                    "--policy=site.toml", SCRIPT.parent / "returning_hang_job.py")
    line = job.wait(lambda: re.search(r"hang: rank 1 .* unless it moves", job.err()), "the hang",
                    NAMED_WITHIN_S)[0]
    assert int(re.search(r"confirmed in (\d+) s", line)[1]) <= 8
    job.wait(lambda: "free restart" in job.err(), "another attempt", NAMED_WITHIN_S)
    job.process.send_signal(signal.SIGTERM)
    job.finish()
    hangs = json.loads((robustrun.folder / "summary.json").read_text())["hangs"]
    at = {hang["stage"]: hang["at_s"] for hang in hangs if hang["culprits"] == [1]}
    assert at["convicted"] - at["suspected"] < CONVICTED_AFTER_S


# Rank 1 pauses in each of these ways for PAUSE_S, much longer than a still rank has.
PAUSES = r"""
import os, socket, subprocess, sys, threading, time
import torch, torch.distributed as dist
PAUSE_S = 25
dist.init_process_group("gloo")
def step():
    dist.all_reduce(torch.ones(1))
    time.sleep(0.02)
def answers_late():
    server = socket.create_server(("127.0.0.1", 0))
    client = socket.create_connection(server.getsockname())
    end = server.accept()[0]
    timer = threading.Timer(PAUSE_S, lambda: end.sendall(b"done"))
    timer.daemon = True
    timer.start()
    return client
def upload():
    client = answers_late()
    thread = threading.Thread(target=lambda: client.recv(4))
    thread.start()
    thread.join()
def wait_for_lock():
    lock = threading.Lock()
    lock.acquire()
    threading.Timer(PAUSE_S, lock.release).start()
    lock.acquire()
def look_for_file():
    end = time.monotonic() + PAUSE_S
    while time.monotonic() < end:
        time.sleep(5)
for pause in (lambda: subprocess.run(["sleep", str(PAUSE_S)]), upload, wait_for_lock,
              look_for_file, lambda: time.sleep(PAUSE_S)):
    for _ in range(100):
        step()
    if os.environ["RANK"] == "1":
        pause()
step()
dist.destroy_process_group()
"""


@pytest.mark.nightly
def test_pauses_in_which_a_rank_waits_for_something_are_not_ended_early(robustrun):
    robustrun.write("job.py", PAUSES)
    job = start_job(robustrun, "--nproc-per-node=2", "--standby=off", "--summary-json=summary.json",
                    "job.py")
    ended = job.finish(600)
    assert ended.code == 0, ended.errors
    report = json.loads((robustrun.folder / "summary.json").read_text())
    assert report["attempts"] == 1
    assert any(hang["culprits"] == [1] for hang in report["hangs"])
