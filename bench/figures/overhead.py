"""What supervision costs an undisturbed training: a small GPT on two ranks, over gloo.

Its pace from the first step on, for more than a minute, and the time until that step, against
torchrun. The pace includes all that robustrun does while a training runs: standby workers that
import, progress records, the agent's polls. Adjacent pairs, whose order alternates; the target is
for the upper 95 % bound of the median ratio (order statistics, for any distribution).

One run of each comes first and is not measured: the files are in memory then, and robustrun knows
what the script imports, so that nothing has to be imported while it trains (docs/startup.md).
"""

import json
import math
import time

from harness import (
    ROBUSTRUN,
    ROOT,
    TORCHRUN,
    Figure,
    Quick,
    Scratch,
    in_turns,
    median_ratio,
    or_absent,
    timed,
    with_peer,
)

COUNT = 2
SECONDS, QUICK_SECONDS = 75, 8
ROUNDS = 20
QUICK = Quick(35, "1 pair of 8 s instead of 20 of 75 s, of which robustrun's may be its first run "
                  "of the script: the target is for its ratio")
RATIO_MAX = 1.03
JOB = ROOT / "bench" / "gpt_job.py"


def upper_bound(ratios):
    """The smallest of the sorted ratios that is above their distribution's median with at least
    95 %; infinite for fewer than five ratios."""
    count, below = len(ratios), 0.0
    for index, ratio in enumerate(sorted(ratios)):
        below += math.comb(count, index) / 2**count
        if below >= 0.95:
            return ratio
    return math.inf


def run(command, seconds):
    """Seconds for a step, and until the first step was done."""
    with Scratch() as folder:
        began = time.monotonic()
        timed([*command, f"--nproc-per-node={COUNT}", JOB, seconds], folder)
        pace = json.loads((folder / "pace.json").read_text())
        return pace["seconds"] / pace["steps"], pace["first_step_at"] - began


def measure(quick):
    rounds, seconds = (QUICK.rounds, QUICK_SECONDS) if quick else (ROUNDS, SECONDS)
    for command in () if quick else ([ROBUSTRUN], TORCHRUN):
        run(command, seconds)
    ours, peer = in_turns(rounds, lambda: run([ROBUSTRUN], seconds),
                          lambda: or_absent(lambda: run(TORCHRUN, seconds)))
    ours, peer, absent = with_peer(ours, peer, "torchrun")
    steps = [[1e3 * step for step, _ in readings] for readings in (ours, peer)]
    first = [[until for _, until in readings] for readings in (ours, peer)]
    if not peer:
        return [Figure("a step of a training, alone", "ms", *steps, "-", None, absent),
                Figure("from the command to the end of the first step", "s", *first, "-", None)]
    bound = median_ratio(*steps) if quick else upper_bound(
        [a / b for a, b in zip(*steps, strict=True)])
    name = "ratio" if quick else "upper 95 % bound"
    return [Figure(f"a step of a training of {seconds} s", "ms", *steps,
                   f"{name} at most {RATIO_MAX}", bound <= RATIO_MAX, f"{name} {bound:.3f}"),
            Figure("from the command to the end of the first step", "s", *first, "not slower",
                   median_ratio(*first) <= 1)]
