"""200 random faults of Slurm's tools: slow, with errors, printing garbage, gone. The training is
never touched, and no second job for a node is queued. Real Slurm on loopback, behind tools that
misbehave on order."""

import os
import random
import shutil
import signal
import time

from helpers.jobs import lockstep
from helpers.processes import wait_for
from slurm.jobs import Allocation

FAULTS = int(os.environ.get("ROBUSTRUN_TEST_ROUNDS", "200"))
TOOLS = ("srun", "scontrol", "sinfo", "squeue", "sbatch", "scancel")
KINDS = ("slow", "error", "garbage", "cut", "silent", "gone")
HUNG_S = 25  # longer than robustrun waits for any tool

# Notes each call. The file "fault" names what it does instead of its work.
TOOL = """#!/bin/bash
cd {folder}
echo {name} >> calls
read -r tool kind < fault
if [ "$tool" = {name} ]; then
  case $kind in
    slow) sleep $((RANDOM % 3)) ;;
    hung) exec sleep {hung} ;;
    error) echo 'slurm_load error: Unable to contact slurm controller' >&2; exit 1 ;;
    garbage) head -c $((RANDOM * 8)) /dev/urandom; exit $((RANDOM % 2)) ;;
    cut) {real} "$@" | head -c $((RANDOM % 60)); exit 0 ;;
    silent) exit 0 ;;
  esac
fi
exec {real} "$@"
"""


class Tools:
    def __init__(self, folder):
        self.folder = folder / "tools"
        self.folder.mkdir()
        self.set("none", "none")
        for name in TOOLS:
            path = self.folder / name
            path.write_text(TOOL.format(folder=self.folder, name=name, real=shutil.which(name),
                                        hung=HUNG_S))
            path.chmod(0o755)

    def set(self, tool, kind):
        (self.folder / "fault.new").write_text(f"{tool} {kind}\n")
        (self.folder / "fault.new").rename(self.folder / "fault")

    def calls(self, tool):
        path = self.folder / "calls"
        return path.read_text().split().count(tool) if path.exists() else 0

    def play(self, tool, kind, within_s):
        """The fault lasts until the tool was called, or for a while."""
        before, path = self.calls(tool), self.folder / tool
        if kind == "gone":
            path.rename(self.folder / "away")
            time.sleep(within_s / 2)
            (self.folder / "away").rename(path)
            return
        self.set(tool, kind)
        end = time.monotonic() + within_s
        while self.calls(tool) == before and time.monotonic() < end:
            time.sleep(0.02)
        time.sleep(0.1)  # the call meets the fault
        self.set("none", "none")


def test_faults_of_the_tools_never_touch_the_training(robustrun, slurm):
    seed = int(os.environ.get("ROBUSTRUN_TEST_SEED", random.randrange(10**9)))
    print(f"seed {seed} (ROBUSTRUN_TEST_SEED)")
    dice = random.Random(seed)
    cluster = slurm(3, kill_wait_s=5)
    allocation = Allocation(cluster, 2)
    Allocation(cluster, 1, "--exclusive")  # so that a job for one more node waits
    tools = Tools(robustrun.folder)
    job = allocation.start(
        robustrun, "--nnodes=1:2", "--replace=1", "--slurm-poll=0.1", "--preflight=off",
        "--orphan-grace=60", *lockstep(robustrun),
        env={"PATH": f"{tools.folder}:{os.environ['PATH']}"})
    job.moves(world=2)
    cluster[2].die()
    cluster.declare_down("n2")
    job.says("is queued for one more (--replace)")
    # No more srun from here on: each one would look like a fault of the node.
    job.moves(world=1)
    workers, attempt = job.workers_of(), job.attempt()
    asked = {"scontrol": 0, "squeue": 0}
    for number in range(FAULTS):
        tool = dice.choice(TOOLS) if dice.random() < 0.3 else dice.choice(("scontrol", "squeue"))
        kind = "hung" if number % 40 == 39 else dice.choice(KINDS)
        before = len(job.lines())
        calls = tools.calls(tool)
        tools.play(tool, kind, 1.0)
        if tool in asked:
            asked[tool] += tools.calls(tool) > calls
        wait_for(lambda before=before: len(job.lines()) > before, 10, f"steps with {tool} {kind}")
        waiting = cluster.run("squeue", "--noheader", "--states=PENDING", "--format=%i").stdout
        assert len(waiting.split()) <= 1, f"{number}: {tool} {kind}: {waiting}\n{job.err()[-3000:]}"
    print(f"{FAULTS} faults, calls that met one: {asked}")
    assert min(asked.values()) > FAULTS // 10
    assert job.workers_of() == workers
    assert job.attempt() == attempt
    # The lost node is tried again and again.
    assert [loss for loss in job.losses() if loss[0] in job.group()] == []
    # It still asks, once the tools work.
    wait_for(lambda: "Slurm's queue" in job.err(), 60, "what the job waits for")
    assert job.stop().code == 128 + signal.SIGTERM
    wait_for(lambda: not cluster.run("squeue", "--noheader", "--states=PENDING").stdout.strip(),
             60, "no job in the queue")
