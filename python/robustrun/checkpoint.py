"""Verified checkpoints for training scripts (docs/checkpoints.md).

    from robustrun import checkpoint
    state = {"model": model, "optimizer": optimizer, "epoch": 0}
    step = checkpoint.load_latest(state, directories="/scratch/run7") or 0
    ...
    checkpoint.save(state, step, directories="/scratch/run7", keep=3)

Call both on every rank. They work under robustrun, under torchrun, and in a single process.
"""

import atexit
import errno
import gc
import hashlib
import os
import threading
import warnings
from time import monotonic_ns

from ._checkpoint import (
    arguments,
    c_api,
    earlier_saves,
    loading,
    local_disks,
    page_in,
    rank_group,
    sessions,
    staged_saves,
)
from ._checkpoint.arguments import (  # noqa: F401 (public)
    DIRECTORY_VARIABLE,
    RATE_VARIABLE,
    SaveOptions,
)
from ._checkpoint.c_api import CheckpointError, Conflict, Corrupt, NotFound, Unreadable
from ._checkpoint.loading import Loaded, WorldChanged
from ._checkpoint.notes import note
from ._checkpoint.rank_group import RankFailed
from ._checkpoint.staged_saves import ChangedWhileSaved
from ._progress import stages
from ._state import codec, tensor_bytes, tree
from ._state.codec import NotNeutral
from ._state.tensor_bytes import CannotSave
from ._state.tree import StateMismatch

__all__ = ["save", "load_latest", "last_load", "wait", "SaveOptions", "Saved", "Loaded",
           "ChangedWhileSaved", "WorldChanged", "StateMismatch", "NotNeutral", "CannotSave",
           "CheckpointError", "Conflict", "Corrupt", "NotFound", "Unreadable", "RankFailed"]

_ABOUT, _TREE, _RANDOM, _OWN = loading.ABOUT, loading.TREE, loading.RANDOM, loading.OWN

_lock = threading.Lock()
_savers = {}


class Saved:
    """The result of a blocking save.

    attempt    name of the checkpoint's folder
    committed  whether this rank, as the last one to write, committed the checkpoint; False on the
               other ranks
    notes      problems that did no harm, as sentences
    """

    def __init__(self, attempt, committed, notes):
        self.attempt, self.committed, self.notes = attempt, committed, notes

    def __repr__(self):
        return "Saved(%r, committed=%r, notes=%r)" % (self.attempt, self.committed, self.notes)


def last_load():
    """The Loaded of this process's last successful load_latest(), or None."""
    return loading.last


def wait():
    """Waits until all background writes and copies of this process are done; raises their
    errors."""
    for saver in list(_savers.values()):
        if saver.copies is not None:
            saver.copies.wait()
        if saver.drains is not None:
            saver.drains.wait()


