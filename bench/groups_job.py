"""Ranks in 32 gloo groups, each with an operation in every step: for figures/tracing.py."""

import time

import torch
import torch.distributed as dist

GROUPS = 32
PACE_S = 0.2  # the ranks share the processors and must not use all of their time


def main():
    torch.set_num_threads(1)
    dist.init_process_group("gloo")
    # The first group is the world.
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
