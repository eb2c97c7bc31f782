"""torch.distributed.checkpoint (DCP) on robustrun's engine: every byte checked, one commit.

    from robustrun.dcp import RobustReader, RobustWriter
    writer = RobustWriter(["/nvme0/ckpt", "/nvme1/ckpt"])
    dcp.save(state, storage_writer=writer, checkpoint_id=step)         # or async_save
    reader = RobustReader(["/nvme0/ckpt", "/nvme1/ckpt"])
    if reader.latest() is not None:
        dcp.load(state, storage_reader=reader)                         # at any world size

Each rank writes its own part; the coordinator adds a part with what belongs to all ranks, and
commits. The first directory must be shared by all ranks. Works with torch 2.1 and newer.

No pickle is stored or read: values that are not tensors are stored as plain values, and a value
without a plain form is refused when it is saved.
"""

import io
import os
import re
import sys
from dataclasses import replace

import torch
from torch.distributed.checkpoint import StorageReader, StorageWriter
from torch.distributed.checkpoint import metadata as _md
from torch.distributed.checkpoint.planner import LoadItemType

from ._checkpoint import c_api, earlier_saves, manifest, rank_group, sessions
from ._checkpoint.loading import Loaded
from ._checkpoint.manifest import COMMON, OBJECT
from ._checkpoint.notes import note
from ._dcp import in_memory, own_values, reading, saving
from ._progress import stages

__all__ = ["RobustReader", "RobustWriter"]

# Saves of one step are numbered, so that each has its own folder. All ranks use the same numbers,
# which differ from those of other processes and of robustrun.checkpoint.
_FIRST_NUMBER, _FIRST_NUMBER_ELSEWHERE = 1 << 32, 1 << 33


def _step_of(checkpoint_id):
    """The step in a checkpoint_id: an integer, or a text that ends with one ("/ckpt/1000")."""
    if isinstance(checkpoint_id, int) and checkpoint_id >= 0:
        return checkpoint_id
    digits = re.search(r"([0-9]+)/*$", os.fspath(checkpoint_id)) \
        if isinstance(checkpoint_id, (str, os.PathLike)) else None
    if digits is None:
        raise ValueError("checkpoint_id must be the step or a text that ends with it, not %r"
                         % (checkpoint_id,))
    return int(digits.group(1))


def _named_sizes(axes):
    return [(str(name), int(size)) for name, size in axes]


def _paths(directories):
    if isinstance(directories, (str, bytes, os.PathLike)):
        directories = [directories]
    return [os.path.abspath(os.fspath(each)) for each in directories]


class RobustWriter(StorageWriter):
    """Saves to `directories`. The step is the checkpoint_id of dcp.save, else `step`.

    directories  one directory or several, over which the data is spread; the first must be shared
                 by all ranks
    weights      each directory's share of the data, such as its bandwidth; default: equal shares
    workers      threads per directory
    axes         [(name, size)] of the job's parallel layout, stored with the checkpoint
    parity       number of directories that may be lost or damaged; must be less than their number
    own, dataloader, random
                 per-rank values, as in robustrun.checkpoint.save: {name: value} of dicts, lists or
                 objects with state_dict(), read at every dcp.save; a data loader; whether to save
                 the generators' states. A RobustReader with the same arguments restores them
    blocking     False: dcp.save returns when each rank has a copy of its items in memory (under
                 robustrun, the agent's memory) and writes it in the background; see wait() and
                 `handle`. A third save waits while two are being written
    every_step   True: copy every save to memory and write only every disk_every-th copy; if the job
                 dies, the newest copy that all ranks have is written as well
    drain_rate   as in robustrun.checkpoint.save
    """

    def __init__(self, directories, step=None, weights=None, workers=2, axes=(), parity=0,
                 own=None, dataloader=None, random=False, blocking=True, every_step=False,
                 disk_every=100, drain_rate=None):
        super().__init__()
        self.directories = _paths(directories)
        self.step = step
        self.handle = None  # of the last save with blocking=False or every_step=True
        self._turns = in_memory.Turns(blocking, every_step, disk_every, drain_rate)
        self.axes = _named_sizes(axes)
        self._own = own_values.Kept(own_values.named(own, dataloader), random)
        self._options = {"weights": weights and [float(each) for each in weights],
                         "workers": int(workers), "parity": int(parity)}
        self._session = None
        self._first_number = _FIRST_NUMBER
        self._save = None  # the save in progress in this process

    # async_save with its own process pickles the writer for each save.
    def __getstate__(self):
        return dict(self.__dict__, _session=self._resolved_session(), _save=None, handle=None,
                    _first_number=_FIRST_NUMBER_ELSEWHERE)

    def _resolved_session(self):
        if self._session is None:
            self._session = sessions.session()
        return self._session

    @property
    def own(self):
        """The per-rank values, {name: value}, including the data loader."""
        return self._own.values

    def take_own(self):
        """Reads the per-rank values now, for the next save. Call it right before async_save, which
        would read them only after training has continued."""
        self._own.take()

    def wait(self):
        """Waits until all background writes of this process to these directories are done; raises
        their errors."""
        copies = self._store().copies
        if copies is not None:
            copies.wait()

    def _store(self):
        return saving.store(self.directories, self._resolved_session(), **self._options)

    @classmethod
    def validate_checkpoint_id(cls, checkpoint_id):
        try:
            _step_of(checkpoint_id)
        except ValueError:
            return False
        return True

    def reset(self, checkpoint_id=None):  # not called by torch 2.1 and 2.2
        if checkpoint_id is not None:
            self.step = _step_of(checkpoint_id)

    def set_up_storage_writer(self, is_coordinator, *args, **kwargs):
        if not kwargs.get("use_collectives", True):
            raise ValueError("use_collectives=False is not supported: one rank commits the parts "
                             "of all ranks")
        if self.step is None:
            raise ValueError("cannot save without a step: call dcp.save(..., checkpoint_id=STEP) "
                             "or set the writer's step")
        # First of all, because every rank must count this save even if it fails here.
        way, step, store = self._turns.next(), _step_of(self.step), self._store()
        number = store.next_number(step, self._first_number)
        self._save = saving.Saving(store, step, number, self.axes, self._own.for_save(), way,
                                      is_coordinator)

    def prepare_local_plan(self, plan):
        return plan

    # DCP may replay the plans of an earlier save (enable_plan_caching), so they must hold nothing
    # specific to this save.
    def prepare_global_plan(self, plans):
        if self._save.own:
            own_values.check_all_ranks(len(plans))
        return [replace(plan, storage_data={"rank": rank, "world": len(plans)})
                for rank, plan in enumerate(plans)]

    def write_data(self, plan, planner):
        future = torch.futures.Future()
        future.set_result(self._save.write(plan, planner))
        self.handle = self._save.handle
        return future

    def finish(self, metadata, results):
        self._save.finish(metadata, results)
        self._save = None


