"""The stage of a start while it is under way."""

import json

from helpers.jobs import start_job
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
