"""The parts of a saver beyond a blocking write: copies in memory, local disks, and the comparison
of what the ranks saved."""

from time import monotonic_ns

from .._api.calls import stop_requested
from .._state import codec, tensor_bytes, tree
from .._state.tree import StateMismatch
from . import c_api, local_disks, memory_copies, sessions
from .c_api import Corrupt
from .notes import note

ABOUT = "robustrun"  # name of the state in which each rank records how it saved
RECHECK_BYTES = 32 << 20  # most bytes to read again after a save: one to three milliseconds


class ChangedWhileSaved(RuntimeError):
    """A tensor changed while it was being saved: nothing was committed."""


class StagedSaves:
    """Mixin for a saver with `engine`, `places`, `lock`, `copies`, `parity`, `local`, `drains`,
    `local_saves`, _states() and _structure()."""

    def use(self, parity, local):
        if parity == self.parity and local == self.local:
            return
        if self.copies is not None:
            self.copies.settle()  # they were made for the old settings
        with self.lock:
            if local != self.local:
                self.engine.use_parity(0)
                local_disks.use(self.engine, local)
            self.engine.use_parity(parity)
        self.parity, self.local = parity, local

    def make_copies(self):
        if self.copies is None:
            self.copies = memory_copies.Copies(self.engine, self.lock)
        return self.copies

    def make_drains(self):
        if self.drains is None:
            self.drains = local_disks.Drains(self.engine)
        return self.drains

    def drain_rest(self, checkpoint, turn, rate):
        """Drains the loaded checkpoint if an earlier attempt left it only on local disks. `turn`:
        as in loading.Loader."""
        if turn is not None and checkpoint.generation < self.engine.generation \
                and local_disks.is_local(checkpoint):
            self.make_drains().finish(checkpoint.attempt, turn, rate)

    def is_drained(self, drain_every):
        """Whether a save is to be copied from local disks to shared storage. Call it exactly once
        per written save, on every rank."""
        if not self.local:
            return False
        number, self.local_saves = self.local_saves, self.local_saves + 1
        return bool(stop_requested()) or number % drain_every == 0

    def drain_local(self, attempt, rank, rate, keep):
        drains = self.make_drains()
        if stop_requested():
            drains.hurry()  # never relaxed
        drains.start(attempt, "rank-%d" % rank, self.local, rate, keep)

    def stage(self, *what, disk_every, drain_every, rate):
        copies = self.make_copies()
        number = self.engine.saves_begun
        written = number % disk_every == disk_every - 1
        try:
            drained = written and self.is_drained(drain_every)
            if self.drains is not None:
                self.drains.raise_errors()
            return self._stage(copies, written, drained, rate, *what)
        finally:
            self.engine.saves_begun = number + 1  # every rank counts it, even if it failed here

    def _stage(self, copies, written, drained, rate, state, step, replicated, own, random, keep):
        rank, size = sessions.world()
        began = monotonic_ns()
        writers = ["rank-%d" % each for each in range(size)]
        values, tensors = tree.flatten(state)
        packed = codec.encode(values, "state")
        states = self._states(rank, packed, replicated, own, random)
        versions = {name: tensor_bytes.version(tensor) for name, tensor in tensors.items()}
        mine = share(tensors, rank, size) if replicated else list(tensors)
        memory = [tensor_bytes.as_memory(tensors[name]) for name in mine]
        try:
            handle = copies.stage(step, writers, writers[rank],
                                  self._structure(mine, memory, rank),
                                  [each.data_ptr() for each in memory], states, size,
                                  [("rank", size)])
        except Corrupt as error:
            raise ChangedWhileSaved(str(error)) from None
        changed = [name for name, tensor in tensors.items()
                   if tensor_bytes.version(tensor) != versions[name]]
        if changed:
            copies.discard(handle)
            raise ChangedWhileSaved("tensor '%s' changed while step %d was being copied: nothing "
                                    "was saved" % (changed[0], step))
        took = monotonic_ns() - began
        note("saved", attempt=handle.attempt, directories=self.places, blocking_ns=took,
             bytes=sum(tensor_bytes.byte_size(each) for each in memory))
        if written:
            # Retention counts checkpoints on shared storage; one on local disks is not there yet.
            now_kept = None if self.local else keep
            limit = 0 if self.local or stop_requested() else rate
            # How long a save on shared storage takes without a limit, as the last one is.
            since = None if self.local or limit else began
            copies.drain(handle,
                         lambda done: self._committed(done, replicated and size > 1, now_kept,
                                                      since),
                         limit,
                         drained and (lambda done: self.drain_local(done.attempt, rank, rate,
                                                                    keep)))
        return handle

    def _committed(self, handle, compare, keep, began):
        """Runs in the background, on the rank that committed. `began`: of the save, or None."""
        took = {} if began is None else {"total_ns": monotonic_ns() - began}
        note("committed", attempt=handle.attempt, directories=self.places, **took)
        if compare:
            self._compare_ranks(handle.attempt)
        if keep:
            handle.notes += c_api.prune(self.places, keep)[1]

    def _compare_ranks(self, attempt):
        with c_api.Checkpoint(self.places, attempt) as checkpoint:
            trees = {rank: codec.decode(data)["tree"]
                     for rank, name, data in checkpoint.states if name == ABOUT}
            other = [rank for rank in trees if trees[rank] != trees[0]]
            if other:
                checkpoint.poison("ranks-differ")
                raise StateMismatch("cannot save with replicated=True: rank %d has different "
                                    "names, shapes or plain values than rank 0; pass what differs "
                                    "between ranks as own=" % other[0])


def share(tensors, rank, size):
    """The names of the tensors that this rank writes: largest first, to the least loaded rank."""
    load = [0] * size
    mine = []
    sizes = sorted(((tensor_bytes.byte_size(each), name) for name, each in tensors.items()),
                   key=lambda each: (-each[0], each[1]))
    for count, name in sizes:
        writer = load.index(min(load))
        load[writer] += count
        if writer == rank:
            mine.append(name)
    return mine


def sample(memory, turn):
    """Indices of tensors to check again: different ones at every turn, up to RECHECK_BYTES."""
    chosen, left = [], RECHECK_BYTES
    for offset in range(len(memory)):
        index = (offset + turn * 7) % len(memory)
        left -= tensor_bytes.byte_size(memory[index])
        if left >= 0:
            chosen.append(index)
    return chosen
