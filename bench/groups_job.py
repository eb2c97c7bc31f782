"""Ranks in 32 gloo groups, all of which do an operation in every step: for figures/tracing.py."""

import time

import torch
import torch.distributed as dist

GROUPS = 32
PACE_S = 0.2  # a step leaves the processors, which all ranks share, time to spare


def main():
    torch.set_num_threads(1)
    dist.init_process_group("gloo")
    # The world's is the first of them.
    groups = [None, *(dist.new_group() for _ in range(GROUPS - 1))]
    weight = torch.nn.Parameter(torch.zeros(64))
    optimizer = torch.optim.SGD([weight], lr=0.01)
    while True:
        weight.grad = torch.ones(64)
        for group in groups:
            dist.all_reduce(weight.grad, group=group)
        optimizer.step()
        time.sleep(PACE_S)


if __name__ == "__main__":
    main()
