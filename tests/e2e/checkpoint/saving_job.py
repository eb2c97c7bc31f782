"""A job whose ranks save with robustrun.checkpoint, and its notes for the test.

Each rank's state is a function of the step, so any reader can check it to the bit.
"""

import pathlib

HELPERS = str(pathlib.Path(__file__).parent.parent / "helpers")
# What each script begins with. Goes on with `step`, the one that was loaded, or -1.
BEGIN = f"""
import sys
sys.path.append({HELPERS!r})
""" + r"""
import os, time
import light_torch, torch
import torch.distributed as dist
import robustrun
from robustrun import checkpoint

rank, folder = int(os.environ["RANK"]), os.environ["SAVES"]
attempt, places = robustrun.attempt(), folder + "/checkpoints"
replicated = os.environ.get("REPLICATED") == "1"
sizes = [300_000, 17, 25_000]

def state_of(step):
    mine = 0 if replicated else rank
    return {"step": step, "tensors": [torch.arange(n, dtype=torch.float32) * (step + 1) + mine + i
                                      for i, n in enumerate(sizes)]}

def note(name, text):
    path = os.path.join(folder, f"{name}.{rank}")
    with open(path + ".tmp", "w") as file:
        file.write(text)
    os.replace(path + ".tmp", path)

torch.set_num_threads(1)
dist.init_process_group("gloo")
state = state_of(-1)
step = checkpoint.load_latest(state, directories=places)
if step is None:
    step = -1
else:
    right = state_of(step)
    assert state["step"] == step
    assert all(torch.equal(a, b) for a, b in zip(state["tensors"], right["tensors"])), "bytes"
    note(f"resumed.{attempt}", f"{step} {checkpoint.last_load().from_memory} {4 * sum(sizes)}")
"""


def notes(folder, name, ranks=2):
    """The numbers of each rank; None until all ranks have noted them."""
    paths = [folder / f"{name}.{rank}" for rank in range(ranks)]
    if not all(path.exists() for path in paths):
        return None
    return [[int(word) for word in path.read_text().split()] for path in paths]


def resumed_at(folder, attempt):
    """The first steps of that attempt's ranks; None until all have begun."""
    found = notes(folder, f"resumed.{attempt}")
    return found and [each[0] for each in found]
