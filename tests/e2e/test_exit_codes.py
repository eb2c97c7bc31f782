"""The exit code table of docs/operations.md, native and compat."""

import json
import resource
import signal

import pytest
from helpers.processes import wait_for

# The script, and the exit codes of the run in native mode and with --compat=torchrun.
ENDINGS = [
    ("pass", 0, 0),
    ("raise SystemExit(3)", 3, 1),
    ("raise SystemExit(255)", 255, 1),
    ("raise SystemExit('words')", 1, 1),
    ("raise SystemExit(9)", 9, 1),
    ("import os, signal; os.kill(os.getpid(), signal.SIGKILL)", 137, 1),
    ("import os, signal; os.kill(os.getpid(), signal.SIGSEGV)", 139, 1),
    ("import os; os.abort()", 134, 1),
    ("raise SystemExit(93)", 93, 1),
    ("raise SystemExit(94)", 1, 1),
    ("raise SystemExit(95)", 1, 1),
    ("1 / 0", 1, 1),
]


@pytest.mark.parametrize("script, native, compat", ENDINGS)
def test_the_first_failing_worker_decides(robustrun, script, native, compat):
    robustrun.write("end.py", script + "\n")
    assert robustrun.run("--max-restarts", "0", "end.py").code == native
    assert robustrun.run("--compat=torchrun", "end.py").code == compat


def test_called_as_torchrun_means_compat(robustrun):
    robustrun.write("end.py", "raise SystemExit(7)\n")
    link = robustrun.folder / "torchrun"
    link.symlink_to(robustrun.binary)
    assert robustrun.run("end.py", argv0=str(link)).code == 1


def test_a_failure_before_any_progress_that_repeats_is_a_crash_loop(robustrun):
    robustrun.write(
        "end.py", "open('starts', 'a').write('x')\nraise ValueError('no such dataset')\n"
    )
    finished = robustrun.run("end.py")
    assert finished.code == 95
    assert (robustrun.folder / "starts").read_text() == "xx"
    assert "no such dataset" in finished.errors


def test_compat_restarts_as_often_as_allowed(robustrun):
    robustrun.write("end.py", "open('starts', 'a').write('x')\nraise ValueError('boom')\n")
    assert robustrun.run("--compat=torchrun", "--max-restarts=3", "end.py").code == 1
    assert (robustrun.folder / "starts").read_text() == 4 * "x"


def descriptors(most, hard=None):
    """For Popen: a shell's `ulimit -n`, which lowers both limits; with `hard`, `ulimit -Sn`."""
    return {"preexec_fn": lambda: resource.setrlimit(resource.RLIMIT_NOFILE, (most, hard or most))}


NOTE_START = "import os\nopen('starts', 'a').write(os.environ['TORCHELASTIC_RESTART_COUNT'])\n"


def test_compat_starts_as_many_workers_as_torchrun_under_a_low_limit_of_descriptors(robustrun):
    robustrun.write("note.py", NOTE_START)
    finished = robustrun.run(
        "--compat=torchrun", "--nproc-per-node=16", "note.py", **descriptors(40)
    )
    assert finished.code == 0, finished.errors
    assert (robustrun.folder / "starts").read_text() == 16 * "0"


@pytest.mark.parametrize("rest", [[], ["--compat=torchrun"]])
def test_a_low_soft_limit_of_descriptors_does_not_matter(robustrun, rest):
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    robustrun.write("note.py", NOTE_START)
    finished = robustrun.run(
        *rest, "--nproc-per-node=16", "--standby=off", "note.py", **descriptors(40, hard)
    )
    assert finished.code == 0, finished.errors
    assert (robustrun.folder / "starts").read_text() == 16 * "0"


def test_a_hard_limit_that_is_too_low_for_all_workers_is_named_with_what_they_take(robustrun):
    robustrun.write("note.py", NOTE_START)
    finished = robustrun.run("--nproc-per-node=16", "note.py", **descriptors(40))
    assert finished.code == 94, finished.errors
    assert "the hard limit of open files (ulimit -Hn) is 40, and 16 workers on one node take " in (
        " ".join(finished.errors.split())), finished.errors
    robustrun.expect_nothing_left()


