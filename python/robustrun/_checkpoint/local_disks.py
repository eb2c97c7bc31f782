"""Local disks of each machine, and draining them to shared storage while training continues.

Each rank copies the data that it saved to the shared directories and verifies every byte; the last
rank marks the checkpoint as shared (checkpoint/store/local_drain.h). Data that an earlier attempt
left on local disks is copied by the ranks on the machines that have it.
"""

import ctypes
import os
import threading
import warnings

from . import arguments, background, blobs, c_api, sessions

VARIABLE = "ROBUSTRUN_CHECKPOINT_LOCAL"


def directories(given):
    """The local directories, as tuple of absolute paths; () for none."""
    return arguments.folders(given, VARIABLE)


def use(engine, local):
    """Directs this engine's data to `local` first; (): to its own directories."""
    if local:
        for place, error in zip(local, c_api.make_directories(local)):  # noqa: B905
            if error:
                warnings.warn("cannot create local directory %s, continuing without it: %s" % (
                    place, os.strerror(error)), RuntimeWarning, stacklevel=5)
    paths, count = c_api._paths(local)
    _load()
    c_api._call("rr_store_local", engine._handle, paths, count, os.uname().nodename.encode())


def away(checkpoint):
    """The shards that are only on other machines' disks: a list of runs [first, count]."""
    _load()
    present = (ctypes.c_uint8 * len(checkpoint.shards))()
    c_api._call("rr_checkpoint_present", checkpoint._handle, present, len(present))
    runs = []
    for index, is_present in enumerate(present):
        if is_present:
            continue
        if runs and sum(runs[-1]) == index:
            runs[-1][1] += 1
        else:
            runs.append([index, 1])
    return runs


def is_local(checkpoint):
    """Whether some of the checkpoint is only on local disks."""
    _load()
    found = ctypes.c_int()
    c_api._call("rr_checkpoint_is_local", checkpoint._handle, ctypes.byref(found))
    return bool(found.value)


class Drain:
    """The copying of a checkpoint's files to shared storage."""

    def __init__(self, attempt, is_own):
        self.attempt, self.error = attempt, None
        self.is_own = is_own  # saved by this process; False: left by an earlier attempt
        self._over = threading.Event()


class Drains(background.Work):
    """The drains of one saver, which run one after the other."""

    def __init__(self, engine):
        self.places, self.generation = engine.directories, engine.generation
        self._notes = []
        self._removes_halves = sessions.world().rank == 0
        self._library = _load()
        self._handle = None  # of the running drain
        super().__init__()

    def start(self, attempt, writer, local, rate, keep):
        """Drains a checkpoint of this process in the background, at `rate` bytes per second (0: no
        limit) unless hurry() was called. Waits for the previous drain, so that checkpoints do not
        pile up and all ranks drain the same ones."""
        def drain():
            if keep:
                self._clean()
            if self._files("rr_drain_files", attempt, writer.encode()) and keep:
                self._notes += c_api.prune(self.places, keep)[1]
                self._clean()

        self._start(Drain(attempt, True), local, rate, drain)

    def finish(self, attempt, turn, rate):
        """Drains what an earlier attempt committed and this machine has. `turn`: (this rank's
        number on the machine, number of ranks there); each of them takes a part."""
        self._start(Drain(attempt, False), (), rate,
                    lambda: self._files("rr_drain_rest", attempt, *turn))

    def _start(self, drain, local, rate, work):
        self.settle()
        self._running.append(drain)
        threading.Thread(target=self._run, args=(drain, local, rate, work), daemon=True,
                         name="robustrun-local-drain").start()

    def _run(self, drain, local, rate, work):
        handle = ctypes.c_void_p()
        try:
            c_api._call("rr_drain_open", *c_api._paths(self.places), *c_api._paths(local),
                          *c_api.io_options(), ctypes.byref(handle))
            self._library.rr_drain_act_for(handle, self.generation)
            self._handle = handle
            self._limit(rate)
            self._remove_halves()
            work()
        except BaseException as error:
            drain.error = error
            if drain.is_own:
                self._failed.append(drain)
            else:  # no error for the saves of this process
                self._notes.append("the rest of %s was not drained: %s" % (drain.attempt, error))
        finally:
            with self._rate_lock:
                self._handle = None
            if handle:
                self._library.rr_drain_close(handle)
            self._running.remove(drain)
            drain._over.set()

    def _files(self, name, attempt, *whose):
        """Copies files. Returns whether no file of any rank is only on local disks any more."""
        complete = ctypes.c_int()
        said = c_api._blob_of(name, self._handle, attempt.encode(), *whose,
                                ctypes.byref(complete))
        self._notes += blobs.Fields(said).texts()
        return bool(complete.value)

    def _remove_halves(self):
        """Removes what killed drains have left; once, on rank 0."""
        if not self._removes_halves:
            return
        self._removes_halves = False
        try:
            c_api._call("rr_drain_remove_halves", self._handle)
        except c_api.CheckpointError as error:
            self._notes.append(str(error))

    def _clean(self):
        """Removes from the local disks what retention has removed from the checkpoint."""
        c_api._blob_of("rr_drain_clean", self._handle)

    def _set_rate(self, rate):
        if self._handle:
            self._library.rr_drain_rate(self._handle, rate)

    def raise_errors(self):
        """Raises the first error. Warns of problems that did no harm."""
        while self._notes:
            warnings.warn("draining a checkpoint: %s" % self._notes.pop(0), RuntimeWarning,
                          stacklevel=5)
        if self._failed:
            raise self._failed.pop(0).error

    def warn_of_errors(self):
        while self._failed:
            warnings.warn("a checkpoint was not drained: %s" % self._failed.pop(0).error,
                          RuntimeWarning, stacklevel=3)

    def close(self):
        self.hurry()
        self.settle()
        self.warn_of_errors()


def _load():
    library = c_api._load()
    if not getattr(library, "has_local", False):
        handle, texts = ctypes.c_void_p, ctypes.POINTER(ctypes.c_char_p)
        for name, arguments in {
            "rr_store_local": [handle, texts, ctypes.c_size_t, ctypes.c_char_p],
            "rr_checkpoint_present": [handle, ctypes.POINTER(ctypes.c_uint8), ctypes.c_size_t],
            "rr_drain_open": [texts, ctypes.c_size_t, texts, ctypes.c_size_t, ctypes.c_int,
                              ctypes.c_uint64, ctypes.POINTER(handle)],
            "rr_drain_files": [handle, ctypes.c_char_p, ctypes.c_char_p,
                               ctypes.POINTER(ctypes.c_int), ctypes.POINTER(c_api._Blob)],
            "rr_drain_clean": [handle, ctypes.POINTER(c_api._Blob)],
            "rr_drain_rest": [handle, ctypes.c_char_p, ctypes.c_uint64, ctypes.c_uint64,
                              ctypes.POINTER(ctypes.c_int), ctypes.POINTER(c_api._Blob)],
            "rr_drain_remove_halves": [handle],
            "rr_checkpoint_is_local": [handle, ctypes.POINTER(ctypes.c_int)],
            "rr_drain_act_for": [handle, ctypes.c_uint64],
            "rr_drain_rate": [handle, ctypes.c_uint64],
            "rr_drain_close": [handle],
        }.items():
            getattr(library, name).argtypes = arguments
        for name in ("rr_drain_act_for", "rr_drain_rate", "rr_drain_close"):
            getattr(library, name).restype = None
        library.has_local = True
    return library
