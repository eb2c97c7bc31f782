"""Jobs of configs/batch/grid_engine.sh in a real Grid Engine."""

import os
import pathlib
import signal

import pytest
from helpers.grid_engine import GridEngine
from helpers.jobs import QUICK, Job, lockstep
from helpers.machines import parent_of
from helpers.runner import ROOT

BATCH = (ROOT / "configs/batch/grid_engine.sh").read_text()
NOTIFY_S = 20

# Counts, and ends on request. A save takes a second.
SCRIPT = r"""
import os, signal, sys, time
import robustrun
rank = os.environ["RANK"]

def save(*_):
    time.sleep(1)
    with open("saved." + rank, "a") as file:
        file.write("saved\n")
    sys.exit(0)

signal.signal(signal.SIGTERM, save)
n = 0
while not os.path.exists("enough"):
    n += 1
    robustrun.step(n)
    open("step." + rank, "w").close()
    time.sleep(0.05)
sys.exit(int(open("enough").read()))
"""


class Batch:
    """A job of the batch script on two of `count` hosts. `words`: options of its robustrun;
    `options`: of qsub."""

    def __init__(self, robustrun, lab, count, *words, script=("job.py",), options=()):
        self.robustrun, self.machines = robustrun, lab(count)
        self.cluster = GridEngine(robustrun, self.machines, notify_s=NOTIFY_S)
        robustrun.write("job.py", SCRIPT)
        own = "--nproc-per-node=1 --standby=off --preflight=off --shutdown-timeout=15"
        text = BATCH
        for before, after in (
            ("-pe mpi 16", "-pe mpi 2"),
            ("--nproc-per-node=gpu --shutdown-timeout=50 train.py &",
             " ".join([own, *words, *script, "&"])),
        ):
            assert text.count(before) == 1, before
            text = text.replace(before, after)
        self.job = self.cluster.submit(text, *options)

    def run(self, start=0):
        """The run of a start of the job."""
        found = sorted(self.robustrun.folder.glob("robustrun-runs/*"),
                       key=lambda path: path.stat().st_ctime)
        found = [path for path in found if (path / "journal").exists()]
        return Job(self.robustrun, None, found[start], None, None) if len(found) > start else None

    def wait(self, condition, what, within_s=90):
        return self.cluster.wait(condition, self.job, what, within_s)

    def steps(self):
        """Waits until both ranks do steps, again."""
        for path in self.robustrun.folder.glob("step.*"):
            path.unlink()
        self.wait(lambda: len(list(self.robustrun.folder.glob("step.*"))) == 2, "steps")

    def saved(self):
        return len(list(self.robustrun.folder.glob("saved.*")))

    def enough(self, code=0):
        (self.robustrun.folder / "enough.new").write_text(str(code))
        (self.robustrun.folder / "enough.new").rename(self.robustrun.folder / "enough")

    def report(self, start=0):
        return self.robustrun.report(self.run(start).run)

    def output(self):
        return self.cluster.output(self.job)

    def ends(self, count):
        """As GridEngine.ends(), once there are so many."""
        self.wait(lambda: len(self.cluster.ends(self.job)) == count, f"{count} ends")
        return self.cluster.ends(self.job)

    def expect_empty(self):
        self.wait(lambda: not any(machine.workers("job.py") + machine.agents()
                                  for machine in self.machines.machines.values()),
                  "the end of everything on the hosts")


@pytest.fixture
def batch(robustrun, lab):
    made = []

    def start(*words, **more):
        made.append(Batch(robustrun, lab, *words, **more))
        return made[-1]

    yield start
    for one in made:
        one.cluster.close()


def ancestors(pid):
    """The names of the programs above a process."""
    names = []
    while pid := parent_of(pid):
        names.append(pathlib.Path(f"/proc/{pid}/comm").read_text().strip())
    return names


def test_agents_start_by_qrsh_and_a_deleted_job_saves(batch):
    job = batch(2)
    job.steps()
    assert job.run().group_names() == ["h1", "h2"]
    for machine in job.machines.machines.values():
        (agent,) = machine.agents()
        assert "sge_shepherd" in ancestors(agent), ancestors(agent)
    job.cluster.run("qdel", job.job)
    job.wait(lambda: job.saved() == 2, "both ranks' saves")
    job.cluster.wait_end(job.job)
    assert job.report()["exit_code"] == 128 + signal.SIGTERM
    # To all processes of the job, also the script, which passes it on: that is one order to stop.
    assert "stopping (SIGUSR2 of Grid Engine)" in job.output() or "(SIGTERM)" in job.output()
    assert "killing all workers" not in job.output()
    job.expect_empty()


def test_the_jobs_exit_code_is_the_runs(batch):
    job = batch(2, "--max-restarts=0")
    job.steps()
    job.enough(7)
    job.cluster.wait_end(job.job)
    assert job.ends(1) == [(0, 7)]
    job.expect_empty()


def moves(job, start=0):
    """Waits for steps of both ranks in lockstep."""
    job.wait(lambda: job.run(start), f"start {start}")
    before = len(job.run(start).lines())
    job.wait(lambda: len(job.run(start).lines()) > before + 2, "steps")


def test_a_killed_agent_is_started_again_and_a_lost_host_queues_the_job_again(batch, robustrun):
    job = batch(3, *QUICK, "--wait-for-nodes=0", script=lockstep(robustrun))
    moves(job)
    (agent,) = job.machines["h2"].agents()
    os.kill(agent, signal.SIGKILL)
    job.wait(lambda: job.run().attempt() == 1, "another attempt")
    moves(job)
    assert job.cluster.state(job.job) == "r"
    job.machines["h2"].lose_power()
    moves(job, 1)
    assert job.run(1).group_names() == ["h1", "h3"]
    assert job.report()["exit_code"] == 94
    job.cluster.run("qdel", job.job)
    job.cluster.wait_end(job.job)
    assert job.ends(2)[0][1] == 99


def test_the_last_save_precedes_the_time_limit(batch):
    job = batch(2, "--slurm-poll=0.3", options=("-l", "h_rt=30"))
    job.steps()
    job.cluster.wait_end(job.job)
    assert job.saved() == 2
    assert job.report()["exit_code"] == 124
    assert job.ends(1) == [(0, 124)]
    job.expect_empty()