def test_any_lack_of_descriptors_is_a_line_and_an_exit_code(robustrun):
    """Whichever call is the first that gets none: libraries throw what they do not return."""
    robustrun.write("pass.py", "pass\n")
    for most in range(5, 24):
        finished = robustrun.run("pass.py", **descriptors(most))
        errors = f"{most} descriptors: {finished.code}, {finished.errors}"
        assert finished.code in (0, 1, 2, 94), errors
        assert finished.code == 0 or "Too many open files" in finished.errors, errors
        assert "terminate called" not in finished.errors, errors
    robustrun.expect_nothing_left()


@pytest.mark.parametrize("allowed", [0, 2])
def test_compat_restarts_as_often_as_allowed_when_a_worker_cannot_be_started(robustrun, allowed):
    robustrun.write("note.py", NOTE_START + "import time; time.sleep(100)\n")
    finished = robustrun.run(
        "--compat=torchrun", f"--max-restarts={allowed}", "--nproc-per-node=64", "note.py",
        **descriptors(40),
    )
    assert finished.code == 1, finished.errors
    assert finished.errors.count("could not be started") == allowed + 1
    assert allowed == 0 or f"no restart left: {allowed} of {allowed} used" in finished.errors
    robustrun.expect_nothing_left()


@pytest.mark.parametrize(
    "mode, name, code",
    [("native", "SIGTERM", 143), ("native", "SIGINT", 130), ("torchrun", "SIGTERM", 1)],
)
def test_a_signal_from_a_worker_to_its_parent_ends_the_run_as_under_torchrun(
    robustrun, mode, name, code
):
    """As under torchrun, whose workers are its children: all of them get the signal, and time to
    end."""
    robustrun.write(
        "preempt.py",
        "import os, signal, sys, time\n"
        "rank = os.environ['RANK']\n"
        "def end(*_):\n"
        "    time.sleep(0.2); open('saved.' + rank, 'w').close(); sys.exit(0)\n"
        f"signal.signal(signal.{name}, end)\n"
        "open('ready.' + rank, 'w').close()\n"
        "while len([f for f in os.listdir('.') if f.startswith('ready.')]) < 3: time.sleep(0.01)\n"
        f"os.kill(os.getppid(), signal.{name})\n"  # all of them at once
        "time.sleep(100)\n",
    )
    finished = robustrun.run(f"--compat={mode}", "--nproc-per-node=3", "preempt.py")
    assert finished.code == code, finished.errors
    assert f"stopping ({name} from rank " in " ".join(finished.errors.split()), finished.errors
    assert len(list(robustrun.folder.glob("saved.*"))) == 3, finished.errors
    robustrun.expect_nothing_left()


def test_called_as_torch_distributed_launch_the_script_gets_its_local_rank(robustrun):
    robustrun.write(
        "launched.py",
        "import argparse, os\n"
        "parser = argparse.ArgumentParser()\n"
        "parser.add_argument('--local-rank', '--local_rank', type=int, default=-1)\n"
        "text = f\"{parser.parse_args().local_rank} {os.environ['LOCAL_RANK']}\\n\"\n"
        "os.write(1, text.encode())\n",
    )
    link = robustrun.folder / "torch.distributed.launch"
    link.symlink_to(robustrun.binary)
    for flags, expected in ([], ["0 0", "1 1"]), (["--use-env"], ["-1 0", "-1 1"]):
        finished = robustrun.run("--nproc_per_node=2", *flags, "launched.py", argv0=str(link))
        assert sorted(finished.text.splitlines()) == expected, finished.errors


def test_time_limit_ends_the_run(robustrun):
    robustrun.write("wait.py", "import time; time.sleep(100)\n")
    finished = robustrun.run("--time-limit", "1s", "wait.py", timeout=80)
    assert finished.code == 124
    assert "time limit" in finished.errors


def test_stop_after_steps_ends_the_run_successfully(robustrun):
    robustrun.write(
        "steps.py",
        "import itertools, time, robustrun\n"
        "for n in itertools.count():\n"
        "    robustrun.step(n, loss=1.0 / (n + 1)); time.sleep(0.01)\n",
    )
    finished = robustrun.run("--stop-after-steps", "20", "--summary-json", "s.json", "steps.py")
    assert finished.code == 0, finished.errors
    summary = json.loads((robustrun.folder / "s.json").read_text())
    assert summary["step"] >= 20
    assert [m["name"] for m in summary["metrics"]] == ["loss"]


