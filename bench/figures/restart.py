"""Restart latency: from SIGKILL of one rank until every rank runs user code, against torchrun."""

import os
import signal
import statistics
import subprocess
import time

from harness import (
    PYTHON,
    ROBUSTRUN,
    TORCHRUN,
    Figure,
    Scratch,
    clean_environment,
    in_turns,
    wait_for,
)

SCRIPT = """
import os, time
now = time.monotonic_ns()
rank, attempt = os.environ["RANK"], os.environ.get("TORCHELASTIC_RESTART_COUNT", "0")
with open(f"start.{rank}.{attempt}.part", "w") as note:
    note.write(f"{os.getpid()} {now}")
os.rename(f"start.{rank}.{attempt}.part", f"start.{rank}.{attempt}")
while attempt == "0":
    time.sleep(1)
"""
OURS_MAX_MS = 50


def notes(folder, attempt, count):
    def read():
        try:
            return [(folder / f"start.{rank}.{attempt}").read_text().split()
                    for rank in range(count)]
        except OSError:
            return None

    return wait_for(read)


def recovery_ms(command, count):
    with Scratch() as folder:
        (folder / "job.py").write_text(SCRIPT)
        process = subprocess.Popen(
            [*command, "--nproc-per-node", str(count), "--max-restarts", "3", "job.py"],
            cwd=folder, env=clean_environment(), stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        victim = int(notes(folder, 0, count)[count - 1][0])
        time.sleep(0.3)  # every rank is asleep: what is measured begins with the kill
        killed = time.monotonic_ns()
        os.kill(victim, signal.SIGKILL)
        back = max(int(at) for _, at in notes(folder, 1, count))
        process.wait(60)
        return (back - killed) / 1e6


def interpreters_ms(count):
    """What nobody's launcher can save: `count` interpreters at once, until user code."""
    with Scratch() as folder:
        (folder / "job.py").write_text(SCRIPT.replace('attempt == "0"', "False"))
        start = time.monotonic_ns()
        started = [subprocess.Popen([PYTHON, "-u", "job.py"], cwd=folder,
                                    env=clean_environment(RANK=rank)) for rank in range(count)]
        back = max(int(at) for _, at in notes(folder, 0, count))
        for process in started:
            process.wait(60)
        return (back - start) / 1e6


def compare(count, rounds):
    bare = []

    def ours():
        bare.append(interpreters_ms(count))
        return recovery_ms([ROBUSTRUN], count)

    return *in_turns(rounds, ours, lambda: recovery_ms(TORCHRUN, count)), bare


def measure(quick):
    figures = []
    for count in (2, 8):
        ours, peer, bare = compare(count, 3 if quick else 10)
        figures.append(Figure(f"restart of {count}", "ms", ours, peer, "never slower",
                              all(a <= b for a, b in zip(ours, peer, strict=True))))
        own = [total - floor for total, floor in zip(ours, bare, strict=True)]
        figures.append(Figure(f"our part of {count}", "ms", own, [], f"below {OURS_MAX_MS} ms",
                              statistics.median(own) < OURS_MAX_MS,
                              "all but interpreter start and imports"))
    return figures
