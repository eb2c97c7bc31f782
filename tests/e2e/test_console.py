"""What the console shows, as its user reads it."""

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
    assert "(train.py:1)" in finished.errors or "train.py:1" in finished.errors


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
