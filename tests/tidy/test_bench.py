"""Measurements are run by hand; that they can be started is tested here."""

import importlib.machinery
import importlib.util
import os
import pathlib
import re
import signal
import subprocess
import sys
import time
import types

import pytest

BENCH = pathlib.Path(__file__).resolve().parents[2] / "bench"
sys.path.insert(0, str(BENCH))

import harness  # noqa: E402
from figures import nodeloss, recovery_path, spares  # noqa: E402


def program(name):
    """A program of bench/ as a module."""
    loader = importlib.machinery.SourceFileLoader(name, str(BENCH / name))
    module = importlib.util.module_from_spec(importlib.util.spec_from_loader(name, loader))
    loader.exec_module(module)
    return module


run = program("run")


def test_every_measurement_is_listed_in_the_readme():
    shown = subprocess.run([sys.executable, BENCH / "run", "--help"], capture_output=True,
                           text=True)
    assert shown.returncode == 0, shown.stderr
    names = re.findall(r"^  (\w+) {2,}\S", shown.stdout.split("what --quick measures:")[1], re.M)
    assert "launch" in names and "install" in names
    readme = (BENCH / "README.md").read_text()
    assert [name for name in names if readme.count(f"\n| {name} |") < 2] == []


def test_the_readme_gives_the_seconds_of_each_quick_measurement():
    readme = (BENCH / "README.md").read_text().split("## --quick")[1]
    listed = {name: int(seconds) for name, seconds in
              re.findall(r"^\| (\w+) \| (\d+) \|", readme, re.M)}
    assert listed == {name: bench.QUICK.seconds for name, bench in run.BENCHES.items()}


def test_a_name_stands_for_one_measurement_with_quick():
    assert run.names("tracer", False) == ("tracer", "tracing")
    assert run.names("tracer", True) == ("tracer",)
    assert len(run.names("all", True)) == len(run.BENCHES)


MINUTE = harness.Quick(32, "a part", longer="it is a test")


def test_a_quick_measurement_that_gets_too_little_time_shows_what_it_waited_for():
    stubborn = ["/bin/sh", "-c", "trap '' TERM; echo a last line; while :; do sleep 0.1; done"]
    with harness.DEADLINE.of(MINUTE), pytest.raises(harness.OutOfTime) as ended, \
            harness.Scratch() as folder:
        process = harness.start(stubborn, folder)
        harness.wait_for(lambda: (folder / "output").read_text(), "its output")
        began = time.monotonic()
        harness.DEADLINE.at = began + 0.2 - harness.END_S / 2
        harness.wait_for(lambda: False, "the first step")
    assert time.monotonic() - began < 30  # without the deadline: 60 s and 30 s for the process
    assert process.returncode == -signal.SIGKILL
    assert str(ended.value).startswith("waited 0 s for the first step\n")
    assert f"process {process.pid} still runs" in str(ended.value)
    assert "\n    a last line" in str(ended.value)


def test_a_command_for_which_the_time_is_too_short_shows_its_last_lines():
    over = "echo a last line >&2; kill -ALRM $PPID; exec sleep 100"
    with harness.DEADLINE.of(MINUTE), pytest.raises(harness.OutOfTime, match="not over") as ended:
        harness.call(["/bin/sh", "-c", over])
    assert "sleep 100\n    a last line" in str(ended.value)
    assert harness.STARTED == []


def test_a_child_that_was_started_otherwise_shows_its_last_lines(tmp_path):
    with open(tmp_path / "log", "w") as log, \
            subprocess.Popen(["/bin/sleep", "100"], stderr=log) as child, \
            subprocess.Popen(["/bin/sleep", "200"], stderr=log) as second:
        log.write("its last line")
        log.flush()
        harness.wait_for(lambda: "/bin/sleep 200" in harness.processes_shown(), "its command")
        shown = harness.processes_shown()
        child.kill()
        second.kill()
    assert f"process {child.pid} still runs: /bin/sleep 100" in shown
    assert shown.count("\n    its last line") == 1


def test_a_peer_that_would_get_no_time_to_come_back_did_not_get_so_far():
    with harness.DEADLINE.of(MINUTE):
        harness.DEADLINE.at = time.monotonic() + 5
        back = harness.or_absent(lambda: harness.within(lambda: True, 60, least_s=5))
    assert harness.with_peer([2.0], [back], "torchrun") == (
        [2.0], [], "torchrun did not get so far within 0 s")


def test_a_later_round_for_which_the_time_is_too_short_is_dropped(capsys):
    taken = []

    def measure():
        if len(taken) > 1:
            harness.DEADLINE.at = time.monotonic() + 0.2
            harness.wait_for(lambda: False, "a step")
        taken.append(len(taken))
        return taken[-1]

    with harness.DEADLINE.of(MINUTE):
        assert harness.in_turns(3, measure, lambda: 7) == ([0, 1], [7, 7])
    assert "2 of 3 rounds: no time for more" in capsys.readouterr().out


