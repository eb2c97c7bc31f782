"""The stages of a start, and the slowest node: an unmodified torch training on two nodes."""

import json
import pathlib

import pytest
from helpers.packages import NEEDS_TORCH

pytestmark = NEEDS_TORCH

SLOW_S = 8.0
# The module is slow on one node, which it knows by the name that robustrun gives its node. If the
# machine is busy it is as slow as the imports before it, so that the node is still a straggler.
HELPER = """
import __main__, os, time
if os.environ.get("ROBUSTRUN_NODE", "").endswith("1") and not os.path.exists("warm"):
    time.sleep(max({slow}, time.monotonic() - __main__.began))
"""
HELPERS = str(pathlib.Path(__file__).parent.parent / "helpers")
# Nothing may keep the group after destroy_process_group (diagnosis/faulty_job.py).
SCRIPT = """
import os, time
began = time.monotonic()
import sys
sys.path.append({helpers!r})
import light_torch, torch, torch.distributed as dist, torch.distributed.nn
import helper
dist.init_process_group("gloo")
model = torch.nn.parallel.DistributedDataParallel(torch.nn.Linear(4, 4))
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
if os.environ["RANK"] == "1" and {fails} and os.environ["TORCHELASTIC_RESTART_COUNT"] == "0":
    raise SystemExit(7)
for step in range(3):
    optimizer.zero_grad()
    model(torch.ones(2, 4)).sum().backward()
    optimizer.step()
print("trained")
del model, optimizer
dist.destroy_process_group()
"""


@pytest.fixture
def training(nodes):
    def start(*arguments, fails=False):
        nodes.runner.write("helper.py", HELPER.format(slow=SLOW_S))
        nodes.runner.write("train.py", SCRIPT.format(fails=fails, helpers=HELPERS))
        return nodes("--nnodes=2", "--preflight=off", *arguments, "train.py")

    return start


def stages_of(job, of="start"):
    report = json.loads(job.runner.run("report", "--json", str(job.run)).out)
    return {stage["stage"]: stage for stage in report["stages"] if stage["of"] == of}


def test_the_report_names_the_node_whose_imports_were_slow(training):
    job = training("--standby=off")
    finished = job.finish(300)
    assert finished.code == 0, finished.errors
    assert finished.text.count("trained") == 2
    stages = stages_of(job)
    assert list(stages) == ["allocate", "connect", "imports", "process group", "model",
                            "first step"]
    assert all(stage["samples"] == 2 and not stage["unfinished"] for stage in stages.values())
    imports = stages["imports"]
    slow = imports["slowest"]
    assert slow.endswith("1") and imports["rank"] == 1
    assert imports["max_s"] >= SLOW_S
    straggler = imports["stragglers"][0]
    assert (straggler["node"], straggler["rank"]) == (slow, 1)
    assert straggler["over_s"] >= 0.3 * SLOW_S
    # The other one waited for it.
    assert stages["process group"]["max_s"] >= 0.5 * SLOW_S
    assert stages["process group"]["rank"] == 0
    text = job.runner.run("report", "-v", str(job.run)).text
    assert f"imports on {slow}, rank 1: " in " ".join(text.split())


def test_a_failed_start_reports_its_stage_and_the_restart_has_its_own_stages(training):
    job = training("--max-restarts=1", "--standby=off", fails=True)
    finished = job.finish(300)
    assert finished.code == 0, finished.errors
    first, again = stages_of(job), stages_of(job, "restart")
    assert first["model"]["samples"] == 2
    assert first["first step"]["unfinished"] == 2
    assert again["first step"]["samples"] == 2
    assert again["imports"]["attempt"] == 1


def test_under_compat_nothing_is_injected_and_no_stage_of_workers_is_reported(training):
    job = training("--compat=torchrun")
    finished = job.finish(300)
    assert finished.code == 0, finished.errors
    assert set(stages_of(job)) <= {"allocate", "connect"}
