"""What supervision costs a training that nothing happens to: a small GPT on two ranks, over gloo,
for a minute and more; its pace from the first step on, and the time until then, against torchrun.

The pace has all in it that we do while a training runs: standby workers that import, records, the
agent's looks. Taken in adjacent pairs, the order within a pair changing; the pace is met when the
upper 95 % bound of the median ratio is (order statistics, so whatever the distribution).
"""

import json
import math
import subprocess
import time

from harness import ROBUSTRUN, ROOT, TORCHRUN, Figure, Scratch, clean_environment, median_ratio

COUNT = 2
SECONDS = 75
PAIRS, QUICK_PAIRS = 20, 6
RATIO_MAX = 1.03
JOB = ROOT / "bench" / "gpt_job.py"


def upper_bound(ratios):
    """The least of the ordered ratios that is above their distribution's median with at least 95 %;
    of fewer than five there is none."""
    count, below = len(ratios), 0.0
    for index, ratio in enumerate(sorted(ratios)):
        below += math.comb(count, index) / 2**count
        if below >= 0.95:
            return ratio
    return math.inf


def run(command):
    """Seconds for a step, and until the first one was done."""
    with Scratch() as folder:
        began = time.monotonic()
        subprocess.run([*command, f"--nproc-per-node={COUNT}", str(JOB), str(SECONDS)], check=True,
                       cwd=folder, env=clean_environment(), stdin=subprocess.DEVNULL,
                       stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        pace = json.loads((folder / "pace.json").read_text())
        return pace["seconds"] / pace["steps"], pace["first_step_at"] - began


def measure(quick):
    ours, peer = [], []
    for pair in range(QUICK_PAIRS if quick else PAIRS):
        turns = [(ours, [ROBUSTRUN]), (peer, TORCHRUN)]
        for readings, command in turns if pair % 2 == 0 else reversed(turns):
            readings.append(run(command))
    steps = [[1e3 * step for step, _ in of] for of in (ours, peer)]
    first = [[until for _, until in of] for of in (ours, peer)]
    bound = upper_bound([a / b for a, b in zip(*steps, strict=True)])
    return [Figure("a step of a training of a minute", "ms", *steps,
                   f"upper 95 % bound at most {RATIO_MAX}", bound <= RATIO_MAX,
                   f"upper 95 % bound {bound:.3f}"),
            Figure("from the command to the end of the first step", "s", *first, "not slower",
                   median_ratio(*first) <= 1)]
