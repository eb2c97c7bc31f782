"""What the console shows, as its user reads it."""

import re

SYNTAX = "def f(:\n    pass\n"
RAISES = """
import os
def load_batch():
    return 1 / 0
load_batch()
"""


def test_a_syntax_error_costs_at_most_12_lines_and_no_restart(robustrun):
    robustrun.write("train.py", SYNTAX)
    finished = robustrun.run("train.py")
    assert finished.code == 1
    lines = finished.errors.splitlines()
    assert len(lines) <= 12, finished.errors
    assert finished.errors.count("SyntaxError: invalid syntax") <= 3, finished.errors
    assert "giving up: a restart cannot change that" in finished.errors
    assert "invalid syntax, in train.py:1" in finished.errors


def test_a_module_that_is_missing_is_named_and_not_started_again(robustrun):
    finished = robustrun.run("-m", "nosuchmod")
    assert finished.code == 1
    assert "giving up: a restart cannot change that" in finished.errors
    (why,) = [line for line in finished.errors.splitlines() if line.startswith("  why ")]
    assert "No module named nosuchmod; " in why


def test_a_failure_names_the_users_line_and_no_torch_block(robustrun):
    robustrun.write("train.py", RAISES)
    finished = robustrun.run("--max-restarts=0", "train.py")
    said = "ZeroDivisionError: division by zero, in load_batch (train.py:4)"
    assert said in finished.errors
    assert "ChildFailedError" not in finished.errors
    for option in ("--compat=torchrun", "--child-failed-block"):
        finished = robustrun.run(option, "--max-restarts=0", "train.py")
        assert "ChildFailedError" in finished.errors


def test_a_run_that_goes_well_takes_few_lines(robustrun):
    robustrun.write("train.py", "print('done')\n")
    finished = robustrun.run("--nproc-per-node=2", "train.py")
    assert finished.code == 0
    lines = finished.errors.splitlines()
    run = robustrun.newest_run()
    assert f"run {run.name}: train.py, 2 workers on " in lines[0]
    assert f", logs in {run}/logs, times in UTC" in lines[0]
    assert len(lines) <= 6, finished.errors
    assert robustrun.run("--quiet", "train.py").errors == ""


FOLLOWS = """
import os, signal, sys, time
if os.environ["RANK"] == "1":
    while not os.path.exists("ready"):
        time.sleep(0.01)
    raise ValueError("bad batch")
def end(*_):
    raise ConnectionError("peer closed")
signal.signal(signal.SIGTERM, end)
open("ready", "w").close()
time.sleep(60)
"""


# The peers see the end of rank 1 before robustrun does, and take longer to end.
PEERS = """
import os, socket, time, traceback
place = socket.socket(socket.AF_UNIX)
if os.environ["RANK"] == "1":
    place.bind("place")
    place.listen()
    peers = [place.accept()[0] for _ in range(3)]
    raise ValueError("bad batch")
while place.connect_ex("place"):
    time.sleep(0.01)
try:
    if not place.recv(1):
        raise ConnectionError("peer closed")
except ConnectionError:
    traceback.print_exc()
    time.sleep(60)
"""


def test_only_the_first_of_several_tracebacks_at_once_is_shown_whole(robustrun):
    robustrun.write("train.py", PEERS)
    finished = robustrun.run("--nproc-per-node=4", "--max-restarts=0", "train.py")
    assert finished.code == 1
    assert finished.errors.count("Traceback (most recent call last):") == 1, finished.errors
    assert re.search(r"^Traceback .*\n( .*\n)+ValueError: bad batch$", finished.errors,
                     re.MULTILINE), finished.errors


def test_a_traceback_that_only_follows_is_one_line(robustrun):
    robustrun.write("train.py", FOLLOWS)
    options = ("--nproc-per-node=2", "--max-restarts=0")
    finished = robustrun.run(*options, "train.py")
    assert finished.code == 1
    # The interpreter's own frames are among the lines, so their number is not fixed.
    assert re.search(r"^ConnectionError: peer closed \[\d+ lines in the log of rank 0\]$",
                     finished.errors, re.MULTILINE), finished.errors
    assert finished.errors.count("Traceback (most recent call last):") == 1, finished.errors
    log = robustrun.newest_run() / "logs" / "attempt_0" / "0" / "stderr.log"
    assert "Traceback (most recent call last):" in log.read_text()
    (robustrun.folder / "ready").unlink()
    whole = robustrun.run("--compat=torchrun", *options, "train.py").errors
    assert whole.count("Traceback (most recent call last):") == 2, whole


HANDLED = """
import os, signal, sys, traceback
try:
    1 / 0
except ZeroDivisionError:
    traceback.print_exc()
sys.stderr.flush()
os.kill(os.getpid(), signal.SIGKILL)
"""


def test_an_exception_that_was_handled_is_not_the_cause(robustrun):
    robustrun.write("train.py", HANDLED)
    finished = robustrun.run("--max-restarts=0", "train.py")
    (why,) = [line for line in finished.errors.splitlines() if line.startswith("  why ")]
    assert "SIGKILL" in why and "ZeroDivisionError" not in why
    (incident,) = robustrun.report()["incidents"]
    assert incident["exception"] == "" and "SIGKILL" in incident["ended"]
