"""The console of a run in other shells: complete, as the run's own command shows it, for many
readers at once, and without slowing the run.
"""

import json
import os
import pathlib
import re
import signal
import subprocess

import pytest
from helpers.detached import BARRIER, FLOOD, SCRIPT, Detached
from helpers.processes import wait_for
from helpers.runner import Finished


@pytest.fixture
def detached(robustrun):
    return lambda *arguments, **options: Detached(robustrun, *arguments, **options)


class Shown:
    """A running `attach` whose output can be read at any time."""

    def __init__(self, run, *words):
        self.out, self.err = run.folder / "shown.out", run.folder / "shown.err"
        with open(self.out, "wb") as out, open(self.err, "wb") as err:
            self.attached = run.attach(*words, stdout=out, stderr=err)

    def wait(self, words):
        wait_for(lambda: words in self.out.read_bytes() + self.err.read_bytes(), what=repr(words))

    def finish(self):
        code = self.attached.finish().code
        return Finished(code, self.out.read_bytes(), self.err.read_bytes())


def test_attach_shows_the_same_as_the_command_and_ends_with_its_code(detached):
    run = detached("--nproc-per-node=2", "--ranks-filter=1", "--max-restarts=0")
    run.steps()
    attached = Shown(run, "--lines=3")
    attached.wait(b"err 1 ")  # of every tenth step
    run.enough(code=7)
    done = attached.finish()
    assert done.code == 7, done.errors
    assert "[rank 0]" not in done.text + done.errors
    assert re.search(r"^\[rank 1\] err 1 \d+$", done.errors, re.MULTILINE)
    assert "err 1" not in done.text and "out 1" not in done.errors
    assert "failed after" in done.errors  # the report
    # Its output is one contiguous part of the console.
    shown = re.findall(r"out 1 (\d+)", done.text)
    numbers = [int(n) for n in shown]
    assert numbers == list(range(numbers[0], numbers[-1] + 1))
    # Up to its end, no matter which rank failed first.
    assert shown[-1] == re.findall(r"out 1 (\d+)", run.console())[-1]


def test_attach_comes_and_goes(detached):
    run = detached()
    run.steps()
    for _ in range(3):
        with open(run.folder / "shown", "wb") as out:
            attached = run.attach(stdout=out)
            wait_for(lambda: b"out 0" in (run.folder / "shown").read_bytes(), what="some output")
            os.kill(attached.pid, signal.SIGINT)
            done = attached.finish()
        assert done.code == 0, done.err
        assert f"robustrun stop {run.name}".encode() in done.err
        assert run.status()["state"] == "running"
    attached = run.attach()
    run.enough()
    assert attached.finish().code == 0


def test_history_comes_first(detached):
    run = detached()
    run.steps(30)
    attached = Shown(run, "--lines", "1000")
    attached.wait(b"out 0 30")
    run.enough()
    done = attached.finish()
    assert "hello from 0, attempt 0" in done.text
    assert ": job.py, 1 worker on" in done.errors  # our own log belongs to the console
    numbers = [int(n) for n in re.findall(r"out 0 (\d+)", done.text)]
    assert numbers == list(range(1, len(numbers) + 1))


def test_lines_are_folded_in_an_attached_console(detached):
    alike = SCRIPT.replace("{rank} {n}", "{n}").replace("n = 0\n", BARRIER + "n = 0\n")
    run = detached("--nproc-per-node=3", "--fold-lines", script=alike)
    attached = Shown(run, "--lines=1000")
    attached.wait(b"out 10")
    run.enough()
    done = attached.finish()
    assert "[ranks 0-2] out 5\n" in done.text


def test_a_foreground_run_can_be_watched_from_elsewhere(robustrun):
    robustrun.write("job.py", SCRIPT)
    running = robustrun.start("job.py")
    wait_for(lambda: list(robustrun.folder.glob("robustrun-runs/*/control")),
             what="the run's start")
    with open(robustrun.folder / "shown", "wb") as out:  # the only run: no name is needed
        attached = robustrun.start("attach", "--lines=100000", stdout=out)
    wait_for((robustrun.folder / "shown").read_bytes, what="some output")
    (robustrun.folder / "enough").write_text("0")
    shown, own = attached.finish(), running.finish()
    assert shown.code == own.code == 0
    assert f"run {robustrun.newest_run().name}" in shown.errors
    assert (robustrun.folder / "shown").read_bytes() == own.out


def test_readers_that_do_not_read_delay_neither_the_run_nor_other_readers(detached):
    run = detached(script=FLOOD)
    stuck = [run.attach() for _ in range(3)]
    for one in stuck:
        os.kill(one.pid, signal.SIGSTOP)
    silent = [run.attach(stdout=subprocess.PIPE) for _ in range(3)]  # no one reads these pipes

    def count():
        return int((run.folder / "count").read_text()) if (run.folder / "count").exists() else 0

    begin = wait_for(count, what="output")
    wait_for(lambda: count() > begin + 200_000, 180, "200,000 more lines")
    with open(run.folder / "quick", "wb") as out, open(run.folder / "quick.err", "wb") as err:
        quick = run.attach(stdout=out, stderr=err)
    wait_for(lambda: (run.folder / "quick").stat().st_size > 1_000_000, what="a quick reader")
    rss = int(re.search(r"VmRSS:\s+(\d+)",
                        pathlib.Path(f"/proc/{run.status()['pid']}/status").read_text())[1])
    assert rss < 100_000, f"{rss} KiB"
    for one in stuck:
        os.kill(one.pid, signal.SIGCONT)
    run.enough()
    results = [one.finish() for one in [*stuck, *silent]]
    assert quick.finish().code == 0
    run.wait_end()
    for done in results:
        assert done.code == 0, done.errors
    assert any(b"are missing here" in done.err for done in results)


def test_many_commands_can_query_one_run(detached):
    run = detached()
    run.steps()
    attached = [run.attach(stdout=subprocess.DEVNULL) for _ in range(12)]
    asked = [run.robustrun.start("status", run.name, "--json") for _ in range(20)]
    for one in asked:
        done = one.finish()
        assert done.code == 0 and json.loads(done.text)["supervisor"] == "answers"
    assert run.do("stop").code == 0
    for one in attached:
        assert one.finish().code == 143
