"""Ranks that hold the same state save it and load it together.

    ranks_job.py FOLDER MODE [WORLD]     WORLD: forks them; else a launcher has started this rank

Each rank writes FOLDER/told.RANK, with what it loaded or why it failed, and FOLDER/rank.RANK.
"""

import json
import os
import signal
import sys
import time
import traceback

import light_torch  # noqa: F401
import torch
import torch.distributed as dist
import torch.distributed.nn  # noqa: F401  before there is a group: see diagnosis/faulty_job.py
from robustrun import checkpoint

STEP, BEFORE = 3, 2


class Picky:
    """Fails at the very end of a load, on one of the ranks."""

    def __init__(self, rank):
        self.rank = rank

    def state_dict(self):
        return {"kept": 1}

    def load_state_dict(self, state):
        if self.rank == 1:
            raise ValueError("rank 1 does not like its loader")


def tensors_of(seed):
    g = torch.Generator().manual_seed(seed)
    return {"big": torch.randn(5000, 2048, generator=g),  # several pieces
            "many": [torch.randn(17 + i % 5, generator=g) for i in range(300)],
            "turned": torch.randn(300, 50, generator=g).t(),
            "mask": torch.rand(99, generator=g) > 0.5, "scalar": torch.tensor(float(seed)),
            "complex": torch.randn(10, dtype=torch.complex64, generator=g),
            "empty": torch.empty(0, 3), "twice": torch.ones(7, 3)}


def state_of(seed):
    made = tensors_of(seed)
    tied = torch.nn.Linear(40, 40)
    torch.nn.init.constant_(tied.weight, float(seed))
    torch.nn.init.constant_(tied.bias, float(seed + 1))
    return {**made, "again": made["twice"], "model": tied, "seed": seed}


def leaves(state):
    for name, value in state.items():
        if isinstance(value, torch.nn.Module):
            value = list(value.state_dict().values())
        for i, each in enumerate(value if isinstance(value, list) else [value]):
            yield f"{name}.{i}", each


def is_same(state, other):
    return all(torch.equal(a, b) if isinstance(a, torch.Tensor) else a == b
               for (_, a), (_, b) in zip(leaves(state), leaves(other), strict=True))


def save(folder, loader, step=STEP):
    checkpoint.save(state_of(step), step, folder.split(":"), replicated=True, dataloader=loader)


def new_loader(name, values, rank, size):
    return None if name == "random" else {"rank": rank}


def load(folder, rank, mode, loader):
    state = state_of(1)
    if mode == "mismatch" and rank == 1:
        state["mine"] = torch.zeros(2)
    if mode == "nowhere" and rank == 1:
        os.makedirs("elsewhere", exist_ok=True)
        folder = os.path.abspath("elsewhere")
    if mode == "no-parent" and rank == 1:
        folder = "/proc/none/here"
    try:
        if mode == "read-only" and rank == 1:
            return {"kind": "did not ask"}
        step = checkpoint.load_latest(state, folder.split(":"), dataloader=loader,
                                      read_only=mode == "read-only", remap=new_loader)
    except Exception as error:
        return {"kind": type(error).__name__, "what": str(error),
                "unchanged": is_same(state, state_of(1)) if "mine" not in state else
                torch.equal(state["big"], tensors_of(1)["big"])}
    assert step in (STEP, BEFORE) and is_same(state, state_of(step))
    assert state["twice"] is state["again"]
    return {"kind": "loaded", **checkpoint.last_load()._asdict()}


def run(folder, mode, rank, world):
    torch.set_num_threads(1)
    loader = Picky(rank) if mode == "picky" else {"rank": rank}
    if mode == "save-two":
        save(folder, loader, BEFORE)
    if mode in ("save", "save-two", "picky"):
        save(folder, loader)
    if dist.is_initialized():
        dist.barrier()
    if mode in ("save", "save-two"):
        return
    told = load(folder, rank, mode, loader)
    if told["kind"] == "loaded" and mode != "picky":
        assert loader == {"rank": rank}
    with open(f"told.{rank}", "w") as file:
        json.dump(told, file)


def then_alone(folder, rank):
    """Saves and loads with a group, then loads without one."""
    run(folder, "save", rank, 2)
    told = [load(folder, rank, "load", {"rank": rank})]
    dist.barrier()
    dist.destroy_process_group()
    told.append(load(folder, rank, "load", {"rank": rank}))
    with open(f"told.{rank}", "w") as file:
        json.dump(told, file)


def kept_in_memory(folder, rank):
    """Under robustrun: the disk has only what the agent saves from the killed attempt."""
    if os.environ["ROBUSTRUN_ATTEMPT"] != "0":
        return run(folder, "load", rank, dist.get_world_size())
    checkpoint.save(state_of(STEP), STEP, folder.split(":"), replicated=True, every_step=True,
                    disk_every=10**6, dataloader={"rank": rank})
    dist.barrier()
    if rank == 1:
        os.kill(os.getpid(), signal.SIGKILL)
    time.sleep(100)


def forked(folder, mode, world):
    pids = []
    for rank in range(world):
        pids.append(os.fork())
        if pids[-1] == 0:
            code = 1
            try:
                dist.init_process_group("gloo", init_method=f"file://{os.getcwd()}/meet.{mode}",
                                        rank=rank, world_size=world)
                run(folder, mode, rank, world)
                dist.barrier()
                dist.destroy_process_group()
                code = 0
            except BaseException:
                traceback.print_exc()
            finally:
                sys.stderr.flush()
                os._exit(code)
    sys.exit(max(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) for pid in pids))


def main():
    folder, mode = sys.argv[1:3]
    if len(sys.argv) > 3:
        forked(folder, mode, int(sys.argv[3]))
    dist.init_process_group("gloo")
    rank = int(os.environ["RANK"])
    if mode == "memory":
        kept_in_memory(folder, rank)
    elif mode == "then-alone":
        then_alone(folder, rank)
    else:
        run(folder, mode, rank, int(os.environ["WORLD_SIZE"]))
    if dist.is_initialized():
        dist.barrier()
        dist.destroy_process_group()


if __name__ == "__main__":
    main()
