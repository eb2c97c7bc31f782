"""As dcp_job.py: ShardedTensors, of which FSDP's sharded state_dict consists without a mesh."""

import dcp_job
import dcp_torch as dcp
import torch
from robustrun.dcp import RobustReader, RobustWriter
from torch.distributed._shard.sharded_tensor import Shard, init_from_local_shards

ROWS, COLUMNS = 11, 4


def state_of(rank, world, seed):
    """And this rank's part of it."""
    whole = torch.arange(float(ROWS * COLUMNS)).view(ROWS, COLUMNS) * seed
    height = -(-ROWS // world)
    first = rank * height
    part = whole[first:first + height].clone()
    shards = [Shard.from_tensor_and_offsets(part, [first, 0], rank)]
    state = {"model": {"weight": init_from_local_shards(shards, ROWS, COLUMNS)},
             "extra": {"epoch": seed}}
    return state, part


def save_shards(folder, rank, world, seed):
    state, _ = state_of(rank, world, int(seed))
    dcp.save(state, storage_writer=RobustWriter([folder, folder + "-2"]), checkpoint_id=int(seed))


def load_shards(folder, rank, world, seed):
    state, part = state_of(rank, world, 0)
    dcp.load(state, storage_reader=RobustReader([folder, folder + "-2"]))
    _, wanted = state_of(rank, world, int(seed))
    assert torch.equal(part, wanted), (part, wanted)
    assert state["extra"] == {"epoch": int(seed)}


if __name__ == "__main__":
    dcp_job.main(globals())
