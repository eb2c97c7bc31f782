"""Footprint with 8 workers: memory of supervisor and agent, CPU while idle, against torchrun."""

import pathlib
import signal
import statistics
import subprocess
import time

from harness import ROBUSTRUN, TORCHRUN, Figure, Scratch, clean_environment, in_turns, wait_for

WORKERS = 8
SETTLED_S = 5  # an agent looks less often once workers have stood still for 3 s
SCRIPT = """
import os, time
open("up." + os.environ["RANK"], "w").close()
time.sleep(600)
"""
MEMORY_MAX_MIB = 30
CPU_MAX_PERCENT = 0.15


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
        process = subprocess.Popen([*command, "--nproc-per-node", str(WORKERS), "idle.py"],
                                   cwd=folder, env=clean_environment(), stdin=subprocess.DEVNULL,
                                   stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        wait_for(lambda: all((folder / f"up.{rank}").exists() for rank in range(WORKERS)))
        time.sleep(SETTLED_S)
        # Ours: supervisor and agent; the shims are counted too, to hide nothing.
        pids = [process.pid]
        if ours:
            pids += children(process.pid)
            pids += [shim for agent in pids[1:] for shim in children(agent)]
        before, start = sum(map(cpu_seconds, pids)), time.monotonic()
        time.sleep(seconds)
        used = (sum(map(cpu_seconds, pids)) - before) / (time.monotonic() - start) * 100
        memory = sum(map(rss_mib, pids[:2] if ours else pids))
        process.send_signal(signal.SIGTERM)
        process.wait(60)
        return memory, used


def measure(quick):
    rounds, seconds = (2, 4) if quick else (10, 5)
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
