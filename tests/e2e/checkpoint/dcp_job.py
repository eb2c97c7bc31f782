"""A job of some ranks on this machine that saves and loads with robustrun.dcp.

    python dcp_job.py WORLD COMMAND DIRECTORY [ARG]

The ranks are forked from an interpreter that has imported torch. The expected state is computed
from a seed, so that every world size knows it.
"""

import math
import os
import shutil
import sys
import tempfile
import traceback
import warnings

import dcp_torch as dcp
import torch
import torch.distributed as dist
from dcp_torch import (
    AsyncCheckpointerType,
    DTensor,
    Replicate,
    Shard,
    distribute_tensor,
    init_device_mesh,
)
from robustrun.dcp import RobustReader, RobustWriter
from torch import nn
from torch.distributed.checkpoint.default_planner import DefaultSavePlanner

warnings.filterwarnings("ignore")


def whole_tensors(seed):
    """{name: (tensor, placements on a mesh of two axes)}"""
    g = torch.Generator().manual_seed(seed)
    rows = Shard(0)
    return {
        "rows": (torch.randn(10, 6, generator=g), [rows, Replicate()]),  # does not divide by 4 or 8
        "columns": (torch.randn(7, 16, generator=g), [Replicate(), Shard(1)]),
        "both": (torch.randn(24, 40, generator=g).bfloat16(), [rows, Shard(1)]),
        "middle": (torch.randn(3, 16, 5, generator=g), [Shard(1), Replicate()]),
        "wide": (torch.randn(600, 4096, generator=g), [Shard(1), Replicate()]),  # several pieces
        "twice": (torch.randint(-99, 99, (32, 3), generator=g), [rows, rows]),
        "mask": (torch.rand(9, 4, generator=g) > 0.5, [rows, Replicate()]),
        "long": (torch.rand(4096, generator=g) > 0.5, [rows, Replicate()]),  # a byte per row
        "everywhere": (torch.randn(5, generator=g).to(torch.float8_e4m3fn).view(torch.uint8), None),
        "complex": (torch.randn(6, dtype=torch.complex128, generator=g), None),
        "number": (torch.tensor(float(seed)), None),
        "nothing": (torch.empty(0, 3), None),
        "turned": (torch.randn(8, 6, generator=g).t(), None),  # not contiguous
    }


def values(seed):
    return {"epoch": seed, "name": "a\u00e9", "betas": (0.9, 0.999), "flags": [True, None, b"\0x"],
            "sizes": {"a": torch.Size([2, 3]), "kind": torch.bfloat16}, "empty": {}}


