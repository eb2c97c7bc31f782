"""One supervisor, 1,024 agents over TLS on this machine: CPU, memory, how soon a death is seen.

The supervisor's CPU and memory are taken with 1,024 simulated agents of eight ranks each, which do
a step a second (fleet.py). The other figures have real agents, each with one fake worker
(/bin/sleep). A worker's death counts from when its node saw it (journal, seen_at). The time from
the kill to that moment is shown beside it: on this machine it is mostly waiting for a processor
among 1,024 agents. An agent's death counts from the kill. "Decided" is the journaled decision,
whose orders to all agents follow in the same turn of the supervisor's loop. Each round restarts the
whole group, so there are few rounds with 1,024 agents and many with 64.
"""

import random
import signal
import time

from fleet import Fleet, Simulation, cpu_seconds, kill, memory_mib
from harness import Figure, Quick, Scratch

AGENTS = 1024
RANKS = 8  # per agent
FEW_AGENTS = 64
STEADY_SECONDS, QUICK_STEADY_SECONDS = 60, 10
CPU_MAX_PERCENT = 25
MEMORY_MAX_MIB = 200
WORKER_MAX_MS = 100
AGENT_MAX_MS = 1000
SILENCE_MAX_S = 10.5
AGENT_DEATHS_PER_RUN = 10  # the budget for infrastructure faults in a row is 16
UNENDING = ("--compat", "torchrun", "--max-restarts", "100000")  # and without back-off
SEED = 20
QUICK = Quick(55, "10 s of load instead of 60 s; a few deaths among 64 agents; no deaths among "
              "1,024 agents, which take minutes")
QUICK_DEATHS, QUICK_AGENT_DEATHS = 5, 2


