"""A save of robustrun.dcp, as one rank sees it: the planner's items into the engine."""

import collections
import sys
import threading
from time import monotonic_ns

import torch
from torch.distributed.checkpoint import metadata as _md
from torch.distributed.checkpoint.planner import WriteItemType
from torch.distributed.checkpoint.storage import WriteResult

from . import _engine, _neutral, _staged, _state, _tensors
from ._checkpoint_notes import note
from ._contents import COMMON, OBJECT

_COMMON_WRITER = "dcp"  # the coordinator's second part: what belongs to all ranks


class Saving:
    def __init__(self, store, step, first_number, axes, own):
        """`own`: [(name, bytes)] of what this rank keeps for itself."""
        self._store, self._step, self._axes, self.own = store, step, axes, own
        self._number = store.next_number(step, first_number)
        self._engine_save = self._rank = None

    def write(self, plan, planner):
        self._rank, world = plan.storage_data["rank"], plan.storage_data["world"]
        items = _Items(plan, planner, self._rank)
        items.states += [(self._rank, name, data) for name, data in self.own]
        writers = ["rank-%d" % rank for rank in range(world)] + [_COMMON_WRITER]
        began = monotonic_ns()
        with self._store.lock:
            self._store.engine.saves_begun = self._number
            self._engine_save = self._store.engine.begin(self._step, writers, world, self._axes)
            self._engine_save.write("rank-%d" % self._rank, items.shards, items.addresses(),
                                    items.states)
            self._refuse_changed(items.changed() or self._engine_save.recheck(
                _staged.sample(items.memory, self._store.next_turn())))
            self._engine_save.commit()  # this part; the last one is the coordinator's
            self._say_notes()
        note("saved", attempt=self._engine_save.attempt,
             directories=self._store.engine.directories, total_ns=monotonic_ns() - began,
             bytes=items.bytes())
        return items.results

    def _refuse_changed(self, names):
        if names:
            raise _staged.ChangedWhileSaved(
                "tensor '%s'%s changed while step %d was being saved: nothing was committed" % (
                    names[0], " and %d more" % (len(names) - 1) if len(names) > 1 else "",
                    self._step))

    def finish(self, metadata, results):
        """On the coordinator, when every rank has written."""
        written = {result.index for each in results for result in each}
        for name, entry in metadata.state_dict_metadata.items():
            for chunk in getattr(entry, "chunks", [None]):
                index = _md.MetadataIndex(name, chunk and chunk.offsets)
                if index not in written:
                    raise RuntimeError("cannot commit step %d: no rank wrote '%s'%s" % (
                        self._step, name, chunk and " at %s" % list(chunk.offsets) or ""))
        common = {"version": 1, "torch": str(torch.__version__),
                  "planner_data": metadata.planner_data}
        state = (self._rank, COMMON, _neutral.encode(common, "DCP's metadata"))
        with self._store.lock:
            self._engine_save.write(_COMMON_WRITER, [], [], [state])
            committed = self._engine_save.commit()
            self._say_notes()
        if committed:
            note("committed", attempt=self._engine_save.attempt,
                 directories=self._store.engine.directories)
        else:
            raise RuntimeError("cannot commit step %d: parts of some ranks are missing in %s; is "
                               "it the same directory for all of them?"
                               % (self._step, self._store.engine.directories[0]))

    def _say_notes(self):
        for each in self._engine_save.notes:
            print("robustrun: checkpoint of step %d: %s" % (self._step, each), file=sys.stderr,
                  flush=True)
        self._engine_save.notes.clear()


class _Items:
    """What the planner wants this rank to write. `memory`: of the shards, that of the state itself
    where it is plain memory of the host, else a copy."""

    def __init__(self, plan, planner, rank):
        self.shards, self.memory, self.states, self.results = [], [], [], []
        self._versions = []  # (name, tensor, its version when it was looked at)
        for item in plan.items:
            name = item.index.fqn
            data = planner.resolve_data(item)
            if item.type == WriteItemType.BYTE_IO:
                self.states.append((rank, OBJECT + name, _encoded(name, data)))
                size = len(self.states[-1][2])
            else:
                size = self._add(item, name, data, rank)
            self.results.append(WriteResult(index=item.index, size_in_bytes=size,
                                            storage_data=None))

    def _add(self, item, name, tensor, rank):
        tensor = _local(tensor, name)
        version = _tensors.version(tensor)
        memory = _tensors.as_memory(tensor)
        size = _tensors.byte_size(memory)
        if size or not all(item.tensor_data.size):  # an empty shard tells nothing
            self.shards.append(_engine.Shard(
                name, _tensors.dtype_name(memory.dtype), rank, tuple(item.tensor_data.size),
                tuple(item.tensor_data.chunk.offsets), tuple(memory.shape), size))
            self.memory.append(memory)
            self._versions.append((name, tensor, version))
        return size

    def addresses(self):
        return [memory.data_ptr() for memory in self.memory]

    def bytes(self):
        return sum(shard.bytes for shard in self.shards)

    def changed(self):
        """Names of tensors that were changed since, as torch has counted."""
        return [name for name, tensor, version in self._versions
                if _tensors.version(tensor) != version]


def _local(tensor, name):
    """Its elements on this rank, a plain tensor."""
    if hasattr(tensor, "to_local"):
        tensor = tensor.to_local()
    if _tensors.is_wrapped(tensor):
        raise _tensors.CannotSave("cannot save '%s': it is a %s, not a plain tensor; save the "
                                  "plain ones that it consists of" % (name, type(tensor).__name__))
    _tensors.check(tensor, name)
    return tensor


def _encoded(name, data):
    """A value of the state, from the bytes that the planner made of it a moment ago."""
    data.seek(0)
    value = torch.load(data, weights_only=False)
    try:
        return _neutral.encode(_inlined(value, name), name)
    except _neutral.NotNeutral as error:
        raise _neutral.NotNeutral("%s; keep what it consists of, such as its state_dict()"
                                  % error) from None


def _inlined(value, name):
    """Tensors that the planner has left within a value, with their bytes."""
    if isinstance(value, torch.Tensor):
        return _state.inline(value, name)
    if type(value) in (dict, collections.OrderedDict):
        return {key: _inlined(each, "%s/%s" % (name, key)) for key, each in value.items()}
    if type(value) in (list, tuple):
        return type(value)(_inlined(each, "%s/%d" % (name, i)) for i, each in enumerate(value))
    return value


class _Store:
    """The engine on some directories, claimed; one call at a time, whichever thread saves."""

    def __init__(self, engine):
        self.engine = engine
        self.lock = threading.Lock()
        self._begun = {}  # (step, first number): how many
        self._turn = 0

    def next_number(self, step, first):
        with self.lock:
            self._begun[step, first] = self._begun.get((step, first), -1) + 1
            return first + self._begun[step, first]

    def next_turn(self):
        self._turn += 1
        return self._turn


_stores = {}
_claimed = set()
_stores_lock = threading.Lock()


def claim(directories, session):
    """From now on no earlier attempt of this run, and no other run, commits there, and what they
    left complete is committed. Once for each process."""
    key = tuple(directories), session
    with _stores_lock:
        if key not in _stores and key not in _claimed:
            _engine.Engine(directories, *session).close()
            _claimed.add(key)


def store(directories, session, weights, workers, parity):
    """The same for all writers of this process into these directories."""
    key = tuple(directories), session
    with _stores_lock:
        if key not in _stores:
            _stores[key] = _Store(_engine.Engine(directories, *session, weights=weights,
                                                 workers=workers))
        _stores[key].engine.use_parity(parity)
        return _stores[key]
