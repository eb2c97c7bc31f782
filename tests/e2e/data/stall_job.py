"""stall_job.py DATA OTHER: rank 1 reads from OTHER, rank 0 from DATA; both are the same data."""

import os
import sys
import time

import light_torch  # noqa: F401
import torch
import torch.distributed as dist
from robustrun import data

dist.init_process_group("gloo")
model = torch.nn.parallel.DistributedDataParallel(torch.nn.Linear(4, 1))
optimizer = torch.optim.SGD(model.parameters(), lr=1e-3)
for batch in data.loader(sys.argv[2 if os.environ["RANK"] == "1" else 1] + "/data.toml"):
    model(batch["tokens"].flatten()[:4].float().reshape(1, 4) / 1e6).sum().backward()
    optimizer.step()
    optimizer.zero_grad()
    time.sleep(0.05)
