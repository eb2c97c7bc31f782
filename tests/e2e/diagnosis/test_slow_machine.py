"""A machine that slows a real training down is put to a vote, and replaced where that pays."""

import json
import pathlib
import re
import subprocess
import time

import pytest
from helpers.jobs import start_job

SCRIPT = pathlib.Path(__file__).parent / "faulty_job.py"
NODES = ("--launcher=processes", "--nproc-per-node=1", "--nnodes=3")
PACE_S, LATE_S = 0.05, 0.4
AT_STEP = 340           # about 20 s of steps, which define the usual pace
SAID_WITHIN_S = 300     # generous: others use the processors
# Five polls in ten seconds; a restart is known to be cheap.
POLICY = '[slow]\nevery = "2s"\ndrain_within = "1s"\nassumed_price = "%s"\n'


def start(robustrun, *options, price):
    robustrun.write("site.toml", POLICY % price)
    env = {"SLOW_MACHINE": str(robustrun.folder / "slow"), "SLOW_S": str(LATE_S)}
    return start_job(robustrun, *NODES, "--policy=site.toml", *options, SCRIPT, "1000000",
                     str(PACE_S), "slow", "1", str(AT_STEP), env=env)


def steps(job):
    done = subprocess.run([job.runner.binary, "status", "--json", str(job.run)],
                          capture_output=True, text=True, timeout=60)
    return json.loads(done.stdout)["steps"] if done.returncode == 0 else 0


class Pace:
    """Whether the job does ten steps faster than the late rank could."""

    def __init__(self, job):
        self.job, self.readings = job, []

    def is_quick(self):
        now, done = time.monotonic(), steps(self.job)
        if self.readings and done < self.readings[-1][1]:
            self.readings = []  # another attempt
        self.readings.append((now, done))
        return any(done >= before + 10 and now - at < 10 * LATE_S for at, before in self.readings)


def test_the_slow_machine_is_replaced_by_the_spare_and_the_job_is_fast_again(robustrun):
    job = start(robustrun, "--spares=1", price="1s")
    job.says("slows the job down", SAID_WITHIN_S)
    slow = job.agents()[job.group()[1]]
    assert (robustrun.folder / "slow").read_text() == str(slow)
    name = job.group_names()[1]
    job.says(f"{name} is evicted: a worker or link is slower than its peers", SAID_WITHIN_S)
    job.wait(lambda: job.attempt() == 1, "the next attempt", SAID_WITHIN_S)
    assert name not in job.group_names()
    pace = Pace(job)
    job.wait(pace.is_quick, "quick steps", SAID_WITHIN_S)
    finished = job.stop()
    said = [line for line in finished.errors.splitlines() if "slows the job down" in line]
    assert re.search(rf"{name} slows the job down \(named in [345] of 5 looks\) and is replaced in "
                     rf"1\.00 s .*; a restart without {name} costs 1\.00 s and would gain", said[0])
    assert "free restart (nothing failed)" in finished.errors
    report = robustrun.report(job.run)
    assert [one["nodes"] for one in report["evictions"]] == [[name]]
    costs = {(one["of"], one["phase"]): one for one in report["costs"]}
    # For each node: three starts, and three again; the spare joins with them.
    assert costs["start", "agent"]["samples"] == 4
    for phase in ("processes", "interpreter", "first step"):
        assert costs["start", phase]["samples"] == costs["restart", phase]["samples"] == 3
    for one in costs.values():
        assert 0 <= one["median_s"] <= one["max_s"] <= report["duration_s"]


@pytest.mark.nightly
@pytest.mark.parametrize(("options", "price", "why"), [
    ((), "1s", "2 other machines are there, and 3 are needed"),
    (("--spares=1", "--time-limit=1h"), "2h", "costs 2 h 00 min and would gain"),
])
def test_a_slow_machine_stays_where_nothing_is_gained_with_the_reason(robustrun, options, price,
                                                                         why):
    job = start(robustrun, *options, price=price)
    job.wait(lambda: re.search(rf"slows the job down .*and stays: .*{why}", job.err()),
             "why it stays", SAID_WITHIN_S)
    before = steps(job)
    job.wait(lambda: steps(job) > before, "further steps")
    assert job.attempt() == 0
    job.stop()
