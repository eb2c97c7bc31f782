"""The stage of a start while it is under way."""

import json

import pytest
from helpers.jobs import start_job
from helpers.packages import NEEDS_TORCH
from helpers.processes import wait_for

HELPER = """
import os, time
if os.environ["RANK"] == "1":
    while not os.path.exists("go"):
        time.sleep(0.01)
"""
SCRIPT = """
import os, time
import helper
import robustrun
for step in range(3):
    robustrun.step(step)
while not os.path.exists("end"):
    time.sleep(0.01)
"""


def test_status_names_the_nodes_that_delay_a_start_and_the_stage(robustrun):
    robustrun.write("helper.py", HELPER)
    robustrun.write("train.py", SCRIPT)
    job = start_job(robustrun, "--nproc-per-node=2", "train.py")

    def node():
        done = robustrun.run("status", "--json", str(job.run))
        return json.loads(done.out)["nodes"][0] if done.code == 0 else {}

    slow = wait_for(lambda: (n := node()).get("stage") == "imports" and n["stage_took_s"] > 2 and n,
                    150, "imports that take their time")
    assert slow["stage_rank"] == 1
    shown = robustrun.run("status", str(job.run)).text
    assert f"{slow['name']}: imports " in shown and "(rank 1)" in shown, shown
    (robustrun.folder / "go").touch()
    wait_for(lambda: node().get("stage") == "", 150, "the end of the start")
    assert " start " not in robustrun.run("status", str(job.run)).text
    (robustrun.folder / "end").touch()
    assert job.finish().code == 0


# A torch training whose rank 1 has imported all it needs, and goes on once the file "go" exists.
LATE_SCRIPT = """
import os, time
import torch.distributed as dist
import robustrun
while os.environ["RANK"] == "1" and not os.path.exists("go"):
    time.sleep(0.01)
dist.init_process_group("gloo")
robustrun.step(0)
open("joined." + os.environ["RANK"], "w").close()
while not os.path.exists("end"):
    time.sleep(0.01)
dist.destroy_process_group()
"""
SAID = "waiting in init_process_group for rank 1 ("


@pytest.fixture
def late(robustrun):
    robustrun.write("train.py", LATE_SCRIPT)
    return start_job(robustrun, "--nproc-per-node=2", "train.py")


def group_wait(job):
    done = job.runner.run("status", "--json", str(job.run))
    return json.loads(done.out)["group_wait"] if done.code == 0 else None


def end(job):
    folder = job.runner.folder
    (folder / "go").touch()
    wait_for(lambda: all((folder / f"joined.{rank}").exists() for rank in range(2)), 150,
             "the group")
    wait_for(lambda: group_wait(job) is None, 150, "the end of the wait")
    (folder / "end").touch()
    finished = job.finish()
    assert finished.code == 0, finished.errors
    return finished


@NEEDS_TORCH
def test_status_and_diagnose_name_a_rank_that_is_missing_in_init_process_group(late):
    wait = wait_for(lambda: (w := group_wait(late)) and w["missing"] == 1 and w, 150, "a wait")
    assert wait["waiting"] == 1
    missing = wait["ranks"][0]
    assert missing["rank"] == 1
    # Its imports end with the last one; that is seen a moment later.
    wait_for(lambda: (w := group_wait(late)) and w["ranks"][0]["stage"] == "imports done", 30,
             "the end of its imports")
    shown = " ".join(late.runner.run("status", str(late.run)).text.split())
    assert f"in init_process_group for rank 1 ({missing['node']}, imports done " in shown, shown
    asked = late.runner.run("diagnose", str(late.run))
    assert "rank 1 " in asked.text and "train.py:" in asked.text, asked.text
    # All have arrived before that would be logged.
    assert SAID not in end(late).errors


@pytest.mark.nightly
@NEEDS_TORCH
def test_a_long_wait_for_a_rank_is_logged_once(late):
    late.says(SAID, 150)
    assert end(late).errors.count(SAID) == 1