def p99(values):
    return sorted(values)[max(0, -(-99 * len(values) // 100) - 1)]


def steady(fleet, seconds):
    """CPU in % of a core and resident memory of the supervisor, workers idle."""
    time.sleep(5)
    pid = fleet.process.pid
    before, start = cpu_seconds(pid), time.monotonic()
    time.sleep(seconds)
    percent = (cpu_seconds(pid) - before) / (time.monotonic() - start) * 100
    return percent, memory_mib(pid)


def worker_deaths(fleet, rounds, rng):
    """Milliseconds: from the node's sight of each death to the decision; from the kill to it; and
    from the kill until all run again."""
    seen, killed, back = [], [], []
    for attempt in range(rounds):
        started = fleet.started(attempt)
        settle(rng)
        victim = rng.choice(started)
        at = kill(victim.body[3])
        decision = fleet.after(at, "Decision", "WorkerFailed")
        exited = next(record for record in fleet.journal.of("WorkerExited")
                      if record.at >= at and record.body[3] == victim.body[3])
        seen.append((decision.at - exited.body[16]) / 1e6)
        killed.append((decision.at - at) / 1e6)
        back.append((fleet.started(attempt + 1)[-1].at - at) / 1e6)
    return seen, killed, back


def settle(rng):
    """Waits until the fleet is steady again, for a random time: no timer is in a fixed phase."""
    time.sleep(rng.uniform(1.5, 2.5))


def agent_loss(fleet, attempt, victim, which):
    """Milliseconds from an agent's death (or silence) to the decision."""
    fleet.started(attempt)
    at = kill(victim, which)
    return (fleet.after(at, "Decision", "AgentLost").at - at) / 1e6


def agent_deaths(rounds, count, rng):
    milliseconds = []
    while len(milliseconds) < rounds:
        with Scratch() as folder, Fleet(folder, count, *UNENDING) as fleet:
            fleet.started(0)
            victims = rng.sample(sorted(fleet.agents().values()), AGENT_DEATHS_PER_RUN)
            for attempt, victim in enumerate(victims[:rounds - len(milliseconds)]):
                settle(rng)
                milliseconds.append(agent_loss(fleet, attempt, victim, signal.SIGKILL))
    return milliseconds


def with_all_ranks(seconds):
    with Scratch() as folder, Simulation(folder, AGENTS, RANKS) as fleet:
        fleet.started(0)
        percent, memory = steady(fleet, seconds)
        return {"cpu": percent, "memory": memory, "peak": memory_mib(fleet.process.pid, "VmHWM")}


def at_full_size(rounds, rng):
    with Scratch() as folder, Fleet(folder, AGENTS, *UNENDING) as fleet:
        fleet.started(0)
        seen, killed, back = worker_deaths(fleet, rounds, rng)
        victims = rng.sample(sorted(fleet.agents().values()), 4)
        lost = [agent_loss(fleet, rounds + number, victim, signal.SIGKILL)
                for number, victim in enumerate(victims[:3])]
        silent = [agent_loss(fleet, rounds + 3, victims[3], signal.SIGSTOP) / 1e3]
        fleet.started(rounds + 4)
        return {"peak": memory_mib(fleet.process.pid, "VmHWM"),
                "seen": seen, "killed": killed, "back": back, "agent": lost, "silent": silent}


def silences(rounds, rng):
    seconds = []
    for _ in range(rounds):
        with Scratch() as folder, Fleet(folder, FEW_AGENTS, *UNENDING) as fleet:
            fleet.started(0)
            settle(rng)
            victim = rng.choice(sorted(fleet.agents().values()))
            seconds.append(agent_loss(fleet, 0, victim, signal.SIGSTOP) / 1e3)
    return seconds


def at_small_size(rounds, agent_rounds, silent_rounds, rng):
    with Scratch() as folder, Fleet(folder, FEW_AGENTS, *UNENDING) as fleet:
        seen, killed, _ = worker_deaths(fleet, rounds, rng)
    return {"seen": seen, "killed": killed, "agent": agent_deaths(agent_rounds, FEW_AGENTS, rng),
            "silent": silences(silent_rounds, rng)}


def tail(name, unit, values, limit, count):
    return Figure(f"{name}, {count} agents", unit, values, [],
                  f"p99 below {limit} {unit}" if limit else "-",
                  limit is None or p99(values) < limit, f"p99 {p99(values):.4g} of {len(values)}")


def supervisor_figures(seconds, loaded, peak):
    """`loaded`: with_all_ranks(seconds); `peak`: MiB with real agents, or None if not measured."""
    note = f"{AGENTS} agents of {RANKS} ranks; at most {loaded['peak']:.4g}"
    if peak is not None:
        note += f", and {peak:.4g} with one rank each through all restarts"
    return [
        Figure("CPU of the supervisor, steady", "% of a core", [loaded["cpu"]], [],
               f"below {CPU_MAX_PERCENT} %", loaded["cpu"] < CPU_MAX_PERCENT,
               f"{AGENTS} agents of {RANKS} ranks, {seconds} s of 1 s heartbeats"),
        Figure("its memory", "MiB", [loaded["memory"]], [], f"below {MEMORY_MAX_MIB} MiB",
               max(peak or 0, loaded["peak"]) < MEMORY_MAX_MIB, note),
    ]


def death_figures(found, count):
    return [
        tail("worker's death until decided", "ms", found["seen"], WORKER_MAX_MS, count),
        tail("worker's kill until decided", "ms", found["killed"], None, count),
        tail("agent's death until decided", "ms", found["agent"], AGENT_MAX_MS, count),
        tail("agent's silence until decided", "s", found["silent"], SILENCE_MAX_S, count),
    ]


def measure(quick):
    rng = random.Random(SEED)
    if quick:
        few = at_small_size(QUICK_DEATHS, QUICK_AGENT_DEATHS, 1, rng)
        yield from death_figures(few, FEW_AGENTS)
        loaded = with_all_ranks(QUICK_STEADY_SECONDS)
        yield from supervisor_figures(QUICK_STEADY_SECONDS, loaded, None)
        return
    loaded = with_all_ranks(STEADY_SECONDS)
    full = at_full_size(30, rng)
    few = at_small_size(100, 100, 5, rng)
    yield from supervisor_figures(STEADY_SECONDS, loaded, full["peak"])
    yield from death_figures(full, AGENTS)
    yield from death_figures(few, FEW_AGENTS)
    yield Figure(f"until all {AGENTS} run again", "ms", full["back"], [], "-", True)
