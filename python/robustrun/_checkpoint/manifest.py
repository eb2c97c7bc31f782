"""The contents of a checkpoint: whole tensors, plain values, and their places in the state."""

import torch

from .._state import codec, tensor_bytes, tree
from . import c_api

OBJECT = "object/"  # prefix of states that are values, not tensors
COMMON = "dcp"      # a state of one rank: what belongs to all of them
ABOUT, TREE = "robustrun", "tree"  # states of robustrun.checkpoint


def opened(directories, step=None):
    """Opens the newest usable checkpoint, or the newest usable one of `step`."""
    if step is None:
        return c_api.Checkpoint(directories)
    for found in c_api.catalogue(directories):
        if found.step == step and found.state == "committed" and not found.poisoned:
            return c_api.Checkpoint(directories, found.attempt)
    raise c_api.NotFound("not found", "there is no usable checkpoint of step %d in %s"
                           % (step, ", ".join(map(str, directories))))


def decoded(data):
    return tree.outline(codec.decode(data))


def dtype_of(name):
    dtype = tensor_bytes.dtype_of(name)
    if dtype is None:
        raise ValueError("this torch has no type %s" % name)
    return dtype


class Tensor:
    """One tensor of a checkpoint, which may be stored as several shards."""

    def __init__(self, checkpoint, name, dtype_name, shape):
        self._checkpoint = checkpoint
        self.name, self.shape = name, shape
        self.dtype_name, self.dtype = dtype_name, dtype_of(dtype_name)
        self.bytes = self.dtype.itemsize
        for size in shape:
            self.bytes *= size
        self.shards, self._numbers = [], {}

    def add(self, number, shard):
        if shard.offsets not in self._numbers:  # otherwise a replica
            self._numbers[shard.offsets] = number
            self.shards.append(shard)

    def read_shard(self, offsets):
        number = self._numbers[tuple(offsets)]
        shard = self._checkpoint.shards[number]
        part = torch.empty(shard.shape, dtype=self.dtype)
        self._checkpoint.read([(number, 0, shard.bytes, part.data_ptr())])
        return part

    def read(self):
        if sum(shard.bytes for shard in self.shards) != self.bytes:
            raise ValueError("the shards of '%s' do not form a whole tensor" % self.name)
        whole = torch.empty(self.shape, dtype=self.dtype)
        for shard in self.shards:
            at = tuple(slice(begin, begin + size)
                       for begin, size in zip(shard.offsets, shard.shape))
            if whole[at].is_contiguous():
                self._checkpoint.read([(self._numbers[shard.offsets], 0, shard.bytes,
                                        whole[at].data_ptr())])
            else:
                whole[at] = self.read_shard(shard.offsets)
        return whole


def own_ranks(checkpoint):
    """The ranks that saved a state each; empty if all ranks share one state."""
    about = next((value for rank, name, value in checkpoint.states if (rank, name) == (0, ABOUT)),
                 None)
    if about is None or decoded(about)["replicated"]:
        return range(0)
    return range(checkpoint.world_size)


class Contents:
    """The contents of one state: that of `rank`, one of own_ranks(), else the state of all ranks.

    `tensors`: {name: Tensor}, `objects`: {name: value}, `paths`: {name: path in the state}. Names
    are always those that torch.distributed.checkpoint would use.
    """

    def __init__(self, checkpoint, rank=None):
        self.tensors, self.objects, self.paths, self._tree = {}, {}, {}, None
        self._checkpoint, self._clash = checkpoint, None
        self._stored = {}  # name in the checkpoint -> [(number, shard)]
        for number, shard in enumerate(checkpoint.shards):
            if rank is None or shard.rank == rank:
                self._stored.setdefault(shard.name, []).append((number, shard))
        trees = [value for each, name, value in checkpoint.states
                 if (each, name) == (rank or 0, TREE)]
        if trees:
            self._tree = codec.decode(trees[0])
            self._walk(self._tree, ())
        elif rank is not None:
            raise ValueError("step %d has no state of rank %d" % (checkpoint.step, rank))
        else:
            self._take_dcp(checkpoint)

    def check_names(self):
        """Raises ValueError if two items have the same name, as in {"a": {"b": …}, "a.b": …}."""
        if self._clash is not None:
            raise ValueError("the state has two items that would both be named '%s'; use "
                             "--to torch" % self._clash)

    def _take_dcp(self, checkpoint):
        for name in self._stored:
            self.tensors[name] = self._tensor(name, name)
        for _, name, value in checkpoint.states:
            if name.startswith(OBJECT):
                self.objects[name[len(OBJECT):]] = decoded(value)
            elif name == COMMON:
                self.paths = decoded(value)["planner_data"] or {}

    def _walk(self, value, path):
        if isinstance(value, dict) and value:
            for key, each in value.items():
                self._walk(each, (*path, str(key)))
        elif type(value) in (list, tuple) and value:
            for index, each in enumerate(value):
                self._walk(each, (*path, index))
        else:
            name = ".".join(map(str, path))
            if name in self.paths:
                self._clash = name
            self.paths[name] = path
            if type(value) is codec.Ref:
                self.tensors[name] = self._tensor(name, value.name)
            else:
                self.objects[name] = tree.outline(value)

    def _tensor(self, name, stored):
        if stored not in self._stored:
            raise ValueError("the state has a tensor '%s' that is not in the checkpoint" % stored)
        _, first = self._stored[stored][0]
        tensor = Tensor(self._checkpoint, name, first.dtype, first.global_shape)
        for number, shard in self._stored[stored]:
            tensor.add(number, shard)
        return tensor

    def nested(self):
        """The whole state as it was saved."""
        if self._tree is not None:
            return self._rebuilt(self._tree)
        flat = {name: tensor.read() for name, tensor in self.tensors.items()}
        flat.update(self.objects)
        if not self.paths:
            return flat
        from torch.distributed.checkpoint._nested_dict import unflatten_state_dict

        return unflatten_state_dict(flat, self.paths)

    def _rebuilt(self, value):
        if type(value) is codec.Ref:
            return self._tensor(value.name, value.name).read()
        if isinstance(value, dict):
            return {key: self._rebuilt(each) for key, each in value.items()}
        if type(value) in (list, tuple):
            return type(value)(self._rebuilt(each) for each in value)
        return tree.outline(value)
