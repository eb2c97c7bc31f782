"""The commands that know all runs of a user: ls, logs and rm, and RUN as an id from any folder."""

import json
import shutil
import signal

import pytest
from helpers.jobs import start_job
from helpers.processes import wait_for

SPEAKS = """
import os, sys
rank, attempt = os.environ["RANK"], os.environ["ROBUSTRUN_ATTEMPT"]
print(f"out {rank} of {attempt}")
print(f"err {rank} of {attempt}", file=sys.stderr)
"""

FAILS_ONCE = SPEAKS + """
sys.exit(3 if (rank, attempt) == ("1", "0") else 0)
"""


def rows(runner, *options):
    return json.loads(runner.run("ls", "--json", *options).text)["runs"]


def test_runs_are_found_from_any_folder(robustrun, tmp_path):
    robustrun.write("speak.py", SPEAKS)
    assert robustrun.run("--rdzv-id=one", "--standalone", "speak.py").code == 0
    run = robustrun.newest_run()
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    for name in (run.name, "latest"):
        shown = robustrun.run("report", name, "--json", cwd=elsewhere)
        assert shown.code == 0, shown.errors
        assert json.loads(shown.text)["outcome"] == "succeeded"
    (row,) = rows(robustrun, "--all")
    assert (row["run"], row["directory"]) == (run.name, str(run))
    assert (row["life"], row["exit_code"], row["workers"]) == ("ended", 0, 1)
    assert row["bytes"] > 0
    # A folder that was deleted by hand is forgotten.
    shutil.rmtree(run)
    assert rows(robustrun) == []
    assert robustrun.run("ls").text == "no runs\n"


def test_logs_show_a_rank_an_attempt_and_lines_that_match(robustrun):
    robustrun.write("speak.py", FAILS_ONCE)
    finished = robustrun.run("--nproc-per-node=2", "--max-restarts=1", "speak.py")
    assert finished.code == 0, finished.errors
    assert robustrun.run("logs").text == (
        "[0] out 0 of 1\n[0] err 0 of 1\n[1] out 1 of 1\n[1] err 1 of 1\n")
    assert robustrun.run("logs", "latest", "--rank=1", "--attempt=0").text == (
        "out 1 of 0\nerr 1 of 0\n")
    assert robustrun.run("logs", "--stderr", "--grep=r 0|nothing").text == "[0] err 0 of 1\n"
    for options, words in ((["--rank=7"], "attempt 1 has no rank 7"),
                           (["--attempt=9"], "there is no attempt 9; the last one is 1"),
                           (["--grep=("], "argument --grep: ")):
        refused = robustrun.run("logs", *options)
        assert refused.code == 2
        assert words in refused.errors


def test_logs_follow_a_run_across_a_restart_until_it_ends(robustrun):
    robustrun.write("slow.py", SPEAKS + """
import time
sys.stdout.flush()
while not os.path.exists("go." + attempt):
    time.sleep(0.01)
print("last words of", attempt, flush=True)
sys.exit(3 if attempt == "0" else 0)
""")
    job = start_job(robustrun, "--max-restarts=1", "slow.py")
    job.wait((job.run / "logs" / "attempt_0" / "0" / "stdout.log").exists, "the first worker")
    told = robustrun.folder / "told"
    with open(told, "w") as out:
        logs = robustrun.start("logs", str(job.run), "--follow", stdout=out)
    job.wait(lambda: "out 0 of 0\n" in told.read_text(), "the first line")
    robustrun.write("go.0", "")
    job.wait((job.run / "logs" / "attempt_1" / "0" / "stdout.log").exists, "the second worker")
    robustrun.write("go.1", "")
    assert job.finish().code == 0
    shown = logs.finish()
    assert shown.code == 0, shown.errors
    lines = [line for line in told.read_text().splitlines() if not line.startswith("err")]
    assert lines == ["out 0 of 0", "last words of 0", "out 0 of 1", "last words of 1"]


def test_rm_removes_runs_that_ended_and_no_others(robustrun):
    robustrun.write("wait.py", "import time\nopen('up', 'w').close()\ntime.sleep(300)\n")
    robustrun.write("speak.py", SPEAKS)
    assert robustrun.run("speak.py").code == 0
    ended = robustrun.newest_run()
    job = start_job(robustrun, "wait.py")
    job.wait((robustrun.folder / "up").exists, "the worker")
    refused = robustrun.run("rm", str(job.run))
    assert refused.code == 1
    assert "it is active; `robustrun stop` ends it" in refused.errors
    would = robustrun.run("rm", "--older-than=0", "--dry-run")
    assert (would.code, would.text) == (0, f"{ended}\n")
    assert ended.exists()
    assert robustrun.run("rm", ended.name).text == f"{ended}\n"
    assert not ended.exists()
    # A supervisor that was killed leaves a run that `resume` could continue.
    job.process.kill()
    job.process.wait()
    assert "it has not ended" in robustrun.run("rm", str(job.run)).errors
    assert robustrun.run("rm", "--older-than=0").text == ""
    assert (job.run / "journal").exists()
    robustrun.expect_nothing_left()


def test_rm_keeps_all_starts_of_a_slurm_job_while_one_is_active(robustrun):
    """The later starts use files of the first one. The ids are those that `submit` gives."""
    robustrun.write("wait.py", "import time\nopen('up', 'w').close()\ntime.sleep(300)\n")
    robustrun.write("speak.py", SPEAKS)
    first, second = (f"robustrun-runs/slurm-7{end}" for end in ("", "-1"))
    assert robustrun.run(f"--run-dir={first}", "speak.py").code == 0
    running = robustrun.start(f"--run-dir={second}", "wait.py")
    wait_for((robustrun.folder / "up").exists, what="the worker")
    refused = robustrun.run("rm", "slurm-7")
    assert (refused.code, refused.text) == (1, "")
    assert refused.errors.count("it is active") == 1
    assert robustrun.run("rm", "--older-than=0").text == ""
    assert (robustrun.folder / first / "journal").exists()
    running.process.send_signal(signal.SIGTERM)
    running.finish()
    removed = robustrun.run("rm", "slurm-7", "slurm-7-1")
    assert removed.code == 0
    assert len(removed.text.splitlines()) == 2
    assert not (robustrun.folder / first).exists()


@pytest.mark.parametrize(("arguments", "words"), [
    (["rm"], "rm needs a RUN, or --older-than TIME"),
    (["rm", "a", "--older-than=1d"], "either runs or --older-than, not both"),
    (["rm", "--older-than=x"], "argument --older-than: invalid time: 'x' (seconds, or 90s, "),
    (["rm", "no-such-run"], "cannot find the run no-such-run"),
    (["logs", "no-such-run"], "cannot find the run no-such-run"),
])
def test_bad_input_is_one_clear_line(robustrun, arguments, words):
    finished = robustrun.run(*arguments)
    assert finished.code == 2
    assert words in finished.errors