def save(state, step, directories=None, replicated=False, own=None, dataloader=None, random=True,
         keep=None, blocking=True, options=None, **rare):
    """Saves `state` as the checkpoint of step `step`. Call it on every rank.

    Returns a Saved when this rank's part is on disk. The last rank to finish commits the
    checkpoint; until then it does not exist.

    state        dicts, lists and tuples of tensors, plain values, and objects with state_dict()
    directories  one directory or several, over which the data is spread; the first must be shared
                 by all ranks. Default: ROBUSTRUN_CHECKPOINT_DIR, separated by colons
    replicated   True: all ranks hold the same state (DistributedDataParallel). Each tensor is
                 written by one rank, and any number of ranks can load the checkpoint. False: each
                 rank saves a state of its own
    own          {name: value} that differs between ranks even with replicated=True
    dataloader   the same as own={"dataloader": dataloader}
    random       whether to save the states of the random number generators, too
    keep         number of verified checkpoints to keep. The rank that commits reads the new
                 checkpoint back and removes older ones. None: keep all
    blocking     False: return a handle as soon as a copy of the state is complete in memory, and
                 write it in the background. The handle has wait(), done() and error; an error is
                 also raised by the next save. At most two copies are written at a time; a third
                 save waits
    options      a SaveOptions: parity, local disks, copies in memory at every step, write rate
    rare         members of SaveOptions, as keywords; they replace those of `options`

    Raises, with the name of the item concerned: ChangedWhileSaved if a tensor changed during the
    save (nothing is committed), NotNeutral or CannotSave for values that cannot be saved. Raises
    Conflict if a later attempt of the job has taken over the directories.
    """
    if keep is not None and keep < 1:
        raise ValueError("keep=%r: must be at least 1" % (keep,))
    options = (options or SaveOptions()).changed(rare)
    with _lock:
        places = arguments.directories(directories)
        local = local_disks.directories(options.local)
        if options.parity and local:
            raise ValueError("parity= cannot be used together with local directories")
        rate = arguments.rate(options.drain_rate)
        _make(places)
        saver = _saver(places)
        saver.use(options.parity, local)
        what = (state, step, replicated, arguments.own(own, dataloader), random, keep)
        # 20,000 tensors make 100,000 tuples that live until the end: collecting garbage among them
        # would cost as much as all the rest.
        collecting = gc.isenabled()
        gc.disable()
        try:
            if not blocking or options.every_step:
                return saver.stage(*what,
                                   disk_every=options.disk_every if options.every_step else 1,
                                   drain_every=options.drain_every, rate=rate)
            drained = saver.is_drained(options.drain_every)
            saved = saver.save(*what)
            if drained:
                saver.drain_local(saved.attempt, sessions.world().rank, rate, keep)
            return saved
        finally:
            if collecting:
                gc.enable()


def load_latest(state, directories=None, own=None, dataloader=None, random=True, remap=None,
                read_only=False, drain_rate=None):
    """Loads the newest valid checkpoint into `state`, in place. Call it on every rank.

    Returns the checkpoint's step, or None if there is no checkpoint. `state` and the checkpoint
    must have the same entries (StateMismatch otherwise). Every byte is verified. last_load() has
    details.

    state, directories, own, dataloader, random
                 as in save()
    remap        remap(name, values, rank, size), called if the per-rank values ("dataloader",
                 "random", the names of `own`) were saved by a different number of ranks. `values`
                 are those of all saving ranks; it returns the value for this rank, or None for
                 none. Without remap, WorldChanged is raised
    read_only    True: just read, for example for an evaluation. The job that saves there is not
                 disturbed, ranks load independently, and each reads the whole state
    drain_rate   as in save(), for completing the copy to `directories` of a checkpoint that an
                 earlier attempt left only on local disks. That happens in the background, but not
                 in a single process outside robustrun, nor without a process group

    Ranks with a process group load together: of a state saved with replicated=True, each rank reads
    a share and sends it to the others. If one rank fails, all raise; the others raise RankFailed.

    A damaged checkpoint is marked as poisoned. One that a disk cannot read (Unreadable, EIO) is
    not, because it may be readable later or on another machine. In both cases ranks that load
    together warn and try the previous checkpoint. Several ranks without a process group, or
    with read_only, raise; if the checkpoint was marked, the next start loads the previous one.
    """
    group = None if read_only else rank_group.group()
    with stages.loading(), _lock:
        page_in.begin(state)
        earlier_saves.settle()
        if group is not None:
            return _load_with(group, state, directories, own, dataloader, random, remap, drain_rate)
        places = arguments.directories(directories)
        if not read_only:
            _make(places)
        loader = _loader(places, state, arguments.own(own, dataloader), random, remap, drain_rate,
                         read_only)
        return loading.first_usable(
            places, lambda attempt, opened: loader.load(places, attempt, opened), read_only,
            tries_others=loader.world.size == 1)


def _load_for_all(places, take):
    """Calls take(checkpoint) with the newest checkpoint that can be used, if there is one. For one
    rank, which loads for the others."""
    def load(attempt, opened):
        with opened or c_api.Checkpoint(places, attempt) as found:
            take(found)
            note("loaded", attempt=found.attempt, directories=places, source="disk")

    with stages.loading(), _lock:
        earlier_saves.settle()
        _make(places)
        if _is_claimed():
            _saver(places)
        loading.first_usable(places, load)


