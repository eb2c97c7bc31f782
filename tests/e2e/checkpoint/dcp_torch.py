"""torch.distributed.checkpoint and DTensors with the interface of torch 2.8, for any torch.

Without a checkpoint_id (torch 2.1, 2.2) the step is set on the writer and on the reader, as
docs/checkpoints.md says. Names that this torch lacks are None.
"""

import inspect
import math

import torch
import torch.distributed as dist
import torch.distributed.checkpoint as _dcp

try:
    from torch.distributed.tensor import DTensor, Replicate, Shard, distribute_tensor
except ImportError:  # torch 2.4 and older
    from torch.distributed._tensor import DTensor, Replicate, Shard, distribute_tensor

try:
    from torch.distributed.device_mesh import init_device_mesh
except ImportError:  # torch 2.1
    from torch.distributed._tensor import DeviceMesh

    def init_device_mesh(kind, sizes):
        """A mesh of one axis; DCP refuses others."""
        return DeviceMesh(kind, torch.arange(math.prod(sizes)))

    def distribute_tensor(tensor, mesh, places):
        """Shards along one axis without communication: gloo cannot send every type."""
        place = next((each for each in places if not each.is_replicate()), places[0])
        part = tensor
        if not place.is_replicate():
            parts = tensor.chunk(mesh.size(), place.dim)
            nothing = tensor.narrow(place.dim, 0, 0)
            part = (*parts, *[nothing] * mesh.size())[dist.get_rank()]
        return DTensor(part.contiguous().clone(), mesh, [place], shape=tensor.shape,
                       dtype=tensor.dtype, requires_grad=False, stride=tensor.stride())

try:
    from torch.distributed.checkpoint.state_dict_saver import AsyncCheckpointerType
except ImportError:  # torch 2.6 and older: in a thread, and tensors of the host are not copied
    AsyncCheckpointerType = None

async_save = getattr(_dcp, "async_save", None)  # since torch 2.3
__all__ = ["AsyncCheckpointerType", "DTensor", "Replicate", "Shard", "async_save",
           "distribute_tensor", "init_device_mesh", "load", "save"]


def _takes_ids(function):
    return function is not None and "checkpoint_id" in inspect.signature(function).parameters


def save(state, *, storage_writer, checkpoint_id=None, planner=None):
    if _takes_ids(getattr(_dcp, "save", None)):
        return _dcp.save(state, storage_writer=storage_writer, checkpoint_id=checkpoint_id,
                         planner=planner)
    if checkpoint_id is not None:
        storage_writer.step = checkpoint_id
    return _dcp.save_state_dict(state, storage_writer, no_dist=not dist.is_initialized(),
                                planner=planner)


def load(state, *, storage_reader, checkpoint_id=None):
    # dcp.load of torch 2.3 puts plain values into a copy of the state, with any reader.
    if _takes_ids(getattr(_dcp, "load", None)) and not torch.__version__.startswith("2.3."):
        return _dcp.load(state, storage_reader=storage_reader, checkpoint_id=checkpoint_id)
    if checkpoint_id is not None:
        storage_reader.step = checkpoint_id
    return _dcp.load_state_dict(state, storage_reader, no_dist=not dist.is_initialized())
