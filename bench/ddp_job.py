"""A small data-parallel training over gloo that notes times of its start: for figures/nodeloss.py.

    ddp_job.py FOLDER

FOLDER gets one file per event: user.<rank>.<pid> at the first line of the script, step.<rank>.<pid>
after the first step of all ranks; each holds CLOCK_MONOTONIC in ns.
"""

import os
import sys
import time


def note(event):
    path = os.path.join(sys.argv[1], f"{event}.{os.environ['RANK']}.{os.getpid()}")
    with open(path + ".part", "w") as file:
        file.write(str(time.monotonic_ns()))
    os.rename(path + ".part", path)


note("user")

import torch  # noqa: E402
import torch.distributed as dist  # noqa: E402
from torch.nn.parallel import DistributedDataParallel  # noqa: E402


def main():
    torch.set_num_threads(1)
    dist.init_process_group("gloo")
    model = DistributedDataParallel(torch.nn.Linear(8, 8))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
    first = True
    while True:
        optimizer.zero_grad()
        model(torch.randn(16, 8)).sum().backward()
        optimizer.step()
        if first:
            note("step")
            first = False
        time.sleep(0.02)


if __name__ == "__main__":
    main()
