"""A rank that reads batches of 2 MiB in two processes, and is killed with them: for
figures/data_kills.py.

    small_shm_job.py ours|torch BATCHES

Prints the number of right batches on the way. Ends by SIGKILL of all processes.
"""

import multiprocessing
import os
import sys

import torch
from torch.utils.data import Dataset

BYTES = 2 << 20  # of a batch
TIMEOUT_S = 10  # torch's processes may fail without a word


class Large(Dataset):
    def __len__(self):
        return 1 << 20

    def __getitem__(self, index):
        return torch.full((BYTES // 4,), index % 256, dtype=torch.uint8)


def loader(kind):
    options = {"num_workers": 2, "timeout": TIMEOUT_S}
    if kind == "torch":
        from torch.utils.data import DataLoader

        return DataLoader(Large(), 4, **options)
    from robustrun.data import DataLoader

    return DataLoader(Large(), 4, rank=0, ranks=1, **options)


def main(kind, count):
    try:
        for number, batch in enumerate(loader(kind)):
            if batch[:, -1].tolist() != [(4 * number + i) % 256 for i in range(4)]:
                raise SystemExit(f"batch {number} is wrong")
            print(number + 1, flush=True)
            if number + 1 == int(count):
                break
    finally:
        for process in multiprocessing.active_children():
            process.kill()
        os.kill(os.getpid(), 9)


if __name__ == "__main__":
    main(*sys.argv[1:])
