"""Trainers that people use, with unchanged scripts (tests/e2e/trainers): from SIGKILL of a rank
until training has done a step again, from the trainer's own checkpoint. Peer: torchrun.

Rank 1 waits in step 13 when it is killed; the last checkpoint is of step 10.
"""

import contextlib
import os
import pathlib
import signal
import subprocess
import sys
import time

from harness import (
    PEER_LEAST_S,
    PYTHON,
    ROBUSTRUN,
    ROOT,
    TORCHRUN,
    Figure,
    Quick,
    Scratch,
    below,
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

JOBS = ROOT / "tests" / "e2e" / "trainers"
# Name, package, script, its argument.
TRAINERS = (("script like nanoGPT's", "torch", "nanogpt_job.py", "--out_dir=out"),
            ("Hugging Face Trainer", "transformers", "hf_job.py", "out"),
            ("accelerate", "accelerate", "accelerate_job.py", "out"),
            ("Lightning", "lightning", "lightning_job.py", "out"),
            ("DeepSpeed", "deepspeed", "deepspeed_job.py", "out"))
HELD_AFTER = 11  # steps that are certainly done when rank 1 waits
HOLD_AT = 24     # two items a step and rank: in step 13
SETTLED_S = 3.0
BACK_MAX_S = 60  # a recovery that takes longer counts as none
SHARE_MAX = 1 / 2
ROUNDS = 5
QUICK = Quick(45, "1 round of the script like nanoGPT's alone instead of 5 of each")


def steps_done(folder):
    curve = folder / "out" / "curve"
    return curve.read_text().count("\n") if curve.exists() else 0


def held_process(launcher):
    """The process of the rank that is held: it waits busily, so it has used the most processor
    time of those with its number; the others are standby workers."""
    times = {}
    for pid in below(launcher):
        process = pathlib.Path(f"/proc/{pid}")
        with contextlib.suppress(OSError):
            if b"\0RANK=1\0" in b"\0" + (process / "environ").read_bytes():
                words = (process / "stat").read_text().rpartition(") ")[2].split()
                times[pid] = int(words[11]) + int(words[12])
    return max(times, key=times.get)


def recovery(trainer, command, *, is_warm):
    """Milliseconds from the kill until a step was done again; Absent: none was."""
    _, _, script, argument = trainer
    with Scratch() as folder:
        hold = folder / "hold"
        hold.touch()
        process = start([*command, "--nproc-per-node=2", "--max-restarts=3", JOBS / script,
                         argument], folder, HOLD=hold, HOLD_AT=HOLD_AT, OMP_NUM_THREADS=1,
                        CUDA_VISIBLE_DEVICES="", HF_HUB_OFFLINE=1)
        wait_for(lambda: steps_done(folder) >= HELD_AFTER, "the first steps", 120)
        if is_warm:
            wait_for(lambda: waiting_standbys(process.pid) == 2,
                     "standby workers that have done their imports", 120)
        time.sleep(SETTLED_S)
        before = steps_done(folder)
        victim = held_process(process.pid)
        killed = time.monotonic()
        os.kill(victim, signal.SIGKILL)
        hold.unlink()
        back = within(lambda: steps_done(folder) != before, BACK_MAX_S, least_s=PEER_LEAST_S)
        took = 1000 * (time.monotonic() - killed)
        if not back:
            kill_tree(process)
            return back
        return took


def is_there(package):
    find = f"import importlib.util, sys; sys.exit(importlib.util.find_spec({package!r}) is None)"
    return subprocess.run([PYTHON, "-c", find]).returncode == 0


def measure(quick):
    for trainer in TRAINERS[:1] if quick else TRAINERS:
        name, package, *_ = trainer
        if not is_there(package):
            print(f"  {name}: left out, since {package} is not installed")
            continue
        ours, peers = in_turns(
            QUICK.rounds if quick else ROUNDS,
            lambda trainer=trainer: recovery(trainer, [ROBUSTRUN], is_warm=True),
            lambda trainer=trainer: or_absent(
                lambda: recovery(trainer, [*TORCHRUN, "--standalone"], is_warm=False)))
        lost = len([one for one in ours if not one])
        if lost == len(ours):
            sys.exit(f"{name}: robustrun did no step within {ours[0].seconds:.0f} s")
        readings, theirs, absent = with_peer(ours, peers, "torchrun")
        met = median_ratio(readings, theirs) <= SHARE_MAX if theirs else None
        met = False if lost else met
        yield Figure(
            f"kill to next step, {name}", "ms", readings, theirs,
            f"at most {SHARE_MAX:.2g} of torchrun", met,
            "; ".join(filter(None, (absent, f"{lost} of ours without a step" if lost else ""))))
