"""A state that one process saves for all ranks, in a folder of its own."""

import os
from contextlib import closing

from .._state import codec, tensor_bytes, tree
from . import c_api, manifest, sessions
from .staged_saves import ChangedWhileSaved

_WRITER = "rank-0"
_ABOUT = {"replicated": True, "own": [], "random": False}


def save(state, step, folder):
    """Saves `state` in `folder`, which is made if its parent exists, in place of what is there."""
    folder = os.fspath(folder)
    os.makedirs(folder, exist_ok=True)
    values, tensors = tree.flatten(state)
    packed = codec.encode(values, "state")
    versions = {name: tensor_bytes.version(tensor) for name, tensor in tensors.items()}
    memory = {name: tensor_bytes.as_memory(tensor) for name, tensor in tensors.items()}
    shards = [c_api.Shard(name, tensor_bytes.dtype_name(each.dtype), 0, tuple(each.shape),
                          (0,) * each.dim(), tuple(each.shape), tensor_bytes.byte_size(each))
              for name, each in memory.items()]
    states = [(0, manifest.ABOUT, codec.encode(_ABOUT)), (0, manifest.TREE, packed)]
    with closing(c_api.Engine([folder], *sessions.session())) as engine:
        with engine.begin(step, [_WRITER], 1, [("rank", 1)]) as attempt:
            attempt.write(_WRITER, shards, [each.data_ptr() for each in memory.values()], states)
            for name, tensor in tensors.items():
                if tensor_bytes.version(tensor) != versions[name]:
                    raise ChangedWhileSaved("tensor '%s' changed while step %d was being saved: "
                                            "nothing was committed" % (name, step))
            attempt.commit()
        c_api.prune([folder], 1)


def load(folder):
    """The state of the newest whole save in `folder`; every byte is verified. Raises NotFound."""
    return manifest.Contents(manifest.opened([os.fspath(folder)])).nested()
