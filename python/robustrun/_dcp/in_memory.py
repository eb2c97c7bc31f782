"""Copies in memory for robustrun.dcp (_checkpoint/memory_copies.py): saving a rank's items to them,
and loading from them."""

import collections
import os
import sys
import threading
import weakref

from .._checkpoint import memory_copies
from .._checkpoint.arguments import rate as rate_of

_savers = weakref.WeakSet()  # the Copies of this process's stores

# Whether a copy is written to disk, and the rate limit in bytes per second.
Way = collections.namedtuple("Way", "written rate")


class Turns:
    """Decides which saves of a writer are copied to memory, and which copies are written."""

    def __init__(self, blocking, every_step, disk_every, drain_rate):
        if disk_every < 1:
            raise ValueError("disk_every=%r: must be at least 1" % (disk_every,))
        self._are_copied = every_step or not blocking
        self._every = disk_every if every_step else 1
        self._rate = drain_rate and rate_of(drain_rate)
        self._thread = threading.get_ident()
        self._count = 0

    def __getstate__(self):
        return dict(self.__dict__, _thread=None)

    def next(self):
        """The Way of the next save, or None to write directly to disk. The same on all ranks."""
        if not self._are_copied:
            return None
        if threading.get_ident() != self._thread:
            raise ValueError("a writer with blocking=False or every_step=True needs dcp.save, in "
                             "the thread that created the writer; async_save copies by itself")
        self._count += 1
        return Way(self._count % self._every == 0,
                   rate_of(None) if self._rate is None else self._rate)


class _NoDirectories:
    """Stands in for an Engine in Copies that are only read."""

    def limit_writes(self, rate):
        pass


def copies_for(engine, lock):
    copies = memory_copies.Copies(engine, lock)
    _savers.add(copies)
    return copies


class Source:
    """A checkpoint whose shards are read from this rank's memory if it has exactly these bytes,
    else from the directories. A damaged copy in memory is not used."""

    def __init__(self, checkpoint, read_only):
        self._checkpoint = checkpoint
        self.shards, self.attempt, self.step = (checkpoint.shards, checkpoint.attempt,
                                                checkpoint.step)
        self.from_memory = 0  # bytes
        self._copies = self._own = None
        if not read_only and os.environ.get("ROBUSTRUN_SOCKET"):
            self._open()

    def _open(self):
        try:
            self._open_memory()
        except Exception as error:  # the other ranks must not wait for this one
            print("robustrun: cannot load from memory: %s" % error, file=sys.stderr, flush=True)

    def _open_memory(self):
        user = memory_copies._user_of_agents_memory and memory_copies._user_of_agents_memory()
        if user is None:
            # Released after the load, for the next saver.
            self._copies = self._own = memory_copies.Copies(_NoDirectories(), None)
        elif user in _savers:
            self._copies = user

    def read(self, reads):
        """As Checkpoint.read."""
        if self._copies is None:
            self._checkpoint.read(reads)
        else:
            self.from_memory += self._copies.read(self._checkpoint, reads)

    def holds(self):
        """The shards in this rank's memory: [first, count]."""
        return self._copies.holds(self._checkpoint) if self._copies is not None else [0, 0]

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self._copies = None
        if self._own is not None:
            self._own.close()
            self._own = None
