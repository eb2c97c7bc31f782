"""`robustrun demo`: what a new user runs first."""

import re
import sys

from helpers.packages import NEEDS_TORCH

pytestmark = NEEDS_TORCH


def test_the_demo_loses_a_rank_and_recovers(robustrun):
    finished = robustrun.run("demo")
    assert finished.code == 0, finished.errors
    assert "rank 1 kills itself with SIGKILL" in finished.text
    assert "steps done again after the restart, each with the same loss" in finished.errors
    assert "restart 1 of 3" in finished.errors
    assert "2 workers started warm" in finished.errors
    # Found from any folder, in which the demo leaves nothing.
    assert robustrun.run("report", "latest").code == 0
    # Its directory has another name than the id that the console shows.
    (run,) = set(re.findall(r"\brun (\d{8}-\d{6}-[0-9a-f]{4})\b", finished.errors))
    assert robustrun.run("report", run).code == 0
    assert not (robustrun.folder / "robustrun-runs").exists()
    robustrun.expect_nothing_left()


def test_without_torch_it_says_what_to_install(robustrun):
    python = robustrun.write("python", f"#!/bin/sh\nexec {sys.executable} -S -I \"$@\"\n")
    python.chmod(0o755)
    finished = robustrun.run("demo", env={"PYTHON_EXEC": str(python)})
    assert finished.code == 2
    assert f"{python} has no torch; `pip install torch` into it" in finished.errors
