"""How much of its time a training spends on new steps when a worker dies every minute.

robustrun, torchrun, ft_launcher and an undisturbed training run at once: the same script for the
same time on the same machine, with a checkpoint about every second. The same ranks are hit at the
same moments. The ratio is of steps done at the end, to those of the undisturbed training: the
effective training time ratio, as far as it can be known of a launcher that does not report it. Two
rows of faults: workers that die, which every launcher notices; and the same with every fifth rank
stopped instead (SIGSTOP), which then hangs in a collective. (torchrun needs several attempts for
many of the deaths: ranks look for each other at the ports of the previous attempt, which its store
still holds: "connectFullMesh failed".)
"""

import contextlib
import os
import pathlib
import random
import signal
import time

from ft_peer import FT_LAUNCHER, ft_launcher
from harness import (
    ROBUSTRUN,
    ROOT,
    TORCHRUN,
    Figure,
    Quick,
    Scratch,
    start,
    wait_for,
)
from helpers.processes import end
from sshd import free_port

TRAINING = ROOT / "examples" / "train.py"
RANKS = 2
BETWEEN_FAULTS_S = 60
LENGTH_S, LENGTH_QUICK_S = 1800, 150
QUICK = Quick(165, "150 s with 1 death instead of half an hour; no hangs, no ft_launcher",
              longer="what is measured is a fault a minute")
STEP_S, CHECKPOINT_STEPS = 0.1, 10
HANG_EVERY = 5
ASKED = 0.97  # ByteRobust's (arXiv 2509.16293), at a far lower rate of faults


class Training:
    """A training in a folder of its own, which end() ends; steps() can be asked afterwards."""

    def __init__(self, folder, command, **variables):
        folder.mkdir()
        self.folder = folder
        words = [*command, f"--nproc-per-node={RANKS}", "--max-restarts=1000", TRAINING,
                 "--steps", 10**9, "--slow", STEP_S, "--checkpoint", folder / "checkpoints",
                 "--every", CHECKPOINT_STEPS, "--pid-dir", folder / "pids"]
        self.process = start(words, folder, OMP_NUM_THREADS=1, **variables)

    def end(self):
        end(self.process, 60)
        for rank in range(RANKS):  # a stopped rank does not react to SIGTERM
            self.hit(rank, signal.SIGKILL)

    def hit(self, rank, how):
        """Sends a signal to a rank; returns False if the rank does not run."""
        try:
            pid = int((self.folder / "pids" / f"rank-{rank}.pid").read_text())
            stat = pathlib.Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
            if stat in "ZX" or (stat == "T" and how != signal.SIGKILL):
                return False
            os.kill(pid, how)
        except (OSError, ValueError):
            return False
        return True

    def steps(self):
        """The step of the newest checkpoint, from which a restart goes on."""
        return max((int(path.stem.removeprefix("step-"))
                    for path in (self.folder / "checkpoints").glob("step-*.pt")), default=0)


def faults(length_s, with_hangs):
    """(seconds, rank, signal), the same for all trainings."""
    dice = random.Random(f"ettr {with_hangs}")
    for number in range(1, int(length_s / BETWEEN_FAULTS_S)):
        at = number * BETWEEN_FAULTS_S - dice.uniform(0, 5)
        hangs = with_hangs and number % HANG_EVERY == 0
        yield at, dice.randrange(RANKS), signal.SIGSTOP if hangs else signal.SIGKILL


def run_together(commands, length_s, with_hangs):
    """Steps of each by name, and how many faults hit it."""
    hits = dict.fromkeys(commands, 0)
    with Scratch() as folder:
        began = time.monotonic()
        trainings = {name: Training(folder / name, command, **variables)
                     for name, (command, variables) in commands.items()}
        try:
            wait_for(lambda: all(one.steps() for one in trainings.values()),
                     "the first checkpoint of each training", 120)
            for at, rank, how in faults(length_s, with_hangs):
                time.sleep(max(0.0, began + at - time.monotonic()))
                for name, training in trainings.items():
                    hits[name] += name != "undisturbed" and training.hit(rank, how)
            time.sleep(max(0.0, began + length_s - time.monotonic()))
            return {name: training.steps() for name, training in trainings.items()}, hits
        finally:
            for training in trainings.values():
                training.end()


def alone(launcher):
    """The launcher with a port of its own: several at once cannot share the default one."""
    return [*launcher, f"--master-port={free_port()}"]


def figures_of(steps, hits, words, asked):
    whole = steps["undisturbed"]
    ours = steps["robustrun"] / whole
    found = []
    for peer in [name for name in steps if name not in ("robustrun", "undisturbed")]:
        found.append(Figure(f"{words}, beside {peer}", "", [ours], [steps[peer] / whole],
                            "more", ours > steps[peer] / whole,
                            f"{hits['robustrun']} and {hits[peer]} faults"))
    found.append(Figure(f"{words}, itself", "", [ours], [], f"above {asked}", ours > asked,
                        f"{hits['robustrun']} faults"))
    return found


def measure(quick):
    length_s = LENGTH_QUICK_S if quick else LENGTH_S
    found = []
    with contextlib.nullcontext() if quick else ft_launcher() as ft:
        commands = {"robustrun": ([ROBUSTRUN], {}), "torchrun": (alone(TORCHRUN), {}),
                    "undisturbed": (alone(TORCHRUN), {})}
        if ft is not None:
            commands["ft_launcher"] = (alone(FT_LAUNCHER), ft)
        for with_hangs in (False,) if quick else (False, True):
            words = "new steps, deaths and hangs" if with_hangs else "new steps, deaths"
            steps, hits = run_together(commands, length_s, with_hangs)
            found += figures_of(steps, hits, words, ASKED)
    return found