class RobustReader(StorageReader):
    """Loads from `directories`: the newest checkpoint, or that of dcp.load's checkpoint_id or of
    `step`. Works at any world size, and with other tensor shardings than at the time of saving.

    In jobs of several ranks or under robustrun, the directories are claimed, so that no earlier
    attempt can commit any more and all ranks find the same checkpoint. With a damaged checkpoint
    the load fails and marks it: the next start takes the previous one.
    After a load, `last_load` is a Loaded.

    read_only    True: neither claim nor mark, for processes that only read, such as an evaluation
    own, dataloader, random
                 per-rank values to restore in place. The request must match what was saved; with
                 read_only it may be a part of it
    remap        as in robustrun.checkpoint.load_latest; called if the number of ranks, or `axes` if
                 given, differ from those at the time of saving. Without it, WorldChanged is raised
    """

    def __init__(self, directories, step=None, read_only=False, own=None, dataloader=None,
                 random=False, remap=None, axes=()):
        super().__init__()
        self.directories = _paths(directories)
        self.step = step
        self.read_only = read_only
        self.last_load = None
        self._own = own_values.Wanted(own_values.named(own, dataloader), random, remap,
                                    _named_sizes(axes))
        self._own_calls = []
        self._checkpoint = None
        self._places = {}  # index -> number of the shard

    def __getstate__(self):
        return dict(self.__dict__, _checkpoint=None, _places={}, _own_calls=[])

    def latest(self):
        """The newest step that can be loaded, or None."""
        self._take_over()
        for found in c_api.catalogue(self.directories):
            if found.state == "committed" and not found.poisoned:
                return found.step
        return None

    @classmethod
    def validate_checkpoint_id(cls, checkpoint_id):
        return RobustWriter.validate_checkpoint_id(checkpoint_id)

    def _take_over(self):
        earlier_saves.settle()
        if not self.read_only and (sessions.under_robustrun() or sessions.world().size > 1):
            saving.claim(self.directories, sessions.session())

    def _give_up(self, error):
        print("robustrun: cannot load a checkpoint: %s" % error, file=sys.stderr, flush=True)
        if isinstance(error, c_api.Corrupt) and self._checkpoint and not self.read_only:
            self._checkpoint.poison("damaged")

    def reset(self, checkpoint_id=None):
        self._checkpoint = None
        if checkpoint_id is not None:
            self.step = _step_of(checkpoint_id)

    # DCP hides exceptions raised here and reports that metadata is None, so _give_up() prints them.
    # It would also call again for per-rank metadata if the last parameter were named kwargs.
    def read_metadata(self, *args, **ignored):
        stages.load_begins()
        try:
            self._take_over()
            step = None if self.step is None else _step_of(self.step)
            self._checkpoint = manifest.opened(self.directories, step)
            return self._metadata()
        except Exception as error:
            stages.load_ends()
            self._give_up(error)
            raise

    def _metadata(self):
        entries, self._places = {}, {}
        for number, shard in enumerate(self._checkpoint.shards):
            chunk = _md.ChunkStorageMetadata(torch.Size(shard.offsets), torch.Size(shard.shape))
            if shard.name not in entries:
                kind = _md.TensorProperties(dtype=manifest.dtype_of(shard.dtype))
                entries[shard.name] = _md.TensorStorageMetadata(
                    kind, torch.Size(shard.global_shape), [])
            index = _md.MetadataIndex(shard.name, chunk.offsets)
            if index not in self._places:
                self._places[index] = number
                entries[shard.name].chunks.append(chunk)
        common = None
        for _, name, value in self._checkpoint.states:
            if name == COMMON:
                common = manifest.decoded(value)
            elif name.startswith(OBJECT):
                entries[name[len(OBJECT):]] = _md.BytesStorageMetadata()
        if common is None:
            raise ValueError("the checkpoint of step %d was not saved by RobustWriter; "
                             "robustrun.checkpoint loads it" % self._checkpoint.step)
        return _md.Metadata(state_dict_metadata=entries, planner_data=common["planner_data"],
                            storage_data=dict(self._places))

    def set_up_storage_reader(self, metadata, is_coordinator, *args, **ignored):
        pass

    def prepare_local_plan(self, plan):
        self._own_calls = self._own.planned(self._checkpoint, self.read_only)
        return replace(plan, storage_data=self._checkpoint.attempt)

    def prepare_global_plan(self, plans):
        found = sorted({plan.storage_data for plan in plans})
        if len(found) > 1:
            raise RuntimeError("the ranks found different checkpoints, %s; is another job saving "
                               "there?" % " and ".join(found))
        if self._own_calls:
            own_values.check_all_ranks(len(plans))
        group = rank_group.group()
        if group is None or group.size != len(plans):  # a reader does not know its process group
            return [replace(plan, storage_data=None) for plan in plans]
        alike = reading.wanted_alike(plans)
        if not any(alike):
            return [replace(plan, storage_data=None) for plan in plans]
        return [replace(plan, storage_data=mine)
                for plan, mine in zip(plans, alike)]  # noqa: B905

    def read_data(self, plan, planner):
        try:
            self._read(plan, planner)
            for each in self._own_calls:
                each()
        except c_api.CheckpointError as error:
            self._give_up(error)
            raise
        finally:
            stages.load_ends()
        loaded = self.last_load
        note("loaded", attempt=loaded.attempt, directories=self.directories,
             source="memory" if loaded.bytes and not loaded.from_disk else "disk")
        self._checkpoint = None  # its files and memory
        future = torch.futures.Future()
        future.set_result(None)
        return future

    def _read(self, plan, planner):
        checkpoint, done = self._checkpoint, set()
        with in_memory.Source(checkpoint, self.read_only) as source:
            from_ranks = read = 0
            if plan.storage_data is not None:  # first: after an error, others would wait for this
                done, from_ranks, read = self._read_together(plan, planner, source)
            objects = {name: value for _, name, value in checkpoint.states}
            alone = reading.Reading(source, planner)
            for item in plan.items:
                if item.type == LoadItemType.BYTE_IO:
                    stream = io.BytesIO()
                    torch.save(manifest.decoded(objects[OBJECT + item.storage_index.fqn]), stream)
                    stream.seek(0)
                    planner.load_bytes(item, stream)
                elif id(item) not in done:
                    alone.add(item, self._places[item.storage_index])
            alone.flush()
            read += alone.bytes
            self.last_load = Loaded(checkpoint.step, checkpoint.attempt, read + from_ranks,
                                    source.from_memory, read - source.from_memory, from_ranks)

    def _read_together(self, plan, planner, source):
        """Returns (ids of the items read, bytes from other ranks, bytes read by this rank)."""
        groups = reading.sharing_groups(rank_group.group(), plan.storage_data)
        done, from_ranks, read, error = set(), 0, 0, None
        for ranks, places in plan.storage_data:
            if ranks not in groups:
                continue
            try:
                if error is not None:
                    groups[ranks].agree(error)  # these ranks must not wait for this one
                shared = [plan.items[place] for place in places]
                together = reading.SharedReading(groups[ranks], source, planner)
                left = together.read(shared, self._places)
                done |= {id(item) for item in shared}.difference(map(id, left))
                from_ranks += together.bytes_from_ranks
                read += together.bytes
            except Exception as failed:
                error = error or failed
        if error is not None:
            raise error
        return done, from_ranks, read