@pytest.mark.parametrize("name", ["SIGTERM", "SIGINT", "SIGHUP", "SIGQUIT"])
def test_a_signal_ends_the_run_with_128_plus_n(robustrun, name):
    number = getattr(signal, name)
    robustrun.write(
        "wait.py",
        "import signal, sys, time\n"
        f"signal.signal(signal.{name}, lambda *_: (print('got it', flush=True), sys.exit(0)))\n"
        "open('ready', 'w').close()\ntime.sleep(100)\n",
    )
    running = robustrun.start("wait.py")
    wait_for((robustrun.folder / "ready").exists)
    running.process.send_signal(number)
    finished = running.finish(80)
    assert finished.code == 128 + number
    assert "got it" in finished.text


def test_a_second_signal_kills_at_once(robustrun):
    robustrun.write(
        "stubborn.py",
        "import signal, time\nsignal.signal(signal.SIGINT, lambda *_: open('asked', 'w').close())\n"
        "open('ready', 'w').close()\nwhile True: time.sleep(1)\n",
    )
    running = robustrun.start("--shutdown-timeout=600", "stubborn.py")
    wait_for((robustrun.folder / "ready").exists)
    running.process.send_signal(signal.SIGINT)
    wait_for((robustrun.folder / "asked").exists)
    running.process.send_signal(signal.SIGINT)
    assert running.finish(80).code == 130
    robustrun.expect_nothing_left()


def test_sighup_under_nohup_is_ignored(robustrun):
    robustrun.write(
        "wait.py",
        "import os, time\nopen('ready', 'w').close()\n"
        "while not os.path.exists('go'): time.sleep(0.01)\nprint('done')\n",
    )
    running = robustrun.start(robustrun.binary, "wait.py", argv0="/usr/bin/nohup")
    wait_for((robustrun.folder / "ready").exists)
    running.process.send_signal(signal.SIGHUP)
    (robustrun.folder / "go").touch()
    finished = running.finish(80)
    assert (finished.code, "done" in finished.text) == (0, True)


@pytest.mark.parametrize("name", ["SIGUSR1", "SIGUSR2"])
def test_user_signals_are_passed_on(robustrun, name):
    robustrun.write(
        "wait.py",
        "import signal, sys, time\n"
        f"signal.signal(signal.{name}, lambda *_: open('got', 'w').close())\n"
        "open('ready', 'w').close()\nimport os\n"
        "while not os.path.exists('got'): time.sleep(0.01)\n",
    )
    running = robustrun.start("wait.py")
    wait_for((robustrun.folder / "ready").exists)
    running.process.send_signal(getattr(signal, name))
    assert running.finish(80).code == 0


ATEXIT_ABORT = "import atexit, os\natexit.register(os.abort)\n"
LATE_ABORT = "import ctypes\nlibc = ctypes.CDLL(None)\nlibc.__cxa_atexit(libc.abort, None, None)\n"
COUNT = "open('starts', 'a').write('x')\n"


def test_an_abort_after_all_has_ended_counts_as_success_with_a_note(robustrun):
    robustrun.write("end.py", COUNT + LATE_ABORT)
    finished = robustrun.run("--nproc-per-node=2", "end.py")
    assert finished.code == 0, finished.errors
    assert (robustrun.folder / "starts").read_text() == "xx"
    assert "counts as exit code 0" in finished.errors
    assert "crash at interpreter exit" in finished.errors
    assert robustrun.report()["incidents"] == []


def test_an_abort_after_the_script_alone_fails_and_starts_nothing_again(robustrun):
    robustrun.write("end.py", COUNT + ATEXIT_ABORT)
    finished = robustrun.run("end.py")
    assert finished.code == 134
    assert (robustrun.folder / "starts").read_text() == "x"
    assert "may be lost" in finished.errors


@pytest.mark.parametrize("ending", [ATEXIT_ABORT, LATE_ABORT])
def test_compat_restarts_after_an_abort_at_exit_as_torchrun_does(robustrun, ending):
    robustrun.write("end.py", COUNT + ending)
    assert robustrun.run("--compat=torchrun", "--max-restarts=1", "end.py").code == 1
    assert (robustrun.folder / "starts").read_text() == "xx"
