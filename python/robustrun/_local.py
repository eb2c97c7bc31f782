"""Disks of this machine alone, and the way from there to shared storage while training goes on.

What a rank saves on them each rank copies itself, to the directories that all share, with every
byte verified; whoever is the last says that the checkpoint is there (checkpoint/local_drain.h).
"""

import ctypes
import os
import threading
import warnings

from . import _blobs, _copies, _engine

VARIABLE = "ROBUSTRUN_CHECKPOINT_LOCAL"


def directories(given):
    """As directories= of save(): absolute ones; () for none."""
    if given is None:
        given = [each for each in os.environ.get(VARIABLE, "").split(":") if each]
    if isinstance(given, (str, os.PathLike)):
        given = [given]
    return tuple(os.path.abspath(os.fspath(each)) for each in given)


def use(engine, local):
    """From now on this engine's data goes there first; `local` (): to its directories."""
    if local:
        for place, error in zip(local, _engine.make_directories(local)):  # noqa: B905
            if error:
                warnings.warn("local directory %s cannot be made, and is done without: %s" % (
                    place, os.strerror(error)), RuntimeWarning, stacklevel=5)
    paths, count = _engine._paths(local)
    _load()
    _engine._call("rr_store_local", engine._handle, paths, count, os.uname().nodename.encode())


def away(checkpoint):
    """Which of its shards are on other machines' disks alone: [first, count] of those that follow
    each other."""
    _load()
    present = (ctypes.c_uint8 * len(checkpoint.shards))()
    _engine._call("rr_checkpoint_present", checkpoint._handle, present, len(present))
    runs = []
    for index, is_present in enumerate(present):
        if is_present:
            continue
        if runs and sum(runs[-1]) == index:
            runs[-1][1] += 1
        else:
            runs.append([index, 1])
    return runs


class Drain:
    """Files of this rank on their way to shared storage."""

    def __init__(self, attempt):
        self.attempt, self.error = attempt, None
        self._over = threading.Event()


class Drains:
    """Of one saver, one after the other. Ends with the process, as copies in memory do."""

    def __init__(self, places, local):
        self.places = places
        self._rate_lock = threading.Lock()
        self._hurried = 0  # by so many: nothing has a limit
        self._running, self._failed, self._notes = [], [], []
        self._library = _load()
        self._handle = ctypes.c_void_p()
        _engine._call("rr_drain_open", *_engine._paths(places), *_engine._paths(local),
                      *_engine.io_options(), ctypes.byref(self._handle))
        _copies._open_copies.add(self)

    def start(self, attempt, writer, rate, keep):
        """In the background, at no more than `rate` bytes a second unless that is 0 or somebody is
        in a hurry. Waits as long as another one goes on: checkpoints cannot pile up, and all ranks
        drain the same ones."""
        self.settle()
        drain = Drain(attempt)
        self._running.append(drain)
        threading.Thread(target=self._run, args=(drain, writer, rate, keep), daemon=True,
                         name="robustrun-local-drain").start()

    def _run(self, drain, writer, rate, keep):
        try:
            if keep:
                self._clean()
            if self._files(drain.attempt, writer, rate) and keep:
                self._notes += _engine.prune(self.places, keep)[1]
                self._clean()
        except BaseException as error:
            drain.error = error
            self._failed.append(drain)
        finally:
            self._running.remove(drain)
            drain._over.set()

    def _files(self, attempt, writer, rate):
        """Whether no rank's files are on local disks alone any more, by this one's."""
        complete = ctypes.c_int()
        self._limit(rate)
        said = _engine._blob_of("rr_drain_files", self._handle, attempt.encode(), writer.encode(),
                                ctypes.byref(complete))
        self._notes += _blobs.Fields(said).texts()
        return bool(complete.value)

    def _clean(self):
        """What retention has removed, from the local disks."""
        _engine._blob_of("rr_drain_clean", self._handle)

    def hurry(self):
        with self._rate_lock:
            self._hurried += 1
            self._library.rr_drain_rate(self._handle, 0)

    def relax(self):
        """From the next one on."""
        with self._rate_lock:
            self._hurried -= 1

    def _limit(self, rate):
        with self._rate_lock:
            self._library.rr_drain_rate(self._handle, 0 if self._hurried else rate)

    def raise_errors(self):
        """And says what went wrong without harm."""
        while self._notes:
            warnings.warn("draining a checkpoint: %s" % self._notes.pop(0), RuntimeWarning,
                          stacklevel=5)
        if self._failed:
            raise self._failed.pop(0).error

    def settle(self):
        """Until nothing is on its way."""
        for each in list(self._running):
            each._over.wait()

    def wait(self):
        self.settle()
        self.raise_errors()

    def close(self):
        self.hurry()
        self.settle()
        for each in self._failed:  # nobody is there to raise it
            warnings.warn("a checkpoint was not drained: %s" % each.error, RuntimeWarning,
                          stacklevel=3)
        _copies._open_copies.discard(self)
        handle, self._handle = self._handle, ctypes.c_void_p()
        if handle:
            self._library.rr_drain_close(handle)


def _load():
    library = _engine._load()
    if not getattr(library, "has_local", False):
        handle, texts = ctypes.c_void_p, ctypes.POINTER(ctypes.c_char_p)
        for name, arguments in {
            "rr_store_local": [handle, texts, ctypes.c_size_t, ctypes.c_char_p],
            "rr_checkpoint_present": [handle, ctypes.POINTER(ctypes.c_uint8), ctypes.c_size_t],
            "rr_drain_open": [texts, ctypes.c_size_t, texts, ctypes.c_size_t, ctypes.c_int,
                              ctypes.c_uint64, ctypes.POINTER(handle)],
            "rr_drain_files": [handle, ctypes.c_char_p, ctypes.c_char_p,
                               ctypes.POINTER(ctypes.c_int), ctypes.POINTER(_engine._Blob)],
            "rr_drain_clean": [handle, ctypes.POINTER(_engine._Blob)],
            "rr_drain_rate": [handle, ctypes.c_uint64],
            "rr_drain_close": [handle],
        }.items():
            getattr(library, name).argtypes = arguments
        for name in ("rr_drain_rate", "rr_drain_close"):
            getattr(library, name).restype = None
        library.has_local = True
    return library