def mesh_of(world):
    return init_device_mesh("cpu", (world // 2, 2) if world > 2 else (1, world))


def state_of(world, seed):
    tensors = whole_tensors(seed)
    if world == 1:
        made = {name: tensor.clone() for name, (tensor, _) in tensors.items()}
    else:
        mesh = mesh_of(world)
        made = {name: tensor.clone() if places is None else distribute_tensor(tensor, mesh, places)
                for name, (tensor, places) in tensors.items()}
    return {"model": made, "extra": values(seed)}


def bits(tensor):
    local = tensor.to_local() if isinstance(tensor, DTensor) else tensor
    return local.detach().contiguous().reshape(-1).view(torch.uint8)


def check_same(found, wanted):
    assert found["extra"] == wanted["extra"], (found["extra"], wanted["extra"])
    for name, tensor in wanted["model"].items():
        assert torch.equal(bits(found["model"][name]), bits(tensor)), name
        assert found["model"][name].dtype == tensor.dtype, name


def blank(state):
    """The same state with other values."""
    for tensor in state["model"].values():
        local = tensor.to_local() if isinstance(tensor, DTensor) else tensor
        local.copy_(torch.ones_like(local))
    extra = dict.fromkeys(state["extra"], 0)
    state["extra"] = extra | {"betas": (0, 0), "flags": [0, 0, 0], "sizes": {"a": 0, "kind": 0},
                              "empty": {}}  # DCP keeps the keys of the state that it loads into
    return state


def save(folder, rank, world, seed):
    dcp.save(state_of(world, int(seed)), storage_writer=RobustWriter([folder, folder + "-2"]),
             checkpoint_id=int(seed))


def load(folder, rank, world, seed, read_only=False, same=False):
    reader = RobustReader([folder, folder + "-2"], read_only=read_only)
    assert reader.latest() is not None
    state = blank(state_of(world, int(seed)))
    dcp.load(state, storage_reader=reader)
    check_same(state, state_of(world, int(seed)))
    check_read_once(state, reader.last_load, world, same)


def check_read_once(state, loaded, world, same):
    """Checks that shared data was read by one rank: data that all ranks hold in any case, and
    replicas of shards where all replicas ask for the `same` pieces as were saved."""
    always = replicas = mine = 0
    for tensor in state["model"].values():
        copies = world
        if isinstance(tensor, DTensor):
            kinds = zip(tensor.device_mesh.mesh.shape, tensor.placements, strict=True)
            copies = math.prod(size for size, kind in kinds if kind.is_replicate())
        size = tensor.numel() * tensor.element_size()
        replicas += size * (copies - 1)
        always += size * (copies - 1) if copies == world else 0
        mine += bits(tensor).numel()
    parts = torch.tensor([float(loaded.from_ranks)])
    if world > 1:
        dist.all_reduce(parts)
    assert always <= int(parts) <= replicas, (int(parts), always, replicas, loaded)
    assert not same or int(parts) == replicas, (int(parts), replicas, loaded)
    assert loaded.from_ranks <= mine, (loaded, mine)


def load_same(folder, rank, world, seed):
    """Loads with as many ranks as saved."""
    load(folder, rank, world, seed, same=True)


def fail_one(folder, rank, world, seed):
    """One rank cannot read data that it shares with others: these get an error and do not wait."""
    from robustrun._checkpoint import c_api

    read, calls = c_api.Checkpoint.read, []

    def broken(self, requests):
        calls.append(requests)
        if rank == 1 and len(calls) > 1:  # the first is for data that all share
            raise OSError("this rank's disk is gone")
        return read(self, requests)

    c_api.Checkpoint.read = broken
    load(folder, rank, world, seed)


def look(folder, rank, world, seed):
    load(folder, rank, world, seed, read_only=True)


def load_step(folder, rank, world, seed):
    """Loads an older checkpoint by its step."""
    state = blank(state_of(world, int(seed)))
    dcp.load(state, storage_reader=RobustReader([folder, folder + "-2"]),
             checkpoint_id="step-" + seed)
    check_same(state, state_of(world, int(seed)))


def load_newest(folder, rank, world, seed):
    dcp.load(state_of(world, int(seed)), storage_reader=RobustReader([folder, folder + "-2"]))


def whole(folder, rank, world, seed):
    torch.save(state_of(1, int(seed)), folder + "/whole.pt")


def reshard(folder, rank, world, seed):
    """Loads the checkpoint of another world size, and saves for the next one."""
    load(folder, rank, world, seed)
    save(folder, rank, world, int(seed) + 1)


def model_of(world, seed):
    torch.manual_seed(seed)
    model = nn.Sequential(nn.Linear(18, 30), nn.ReLU(), nn.Linear(30, 5))
    if world > 1:
        from torch.distributed.fsdp import fully_shard

        mesh = init_device_mesh("cpu", (world,))
        fully_shard(model[0], mesh=mesh)
        fully_shard(model, mesh=mesh)
    return model, torch.optim.AdamW(model.parameters(), lr=0.01)


def train_step(model, optimizer, seed):
    torch.manual_seed(seed)
    model(torch.randn(4, 18)).square().mean().backward()
    optimizer.step()
    optimizer.zero_grad()


def gathered(state):
    return {name: gathered(value) if isinstance(value, dict) else
            value.full_tensor() if isinstance(value, DTensor) else value
            for name, value in state.items()}


def check_equal(a, b, where=""):
    if isinstance(a, dict):
        assert a.keys() == b.keys(), where
        for name in a:
            check_equal(a[name], b[name], where + "." + str(name))
    elif isinstance(a, torch.Tensor):
        assert torch.equal(a, b), where
    else:
        assert a == b, where


def state_of_fsdp(model, optimizer):
    from torch.distributed.checkpoint.state_dict import get_state_dict

    return dict(zip(("model", "optimizer"), get_state_dict(model, optimizer), strict=True))


def save_fsdp(folder, rank, world, seed):
    model, optimizer = model_of(world, 1)
    for step in range(3):
        train_step(model, optimizer, step)
    states = state_of_fsdp(model, optimizer)
    dcp.save(states, storage_writer=RobustWriter(folder, step=3))
    kept = gathered(states)
    if rank == 0:
        torch.save(kept, folder + "/whole.pt")


def load_fsdp(folder, rank, world, seed):
    from torch.distributed.checkpoint.state_dict import set_state_dict

    model, optimizer = model_of(world, 2)
    states = state_of_fsdp(model, optimizer)
    dcp.load(states, storage_reader=RobustReader(folder))
    set_state_dict(model, optimizer, model_state_dict=states["model"],
                   optim_state_dict=states["optimizer"])
    check_equal(gathered(state_of_fsdp(model, optimizer)),
                torch.load(folder + "/whole.pt", weights_only=True))
    train_step(model, optimizer, 4)


def save_async(folder, rank, world, kind):
    writer = RobustWriter([folder, folder + "-2"])
    for seed in (1, 2):
        state = state_of(world, seed)
        words = {"async_checkpointer_type": AsyncCheckpointerType[kind]} \
            if AsyncCheckpointerType else {}
        answer = dcp.async_save(state, storage_writer=writer, checkpoint_id=seed, **words)
        if hasattr(answer, "staging_completion"):
            answer.staging_completion.result()
        if AsyncCheckpointerType:
            blank(state)  # training goes on
        getattr(answer, "upload_completion", answer).result()
    assert RobustReader([folder, folder + "-2"]).latest() == 2
    dcp.save(state_of(world, 3), storage_writer=writer, checkpoint_id=2)  # the same step again


def save_cached(folder, rank, world, seed):
    """Saves with plans that DCP caches from the first save."""
    writer = RobustWriter([folder, folder + "-2"])
    for seed in (1, 2):
        dcp.save(state_of(world, seed), storage_writer=writer, checkpoint_id=seed,
                 planner=DefaultSavePlanner(enable_plan_caching=True))
        load(folder, rank, world, seed)
    more = state_of(world, 3)
    more["model"]["new"] = torch.ones(3)
    dcp.save(more, storage_writer=writer, checkpoint_id=3,
             planner=DefaultSavePlanner(enable_plan_caching=True))
    found = blank(state_of(world, 3))
    found["model"]["new"] = torch.zeros(3)
    dcp.load(found, storage_reader=RobustReader([folder, folder + "-2"]))
    check_same(found, more)


def save_plain(folder, rank, world, seed):
    """Saves as a script without DCP does."""
    from robustrun import checkpoint

    model, optimizer = model_of(1, 1)
    train_step(model, optimizer, 1)
    state = {"model": model, "optimizer": optimizer, "epoch": int(seed)}
    checkpoint.save(state, int(seed), directories=folder)
    torch.save({"model": model.state_dict(), "optimizer": optimizer.state_dict()},
               folder + "/whole.pt")


class SameMemory:
    """A stager that copies nothing, as async_save of torch 2.6 does for tensors of the host."""

    def stage(self, state, **ignored):
        return state

    def __getattr__(self, name):
        return False if name.startswith("should_") else lambda *ignored: None


def save_torn(folder, rank, world, way):
    """Rank 1's tensor changes after the first copy of its bytes, with or without torch's notice."""
    from robustrun._checkpoint import c_api

    writer = RobustWriter([folder, folder + "-2"])
    dcp.save(state_of(world, 1), storage_writer=writer, checkpoint_id=1)
    write, state = c_api.Save.write, state_of(world, 2)

    def write_and_change(self, *arguments):
        write(self, *arguments)
        torn = state["model"]["columns"].to_local()
        if rank == 1:
            torn.add_(1) if way == "torch" else torn.numpy().fill(3)

    c_api.Save.write = write_and_change
    try:
        if way == "torch":
            answer = dcp.async_save(state, storage_writer=writer, checkpoint_id=2,
                                    async_stager=SameMemory())
            getattr(answer, "upload_completion", answer).result()
        else:
            dcp.save(state, storage_writer=writer, checkpoint_id=2)
    except BaseException:
        traceback.print_exc()
    else:
        raise AssertionError("a torn state was committed")
    c_api.Save.write = write
    dcp.save(state, storage_writer=writer, checkpoint_id=3)


class Odd:
    pass


def save_odd(folder, rank, world, seed):
    state = state_of(world, 1)
    state["extra"]["odd"] = {"inside": Odd()}
    dcp.save(state, storage_writer=RobustWriter([folder, folder + "-2"]), checkpoint_id=9)


def zombie(folder, rank, world, other):
    """Saves, and again after a later attempt has saved."""
    writer = RobustWriter([folder, folder + "-2"])
    dcp.save(state_of(world, 1), storage_writer=writer, checkpoint_id=1)
    if rank == 0:
        os.environ["ROBUSTRUN_ATTEMPT"] = "1"
        python = os.environ["PYTHON_EXEC"]
        assert os.spawnv(os.P_WAIT, python, [
            python, os.path.abspath(__file__), "1", "save", folder, "2"]) == 0
    dist.barrier()
    dcp.save(state_of(world, 3), storage_writer=writer, checkpoint_id=3)


def main(commands):
    world, command, folder = int(sys.argv[1]), sys.argv[2], sys.argv[3]
    place = tempfile.mkdtemp(prefix="rr-dcp-", dir=os.path.dirname(os.path.abspath(folder)))
    meeting = place + "/store"
    pids = []
    for rank in range(world):
        pid = os.fork()
        if pid == 0:
            code = 1
            try:
                torch.set_num_threads(1)
                if world > 1:
                    dist.init_process_group("gloo", init_method="file://" + meeting, rank=rank,
                                            world_size=world)
                commands[command](folder, rank, world, *(sys.argv[4:] or [None]))
                if world > 1:
                    dist.barrier()
                    kept = dist.group.WORLD  # noqa: F841 (torch 2.1's may hang as it goes)
                    dist.destroy_process_group()
                code = 0
            except BaseException:
                traceback.print_exc()
            finally:
                sys.stdout.flush()
                sys.stderr.flush()
                os._exit(code)
        pids.append(pid)
    codes = [os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) for pid in pids]
    shutil.rmtree(place)
    sys.exit(max(abs(code) for code in codes))


if __name__ == "__main__":
    main(globals())
