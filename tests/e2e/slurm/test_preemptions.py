"""Preemptions at random times lose no more than the steps since the last save. Real Slurm."""

import os
import random

import pytest
from slurm import preemptions

ROUNDS = 3


@pytest.mark.nightly
def test_random_preemptions_lose_no_saved_step_and_start_no_second_run(robustrun, slurm):
    training = preemptions.Training(robustrun, slurm)
    seed = int(os.environ.get("ROBUSTRUN_TEST_SEED", random.randrange(10**9)))
    preemptions.play(training, ROUNDS, seed)
    preemptions.check(training, ROUNDS)
