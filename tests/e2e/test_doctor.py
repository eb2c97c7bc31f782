"""`robustrun doctor` on this machine, and with programs that hang, fail or are missing."""

import json
import os
import re
import sys
import time

import pytest


@pytest.fixture
def doctor(robustrun):
    """Checks by name, with `programs` (name: shell script) alone on PATH, or before the usual."""

    def run(programs, env=None, usual_path=False):
        folder = robustrun.folder / "bin"
        folder.mkdir(exist_ok=True)
        for name, script in programs.items():
            program = folder / name
            program.write_text("#!/bin/sh\n" + script)
            program.chmod(0o755)
        path = f"{folder}:{os.environ['PATH']}" if usual_path else str(folder)
        environment = {"PATH": path, "PYTHON_EXEC": sys.executable, "SSH_AUTH_SOCK": "",
                       "SLURM_JOB_ID": "", "NCCL_PROFILER_PLUGIN": "", **(env or {})}
        done = robustrun.run("doctor", "--json", env=environment)
        answer = json.loads(done.text)
        assert done.code == (1 if answer["bad"] else 0), done.errors
        return {check["name"]: check for check in answer["checks"]}

    return run


def test_the_screen_has_80_columns_and_a_summary(robustrun):
    done = robustrun.run("doctor", env={"COLUMNS": "80"})
    assert done.code in (0, 1), done.errors
    lines = done.text.splitlines()
    assert lines[0].startswith("ok    kernel            Linux " + os.uname().release)
    assert max(map(len, lines)) <= 80 and len(lines) <= 50
    assert lines[-1].startswith("nothing is bad" if done.code == 0 else "bad: ")
    assert "\x1b" not in done.text
    robustrun.expect_nothing_left()


def test_parts_and_the_interpreter_of_a_run_are_found(doctor):
    checks = doctor({})
    assert checks["robustrun"]["state"] == "ok", checks["robustrun"]
    version = ".".join(map(str, sys.version_info[:3]))
    assert checks["Python"]["found"] == f"{version} ({sys.executable})"


def test_cgroups_are_killed_at_once_from_linux_5_14_on(doctor):
    """Also where our own cgroup is the root of all, which has no cgroup.kill."""
    release = tuple(map(int, re.match(r"(\d+)\.(\d+)", os.uname().release).groups()))
    found = doctor({})["cgroups"]["found"]
    assert release < (5, 14) or "before 5.14" not in found, found


def test_what_is_optional_and_absent_has_no_advice(doctor):
    checks = doctor({})
    for name in ("ssh", "Slurm", "native stacks"):
        assert (checks[name]["state"], checks[name]["advice"]) == ("absent", "")


def test_a_hung_tool_is_a_line(doctor):
    begin = time.monotonic()
    checks = doctor({"ssh": "sleep 600", "srun": "sleep 600", "scontrol": "exit 1"},
                    usual_path=True)
    assert time.monotonic() - begin < 60
    assert checks["ssh"]["found"] == "ssh -V does not end"
    assert checks["Slurm"]["state"] == "warn"
    assert checks["kernel"]["state"] == "ok"


def test_slurm_shows_version_plugin_and_allocation(doctor):
    checks = doctor(
        {"srun": "echo slurm 23.11.4", "sbatch": "",
         "scontrol": "echo 'TopologyPlugin          = topology/tree'"}, {"SLURM_JOB_ID": "12"})
    assert checks["Slurm"]["found"] == "23.11.4, topology/tree; within job 12"
    assert checks["Slurm"]["state"] == "ok"


def test_an_interpreter_that_is_missing_is_bad(doctor):
    checks = doctor({}, {"PYTHON_EXEC": "/nowhere/python"})
    assert checks["Python"]["state"] == "bad"
    assert "PYTHON_EXEC=/nowhere/python" in checks["Python"]["found"]
    assert checks["torch"]["state"] == "absent"


def test_a_taken_profiler_slot_is_named(doctor):
    check = doctor({}, {"NCCL_PROFILER_PLUGIN": "inspector"})["NCCL profiler"]
    assert check["state"] == "ok"
    assert "NCCL_PROFILER_PLUGIN=inspector" in check["found"]


def test_bad_input(robustrun):
    refused = robustrun.run("doctor", "--jsn")
    assert refused.code == 2
    assert "did you mean --json?" in refused.errors
