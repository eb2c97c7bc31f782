"""A rank that is slower than the others from its first step on, or from some step on, is named
while the job runs: over gloo, without any change of the script."""

import pytest
from helpers.jobs import start_job

pytest.importorskip("torch")

# Every rank works for 0.1 s; rank 1 for FACTOR times as long, from step FROM on.
SCRIPT = """
import sys, time
import torch, torch.distributed as dist
factor, begins = float(sys.argv[1]), int(sys.argv[2])
dist.init_process_group("gloo")
model = torch.nn.parallel.DistributedDataParallel(torch.nn.Linear(8, 8))
optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
for n in range(100000):
    is_slow = dist.get_rank() == 1 and n >= begins
    time.sleep(0.1 * (factor if is_slow else 1))
    optimizer.zero_grad()
    model(torch.ones(4, 8)).sum().backward()
    optimizer.step()
"""
NAMED_WITHIN_S = 150  # generous: others use the processors


@pytest.mark.parametrize(("factor", "begins"), [
    (2, 0), pytest.param(3, 120, marks=pytest.mark.nightly)])
def test_a_slow_rank_is_named_while_the_job_runs(robustrun, factor, begins):
    robustrun.write("job.py", SCRIPT)
    job = start_job(robustrun, "--nproc-per-node=3", "job.py", factor, begins)
    job.says("slow: rank 1 ", NAMED_WITHIN_S)
    (line,) = [line for line in job.err().splitlines() if "slow: " in line]
    assert "arrives last" in line
    assert "hang: " not in job.err()
    job.stop()


def test_no_rank_is_named_among_equally_fast_ones(robustrun):
    robustrun.write("job.py", SCRIPT)
    job = start_job(robustrun, "--nproc-per-node=3", "--stop-after-steps=350", "job.py", 1, 0)
    finished = job.finish(300)
    assert finished.code == 0, finished.errors
    assert "slow: " not in finished.errors
