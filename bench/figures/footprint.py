"""Footprint with 8 workers: memory of supervisor and agent, CPU while idle, against torchrun."""

import pathlib
import signal
import statistics
import time

from harness import ROBUSTRUN, TORCHRUN, Figure, Quick, Scratch, in_turns, start, wait_for

WORKERS = 8
SETTLED_S = 5  # an agent looks less often once workers have stood still for 3 s
SCRIPT = """
import os, time
open("up." + os.environ["RANK"], "w").close()
time.sleep(600)
"""
MEMORY_MAX_MIB = 30
CPU_MAX_PERCENT = 0.15
ROUNDS, SECONDS, QUICK_SECONDS = 10, 5, 4
QUICK = Quick(50, "2 rounds of 4 s instead of 10 of 5 s", rounds=2)


def children(pid):
    return [int(child) for task in pathlib.Path(f"/proc/{pid}/task").glob("*/children")
            for child in task.read_text().split()]


def rss_mib(pid):
    for line in pathlib.Path(f"/proc/{pid}/status").read_text().splitlines():
        if line.startswith("VmRSS:"):
            return int(line.split()[1]) / 1024
    return 0.0


def cpu_seconds(pid):
    return sum(int((task / "schedstat").read_text().split()[0])
               for task in pathlib.Path(f"/proc/{pid}/task").iterdir()) / 1e9


def one_reading(command, ours, seconds):
    with Scratch() as folder:
        (folder / "idle.py").write_text(SCRIPT)
        process = start([*command, "--nproc-per-node", WORKERS, "idle.py"], folder)
        wait_for(lambda: all((folder / f"up.{rank}").exists() for rank in range(WORKERS)),
                 f"{WORKERS} workers")
        time.sleep(SETTLED_S)
        # Ours: the supervisor, its agent, and the shims, whose CPU counts too.
        pids = [process.pid]
        if ours:
            pids += children(process.pid)
            pids += [shim for agent in pids[1:] for shim in children(agent)]
        before, began = sum(map(cpu_seconds, pids)), time.monotonic()
        time.sleep(seconds)
        used = (sum(map(cpu_seconds, pids)) - before) / (time.monotonic() - began) * 100
        memory = sum(map(rss_mib, pids[:2] if ours else pids))
        process.send_signal(signal.SIGTERM)
        process.wait(60)
        return memory, used


def measure(quick):
    rounds, seconds = (QUICK.rounds, QUICK_SECONDS) if quick else (ROUNDS, SECONDS)
    ours, peer = in_turns(rounds, lambda: one_reading([ROBUSTRUN], True, seconds),
                          lambda: one_reading(TORCHRUN, False, seconds))
    memory, cpu = [m for m, _ in ours], [c for _, c in ours]
    return [
        Figure("memory, supervisor + agent", "MiB", memory, [m for m, _ in peer],
               f"below {MEMORY_MAX_MIB} MiB", statistics.median(memory) < MEMORY_MAX_MIB),
        Figure("CPU while idle", "% of a core", cpu, [c for _, c in peer],
               f"below {CPU_MAX_PERCENT} %", statistics.median(cpu) < CPU_MAX_PERCENT,
               "shims included"),
    ]
