"""Where the time of a recovery goes: from SIGKILL of one rank until all have done a step again,
split into stages. The longest is named.

A stage ends when the last rank has done it; the first one, when the last of the other ranks has
ended. Peers save with torch.save; robustrun restores copies in memory. Peers: torchrun and
nvidia-resiliency-ext's ft_launcher.
"""

import contextlib
import dataclasses
import os
import select
import signal
import statistics
import subprocess
import sys
import time

from ft_peer import FT_LAUNCHER, ft_launcher
from harness import (
    DEADLINE,
    PEER_END_S,
    PEER_LEAST_S,
    PYTHON,
    ROBUSTRUN,
    ROOT,
    TORCHRUN,
    Absent,
    Figure,
    Quick,
    Scratch,
    in_turns,
    kill_tree,
    median_ratio,
    or_absent,
    start,
    wait_for,
    with_peer,
    within,
)

from figures.spares import waiting_standbys

JOB = ROOT / "bench" / "path_job.py"
STAGES = ("others ended", "first line", "imports", "store", "process group", "model", "load",
          "first step")
TRAINERS = ("tqdm", "transformers", "lightning")
SETTLED_S = 3.0  # after the start, before the kill
BACK_MAX_S = 60  # a recovery that takes longer counts as none
ROUNDS = 20
QUICK = Quick(55, "1 round of 2 ranks with 16 MiB each instead of 20 of all cases, without "
              "ft_launcher; torchrun gets what is left of the time to come back")


@dataclasses.dataclass(frozen=True)
class Case:
    """A job whose rank is killed, and what its recovery may take."""

    ranks: int
    mib: int
    most_s: float
    share: float          # of torchrun's time, at most
    modules: tuple = ()   # imported besides torch
    mode: str = "memory"  # of path_job.py under robustrun

    def __str__(self):
        return f"{self.ranks} ranks, {self.mib} MiB each" + \
            (", with prepare()" if self.mode == "prepared" else "") + \
            (f", {', '.join(self.modules)}" if self.modules else "")


CASES = (Case(2, 16, 0.4, 1 / 6), Case(8, 16, 0.8, 1 / 8), Case(2, 512, 1.0, 1 / 3),
         Case(2, 512, 1.0, 1 / 3, mode="prepared"), Case(2, 16, 0.4, 1 / 6, TRAINERS))


def notes(folder, name, case):
    """What the ranks have written; None: not all have."""
    try:
        return [(folder / f"{name}.{rank}").read_text() for rank in range(case.ranks)]
    except OSError:
        return None


def wait_for_ends(descriptors, seconds=120):
    """The time at which the last of these processes has ended, or when `seconds` are over."""
    left, poller = set(descriptors), select.poll()
    for descriptor in left:
        poller.register(descriptor, select.POLLIN)
    deadline = min(time.monotonic() + seconds, DEADLINE.at - PEER_END_S)
    while left and time.monotonic() < deadline:
        for descriptor, _ in poller.poll(100):
            poller.unregister(descriptor)
            left.discard(descriptor)
    ended = time.monotonic_ns()
    for descriptor in descriptors:
        os.close(descriptor)
    return ended


def path(case, mode, command, **variables):
    """Milliseconds of each stage after the kill of the last rank; Absent: no recovery."""
    with Scratch() as folder:
        (folder / "checkpoints").mkdir()
        process = start([*command, f"--nproc-per-node={case.ranks}", "--max-restarts=3", JOB, mode,
                         case.mib, folder / "checkpoints", *case.modules], folder, **variables)
        saved = wait_for(lambda: notes(folder, "saved", case), f"saves of {case.ranks} ranks", 300)
        pids = [int(text.split()[0]) for text in saved]
        if mode != "torch":
            wait_for(lambda: waiting_standbys(process.pid) == case.ranks,
                     "standby workers that have done their imports", 300)
        time.sleep(SETTLED_S)
        others = [os.pidfd_open(pid) for pid in pids[:-1]]
        killed = time.monotonic_ns()
        os.kill(pids[-1], signal.SIGKILL)
        ended = wait_for_ends(others)
        ends = [ended, *[0] * (len(STAGES) - 1)]
        left_s = BACK_MAX_S - (ended - killed) / 1e9
        back = within(lambda: notes(folder, "back", case), left_s, least_s=PEER_LEAST_S)
        if not back:
            kill_tree(process)
            return Absent((time.monotonic_ns() - killed) / 1e9)
        for text in back:
            for at, line in enumerate(text.splitlines(), 1):
                ends[at] = max(ends[at], int(line.split()[0]))
    starts = [killed, *ends[:-1]]
    return [(end - begin) / 1e6 for begin, end in zip(starts, ends, strict=True)]


def in_words(readings):
    """Medians of the stages, and the longest one."""
    medians = [statistics.median(of) for of in zip(*readings, strict=True)]
    longest = STAGES[medians.index(max(medians))]
    return ", ".join(f"{stage} {ms:.0f}" for stage, ms in zip(STAGES, medians, strict=True)) + \
        f"; longest: {longest}"


def totals(readings):
    return [sum(one) for one in readings]


def measure_case(case, rounds, ft):
    measures = [lambda: path(case, case.mode, [ROBUSTRUN]),
                lambda: or_absent(lambda: path(case, "torch", TORCHRUN))]
    if ft is not None:
        measures.append(lambda: path(case, "torch", FT_LAUNCHER, **ft))
    return case_figures(case, *in_turns(rounds, *measures))


def case_figures(case, all_ours, torchrun, *ft_readings):
    back = [one for one in all_ours if one]
    failed = len(all_ours) - len(back)
    if not back:
        sys.exit(f"robustrun did not come back in {failed} of {failed} rounds")
    print(f"  {case}:\n    robustrun: {in_words(back)}")
    figures = []
    for name, readings in zip(("torchrun", "ft_launcher"), (torchrun, *ft_readings), strict=False):
        ours, theirs, absent = with_peer(all_ours, readings, name)
        if theirs:
            print(f"    {name}: {in_words(theirs)}" + (f"; {absent}" if absent else ""))
        most_ms = 1000 * case.most_s
        met = bool(ours) and statistics.median(totals(ours)) <= most_ms and not failed
        if not theirs:
            met = None if met else False
        elif median_ratio(totals(ours), totals(theirs)) > case.share:
            met = False
        lost = f"{failed} without recovery" if failed else ""
        figures.append(Figure(f"{case}, against {name}", "ms", totals(ours), totals(theirs),
                              f"at most {most_ms:.0f} ms and {case.share:.3g}", met,
                              "; ".join(filter(None, (absent, lost, in_words(ours))))))
    return figures


def measure(quick):
    if quick:
        return measure_case(CASES[0], QUICK.rounds, None)
    figures = []
    with contextlib.ExitStack() as stack:
        ft = stack.enter_context(ft_launcher())
        for case in CASES:
            imports = "".join(f"import {name}\n" for name in case.modules)
            if subprocess.run([PYTHON, "-c", imports], capture_output=True).returncode:
                print(f"  {case}: left out, since not all of them can be imported here")
                continue
            figures += measure_case(case, ROUNDS, ft)
    return figures
