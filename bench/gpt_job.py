"""A small GPT like nanoGPT's, trained over gloo on processors: for figures/overhead.py.

    gpt_job.py SECONDS

Trains for SECONDS after its first step. Rank 0 leaves pace.json in its folder: the number of steps
in that time, their duration, and CLOCK_MONOTONIC at the end of the first step.
"""

import json
import os
import sys
import time

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel

SECONDS = float(sys.argv[1])
VOCABULARY, LENGTH, WIDTH, HEADS, LAYERS, BATCH = 65, 64, 128, 4, 4, 8
ASKED_EVERY = 20  # steps; then rank 0 broadcasts whether the time is over


class Block(nn.Module):
    def __init__(self):
        super().__init__()
        self.before, self.after = nn.LayerNorm(WIDTH), nn.LayerNorm(WIDTH)
        self.attention, self.out = nn.Linear(WIDTH, 3 * WIDTH), nn.Linear(WIDTH, WIDTH)
        self.mlp = nn.Sequential(nn.Linear(WIDTH, 4 * WIDTH), nn.GELU(),
                                 nn.Linear(4 * WIDTH, WIDTH))

    def forward(self, x):
        parts = self.attention(self.before(x)).split(WIDTH, 2)
        heads = [part.view(BATCH, LENGTH, HEADS, -1).transpose(1, 2) for part in parts]
        mixed = nn.functional.scaled_dot_product_attention(*heads, is_causal=True)
        x = x + self.out(mixed.transpose(1, 2).reshape(BATCH, LENGTH, WIDTH))
        return x + self.mlp(self.after(x))


class Gpt(nn.Module):
    def __init__(self):
        super().__init__()
        self.tokens = nn.Embedding(VOCABULARY, WIDTH)
        self.places = nn.Embedding(LENGTH, WIDTH)
        self.blocks = nn.Sequential(*(Block() for _ in range(LAYERS)))
        self.head = nn.Linear(WIDTH, VOCABULARY)

    def forward(self, tokens):
        return self.head(self.blocks(self.tokens(tokens) + self.places(torch.arange(LENGTH))))


def main():
    torch.manual_seed(1)
    dist.init_process_group("gloo")
    model = DistributedDataParallel(Gpt())
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)

    def step():
        tokens = torch.randint(0, VOCABULARY, (BATCH, LENGTH))
        logits = model(tokens).view(-1, VOCABULARY)
        loss = nn.functional.cross_entropy(logits, tokens.view(-1))
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        optimizer.zero_grad(set_to_none=True)
        return loss.item()

    step()
    began, steps = time.monotonic(), 0
    is_over = torch.zeros(1)
    while not is_over:
        for _ in range(ASKED_EVERY):
            step()
        steps += ASKED_EVERY
        is_over[0] = time.monotonic() - began >= SECONDS
        dist.broadcast(is_over, 0)
    took = time.monotonic() - began
    if dist.get_rank() == 0:
        with open("pace.json", "w") as file:
            json.dump({"steps": steps, "seconds": took, "first_step_at": began}, file)
    dist.barrier()
    # Not the end of the process group: torch 2.13 may deadlock there. Its destructor holds the GIL
    # and joins a thread that wants the GIL to free the barrier's tensor.
    os._exit(0)


if __name__ == "__main__":
    main()
