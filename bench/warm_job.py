"""A rank that saves its state and waits to be killed; its restart restores it and notes when.

    warm_job.py MODE MIB FOLDER      MODE: memory, disk (robustrun.checkpoint), torch (torch.save)
"""

import os
import sys
import time

import torch
import torch.distributed as dist

MODE, MIB, FOLDER = sys.argv[1], int(sys.argv[2]), sys.argv[3]
RANK = int(os.environ["RANK"])
ATTEMPT = int(os.environ.get("TORCHELASTIC_RESTART_COUNT", "0"))
OWN = f"{FOLDER}/rank-{RANK}.pt"


def note(name, *words):
    path = f"{name}.{RANK}.{ATTEMPT}"
    with open(path + ".part", "w") as file:
        file.write(" ".join(map(str, words)))
    os.rename(path + ".part", path)


def restore(state):
    """Restores the state; returns how many of its bytes came from the agent's memory."""
    if MODE == "torch":
        for name, tensor in torch.load(OWN, weights_only=True).items():
            state[name].copy_(tensor)
        return 0
    from robustrun import checkpoint

    checkpoint.load_latest(state, directories=FOLDER)
    return checkpoint.last_load().from_memory


def save(state):
    if MODE == "torch":
        torch.save(state, OWN + ".part")
        with open(OWN + ".part", "rb") as file:
            os.fsync(file.fileno())
        os.rename(OWN + ".part", OWN)
        return
    from robustrun import checkpoint

    if MODE == "memory":
        checkpoint.save(state, 1, directories=FOLDER, every_step=True, disk_every=10**6)
    else:
        checkpoint.save(state, 1, directories=FOLDER)


torch.set_num_threads(1)
dist.init_process_group("gloo")
value = float(RANK + 1)
state = {f"t{i}": torch.full((MIB << 14,), value if ATTEMPT == 0 else 0.0) for i in range(16)}
if ATTEMPT == 0:
    save(state)
    dist.barrier()
    note("saved", os.getpid())
    while True:
        time.sleep(1)
from_memory = restore(state)
note("restored", time.monotonic_ns(), from_memory)
if not all(bool((tensor == value).all()) for tensor in state.values()):
    sys.exit("the restored state differs from the saved one")
dist.barrier()
dist.destroy_process_group()
