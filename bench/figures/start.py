"""Start barrier: from the order to start until 1,024 agents have reported their worker started.

Every agent is a process of its own with a TLS connection, every worker is /bin/sleep behind its
shim. The order follows the journaled PortReserved in the same turn of the loop. Preflight is off:
it has a figure of its own.
"""

import statistics

from fleet import Fleet
from harness import Figure, Quick, Scratch, in_turns

AGENTS = 1024
SECONDS_MAX = 3
ROUNDS = 10
QUICK = Quick(45, "1 start instead of 10", longer="1,024 agents start on two cores")


def one_start():
    with Scratch() as folder, Fleet(folder, AGENTS, "--preflight=off") as fleet:
        started = fleet.started(0)
        (ordered,) = fleet.journal.of("PortReserved")
        joined = fleet.journal.of("AgentJoined")
        return ((started[-1].at - ordered.at) / 1e9, (joined[-1].at - fleet.start) / 1e9)


def measure(quick):
    (starts,) = in_turns(QUICK.rounds if quick else ROUNDS, one_start)
    seconds = [barrier for barrier, _ in starts]
    return [
        Figure(f"order until {AGENTS} workers started", "s", seconds, [],
               f"below {SECONDS_MAX} s", statistics.median(seconds) < SECONDS_MAX),
        Figure(f"start until {AGENTS} agents connected", "s", [joined for _, joined in starts], [],
               "-", True, "all of them start on this machine"),
    ]
