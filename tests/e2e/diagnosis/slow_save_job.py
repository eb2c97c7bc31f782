"""    slow_save_job.py SAVES

Rank 0 saves for a while, again and again, and the others wait for it in a barrier. After the
barrier it is busy elsewhere, for as long as a poll of the workers takes."""

import os
import sys
import time

import light_torch  # noqa: F401
import torch
import torch.distributed as dist

RANK = int(os.environ["RANK"])


def save_checkpoint(seconds):
    torch.save(torch.ones(1000), f"checkpoint-{RANK}.pt")
    time.sleep(seconds)


dist.init_process_group("gloo")
model = torch.nn.parallel.DistributedDataParallel(torch.nn.Linear(4, 1))
optimizer = torch.optim.SGD(model.parameters(), lr=1e-3)
for step in range(10 * int(sys.argv[1])):
    model(torch.ones(1, 4)).sum().backward()
    optimizer.step()
    optimizer.zero_grad()
    time.sleep(0.05)
    if step % 10 == 9:
        if RANK == 0:
            save_checkpoint(5 + step / 10 * 0.7)
        dist.barrier()
        if RANK == 0:
            time.sleep(1.5)  # after the barrier
dist.destroy_process_group()
