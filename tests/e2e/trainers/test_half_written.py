"""A rank dies in the middle of HF Trainer's save. With --checkpoints the run goes on from the
newest whole checkpoint; transformers' own search takes the half-written one."""

import json
import os
import pathlib
import re
import signal
import subprocess
import sys

import pytest

JOB = pathlib.Path(__file__).with_name("half_written_job.py")
POINTS = ("configuration", "model", "arguments", "optimizer", "state")
FILES = ("--nproc-per-node=2", str(JOB))
TRIES = 10 if os.environ.get("ROBUSTRUN_NIGHTLY") == "1" else 1


def environment(*points):
    return {"ROBUSTRUN_TEST_POINTS": ",".join(points), "OMP_NUM_THREADS": "1"}


def resumed_from(text):
    """The checkpoints of the restarts; empty: they did not come so far."""
    return set(re.findall(r"attempt [12] resumes from (\S+)", text))


def check_cut_off(robustrun, ranks, *points):
    # One worker's imports take seconds; a standby would do the same work a second time.
    done = robustrun.run("--checkpoints=out/checkpoint-*", f"--max-restarts={len(points)}",
                         "--standby=off", f"--nproc-per-node={ranks}", str(JOB),
                         env=environment(*points), timeout=400)
    assert done.code == 0, done.errors
    assert done.text.count("resumes from out/checkpoint-2") == ranks * len(points)
    assert resumed_from(done.text) == {"out/checkpoint-2"}
    assert '{"step": 6}' in done.text
    out = robustrun.folder / "out"
    assert sorted(path.name for path in out.glob("checkpoint-*")) == [
        "checkpoint-2", "checkpoint-4", "checkpoint-6"]
    for path in out.glob("checkpoint-*"):
        steps = json.loads((path / "trainer_state.json").read_text())["global_step"]
        assert path.name == f"checkpoint-{steps}"
    assert sorted(path.name for path in (out / ".robustrun-incomplete").iterdir()) == [
        f"checkpoint-4.attempt{attempt}" for attempt in range(len(points))]
    said = "out/checkpoint-4 is half-written ("
    assert done.errors.count(said) == len(points)
    for attempt in range(len(points)):
        assert (f"attempt {attempt} was writing it): moved to out/.robustrun-incomplete/"
                f"checkpoint-4.attempt{attempt}") in done.errors


def test_saves_that_were_cut_off_are_not_resumed_from(robustrun):
    check_cut_off(robustrun, 1, "model", "optimizer")


@pytest.mark.nightly
@pytest.mark.parametrize("number", range(TRIES))
@pytest.mark.parametrize("point", POINTS)
def test_two_ranks_do_not_resume_from_a_save_that_was_cut_off(robustrun, point, number):
    check_cut_off(robustrun, 2, point)


# The first attempt dies while it writes a checkpoint.
CUT_OFF = """
import os, sys
attempt = os.environ["TORCHELASTIC_RESTART_COUNT"]
if attempt == "0":
    os.makedirs("out/checkpoint-5")
    open("out/checkpoint-5/config.json", "w").write("{}")
sys.exit(attempt == "0")
"""


def test_without_the_option_a_line_suggests_it(robustrun):
    robustrun.write("job.py", CUT_OFF)
    done = robustrun.run("--max-restarts=1", "job.py", "--output_dir", "out")
    assert done.code == 0, done.errors
    assert ("out/checkpoint-5 looks half-written (no weights): --checkpoints 'out/checkpoint-*' "
            "moves such checkpoints aside before a restart") in done.errors
    assert (robustrun.folder / "out" / "checkpoint-5").exists()


