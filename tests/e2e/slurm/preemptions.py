"""A training that is preempted again and again, at random times: three times in
test_preemptions.py, fifty times in nightly_preemptions.py."""

import random
import re
import time

from helpers.jobs import FINISH, Job
from helpers.processes import wait_for
from helpers.runner import ROOT
from slurm.cluster import can_track_by_cgroup

EVERY = 20  # steps between saves
GRACE_S, REQUEUE_S = 20, 5

# Counts and saves as examples/train.py does, without torch, whose imports take most of a start.
LIGHT = f"""
import os, signal, sys, time
import robustrun

heard = []
signal.signal(signal.SIGTERM, lambda *_: heard.append(True))
curve, is_first = sys.argv[1], os.environ["RANK"] == "0"

def save():
    if is_first:
        with open("saved.new", "w") as file:
            file.write(str(step))
        os.replace("saved.new", "saved")

step = int(open("saved").read()) if os.path.exists("saved") else 0
while not heard:
    time.sleep(0.05)
    step += 1
    if is_first:
        with open(curve, "a") as file:
            file.write(f"{{step}} 0x0\\n")
    robustrun.step(step)
    if step % {EVERY} == 0:
        save()
save()
"""


class Training:
    """A training on two nodes of a private cluster, without an end: examples/train.py, or LIGHT."""

    def __init__(self, robustrun, slurm, is_light=False):
        self.robustrun = robustrun
        self.cluster = slurm(2, proctrack="cgroup" if can_track_by_cgroup() else "linuxproc",
                             grace_s=GRACE_S, requeue_after_s=REQUEUE_S)
        self.curve = robustrun.folder / "curve"
        script = [
            ROOT / "examples/train.py", "--steps=1000000", f"--curve={self.curve}",
            f"--checkpoint={robustrun.folder / 'saves'}", f"--every={EVERY}", "--slow=0.05",
            "--save-on-stop", "--print-every=1000000",
        ]
        if is_light:
            script = [robustrun.write("light.py", LIGHT), self.curve]
        done = robustrun.run(
            "submit", "--nodes=2", "--sbatch=--output=%j.out", "--preflight=off", *script,
            env=self.cluster.environment(),
        )
        assert done.code == 0, done.errors
        self.job = int(done.text)

    def directory(self, start):
        name = f"slurm-{self.job}" + (f"-{start}" if start else "")
        return self.robustrun.folder / "robustrun-runs" / name

    def steps(self):
        """The steps of all starts, in the order in which they were done."""
        if not self.curve.exists():
            return []
        lines = self.curve.read_text().splitlines()
        return [int(line.split()[0]) for line in lines if re.fullmatch(r"\d+ -?0x\S+", line)]

    def output(self):
        path = self.robustrun.folder / f"{self.job}.out"
        return path.read_text(errors="replace") if path.exists() else ""

    def wait(self, condition, deadline_s, what):
        try:
            return wait_for(condition, deadline_s, what)
        except AssertionError as error:
            raise AssertionError(
                f"{error}\n{self.output()[-6000:]}\n{self.cluster.logs()}") from None

    def preempt(self):
        self.cluster.sbatch("#!/bin/bash\nexec sleep 1\n", "--nodes=2", "--partition=high",
                            "--ntasks-per-node=1", "--cpus-per-task=8")

    def end_of(self, start):
        run = Job(None, None, self.directory(start), None, None)
        return run.records(FINISH)

    def is_running(self, start):
        return (self.directory(start) / "journal").exists()


def play(training, rounds, seed, longest_s=3):
    """Preempts the job `rounds` times, at random times of its starts: within `longest_s` of the
    start or of its first step."""
    print(f"seed {seed} (ROBUSTRUN_TEST_SEED)")
    dice = random.Random(seed)
    for start in range(rounds):
        training.wait(lambda start=start: training.is_running(start), 180, f"start {start}")
        # Most hit the training; some hit its start.
        if dice.random() < 0.8:
            before = len(training.steps())
            training.wait(lambda before=before: len(training.steps()) > before, 120, "a step")
        time.sleep(dice.uniform(0, longest_s))
        training.preempt()
        training.wait(lambda start=start: training.end_of(start), 90, f"the end of start {start}")
    training.wait(lambda: training.is_running(rounds), 180, "the last start")
    before = len(training.steps())
    training.wait(lambda: len(training.steps()) > before, 120, "a step of the last start")
    training.cluster.cancel(training.job)
    assert training.cluster.wait_end(training.job) == "CANCELLED"


def check(training, rounds):
    """No start loses more steps than those since the last save, and no two starts overlap."""
    for start in range(rounds):
        (finish,) = training.end_of(start)
        assert finish.number(1) == 94, f"start {start}: {training.output()[-4000:]}"
    assert training.cluster.show(training.job)["Restarts"] == str(rounds)
    steps = training.steps()
    lost = [before + 1 - now for before, now in zip(steps, steps[1:], strict=False)
            if now != before + 1]
    print(f"{rounds} preemptions, {len(steps)} steps, lost {lost or 'none'}")
    assert all(0 <= one <= EVERY for one in lost), lost
    # A second run beside the first would do the same steps, from its own start on.
    assert len(steps) - len(set(steps)) == sum(lost)
    assert not training.directory(rounds + 1).exists()
    training.cluster.expect_empty()
