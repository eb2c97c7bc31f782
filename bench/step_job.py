"""A data-parallel training over gloo that notes the cost of its steps: for figures/tracing.py.

    step_job.py WARM_STEPS STEPS

Every rank leaves cost.<rank>.json in its folder: wall and processor seconds of all threads, for
the STEPS after WARM_STEPS.
"""

import json
import os
import sys
import time

import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel

WARM_STEPS, STEPS = int(sys.argv[1]), int(sys.argv[2])
# About 4 MB of gradients and 20 ms for a step.
WIDTH, LAYERS, BATCH = 512, 4, 256


def main():
    torch.set_num_threads(1)
    torch.manual_seed(1)
    dist.init_process_group("gloo")
    layers = [part for _ in range(LAYERS)
              for part in (torch.nn.Linear(WIDTH, WIDTH), torch.nn.ReLU())]
    model = DistributedDataParallel(torch.nn.Sequential(*layers))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
    inputs = torch.randn(BATCH, WIDTH)

    def train(steps):
        for _ in range(steps):
            optimizer.zero_grad()
            model(inputs).square().mean().backward()
            optimizer.step()

    train(WARM_STEPS)
    dist.barrier()
    wall, cpu = time.monotonic(), time.process_time()
    train(STEPS)
    cost = {"wall": time.monotonic() - wall, "cpu": time.process_time() - cpu}
    with open(f"cost.{os.environ['RANK']}.json", "w") as file:
        json.dump(cost, file)
    dist.barrier()
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
