"""Supervisor of 64 agents killed, until `robustrun resume` has all of them; against a new start.

Agents are processes of this machine with a worker each. In control is when the last agent said
hello to the successor, by its log; no worker may have been started again. The peer is what is left
to do without `resume`: the same run, from its start until every worker was started.
"""

import os
import statistics
import subprocess
import sys
import time

from fleet import Fleet, kill
from harness import ROBUSTRUN, Figure, Scratch, clean_environment, in_turns, wait_for

AGENTS = 64
SECONDS_MAX = 2


def one_takeover():
    """Seconds until in control; the workers must be those that were there before."""
    with Scratch() as folder, Fleet(folder, AGENTS, "--orphan-grace", "600") as fleet:
        workers = {record.body[3] for record in fleet.started(0)}
        time.sleep(1)
        kill(fleet.process.pid)
        fleet.process.wait()
        with open(folder / "resume.log", "wb") as log:
            began = time.monotonic_ns()
            fleet.process = subprocess.Popen(
                [ROBUSTRUN, "resume", folder / "run"], cwd=folder, env=clean_environment(),
                stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=log)
        lines = folder / "resume.log"
        wait_for(lambda: lines.read_text().count("connected again") >= AGENTS, 60)
        seconds = (time.monotonic_ns() - began) / 1e9
        gone = [pid for pid in workers if not os.path.exists(f"/proc/{pid}")]
        fleet.journal.update()
        if gone or {record.body[3] for record in fleet.journal.of("WorkerStarted")} != workers:
            sys.exit(f"{len(gone)} workers did not live on, or others were started")
        return seconds


def one_start():
    with Scratch() as folder, Fleet(folder, AGENTS) as fleet:
        return (fleet.started(0)[-1].at - fleet.start) / 1e9


def measure(quick):
    ours, peer = in_turns(3 if quick else 10, one_takeover, one_start)
    return [Figure(f"resume until {AGENTS} agents are there", "s", ours, peer,
                   f"below {SECONDS_MAX} s", statistics.median(ours) < SECONDS_MAX,
                   "no worker was started again")]