def _drain_for_one(places, drain_rate):
    """Before one rank loads for the others: copies the newest checkpoint to shared storage if an
    earlier attempt left it only on local disks. Waits for that if the ranks are on several
    machines, because each sees only its own disks. Call it on every rank."""
    group, failed = rank_group.group(), None
    if group is None and sessions.world().size > 1 or not _is_claimed():
        return
    machines = group.gather(sessions.machine()) if group is not None else [sessions.machine()]
    sessions.session()  # on all ranks: rank 0 chooses its name, the others receive it
    try:
        with _lock:
            earlier_saves.settle()
            _make(places)
            saver = _saver(places)
            with c_api.Checkpoint(places) as newest:
                turn = loading._turn_of(sessions.world().rank, machines)
                saver.drain_rest(newest, turn, arguments.rate(drain_rate))
            if saver.drains is not None and len(set(machines)) > 1:
                saver.drains.hurry()
                saver.drains.settle()
                saver.drains.relax()
    except NotFound:
        pass
    except Exception as error:
        failed = error
    if group is not None:
        group.agree(failed)
    elif failed is not None:
        raise failed


def _load_with(group, state, directories, own, dataloader, random, remap, drain_rate):
    """load_latest() with a process group: all ranks try the same checkpoints and fail together."""
    sessions.session()  # on all ranks: rank 0 chooses its name, the others receive it
    places = loader = failed = passed = None
    try:
        places = arguments.directories(directories)
        _make(places)
        loader = _loader(places, state, arguments.own(own, dataloader), random, remap, drain_rate,
                         read_only=False)
    except Exception as error:
        failed = error
    loader = loader or loading.Loader(state, {}, False, None, sessions.world(), None)
    left = loading.attempts(places)
    while True:
        attempt = opened = None
        try:
            if failed is None:
                attempt, opened = next(left, (None, None))
        except Exception as error:
            failed = error
        try:
            step = loader.load_with(group, places, attempt, opened, failed)
        except rank_group.PassedOver as over:
            passed = over.error
            loading.pass_over(group, places, attempt, passed)
            continue
        except loading.NOT_THIS_ONE as error:
            if attempt is not None:
                loading.give_up(places, attempt, error, read_only=False)
            raise
        if step is None and passed is not None:
            raise passed
        return step


def _loader(places, state, own, random, remap, drain_rate, read_only):
    world, rate = sessions.world(), arguments.rate(drain_rate)
    copies = then = None
    if not read_only and _is_claimed():
        saver = _saver(places)
        copies = saver.make_copies() if os.environ.get("ROBUSTRUN_SOCKET") else None

        def then(checkpoint, turn):
            saver.drain_rest(checkpoint, turn, rate)
    return loading.Loader(state, own, random, remap, world, copies, then)


def _is_claimed():
    """Whether a load claims the directories with _saver(), so that no earlier attempt can commit
    from then on."""
    return sessions.world().size > 1 or sessions.under_robustrun()


def _make(places):
    """Creates missing directories before their first use, but not their parents: a mount may be
    missing. A directory that hangs is given up after a while. Only the first one must exist."""
    if places in _savers:
        return
    for place, error in zip(places, c_api.make_directories(places)):  # noqa: B905
        if not error:
            continue
        what = "no answer within ROBUSTRUN_CHECKPOINT_PATIENCE" if error == errno.ETIMEDOUT \
            else os.strerror(error)
        if place == places[0]:
            raise OSError(error, what, place)
        warnings.warn("cannot create directory %s, continuing without it: %s" % (place, what),
                      RuntimeWarning, stacklevel=4)


def _saver(places):
    saver = _savers.get(places)
    if saver is None:
        saver = _savers[places] = _Saver(places)
    return saver


@atexit.register
def _close():
    while _savers:
        saver = _savers.popitem()[1]
        if saver.copies is not None:
            saver.copies.close()
        if saver.drains is not None:
            saver.drains.close()
        saver.engine.close()


