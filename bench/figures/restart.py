"""Restart latency: from SIGKILL of one rank until every rank runs user code, against torchrun."""

import os
import signal
import statistics
import time

from harness import (
    PYTHON,
    ROBUSTRUN,
    TORCHRUN,
    Figure,
    Quick,
    Scratch,
    in_turns,
    start,
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
ROUNDS = 10
QUICK = Quick(25, "3 rounds instead of 10", rounds=3)


def notes(folder, attempt, count):
    def read():
        try:
            return [(folder / f"start.{rank}.{attempt}").read_text().split()
                    for rank in range(count)]
        except OSError:
            return None

    return wait_for(read, f"the first line of {count} ranks in attempt {attempt}")


def recovery_ms(command, count):
    with Scratch() as folder:
        (folder / "job.py").write_text(SCRIPT)
        process = start(
            [*command, "--nproc-per-node", count, "--max-restarts", "3", "job.py"], folder)
        victim = int(notes(folder, 0, count)[count - 1][0])
        time.sleep(0.3)  # every rank is asleep by now
        killed = time.monotonic_ns()
        os.kill(victim, signal.SIGKILL)
        back = max(int(at) for _, at in notes(folder, 1, count))
        process.wait(60)
        return (back - killed) / 1e6


def interpreters_ms(count):
    """The floor for any launcher: `count` interpreters at once, until user code."""
    with Scratch() as folder:
        (folder / "job.py").write_text(SCRIPT.replace('attempt == "0"', "False"))
        began = time.monotonic_ns()
        started = [start([PYTHON, "-u", "job.py"], folder, RANK=rank) for rank in range(count)]
        back = max(int(at) for _, at in notes(folder, 0, count))
        for process in started:
            process.wait(60)
        return (back - began) / 1e6


def compare(count, rounds):
    bare = []

    def ours():
        bare.append(interpreters_ms(count))
        return recovery_ms([ROBUSTRUN], count)

    return *in_turns(rounds, ours, lambda: recovery_ms(TORCHRUN, count)), bare


def measure(quick):
    for count in (2, 8):
        ours, peer, bare = compare(count, QUICK.rounds if quick else ROUNDS)
        yield Figure(f"restart of {count}", "ms", ours, peer, "never slower",
                     all(a <= b for a, b in zip(ours, peer, strict=True)))
        own = [total - floor for total, floor in zip(ours, bare, strict=True)]
        yield Figure(f"our part of {count}", "ms", own, [], f"below {OURS_MAX_MS} ms",
                     statistics.median(own) < OURS_MAX_MS, "all but interpreter start and imports")
