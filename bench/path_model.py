"""The model of path_job.py, in a module of its own so that robustrun.prepare() can build it."""

import torch


def build(mib, width):
    """`mib` MiB of parameters in layers of `width`."""
    layers = max(1, mib // (width * width * 4 >> 20))
    return torch.nn.Sequential(
        *(torch.nn.Linear(width, width, bias=False) for _ in range(layers)))
