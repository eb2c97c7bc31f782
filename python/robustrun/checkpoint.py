"""Checkpoints that are never wrong, for plain scripts (docs/checkpoints.md).

    from robustrun import checkpoint
    state = {"model": model, "optimizer": optimizer, "epoch": 0}
    step = checkpoint.load_latest(state, directories="/scratch/run7") or 0
    ...
    checkpoint.save(state, step, directories="/scratch/run7", keep=3)

Every rank calls both. Under robustrun, torchrun or alone.
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
    rank_group,
    sessions,
    staged_saves,
)
from ._checkpoint.arguments import DIRECTORY_VARIABLE, RATE_VARIABLE  # noqa: F401 (public)
from ._checkpoint.c_api import CheckpointError, Conflict, Corrupt, NotFound, Unreadable
from ._checkpoint.loading import Loaded, WorldChanged
from ._checkpoint.notes import note
from ._checkpoint.rank_group import RankFailed
from ._checkpoint.staged_saves import ChangedWhileSaved
from ._record import stages
from ._state import codec, tensor_bytes, tree
from ._state.codec import NotNeutral
from ._state.tensor_bytes import CannotSave
from ._state.tree import StateMismatch

__all__ = ["save", "load_latest", "last_load", "wait", "Saved", "Loaded", "ChangedWhileSaved",
           "WorldChanged", "StateMismatch", "NotNeutral", "CannotSave", "CheckpointError",
           "Conflict", "Corrupt", "NotFound", "Unreadable", "RankFailed"]

_ABOUT, _TREE, _RANDOM, _OWN = loading.ABOUT, loading.TREE, loading.RANDOM, loading.OWN

_lock = threading.Lock()
_savers = {}


class Saved:
    """What became of a save. `committed`: by this rank, which was the last one; the others see
    False. `notes`: what went wrong without harm. `attempt`: its folder."""

    def __init__(self, attempt, committed, notes):
        self.attempt, self.committed, self.notes = attempt, committed, notes

    def __repr__(self):
        return "Saved(%r, committed=%r, notes=%r)" % (self.attempt, self.committed, self.notes)


def last_load():
    """A Loaded: of this process's last load_latest() that found something; else None."""
    return loading.last


def wait():
    """Until nothing is on its way to disk any more; raises what went wrong with it."""
    for saver in list(_savers.values()):
        if saver.copies is not None:
            saver.copies.wait()
        if saver.drains is not None:
            saver.drains.wait()


def save(state, step, directories=None, replicated=False, own=None, dataloader=None, random=True,
         keep=None, blocking=True, every_step=False, disk_every=100, parity=0, drain_rate=None,
         local=None, drain_every=1):
    """Saves `state` at `step`; returns when this rank's part is on disk. The last rank commits.

    `state`: dicts, lists and tuples of tensors, plain values, and objects with state_dict().
    `directories`: one or several, spread over; the first must be shared by all ranks; else the
    variable ROBUSTRUN_CHECKPOINT_DIR, separated by colons. `replicated`: every rank holds the same
    state (DistributedDataParallel): each tensor is written by one rank, and any number of ranks may
    load it; else each rank's state is its own. `own`: {name: value} of what differs between ranks
    even so, and `dataloader`, the same. `random`: the states of random number generators, too.
    `keep`: this many verified checkpoints stay; the rank that commits reads the new one back and
    removes older ones. `parity`: as many directories may be lost or damaged; there must be more.

    `blocking=False`: returns when a copy of the state is complete in memory; it is written in the
    background. Answers with a handle: wait(), done(), `error`; the next save raises it, too. A
    third save waits while two are being written. `every_step`: only every `disk_every`-th copy is
    written; under robustrun the newest that all ranks have is, if the job dies. `drain_rate`: bytes
    a second that this rank's copies are written with at most, parity included; else the variable
    ROBUSTRUN_CHECKPOINT_DRAIN_RATE; else no limit. None for what cannot wait: blocking saves and
    what goes before them, saves after a stop was asked for, the end of the process.

    `local`: directories on disks of each machine's own; else the variable
    ROBUSTRUN_CHECKPOINT_LOCAL. Data goes there, and `directories` get what names it; the first such
    save and each `drain_every`-th behind it are copied to `directories` in the background, with
    `drain_rate`. One at a time: a save that is to be copied waits until the one before is. `keep`
    counts what is in `directories`. Where there is no room, data goes to `directories` at once.

    Raises ChangedWhileSaved, NotNeutral or CannotSave, all by name, and Conflict when a later
    attempt of the job has taken over.
    """
    if keep is not None and keep < 1:
        raise ValueError("keep=%r: one checkpoint at least is kept" % (keep,))
    if drain_every < 1:
        raise ValueError("drain_every=%r: every first one, second one, ..." % (drain_every,))
    with _lock:
        places = arguments.directories(directories)
        local = local_disks.directories(local)
        if parity and local:
            raise ValueError("parity= is for directories that all share, not for local ones")
        rate = arguments.rate(drain_rate)
        _make(places)
        saver = _saver(places)
        saver.use(parity, local)
        what = (state, step, replicated, arguments.own(own, dataloader), random, keep)
        # 20,000 tensors make 100,000 tuples that live until the end: looking for circles in them
        # costs as much as all the rest.
        collecting = gc.isenabled()
        gc.disable()
        try:
            if not blocking or every_step:
                return saver.stage(*what, disk_every=disk_every if every_step else 1,
                                   drain_every=drain_every, rate=rate)
            drained = saver.is_drained(drain_every)
            saved = saver.save(*what)
            if drained:
                saver.drain_local(saved.attempt, sessions.world().rank, rate, keep)
            return saved
        finally:
            if collecting:
                gc.enable()


