"""At step 40 of every attempt both ranks receive from each other, and neither sends."""

import os
import time

import light_torch  # noqa: F401
import torch
import torch.distributed as dist

dist.init_process_group("gloo")
rank = int(os.environ["RANK"])
model = torch.nn.parallel.DistributedDataParallel(torch.nn.Linear(4, 1))
optimizer = torch.optim.SGD(model.parameters(), lr=1e-3)
for step in range(1000):
    if step == 40:
        dist.recv(torch.ones(1), src=1 - rank)
    model(torch.ones(1, 4)).sum().backward()
    optimizer.step()
    optimizer.zero_grad()
    time.sleep(0.1)
dist.destroy_process_group()
