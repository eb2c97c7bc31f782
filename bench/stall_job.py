"""Steps of a second on each rank, with a copy of its state after each; run by robustrun.

    stall_job.py STEPS MIB FOLDER

Prints a line of JSON for each rank with the seconds for which each save delayed the step: ours, by
robustrun.checkpoint.save(every_step=True), and DCP's async_save by a thread, in turns.
"""

import json
import os
import sys
import time

import torch
import torch.distributed as dist
import torch.distributed.checkpoint as dcp
from robustrun import checkpoint

STEP_S = 1.0


def step(weight):
    """Keeps the processor busy, as a training does between its steps."""
    end = time.monotonic() + STEP_S
    while time.monotonic() < end:
        torch.mm(weight, weight)


def main():
    steps, mib, folder = int(sys.argv[1]), int(sys.argv[2]), sys.argv[3]
    torch.set_num_threads(1)
    dist.init_process_group("gloo")
    rank = dist.get_rank()
    state = {f"t{i}": torch.randn(mib << 16) for i in range(4)}
    weight = torch.randn(256, 256)
    ours, theirs, pending = [], [], None
    for number in range(steps + 2):  # the first ones allocate memory
        step(weight)
        began = time.monotonic()
        checkpoint.save(state, number, directories=folder + "/ours", every_step=True,
                        disk_every=10**6)
        ours.append(time.monotonic() - began)
        step(weight)
        if pending is not None:
            pending.result()
        began = time.monotonic()
        pending = dcp.async_save({f"rank-{rank}": state}, checkpoint_id=f"{folder}/dcp-{number}")
        pending = getattr(pending, "upload_completion", pending)
        theirs.append(time.monotonic() - began)
    pending.result()
    print(json.dumps({"kind": "stall", "ours": ours[2:], "dcp": theirs[2:], "shared":
                      checkpoint._savers[(os.path.abspath(folder + "/ours"),)].copies.shared}),
          flush=True)
    dist.barrier()
    dist.destroy_process_group()


main()
