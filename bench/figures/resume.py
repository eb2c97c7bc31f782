"""Supervisor of 64 agents killed, until `robustrun resume` has all of them; against a new start.

Agents are processes of this machine with a worker each. The successor is in control when, by its
log, the last agent has connected to it; no worker may have been restarted. The peer is the
alternative to `resume`: the same run, from its start until every worker has started.
"""

import os
import statistics
import sys
import time

from fleet import Fleet, kill
from harness import ROBUSTRUN, Figure, Quick, Scratch, in_turns, start, wait_for

AGENTS = 64
SECONDS_MAX = 2
ROUNDS = 10
QUICK = Quick(35, "2 rounds instead of 10", rounds=2)


def one_takeover():
    """Seconds until in control; the workers must be the ones of the first supervisor."""
    with Scratch() as folder, Fleet(folder, AGENTS, "--orphan-grace", "600") as fleet:
        workers = {record.body[3] for record in fleet.started(0)}
        time.sleep(1)
        kill(fleet.process.pid)
        fleet.process.wait()
        began = time.monotonic_ns()
        fleet.process = start([ROBUSTRUN, "resume", folder / "run"], folder, output="resume.log")
        lines = folder / "resume.log"
        wait_for(lambda: lines.read_text().count("connected again") >= AGENTS,
                 f"{AGENTS} agents of the resumed run")
        seconds = (time.monotonic_ns() - began) / 1e9
        gone = [pid for pid in workers if not os.path.exists(f"/proc/{pid}")]
        fleet.journal.update()
        if gone or {record.body[3] for record in fleet.journal.of("WorkerStarted")} != workers:
            sys.exit(f"{len(gone)} workers died, or others were started")
        return seconds


def one_start():
    with Scratch() as folder, Fleet(folder, AGENTS) as fleet:
        return (fleet.started(0)[-1].at - fleet.start) / 1e9


def measure(quick):
    ours, peer = in_turns(QUICK.rounds if quick else ROUNDS, one_takeover, one_start)
    return [Figure(f"resume until {AGENTS} agents are there", "s", ours, peer,
                   f"below {SECONDS_MAX} s", statistics.median(ours) < SECONDS_MAX,
                   "no worker was started again")]
