"""Restart with standby workers: from SIGKILL of one rank until every rank is back.

The script imports torch. Peers: torchrun, nvidia-resiliency-ext's ft_launcher, and robustrun
without standby workers. Then spares.py: a node is replaced.
"""

import contextlib
import os
import signal
import time

from ft_peer import FT_LAUNCHER, ft_launcher
from harness import (
    ROBUSTRUN,
    TORCHRUN,
    Figure,
    Quick,
    Scratch,
    in_turns,
    median_ratio,
    or_absent,
    start,
    wait_for,
    with_peer,
)

from figures import spares

COUNT = 2
# Notes when its first line ran and when its imports were done; trains a step; waits to be killed.
SCRIPT = """
import time
first_line = time.monotonic_ns()
import torch
imported = time.monotonic_ns()
import os
rank, attempt = os.environ["RANK"], os.environ.get("TORCHELASTIC_RESTART_COUNT", "0")
weight = torch.nn.Parameter(torch.ones(1))
optimizer = torch.optim.SGD([weight], lr=0.1)
weight.sum().backward()
optimizer.step()
with open(f"start.{rank}.{attempt}.part", "w") as note:
    note.write(f"{os.getpid()} {first_line} {imported}")
os.rename(f"start.{rank}.{attempt}.part", f"start.{rank}.{attempt}")
while attempt == "0":
    time.sleep(1)
"""
TORCHRUN_SHARE, FT_SHARE = 1 / 5, 1 / 3
SETTLED_S, QUICK_SETTLED_S = 5.0, 2.0  # after the start, before the kill
ROUNDS = 10
QUICK = Quick(40, "1 round instead of 10; neither ft_launcher, which has to be installed, nor the "
              "replacement of a node")


def notes(folder, attempt):
    def read():
        try:
            return [[int(word) for word in (folder / f"start.{rank}.{attempt}").read_text().split()]
                    for rank in range(COUNT)]
        except OSError:
            return None

    return wait_for(read, f"the imports of {COUNT} ranks in attempt {attempt}", 120)


def recovery_ms(settled_s, command, ready=None, **variables):
    """Until the first line of every rank, and until the imports of all are done.

    `ready(pid)` counts the standby workers of the run; None: the command has none."""
    with Scratch() as folder:
        (folder / "job.py").write_text(SCRIPT)
        process = start(
            [*command, f"--nproc-per-node={COUNT}", "--max-restarts=3", "job.py"], folder,
            **variables)
        victim = notes(folder, 0)[COUNT - 1][0]
        if ready:
            wait_for(lambda: ready(process.pid) == COUNT,
                     f"{COUNT} standby workers that have imported torch", 120)
        time.sleep(settled_s)
        killed = time.monotonic_ns()
        os.kill(victim, signal.SIGKILL)
        back = notes(folder, 1)
        process.wait(120)
        return tuple((max(note[which] for note in back) - killed) / 1e6 for which in (1, 2))


def compare(rounds, settled_s, ft):
    """Readings of robustrun with and without standby workers, torchrun, and ft_launcher if `ft`
    has its variables."""
    measures = [lambda: recovery_ms(settled_s, [ROBUSTRUN], spares.waiting_standbys),
                lambda: recovery_ms(settled_s, [ROBUSTRUN, "--standby=off"]),
                lambda: or_absent(lambda: recovery_ms(settled_s, TORCHRUN))]
    if ft is not None:
        measures.append(lambda: recovery_ms(settled_s, FT_LAUNCHER, **ft))
    return in_turns(rounds, *measures)


def measure(quick):
    with contextlib.nullcontext() if quick else ft_launcher() as ft:
        readings = (compare(QUICK.rounds, QUICK_SETTLED_S, ft) if quick
                    else compare(ROUNDS, SETTLED_S, ft))
    figures = []
    for which, until in enumerate(("first line", "imports done")):
        warm, cold, torchrun, *peer = ([each and each[which] for each in of] for of in readings)
        beside, torchrun, absent = with_peer(warm, torchrun, "torchrun")
        met = median_ratio(beside, torchrun) <= TORCHRUN_SHARE if torchrun else None
        figures.append(Figure(f"warm, until {until}", "ms", beside, torchrun,
                              f"at most {TORCHRUN_SHARE:.3g} of torchrun", met, absent))
        figures.append(Figure(f"warm against --standby=off, until {until}", "ms", warm, cold,
                              "faster", median_ratio(warm, cold) < 1))
        if peer:
            share = median_ratio(warm, peer[0])
            figures.append(Figure(f"warm against ft_launcher, until {until}", "ms", warm, peer[0],
                                  f"at most {FT_SHARE:.3g}", share <= FT_SHARE))
    if quick:
        return figures
    if ft is None:
        figures[0].note = "ft_launcher does not run here"
    return figures + spares.measure()
