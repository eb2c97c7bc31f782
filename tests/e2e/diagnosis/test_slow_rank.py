"""A rank that is slower than the others from its first step on, or from some step on, is named
while the job runs: over gloo, without any change of the script."""

import pathlib

import pytest
from helpers.jobs import start_job
from helpers.packages import NEEDS_TORCH

pytestmark = NEEDS_TORCH

# Every rank works for 0.1 s; rank 1 for FACTOR times as long, from step FROM on.
HELPERS = str(pathlib.Path(__file__).parent.parent / "helpers")
SCRIPT = f"""
import os, sys, time
sys.path.append({HELPERS!r})
import light_torch
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
    if dist.get_rank() == 0:
        with open("step.new", "w") as file:
            file.write(str(n))
        os.replace("step.new", "step")
"""
NAMED_WITHIN_S = 150  # generous: others use the processors


# It is named STEPS steps after it became slow at the latest.
@pytest.mark.parametrize(("factor", "begins", "steps"), [(1.5, 0, 300), (3, 120, 300)])
def test_a_slow_rank_is_named_while_the_job_runs(robustrun, factor, begins, steps):
    robustrun.write("job.py", SCRIPT)
    job = start_job(robustrun, "--nproc-per-node=3", "--standby=off", "job.py", factor, begins)
    job.says("slow: rank 1 ", NAMED_WITHIN_S)
    named_at = int((robustrun.folder / "step").read_text())
    assert begins < named_at <= begins + steps, job.err()
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