def test_journal_and_report_show_what_was_moved(robustrun):
    robustrun.write("job.py", CUT_OFF)
    done = robustrun.run("--max-restarts=1", "--checkpoints=out/checkpoint-*",
                         "--events=events.jsonl", "job.py")
    assert done.code == 0, done.errors
    aside = "out/.robustrun-incomplete/checkpoint-5.attempt0"
    assert (robustrun.folder / aside / "config.json").exists()
    words = (f"out/checkpoint-5 was half-written (no weights; attempt 0 was writing it): moved to "
             f"{aside}")
    report = robustrun.report()
    assert [(one["attempt"], one["path"], one["moved_to"], one["evidence"])
            for one in report["moved"]] == [
        (1, "out/checkpoint-5", aside, "no weights; attempt 0 was writing it")]
    assert [one["moved"] for one in report["incidents"]] == [[words]]
    run = str(robustrun.newest_run())
    text = robustrun.run("report", run, env={"COLUMNS": "300"}).text
    assert text.count(f"  moved     {words}\n") == 1
    page = robustrun.folder / "report.html"
    assert robustrun.run("report", run, "--html", str(page)).code == 0
    assert page.read_text().count(words) == 2  # with the incident, and in the order of events
    events = [json.loads(line) for line in (robustrun.folder / "events.jsonl").open()]
    assert [one["attempt"] for one in events if one["event"] == "checkpoint_moved"] == [1]


FORMATS = r"""
import os, sys

attempt = os.environ["TORCHELASTIC_RESTART_COUNT"]
if attempt == "1":
    sys.exit()
import torch
import torch.distributed.checkpoint as dcp
from safetensors.torch import save_file

state = {"weight": torch.ones(1000), "step": 5}

def save(folder):
    os.makedirs(folder)
    torch.save(state, f"{folder}/a.ckpt")
    torch.save({"weight": torch.ones(1000)}, f"{folder}/old.pt",
               _use_new_zipfile_serialization=False)
    save_file({"weight": torch.ones(1000)}, f"{folder}/b.safetensors")
    dcp.save({"weight": torch.ones(1000)}, checkpoint_id=f"{folder}/step-5")

def cut(path):
    os.truncate(path, os.path.getsize(path) - 10)

save("whole")
save("cut")
cut("cut/a.ckpt")
cut("cut/b.safetensors")
os.remove("cut/step-5/.metadata")
cut("cut/old.pt")
sys.exit(1)
"""


def test_what_torch_and_safetensors_write_is_told_apart(robustrun):
    robustrun.write("job.py", FORMATS)
    done = robustrun.run("--max-restarts=1", "--checkpoints=whole/*,cut/*", "job.py", timeout=400)
    assert done.code == 0, done.errors
    folder = robustrun.folder
    assert sorted(path.name for path in (folder / "whole").iterdir()) == [
        "a.ckpt", "b.safetensors", "old.pt", "step-5"]
    assert sorted(path.name for path in (folder / "cut" / ".robustrun-incomplete").iterdir()) == [
        "a.ckpt.attempt0", "b.safetensors.attempt0", "step-5.attempt0"]
    # A format without marks stays, and a line says so.
    assert (folder / "cut" / "old.pt").exists()
    assert "cut/old.pt changed in the last seconds of attempt 0" in done.errors


@pytest.mark.nightly
def test_torchrun_resumes_from_half_written_folders(robustrun):
    """For the comparison: how often the same script goes on by itself. A run that is not over
    in time waits for a rank that has given up."""
    half_written = finished = 0
    for point in POINTS:
        folder = robustrun.folder / point
        folder.mkdir()
        running = robustrun.start(
            "-m", "torch.distributed.run", "--standalone", "--max-restarts=1", *FILES,
            argv0=sys.executable, cwd=folder, env=environment(point))
        try:
            done = running.finish(240)
            text, code = done.text, done.code
        except subprocess.TimeoutExpired as late:
            text, code = (late.output or b"").decode(), None
            for pid in robustrun.marked():
                os.kill(pid, signal.SIGKILL)
        half_written += "out/checkpoint-4" in resumed_from(text)
        finished += code == 0
    print(f"torchrun: {half_written} of {len(POINTS)} resumed from a half-written folder, "
          f"{finished} finished")
    assert finished == 0
