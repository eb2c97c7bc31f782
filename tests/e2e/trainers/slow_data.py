"""The data of all jobs here: sequences of words, made from their index alone.

While the file $HOLD exists, rank 1 waits before its item number $HOLD_AT: a test can kill it at a
known step.
"""

import itertools
import os
import time

import torch

WORDS, LENGTH = 32, 8
_items = itertools.count()


def words_of(index):
    generator = torch.Generator().manual_seed(1000 + index)
    start = torch.randint(WORDS, (1,), generator=generator)
    return (start + torch.arange(LENGTH + 1) * (1 + index % 3)) % WORDS


def wait_if_held():
    is_last = next(_items) == int(os.environ.get("HOLD_AT", "-1")) and os.environ["RANK"] == "1"
    while is_last and os.path.exists(os.environ["HOLD"]):
        time.sleep(0.01)


class Sequences(torch.utils.data.Dataset):
    def __init__(self, size):
        self.size = size

    def __len__(self):
        return self.size

    def __getitem__(self, index):
        wait_if_held()
        words = words_of(index)
        return {"input_ids": words[:-1], "labels": words[1:]}


def note(path, step, loss):
    """Adds a line to the curve, with every bit of the loss."""
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, "a") as file:
        file.write(f"{step} {float(loss).hex()}\n")
