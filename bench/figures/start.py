"""Start barrier: from the order to start until 1,024 agents have reported their worker started.

Every agent is a process of its own with a TLS connection, every worker is /bin/sleep behind its
shim. The order follows the journaled PortReserved in the same turn of the loop. Preflight is off:
it has a figure of its own.
"""

import statistics

from fleet import Fleet
from harness import Figure, Quick, Scratch, in_turns

AGENTS, QUICK_AGENTS = 1024, 256
SECONDS_MAX = 3
ROUNDS = 10
QUICK = Quick(20, "1 start of 256 agents instead of 10 of 1,024; the target is for 1,024")


def one_start(agents):
    with Scratch() as folder, Fleet(folder, agents, "--preflight=off") as fleet:
        started = fleet.started(0)
        (ordered,) = fleet.journal.of("PortReserved")
        joined = fleet.journal.of("AgentJoined")
        return ((started[-1].at - ordered.at) / 1e9, (joined[-1].at - fleet.start) / 1e9)


def measure(quick):
    agents = QUICK_AGENTS if quick else AGENTS
    (starts,) = in_turns(QUICK.rounds if quick else ROUNDS, lambda: one_start(agents))
    seconds = [barrier for barrier, _ in starts]
    target = (f"below {SECONDS_MAX} s", statistics.median(seconds) < SECONDS_MAX)
    return [
        Figure(f"order until {agents} workers started", "s", seconds, [],
               *(("-", True) if quick else target)),
        Figure(f"start until {agents} agents connected", "s", [joined for _, joined in starts], [],
               "-", True, "all of them start on this machine"),
    ]
