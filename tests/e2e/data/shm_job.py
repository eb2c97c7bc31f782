"""shm_job.py BATCHES HOLD: a rank that reads batches of 2 MiB in two processes, holds the last two,
writes "ready" and waits for a line. Exits with 3 if a batch is wrong."""

import os
import sys

import light_torch  # noqa: F401
import torch
from robustrun.data import DataLoader
from torch.utils.data import Dataset

SAMPLES = 64
BYTES = 2 << 20  # of a batch


class Large(Dataset):
    def __len__(self):
        return SAMPLES

    def __getitem__(self, index):
        return torch.full((BYTES // 4 // 4,), index, dtype=torch.int32)


def main(count):
    loader = DataLoader(Large(), 4, num_workers=2, timeout=60, rank=0, ranks=1)
    held, number = [], 0
    while True:
        for batch in loader:
            first = 4 * (number % (SAMPLES // 4))
            if [row.unique().tolist() for row in batch] != [[first + i] for i in range(4)]:
                os._exit(3)
            held = [*held[-1:], batch]
            number += 1
            if number == count:
                print("ready", flush=True)
                sys.stdin.readline()
                return


if __name__ == "__main__":
    main(int(sys.argv[1]))
