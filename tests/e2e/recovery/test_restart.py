"""Restart of the group: what each rank gets, how often, and how the report shows it."""

import json
import os
import signal

import pytest
from helpers.processes import wait_for

# Each rank notes its start; the first attempt waits to be killed.
SCRIPT = r"""
import os, sys, time
rank, attempt = os.environ["RANK"], os.environ["TORCHELASTIC_RESTART_COUNT"]
print(f"rank {rank} attempt {attempt}", flush=True)
print(f"trouble on rank {rank}", file=sys.stderr, flush=True)
with open(f"start.{rank}.{attempt}", "w") as note:
    note.write(f"{os.getpid()} {os.environ['MASTER_PORT']}")
while attempt == "0":
    time.sleep(0.01)
"""


def start_notes(folder, attempt, count):
    def read():
        notes = [folder / f"start.{rank}.{attempt}" for rank in range(count)]
        texts = [note.read_text() for note in notes if note.exists()]
        return len(texts) == count and all(texts) and [text.split() for text in texts]

    return wait_for(read, what=f"attempt {attempt} on {count} ranks")


def test_a_killed_rank_restarts_the_whole_group(robustrun):
    robustrun.write("job.py", SCRIPT)
    running = robustrun.start("--nproc-per-node=3", "job.py")
    before = start_notes(robustrun.folder, 0, 3)
    os.kill(int(before[1][0]), signal.SIGKILL)
    after = start_notes(robustrun.folder, 1, 3)
    finished = running.finish()
    assert finished.code == 0, finished.errors
    assert len({port for _, port in after}) == 1
    assert after[0][1] != before[0][1], "a fresh MASTER_PORT"

    report = robustrun.report()
    assert (report["outcome"], report["exit_code"], report["attempts"]) == ("succeeded", 0, 2)
    (incident,) = report["incidents"]
    assert incident["rank"] == 1
    assert "SIGKILL" in incident["ended"]
    assert incident["stderr_tail"] == ["trouble on rank 1"]
    phases = {phase["name"]: phase["duration_s"] for phase in incident["phases"]}
    assert phases["stop the others"] < 25  # workers that ignore SIGTERM take longer
    assert sum(phases.values()) < 60
    # The final summary names it as well.
    for words in ("rank 1", "SIGKILL", "trouble on rank 1"):
        assert words in finished.errors


def test_logs_of_every_attempt_are_kept(robustrun):
    robustrun.write("job.py", SCRIPT)
    running = robustrun.start("--nproc-per-node=2", "job.py")
    os.kill(int(start_notes(robustrun.folder, 0, 2)[0][0]), signal.SIGKILL)
    assert running.finish().code == 0
    logs = robustrun.newest_run() / "logs"
    for attempt in (0, 1):
        for rank in (0, 1):
            text = (logs / f"attempt_{attempt}" / str(rank) / "stdout.log").read_text()
            assert text == f"rank {rank} attempt {attempt}\n"


def test_the_report_survives_the_supervisors_death(robustrun):
    robustrun.write("job.py", SCRIPT.replace('attempt == "0"', "True"))
    running = robustrun.start("--nproc-per-node=2", "job.py")
    os.kill(int(start_notes(robustrun.folder, 0, 2)[1][0]), signal.SIGKILL)
    start_notes(robustrun.folder, 1, 2)
    wait_for(lambda: len(robustrun.report()["incidents"]) == 1)
    running.process.kill()
    running.finish()
    report = robustrun.report()
    assert (report["outcome"], report["exit_code"]) == ("unfinished", None)
    assert report["incidents"][0]["rank"] == 1
    text = robustrun.run("report", str(robustrun.newest_run())).text
    assert "no end known" in text and "rank 1" in text
    robustrun.expect_nothing_left()


def test_a_torn_journal_is_read_up_to_the_tear(robustrun):
    robustrun.write("job.py", "pass\n")
    assert robustrun.run("job.py").code == 0
    journal = robustrun.newest_run() / "journal"
    content = journal.read_bytes()
    codes = []
    for size in range(len(content) - 1, 64, -max(1, len(content) // 40)):
        journal.write_bytes(content[:size])
        finished = robustrun.run("report", str(robustrun.newest_run()), "--json")
        codes.append(finished.code)
        assert finished.code == ("has no record" in finished.errors), finished.errors
        json.loads(finished.out)
    assert 0 in codes and codes == sorted(codes)  # the first record may be cut


def test_an_agent_that_dies_is_replaced_in_place(robustrun):
    robustrun.write("job.py", SCRIPT)
    running = robustrun.start("--nproc-per-node=2", "job.py")
    start_notes(robustrun.folder, 0, 2)
    os.kill(running.agent(), signal.SIGKILL)
    start_notes(robustrun.folder, 1, 2)
    finished = running.finish()
    assert finished.code == 0, finished.errors
    assert "agent" in robustrun.report()["incidents"][0]["ended"]


def test_the_budget_is_spent_and_reported(robustrun):
    # Fails after progress, so it is not a crash loop: the budget decides.
    robustrun.write(
        "job.py",
        "import robustrun, time\nopen('starts', 'a').write('x')\n"
        "robustrun.step(1); time.sleep(0.3)\nraise RuntimeError('flaky')\n",
    )
    finished = robustrun.run("--max-restarts", "2", "job.py")
    assert finished.code == 1
    assert (robustrun.folder / "starts").read_text() == 3 * "x"
    assert "2 of 2" in finished.errors


@pytest.mark.parametrize("segment, kept", [("left", False), ("used", True)])
def test_stale_shared_memory_is_removed_before_the_next_attempt(robustrun, segment, kept):
    name = f"/dev/shm/rr_test_{robustrun.marker}_{segment}"
    robustrun.write(
        "job.py",
        "import os, sys, time\n"
        f"name = {name!r}\n"
        "if os.environ['TORCHELASTIC_RESTART_COUNT'] == '1':\n"
        "    print('present' if os.path.exists(name) else 'gone'); sys.exit()\n"
        "os.open(name, os.O_CREAT | os.O_RDWR, 0o600)\nopen('ready', 'w').close()\n"
        "while not os.path.exists('go'): time.sleep(0.01)\n"
        "sys.exit(1)\n",
    )
    running = robustrun.start("job.py")
    wait_for((robustrun.folder / "ready").exists)
    holder = open(name, "rb") if kept else None  # a process outside the run uses it
    try:
        (robustrun.folder / "go").touch()
        finished = running.finish()
        assert finished.text.strip() == ("present" if kept else "gone"), finished.errors
    finally:
        if holder:
            holder.close()
            os.unlink(name)
