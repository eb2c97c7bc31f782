"""Stopped and killed processes of a run, alone and in all pairs: supervisor, agent, shim, worker,
standby worker."""

import contextlib
import itertools
import os
import signal
import subprocess
import time

from harness import wait_for
from helpers.machines import parent_of
from hostile.place import Place, dice

ROLES = ("supervisor", "agent", "shim", "worker", "standby")
SIGNALS = {"stopped": signal.SIGSTOP, "killed": signal.SIGKILL}
# These end what others leave behind. Two of them at once may leave processes, which the next start
# on the machine ends, unless a cgroup is there (docs/recovery.md).
REAPERS = {"supervisor", "agent", "shim"}
ACTS = [(role, how) for role in ROLES for how in SIGNALS]
CASES = [(act,) for act in ACTS] + [
    pair for pair in itertools.combinations(ACTS, 2) if pair[0][0] != pair[1][0]]
COUNT = len(CASES)
GAP_S = (0, 0, 0.05, 1)   # between the two
HOLD_S = (0.5, 4, 15)     # until the run is asked to end
BOUND_S = 90
SCRIPT = """
import time
import robustrun
step = 0
while True:
    step += 1
    robustrun.step(step)
    time.sleep(0.02)
"""


class Player:
    def __enter__(self):
        return self

    def __exit__(self, *_):
        pass

    def play(self, seed):
        """A stopped supervisor is continued after a while, as by `fg`: no process watches it."""
        draw, acts = dice("processes", seed), CASES[(seed - 1) % len(CASES)]
        gap_s, hold_s = draw.choice(GAP_S), draw.choice(HOLD_S)
        with Place() as place:
            place.runner.write("train.py", SCRIPT)
            running = place.start("--nproc-per-node=2", "--shutdown-timeout=5s", "train.py")
            pids = self.pids(place, running)
            began = time.monotonic()
            for number, (role, how) in enumerate(acts):
                time.sleep(gap_s if number else 0)
                if pids[role] in place.runner.marked():  # not another process of that pid
                    send(pids[role], SIGNALS[how])
            with contextlib.suppress(subprocess.TimeoutExpired):
                running.process.wait(hold_s)
            if running.process.poll() is None:
                send(running.pid, signal.SIGCONT)
                send(running.pid, signal.SIGTERM)
            ended = place.await_end(running, began, BOUND_S)
            text = " and ".join(f"{role} {how}" for role, how in acts)
            text += f", {gap_s} s apart, asked to end after {hold_s} s"
            killed = ("supervisor", "killed") in acts
            strays = len(REAPERS & {role for role, _ in acts}) == 2
            return place.line(text, ended, by_us=(signal.SIGKILL,) if killed else (),
                              may_trace=True, strays=strays)

    def pids(self, place, running):
        """One process of each role, once the standby workers are there."""
        worker = running.workers(2)[0]
        # The template is among them, and the oldest.
        standbys = wait_for(lambda: len(place.runner.standbys()) > 2 and place.runner.standbys(),
                            "standby workers", 120)
        return {"supervisor": running.pid, "agent": running.agent(), "shim": parent_of(worker),
                "worker": worker, "standby": standbys[-1]}


def send(pid, which):
    with contextlib.suppress(ProcessLookupError):
        os.kill(pid, which)
