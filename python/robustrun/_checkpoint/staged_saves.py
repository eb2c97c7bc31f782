"""What a saver does besides writing at once: copies in memory, local disks, and a look at what all
ranks saved."""

from time import monotonic_ns

from .._api.calls import stop_requested
from .._state import codec, tensor_bytes, tree
from .._state.tree import StateMismatch
from . import c_api, local_disks, memory_copies, sessions
from .c_api import Corrupt
from .notes import note

ABOUT = "robustrun"  # the state of each rank that says how it saved
RECHECK_BYTES = 32 << 20  # read once more after a save, at most: a millisecond or three


class ChangedWhileSaved(RuntimeError):
    """A tensor changed while it was being saved: nothing was committed."""


class StagedSaves:
    """Of a saver that has `engine`, `places`, `lock`, `copies`, `parity`, `local`, `drains`,
    `local_saves`, _states() and _structure()."""

    def use(self, parity, local):
        if parity == self.parity and local == self.local:
            return
        if self.copies is not None:
            self.copies.settle()  # they were made for what there was
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
        """Of what was loaded, if it is on local disks alone because an attempt before ended first.
        `turn`: as of loading.Loader."""
        if turn is not None and checkpoint.generation < self.engine.generation \
                and local_disks.is_local(checkpoint):
            self.make_drains().finish(checkpoint.attempt, turn, rate)

    def is_drained(self, drain_every):
        """To be asked once for each save that is written, on every rank: whether it goes from local
        disks to shared storage."""
        if not self.local:
            return False
        number, self.local_saves = self.local_saves, self.local_saves + 1
        return bool(stop_requested()) or number % drain_every == 0

    def drain_local(self, attempt, rank, rate, keep):
        drains = self.make_drains()
        if stop_requested():
            drains.hurry()  # for good
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
            self.engine.saves_begun = number + 1  # on every rank, whatever became of it here

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
            raise ChangedWhileSaved("tensor '%s' changed while step %d was being copied: it is not "
                                    "saved" % (changed[0], step))
        took = monotonic_ns() - began
        note("saved", attempt=handle.attempt, directories=self.places, blocking_ns=took,
             bytes=sum(tensor_bytes.byte_size(each) for each in memory))
        if written:
            # Retention follows a checkpoint on shared storage, and one on local disks is none yet.
            now_kept = None if self.local else keep
            copies.drain(handle,
                         lambda done: self._committed(done, replicated and size > 1, now_kept),
                         0 if self.local or stop_requested() else rate,
                         drained and (lambda done: self.drain_local(done.attempt, rank, rate,
                                                                    keep)))
        return handle

    def _committed(self, handle, compare, keep):
        """In the background, by whoever was last."""
        note("committed", attempt=handle.attempt, directories=self.places)
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
                raise StateMismatch("cannot save as replicated=True: rank %d has other names, "
                                    "shapes or plain values than rank 0; what differs between "
                                    "ranks belongs into own=" % other[0])


def share(tensors, rank, size):
    """The names that this rank writes: the largest first to whoever has least."""
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
    """Indices of tensors: others at every turn, until RECHECK_BYTES are reached."""
    chosen, left = [], RECHECK_BYTES
    for offset in range(len(memory)):
        index = (offset + turn * 7) % len(memory)
        left -= tensor_bytes.byte_size(memory[index])
        if left >= 0:
            chosen.append(index)
    return chosen
