"""Ranks that each save a state of their own with robustrun.checkpoint.

    python own_states_job.py WORLD COMMAND DIRECTORY [ARG]     as dcp_job.py

torch.save writes the same states to DIRECTORY/whole.RANK.pt.
"""

import collections

import dcp_job
import torch
from robustrun import checkpoint


def state_of(rank, seed):
    """The same names with other values, shapes and items on each rank: (the state of a script, the
    same as plain values and tensors)."""
    g = torch.Generator().manual_seed(100 * seed + rank)
    model = torch.nn.Sequential(torch.nn.Linear(4 + rank, 8), torch.nn.BatchNorm1d(8))
    for each in model.parameters():
        each.data.copy_(torch.randn(each.shape, generator=g))
    optimizer = torch.optim.AdamW(model.parameters())
    model(torch.randn(3, 4 + rank, generator=g)).square().sum().backward()
    optimizer.step()
    rest = {
        "half": torch.randn(5, 3, generator=g).bfloat16(), "scalar": torch.tensor(1.5 + rank),
        "empty": torch.empty(0, 3), "turned": torch.randn(6, 5, generator=g).t(),
        "large": torch.randn(400 + rank, 1000, generator=g),
        "deep": [({"x": torch.arange(rank + 2)}, None), [], {}, [True, b"\0" + bytes([rank])]],
        "plain": {"rank": rank, "name": "a\u00e9", "large": -2**70, "part": 0.1,
                  "types": (torch.bfloat16, torch.Size([2, 3])), 7: "seven"},
        f"only {rank}": torch.full((2,), rank), "counts": collections.Counter("abca"),
    }
    if rank == 1:
        rest["mask"] = torch.tensor([True, False])
    return ({"model": model, "optimizer": optimizer, **rest},
            {"model": model.state_dict(), "optimizer": optimizer.state_dict(), **rest})


def save(folder, rank, world, seed):
    state, whole = state_of(rank, int(seed))
    torch.save(whole, f"{folder}/whole.{rank}.pt")
    checkpoint.save(state, int(seed), directories=[folder, folder + "-2"],
                    dataloader={"rank": rank})


def save_same(folder, rank, world, seed):
    state, whole = state_of(0, int(seed))
    torch.save(whole, f"{folder}/whole.{rank}.pt")
    checkpoint.save(state, int(seed), directories=[folder, folder + "-2"], replicated=True)


if __name__ == "__main__":
    dcp_job.main(globals())
