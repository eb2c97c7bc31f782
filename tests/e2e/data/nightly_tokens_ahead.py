"""Text that is tokenized while the training runs, for longer: random kills and numbers of ranks,
and a machine that is gone."""

import os
import random
import shutil
import signal

import pytest
from data.test_prepare_data import prepare, words
from data.test_tokens_ahead import (
    RAISES,
    SLOWLY,
    STEPS,
    bad,
    finish,
    know_each_other,
    made,  # noqa: F401
    process_that_tokenizes,
)
from helpers.processes import is_alive, wait_for

SEEDS = int(os.environ.get("ROBUSTRUN_SEEDS", "20"))


@pytest.fixture(scope="module")
def expected(tmp_path_factory):
    """(ranks, rank) → {(step, micro-batch): hash}, of data that was prepared."""
    from data.test_tokens_ahead import Data

    data, found = Data(tmp_path_factory.mktemp("before") / "data", training=""), {}
    prepare(data.folder)
    for ranks in (1, 2, 3, 4):
        finish(data.start(ranks, name=f"log{ranks}"))
        for rank in range(ranks):
            found[ranks, rank] = {(step, micro): digest for step, micro, digest
                                  in data.log(rank, f"log{ranks}")}
    data.end()
    return found


@pytest.mark.parametrize("seed", range(SEEDS))
def test_random_kills_never_change_a_batch(tmp_path, made, expected, seed):  # noqa: F811
    drawn = random.Random(seed)
    data = made(tmp_path / "data", code=SLOWLY)
    for part in range(30):
        name, ranks = f"part{part}", drawn.randint(1, 4)
        if (data.folder / "state").exists():
            shutil.copy(data.folder / "state", data.folder / f"{name}.begin")
        jobs = data.start(ranks, name=name)
        before = data.steps(0, name)
        for _ in range(drawn.randint(0, 3)):
            wait_for(lambda b=before, n=name, j=jobs: data.steps(0, n) > b
                     or any(job.poll() is not None for job in j), 120, "a step")
            before = data.steps(0, name)
            found = process_that_tokenizes(jobs)
            if found and drawn.random() < 0.8:
                ahead, pool = found
                victim = drawn.choice([ahead, *pool])
                if is_alive(victim):
                    os.kill(victim, signal.SIGKILL)
        is_last = part == 29 or drawn.random() < 0.2
        if is_last:
            finish(jobs)
        else:
            drawn.shuffle(jobs)
            for job in jobs:
                job.kill()
            for job in jobs:
                job.wait()
        for rank in range(ranks):
            for step, micro, digest in data.log(rank, name):
                assert digest == expected[ranks, rank][step, micro], (seed, part, rank, step)
        if is_last:
            assert data.steps(0, name) == STEPS - 1 or not data.log(0, name)
            return


def test_pieces_of_a_machine_that_is_gone_are_made_by_the_others(tmp_path, made):  # noqa: F811
    data = made(tmp_path / "data", code=SLOWLY.replace("0.001", "0.003"))
    jobs = [job for machine in range(2) for job in data.start(1, machine=machine, machines=2)]
    wait_for(lambda: know_each_other(data), 60, "the marks of both machines")
    for job in jobs:  # of the second machine all is gone, and its mark stays
        wait_for(lambda j=job: process_that_tokenizes([j]), 60, "the pool")
    ahead, pool = process_that_tokenizes(jobs[1:])
    for pid in (jobs[1].pid, ahead, *pool):
        os.kill(pid, signal.SIGKILL)
    assert len(data.pieces()) < 10
    finish(jobs[:1])
    assert data.steps(0) == STEPS - 1


def test_machines_that_may_not_share_a_cache_skip_nothing(tmp_path, made):  # noqa: F811
    text = words(1500, "web-0.jsonl")[5]
    data = made(tmp_path / "data", options="max_skips = 1", code=bad(text, RAISES))
    (said,) = finish(data.start(1, machines=2), code=1)  # the other one is nowhere
    assert said.splitlines()[-1].endswith(
        "division by zero; it can only be skipped (max_skips) if all 2 machines share one cache: "
        "this one shares it with 0")
