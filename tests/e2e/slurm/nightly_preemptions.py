"""Fifty preemptions at random times lose no more than the steps since the last save. Real Slurm."""

import os
import random

from slurm import preemptions

ROUNDS = int(os.environ.get("ROBUSTRUN_TEST_ROUNDS", "50"))


def test_fifty_random_preemptions(robustrun, slurm):
    training = preemptions.Training(robustrun, slurm)
    seed = int(os.environ.get("ROBUSTRUN_TEST_SEED", random.randrange(10**9)))
    preemptions.play(training, ROUNDS, seed)
    preemptions.check(training, ROUNDS)