class _Saver(staged_saves.StagedSaves):
    """An engine, with the state that one save keeps for the next."""

    def __init__(self, places):
        earlier_saves.settle()
        session = sessions.session()
        self.places = places
        self.engine = c_api.Engine(places, *session)
        self.lock = threading.Lock()  # guards the engine's directories
        self.copies = self.drains = None
        self.parity, self.local = 0, ()
        self.signature = self.structure = None
        self.saves = self.local_saves = 0

    def save(self, *what):
        hurried = []
        if self.copies is not None and self.copies.is_running():
            hurried = [each for each in (self.copies, self.drains) if each is not None]
        for each in hurried:
            each.hurry()
        try:
            self._wait_for_others()
            with self.lock:
                return self._save(*what)
        finally:
            for each in hurried:
                each.relax()

    def _wait_for_others(self):
        """Waits for earlier saves, which would count as newer if they committed afterwards."""
        try:
            if self.drains is not None:
                self.drains.raise_errors()
            if self.copies is not None:
                self.copies.raise_errors()
                self.copies.wait()
        except BaseException:
            self.engine.saves_begun += 1  # the other ranks count this save, too
            raise

    def _save(self, state, step, replicated, own, random, keep):
        rank, size = sessions.world()
        began = monotonic_ns()
        writers = ["rank-%d" % each for each in range(size)]
        # First of all, because every rank must count this save even if it fails here.
        with self.engine.begin(step, writers, size, [("rank", size)]) as attempt:
            values, tensors = tree.flatten(state)
            packed = codec.encode(values, "state")
            states = self._states(rank, packed, replicated, own, random)
            versions = {name: tensor_bytes.version(tensor) for name, tensor in tensors.items()}
            mine = staged_saves.share(tensors, rank, size) if replicated else list(tensors)
            memory = [tensor_bytes.as_memory(tensors[name]) for name in mine]
            attempt.write(writers[rank], self._structure(mine, memory, rank),
                          [each.data_ptr() for each in memory], states)
            changed = [name for name in tensors if tensor_bytes.version(tensors[name])
                       != versions[name]] or attempt.recheck(
                           staged_saves.sample(memory, self._next_turn()))
            if changed:
                raise ChangedWhileSaved("tensor '%s'%s changed while step %d was being saved: "
                                        "nothing was committed" % (
                                            changed[0], " and %d more" % (len(changed) - 1)
                                            if len(changed) > 1 else "", step))
            committed = attempt.commit()
            took = monotonic_ns() - began
            note("saved", attempt=attempt.attempt, directories=self.places, blocking_ns=took,
                 bytes=sum(tensor_bytes.byte_size(each) for each in memory), total_ns=took)
            if committed:
                note("committed", attempt=attempt.attempt, directories=self.places)
            if committed and replicated and size > 1:
                self._compare_ranks(attempt.attempt)
            if committed and keep and not self.local:
                attempt.notes += c_api.prune(self.places, keep)[1]
            for each in attempt.notes:
                warnings.warn("checkpoint of step %d: %s" % (step, each), RuntimeWarning,
                              stacklevel=4)
            return Saved(attempt.attempt, committed, attempt.notes)

    @staticmethod
    def _states(rank, packed, replicated, own, random):
        about = {"replicated": bool(replicated), "own": sorted(own), "random": bool(random),
                 "tree": hashlib.blake2b(packed, digest_size=16).hexdigest()}
        states = [(rank, _ABOUT, codec.encode(about))]
        if rank == 0 or not replicated:
            states.append((rank, _TREE, packed))
        for name, value in own.items():
            states.append((rank, _OWN + name,
                           codec.encode(tree.inline(value, name), name)))
        if random:
            states.append((rank, _RANDOM, codec.encode(tensor_bytes.random_states())))
        return states

    def _structure(self, names, memory, rank):
        named = list(zip(names, memory))  # noqa: B905 (strict is newer than Python 3.8)
        signature = [(name, each.dtype, each.shape) for name, each in named]
        if signature != self.signature:
            self.structure = c_api.Structure(
                c_api.Shard(name, tensor_bytes.dtype_name(each.dtype), rank, tuple(each.shape),
                              (0,) * each.dim(), tuple(each.shape), tensor_bytes.byte_size(each))
                for name, each in named)
            self.signature = signature
        return self.structure

    def _next_turn(self):
        self.saves += 1
        return self.saves
