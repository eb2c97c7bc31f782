"""Rank 1 sleeps in the script at step 40 of every attempt; the others wait for it."""

import os
import time

import light_torch  # noqa: F401
import torch
import torch.distributed as dist

dist.init_process_group("gloo")
model = torch.nn.parallel.DistributedDataParallel(torch.nn.Linear(4, 1))
optimizer = torch.optim.SGD(model.parameters(), lr=1e-3)
for step in range(1000):
    if step == 40 and os.environ["RANK"] == "1":
        time.sleep(1000)
    model(torch.ones(1, 4)).sum().backward()
    optimizer.step()
    optimizer.zero_grad()
    time.sleep(0.02)
dist.destroy_process_group()
