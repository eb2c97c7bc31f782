"""One rank whose loader processes are killed: for figures/data_kills.py.

    loader_kill_job.py ours|torch STEP_S KILLS RESULT

Writes the longest wait for a batch after each kill, in seconds, as a JSON list. The rank pauses for
STEP_S between two batches.
"""

import json
import multiprocessing
import os
import pathlib
import random
import sys
import time
import warnings

import torch
from torch.utils.data import Dataset

WORKERS, PREFETCHED = 2, 2  # batches each, torch's default
BATCH, SIDE = 8, 128
RECOVERED_AFTER = 6  # batches: more than are prefetched


class Images(Dataset):
    def __len__(self):
        return 1 << 20

    def __getitem__(self, index):
        return torch.full((3, SIDE, SIDE), index % 256, dtype=torch.uint8)


def loader(kind):
    options = {"num_workers": WORKERS, "prefetch_factor": PREFETCHED}
    if kind == "torch":
        from torch.utils.data import DataLoader

        return DataLoader(Images(), BATCH, **options)
    from robustrun.data import DataLoader

    return DataLoader(Images(), BATCH, rank=0, ranks=1, **options)


def main(kind, step_s, kills, result):
    torch.set_num_threads(1)
    warnings.simplefilter("ignore", RuntimeWarning)  # a process was replaced
    drawn = random.Random(1)
    waits, number = [], 0
    batches = iter(loader(kind))

    def wait():
        nonlocal number
        began = time.perf_counter()
        batch = next(batches)
        took = time.perf_counter() - began
        if batch[:, 0, 0, 0].tolist() != [(number * BATCH + i) % 256 for i in range(BATCH)]:
            raise SystemExit(f"batch {number} is wrong")
        number += 1
        return took

    for _ in range(RECOVERED_AFTER):
        wait()
        time.sleep(float(step_s))
    for _ in range(int(kills)):
        pause = drawn.uniform(0, float(step_s))  # in the middle of a step
        time.sleep(pause)
        os.kill(drawn.choice(multiprocessing.active_children()).pid, 9)
        time.sleep(float(step_s) - pause)
        longest = 0
        for _ in range(RECOVERED_AFTER):
            longest = max(longest, wait())
            time.sleep(float(step_s))
        waits.append(longest)
    pathlib.Path(result).write_text(json.dumps(waits))


if __name__ == "__main__":
    main(*sys.argv[1:])
