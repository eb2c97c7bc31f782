"""A save of robustrun.dcp on one rank: the planner's items go to the engine, or to a copy in memory
first.

When writing directly to disk, the coordinator adds a second part, with what belongs to all ranks,
once all ranks have written. A copy in memory has it in the coordinator's own part, because the
planner knows it in advance: so the ranks' copies form a complete checkpoint even if a rank dies
afterwards.
"""

import collections
import contextlib
import sys
import threading
from time import monotonic_ns

import torch
from torch.distributed.checkpoint import metadata as _md
from torch.distributed.checkpoint.planner import WriteItemType
from torch.distributed.checkpoint.storage import WriteResult

from .._api.calls import stop_requested
from .._checkpoint import c_api, earlier_saves, staged_saves
from .._checkpoint.manifest import COMMON, OBJECT
from .._checkpoint.notes import note
from .._state import codec, tensor_bytes, tree
from . import in_memory

_COMMON_WRITER = "dcp"  # the coordinator's second part: what belongs to all ranks


class Saving:
    def __init__(self, store, step, number, axes, own, way, is_coordinator):
        """`number`: of this save, the same on every rank. `own`: per-rank values, [(name, bytes)].
        `way`: for a copy in memory; None: write directly to disk."""
        self._store, self._step, self._axes, self.own = store, step, axes, own
        self._way, self._is_coordinator = way, is_coordinator
        self.handle = self._common = None  # for a copy in memory
        self._number = number
        self._engine_save = self._rank = self._began = None

    def write(self, plan, planner):
        self._rank, world = plan.storage_data["rank"], plan.storage_data["world"]
        items = _Items(plan, planner, self._rank)
        items.states += [(self._rank, name, data) for name, data in self.own]
        writers = ["rank-%d" % rank for rank in range(world)]
        if self._way is None:
            self._write(items, writers)
        else:
            self._copy(items, writers, planner)
        return items.results

    def _write(self, items, writers):
        began = self._began = monotonic_ns()
        with self._store.alone():
            self._store.engine.saves_begun = self._number
            self._engine_save = self._store.engine.begin(
                self._step, [*writers, _COMMON_WRITER], len(writers), self._axes)
            self._engine_save.write(writers[self._rank], items.shards, items.addresses(),
                                    items.states)
            self._refuse_changed(items.changed() or self._engine_save.recheck(
                staged_saves.sample(items.memory, self._store.next_turn())))
            self._engine_save.commit()  # this part only: the coordinator's second part comes last
            self._print_notes()
        note("saved", attempt=self._engine_save.attempt,
             directories=self._store.engine.directories, total_ns=monotonic_ns() - began,
             bytes=items.bytes())

    def _copy(self, items, writers, planner):
        began = self._began = monotonic_ns()
        if self._is_coordinator:
            metadata = getattr(planner, "metadata", None)
            if metadata is None:
                raise TypeError("cannot keep copies in memory with a %s, which does not keep its "
                                "`metadata` as torch's DefaultSavePlanner does; save with "
                                "blocking=True" % type(planner).__name__)
            self._common = _common(metadata)
            items.states.append((self._rank, COMMON, self._common))
        copies = self._store.make_copies()
        try:
            handle = copies.stage(self._step, writers, writers[self._rank],
                                  self._store.structure(items.shards), items.addresses(),
                                  items.states, len(writers), self._axes, self._number)
        except c_api.Corrupt as error:
            raise staged_saves.ChangedWhileSaved(str(error)) from None
        changed = items.changed()
        if changed:
            copies.discard(handle)
        self._refuse_changed(changed)
        self.handle = handle
        took = monotonic_ns() - began
        note("saved", attempt=handle.attempt, directories=self._store.engine.directories,
             blocking_ns=took, bytes=items.bytes())
        if not self._is_coordinator:  # the coordinator drains last, in finish()
            self._drain()

    def _drain(self):
        if self._way.written:
            limit = 0 if stop_requested() else self._way.rate
            # How long a save takes without a limit, as the last one is.
            since = None if limit else self._began
            self._store.copies.drain(self.handle, lambda done: self._committed(done, since), limit)

    def _committed(self, handle, began):
        """Runs in the background, on the rank that committed. `began`: of the save, or None."""
        took = {} if began is None else {"total_ns": monotonic_ns() - began}
        note("committed", attempt=handle.attempt, directories=self._store.engine.directories,
             **took)

    def _refuse_changed(self, names):
        if names:
            raise staged_saves.ChangedWhileSaved(
                "tensor '%s'%s changed while step %d was being saved: nothing was committed" % (
                    names[0], " and %d more" % (len(names) - 1) if len(names) > 1 else "",
                    self._step))

    def finish(self, metadata, results):
        """Runs on the coordinator, once every rank has written or copied its part."""
        try:
            self._check_written(metadata, results)
            common = _common(metadata)
            if self.handle is not None and common != self._common:
                raise RuntimeError("cannot commit step %d: the planner's metadata changed during "
                                   "the save" % self._step)
        except BaseException:
            if self.handle is not None:
                self._store.copies.discard(self.handle)
            raise
        if self.handle is not None:
            self._drain()
        else:
            self._commit(common)

    def _check_written(self, metadata, results):
        written = {result.index for each in results for result in each}
        for name, entry in metadata.state_dict_metadata.items():
            for chunk in getattr(entry, "chunks", [None]):
                index = _md.MetadataIndex(name, chunk and chunk.offsets)
                if index not in written:
                    raise RuntimeError("cannot commit step %d: no rank wrote '%s'%s" % (
                        self._step, name, chunk and " at %s" % list(chunk.offsets) or ""))

    def _commit(self, common):
        with self._store.alone():
            self._engine_save.write(_COMMON_WRITER, [], [], [(self._rank, COMMON, common)])
            committed = self._engine_save.commit()
            self._print_notes()
        if committed:
            note("committed", attempt=self._engine_save.attempt,
                 directories=self._store.engine.directories,
                 total_ns=monotonic_ns() - self._began)
        else:
            raise RuntimeError("cannot commit step %d: parts of some ranks are missing in %s; is "
                               "it the same directory for all of them?"
                               % (self._step, self._store.engine.directories[0]))

    def _print_notes(self):
        for each in self._engine_save.notes:
            print("robustrun: checkpoint of step %d: %s" % (self._step, each), file=sys.stderr,
                  flush=True)
        self._engine_save.notes.clear()


