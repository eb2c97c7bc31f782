"""A job that loses one thing after another: ranks, shims, the agent, standby workers, their
template, two at once, and another rank during a recovery. It goes on each time, does every step
with the same result as before, and leaves nothing behind."""

import hashlib
import os
import random
import signal
import time

from helpers.processes import is_alive, is_standby, program_of, wait_for

KILLS = int(os.environ.get("ROBUSTRUN_TEST_ROUNDS", "30"))
RANKS, EVERY = 2, 5
SCRIPT = f"""
import hashlib, os, time
import robustrun
rank, step, value = os.environ["RANK"], 0, ""
if os.path.exists("state." + rank):
    with open("state." + rank) as file:
        step, value = file.read().split()
        step = int(step)
with open("curve." + rank, "a", buffering=1) as curve:
    while not os.path.exists("enough"):
        value = hashlib.sha256(f"{{rank}} {{step}} {{value}}".encode()).hexdigest()
        step += 1
        curve.write(f"{{step}} {{value}}\\n")
        if step % {EVERY} == 0:
            with open("state." + rank + ".new", "w") as file:
                file.write(f"{{step}} {{value}}")
            os.rename("state." + rank + ".new", "state." + rank)
        robustrun.step(step)
        time.sleep(0.005)
"""


class Job:
    def __init__(self, robustrun, seed):
        self.robustrun, self.draw = robustrun, random.Random(seed)
        robustrun.write("job.py", SCRIPT)
        with open(robustrun.folder / "console", "wb") as console:
            self.running = robustrun.start(f"--nproc-per-node={RANKS}", "--max-restarts=1000000",
                                           "job.py", stdout=console, stderr=console)
        self.killed, self.pid = [], 0

    def curve(self, rank):
        path = self.robustrun.folder / f"curve.{rank}"
        return path.read_text().splitlines() if path.exists() else []

    def step(self, rank):
        """The rank's newest one."""
        path = self.robustrun.folder / f"curve.{rank}"
        if not path.exists():
            return 0
        with open(path, "rb") as file:
            file.seek(-min(200, path.stat().st_size), os.SEEK_END)
            lines = file.read().splitlines()
        return int(lines[-1].split()[0]) if lines else 0

    def steps(self):
        return [self.step(rank) for rank in range(RANKS)]

    def goes_on(self):
        wait_for(lambda: not self.pid or not is_alive(self.pid), 60, f"{self.killed[-1:]} to end")
        beyond = max(self.steps()) + 2
        wait_for(lambda: min(self.steps()) > beyond, 120,
                 f"steps after the kill of {self.killed[-3:]}")

    def shims(self):
        return [pid for pid in self.running.children(self.running.agent())
                if b"robustrun-shim" in program_of(pid)]

    def workers(self):
        return [pid for shim in self.shims() for pid in self.running.children(shim)
                if not is_standby(pid)]

    def standbys(self):
        return [pid for shim in self.shims() for pid in self.running.children(shim)
                if is_standby(pid)]

    def shims_of_workers(self):
        return [shim for shim in self.shims()
                if any(not is_standby(pid) for pid in self.running.children(shim))]

    def templates(self):
        return [pid for pid in self.running.children(self.running.agent())
                if b"robustrun-shim" not in program_of(pid)]

    def kill(self, kind, pids):
        """One of these processes, if there is one."""
        if pids:
            pid = self.draw.choice(pids)
            self.killed.append(kind)
            self.pid = pid
            try:
                os.kill(pid, signal.SIGKILL)
            except ProcessLookupError:
                self.killed[-1] += " (had ended)"

    def incident(self):
        kind = self.draw.choices(
            ["rank", "two ranks", "rank, and one in the recovery", "rank and agent", "agent",
             "shim", "standby", "template", "standby and rank"],
            [30, 10, 10, 5, 10, 10, 10, 5, 10])[0]
        if kind in ("standby", "standby and rank"):
            self.kill("standby", self.standbys())
        if kind == "template":
            self.kill("template", self.templates())
        if kind == "shim":
            self.kill("shim", self.shims_of_workers())
        if "rank" in kind:
            self.kill("rank", self.workers())
        if kind == "two ranks":
            self.kill("rank", self.workers())
        if kind == "rank, and one in the recovery":
            time.sleep(self.draw.uniform(0, 0.2))
            self.kill("rank in a recovery", self.workers())
        if "agent" in kind:
            self.kill("agent", [self.running.agent()])


def check(curve, rank):
    """Every step is there, and has the value that follows from the one before, however often."""
    values = {0: ""}
    for line in curve:
        step, value = line.split()
        step = int(step)
        before = values[step - 1]
        expected = hashlib.sha256(f"{rank} {step - 1} {before}".encode()).hexdigest()
        assert value == expected == values.setdefault(step, value), f"rank {rank}, step {step}"


def test_whatever_is_killed_the_job_goes_on_and_nothing_is_left(robustrun):
    seed = int(os.environ.get("ROBUSTRUN_TEST_SEED", random.randrange(1 << 32)))
    print("ROBUSTRUN_TEST_SEED", seed)
    job = Job(robustrun, seed)
    for _ in range(KILLS):
        job.goes_on()
        job.incident()
    job.goes_on()
    robustrun.write("enough", "")
    finished = job.running.finish(300)
    assert finished.code == 0, (robustrun.folder / "console").read_text()[-4000:]
    for rank in range(RANKS):
        check(job.curve(rank), rank)
    assert len(job.killed) >= KILLS * 0.8, job.killed
    robustrun.expect_nothing_left()