def test_what_was_measured_before_the_time_was_over_is_shown(monkeypatch, capsys):
    figure = harness.Figure("the first half", "s", [2.0], [], "-", True)

    def measure(_):
        yield figure
        raise harness.OutOfTime("waited 50 s for the second half")

    bench = types.SimpleNamespace(measure=measure, QUICK=harness.Quick(50, "a part"), __doc__="One")
    monkeypatch.setitem(run.BENCHES, "halves", bench)
    monkeypatch.setattr(harness, "save", lambda *_: None)
    monkeypatch.setattr(harness.Load, "now", lambda: harness.Load(0.0, 0.0, 2))
    assert run.take("halves", True, time.monotonic()) == [figure]
    shown = capsys.readouterr().out
    assert "left out: waited 50 s for the second half" in shown and "the first half  2 s" in shown


def test_a_busy_machine_is_named_when_nothing_could_be_measured(monkeypatch, capsys):
    def measure(_):
        raise harness.OutOfTime("waited 56 s for all")

    bench = types.SimpleNamespace(measure=measure, QUICK=harness.Quick(50, "a part"), __doc__="One")
    monkeypatch.setitem(run.BENCHES, "all_of_it", bench)
    load = harness.Load(used=1.8, average=5.25, count=2)
    monkeypatch.setattr(harness.Load, "now", lambda: load)
    assert run.take("all_of_it", True, time.monotonic()) is None
    busy = "  the machine is busy: other programs use 1.8 of 2 processors, load 5.2\n"
    shown = capsys.readouterr()
    assert busy in shown.out
    assert shown.err == f"all_of_it: not measured: waited 56 s for all\n{busy}"
    assert str(harness.Load(used=0.1, average=0.4, count=2)) == ""


PHASES = dict.fromkeys(("noticed", "stopped", "formed", "started"), 12.0)


@pytest.mark.skipif(os.geteuid() != 0 or not os.path.exists("/proc/self/autogroup"),
                    reason="a higher priority takes root, and a kernel with autogroups")
def test_a_standby_worker_can_be_hurried():
    own = os.getpriority(os.PRIO_PROCESS, 0)
    with subprocess.Popen(["/bin/sleep", "100"]) as child:
        os.setpriority(os.PRIO_PROCESS, child.pid, own + 1)
        spares.hurry(child.pid)
        priority = os.getpriority(os.PRIO_PROCESS, child.pid)
        child.kill()
    assert priority == own


def test_a_peer_that_does_not_come_back_is_a_result_of_nodeloss():
    never = [harness.Absent(21.0)]
    user, step = nodeloss.figures([(3.0, 5.0, PHASES)], never)
    assert user.row()[:4] == ["node killed, until user code", "3 s", "", ""]
    assert user.verdict().startswith("not compared; torchrun did not come back within 21 s; ")
    assert step.ours == [5.0] and step.note == ("torchrun's: none: it did not come back "
                                                  "within 21 s")
    late = harness.Absent(4.0)
    again, step = nodeloss.figures([(3.0, late, PHASES)] * 2, [*never, (30.0, late, None)])
    assert step.row()[1] == "-" and step.met is False
    assert again.met and again.row()[3] == "0.1 (0.1 to 0.1)"
    assert "torchrun did not come back within 21 s in 1 of 2 rounds" in again.verdict()


def test_a_peer_that_does_not_come_back_is_a_result_of_recovery_path(capsys):
    ours = [30.0] * len(recovery_path.STAGES)
    (figure,) = recovery_path.case_figures(recovery_path.CASES[0], [ours], [harness.Absent(17.0)])
    assert figure.ours == [240.0] and figure.peer == [] and figure.met is None
    assert figure.note.startswith("torchrun did not come back within 17 s; ")
    slow = [100.0] * len(recovery_path.STAGES)
    (figure,) = recovery_path.case_figures(recovery_path.CASES[0], [slow], [harness.Absent(17.0)])
    assert figure.met is False


def test_a_job_that_ends_before_it_answers_shows_its_last_lines():
    with harness.Scratch() as folder, pytest.raises(SystemExit) as ended:
        process = harness.start(["/bin/sh", "-c", "echo first; echo a last line >&2"], folder,
                                stdout=subprocess.PIPE)
        assert harness.next_line(process, "its start") == "first\n"
        harness.next_line(process, "save-ours")
    assert str(ended.value).startswith("a process ended before save-ours\n")
    assert "\n    a last line" in str(ended.value)


def test_a_measurement_that_waits_for_no_process_says_where_it_is(monkeypatch):
    def slow_image(*_):
        signal.raise_signal(signal.SIGALRM)

    blocks = run.BENCHES["blocks"]
    monkeypatch.setattr(blocks, "os", types.SimpleNamespace(geteuid=lambda: 0))
    monkeypatch.setattr(blocks, "Readings", slow_image)
    with harness.DEADLINE.of(MINUTE), \
            pytest.raises(harness.OutOfTime, match=r"in measure \(blocks.py, line"):
        list(blocks.measure(True))