def _common(metadata):
    """What belongs to all ranks, as bytes."""
    common = {"version": 1, "torch": str(torch.__version__),
              "planner_data": metadata.planner_data}
    return codec.encode(common, "DCP's metadata")


class _Items:
    """The items that the planner wants this rank to write. `memory`: the shards' bytes, those of
    the state itself if they are contiguous host memory, else a copy."""

    def __init__(self, plan, planner, rank):
        self.shards, self.memory, self.states, self.results = [], [], [], []
        self._versions = []  # (name, tensor, its version at that time)
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
        version = tensor_bytes.version(tensor)
        memory = tensor_bytes.as_memory(tensor)
        size = tensor_bytes.byte_size(memory)
        if size or not all(item.tensor_data.size):  # skip empty shards
            self.shards.append(c_api.Shard(
                name, tensor_bytes.dtype_name(memory.dtype), rank, tuple(item.tensor_data.size),
                tuple(item.tensor_data.chunk.offsets), tuple(memory.shape), size))
            self.memory.append(memory)
            self._versions.append((name, tensor, version))
        return size

    def addresses(self):
        return [memory.data_ptr() for memory in self.memory]

    def bytes(self):
        return sum(shard.bytes for shard in self.shards)

    def changed(self):
        """Names of tensors that have changed since, by torch's version counters."""
        return [name for name, tensor, version in self._versions
                if tensor_bytes.version(tensor) != version]


def _local(tensor, name):
    """The tensor's elements on this rank, as a plain tensor."""
    if hasattr(tensor, "to_local"):
        tensor = tensor.to_local()
    if tensor_bytes.is_wrapped(tensor):
        raise tensor_bytes.CannotSave("cannot save '%s': it is a %s, not a plain tensor; save the "
                                  "plain tensors that it consists of" % (name,
                                  type(tensor).__name__))
    tensor_bytes.check(tensor, name)
    return tensor


def _encoded(name, data):
    """Encodes a value of the state, from the bytes that the planner just made of it."""
    data.seek(0)
    value = torch.load(data, weights_only=False)
    try:
        return codec.encode(_inlined(value, name), name)
    except codec.NotNeutral as error:
        raise codec.NotNeutral("%s; save what it consists of, such as its state_dict()"
                                  % error) from None


def _inlined(value, name):
    """Replaces tensors within a value by their bytes."""
    if isinstance(value, torch.Tensor):
        return tree.inline(value, name)
    if type(value) in (dict, collections.OrderedDict):
        return {key: _inlined(each, "%s/%s" % (name, key)) for key, each in value.items()}
    if type(value) in (list, tuple):
        return type(value)(_inlined(each, "%s/%d" % (name, i)) for i, each in enumerate(value))
    return value


class _Store:
    """A claimed engine on some directories, which serves one call at a time from any thread."""

    def __init__(self, engine):
        self.engine = engine
        self.lock = threading.Lock()  # guards the directories; held while a copy is written
        self.copies = None
        self._begun = {}  # (step, first number) -> number of saves begun
        self._begun_lock = threading.Lock()
        self._turn = self._parity = 0
        self._structure = c_api.Structure(())

    def next_number(self, step, first):
        with self._begun_lock:
            self._begun[step, first] = self._begun.get((step, first), -1) + 1
            return first + self._begun[step, first]

    @contextlib.contextmanager
    def alone(self):
        """Exclusive use of the directories, for blocking writes. Completes pending copies first,
        without a rate limit, because a checkpoint that commits later counts as newer."""
        copies = self.copies
        if copies is not None:
            copies.hurry()
        try:
            if copies is not None:
                copies.wait()
            with self.lock:
                yield
        finally:
            if copies is not None:
                copies.relax()

    def make_copies(self):
        if self.copies is None:
            self.copies = in_memory.copies_for(self.engine, self.lock)
        return self.copies

    def use_parity(self, parity):
        if parity != self._parity:
            with self.lock:  # after copies that are being written
                self.engine.use_parity(parity)
            self._parity = parity

    def structure(self, shards):
        """Encodes the shards' descriptions; reuses the previous ones if they are equal."""
        if shards != self._structure.shards:
            self._structure = c_api.Structure(shards)
        return self._structure

    def next_turn(self):
        self._turn += 1
        return self._turn


_stores = {}
_claimed = set()
_stores_lock = threading.Lock()


def claim(directories, session):
    """Claims the directories, once per process: from now on no earlier attempt and no other run can
    commit there, and complete checkpoints that they left are committed."""
    key = tuple(directories), session
    with _stores_lock:
        if key not in _stores and key not in _claimed:
            c_api.Engine(directories, *session).close()
            _claimed.add(key)


def store(directories, session, weights, workers, parity):
    """The _Store that all writers of this process share for these directories."""
    earlier_saves.settle()
    key = tuple(directories), session
    with _stores_lock:
        if key not in _stores:
            _stores[key] = _Store(c_api.Engine(directories, *session, weights=weights,
                                                 workers=workers))
        found = _stores[key]
    found.use_parity(parity)
    return found
