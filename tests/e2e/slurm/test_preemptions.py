"""Three preemptions at random times lose no more than the steps since the last save. Real Slurm."""

import os
import random

from slurm import preemptions

ROUNDS = 3


def test_three_random_preemptions(robustrun, slurm):
    training = preemptions.Training(robustrun, slurm, is_light=True)
    seed = int(os.environ.get("ROBUSTRUN_TEST_SEED", random.randrange(10**9)))
    preemptions.play(training, ROUNDS, seed, longest_s=1.5)
    preemptions.check(training, ROUNDS)