def load_latest(state, directories=None, own=None, dataloader=None, random=True, remap=None,
                read_only=False, drain_rate=None):
    """Puts the newest good checkpoint back into `state`, in place; its step, or None if there is
    none. Arguments as for save(). All that is wanted must be in it, and all that is in it must be
    wanted. Every byte is verified.

    `remap(name, values, rank, size)`: called when what ranks saved for themselves ("dataloader",
    "random", names of `own`) is of another number of ranks: `values` is what each of them saved,
    the answer is what this rank takes, None for nothing. Without it that is refused (WorldChanged).
    `read_only`: a look from outside, by an evaluation, say: nobody who saves there is stopped.
    `drain_rate`: as for save(), for what is found on local disks alone, because the attempt that
    saved it ended before it was copied to `directories`: that is done in the background now. Not by
    a process alone outside robustrun, nor by ranks without a process group.

    Ranks that have a process group load together: of a state saved with `replicated=True` each
    rank reads its share and hands it on, and when one of them fails all raise (RankFailed, where it
    was another). With `read_only` nobody waits for others, and each reads all of it.

    A damaged checkpoint is marked as poisoned; one that a disk does not give (EIO, Unreadable) is
    not, as another day or another machine may be able to read it. Then the one before is taken,
    with a warning, by all ranks that load together. Of several ranks without a process group the
    one that finds it raises, and where it was marked all find the one before at their next start.
    """
    group = None if read_only else rank_group.group()
    with stages.loading(), _lock:
        earlier_saves.settle()
        if group is not None:
            return _load_with(group, state, directories, own, dataloader, random, remap, drain_rate)
        places = arguments.directories(directories)
        if not read_only:
            _make(places)
        loader = _loader(places, state, arguments.own(own, dataloader), random, remap, drain_rate,
                         read_only)
        failed = None
        for attempt, opened in loading.attempts(places):
            try:
                return loader.load(places, attempt, opened)
            except loading.NOT_THIS_ONE as error:
                failed = error
                loading.give_up(places, attempt, error, read_only)
                if loader.world.size > 1:
                    raise
        if failed is not None:
            raise failed
        return None


def _load_with(group, state, directories, own, dataloader, random, remap, drain_rate):
    """Each rank reads its share and hands it on; what one of them meets all of them hear of."""
    sessions.session()  # of all ranks: the first asks nobody, the others ask it
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
    if not read_only and (world.size > 1 or sessions.under_robustrun()):
        saver = _saver(places)  # from here on no earlier attempt commits: all find the same
        copies = saver.make_copies() if os.environ.get("ROBUSTRUN_SOCKET") else None

        def then(checkpoint, turn):
            saver.drain_rest(checkpoint, turn, rate)
    return loading.Loader(state, own, random, remap, world, copies, then)


def _make(places):
    """What is not there, before it is used for the first time; never its parents: a mount may be
    missing. With patience, as it may hang. The home must be there, the others may fail."""
    if places in _savers:
        return
    for place, error in zip(places, c_api.make_directories(places)):  # noqa: B905
        if not error:
            continue
        what = "no answer within the patience" if error == errno.ETIMEDOUT else os.strerror(error)
        if place == places[0]:
            raise OSError(error, what, place)
        warnings.warn("directory %s cannot be made, and is done without: %s" % (place, what),
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
    """An engine and what one save leaves for the next."""

    def __init__(self, places):
        earlier_saves.settle()
        session = sessions.session()
        self.places = places
        self.engine = c_api.Engine(places, *session)
        self.lock = threading.Lock()  # of the engine's directories
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
        """What goes before a save, and would count as newer behind it."""
        try:
            if self.drains is not None:
                self.drains.raise_errors()
            if self.copies is not None:
                self.copies.raise_errors()
                self.copies.wait()
        except BaseException:
            self.engine.saves_begun += 1  # as on the other ranks, whatever became of it here
            raise

    def _save(self, state, step, replicated, own, random, keep):
        rank, size = sessions.world()
        began = monotonic_ns()
        writers = ["rank-%d" % each for each in range(size)]
        # First of all: every rank counts this save, whatever becomes of it here.
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
