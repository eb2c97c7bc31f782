"""Copies of this rank's state in memory, written to disk while training continues.

Under robustrun the memory is the agent's: it outlives this process. If the process dies, the agent
saves what was not saved yet, and the next attempt's process of this rank gets the same memory.
"""

import ctypes
import os
import struct
import threading
import time
import warnings
import weakref

from .._api.agent import Agent, Refused
from .._api.calls import note_metrics
from . import background, blobs, c_api

COPY_THREADS_MAX = 4
AGENT_TIMEOUT_S = 60.0  # reserving memory takes a second for every few GiB


class _Order(ctypes.Structure):
    _fields_ = [("step", ctypes.c_uint64), ("saves_before", ctypes.c_uint64),
                ("participants", ctypes.c_char_p), ("participants_size", ctypes.c_size_t),
                ("writer", ctypes.c_char_p), ("structure", ctypes.c_char_p),
                ("structure_size", ctypes.c_size_t),
                ("addresses", ctypes.POINTER(ctypes.c_void_p)), ("count", ctypes.c_size_t),
                ("states", ctypes.c_char_p), ("states_size", ctypes.c_size_t)]


class Handle:
    """A save whose copy in memory is complete.

    step, attempt  the checkpoint's step and the name of its folder
    committed      whether this rank committed the checkpoint, as the last one to write
    error          the error of the background write, or None. wait() and the next save raise it
    notes          problems that did no harm, as sentences
    """

    def __init__(self, step, attempt, slot):
        self.step, self.attempt = step, attempt
        self.notes = []
        self.committed = False
        self.error = None
        self._is_raised = False
        self._slot = slot
        self._over = threading.Event()

    def done(self):
        """Whether this rank's part is on disk, or could not be written."""
        return self._over.is_set()

    def wait(self, timeout=None):
        """Waits at most `timeout` seconds; returns whether it is done. Raises an error once."""
        over = self._over.wait(timeout)
        self.raise_error()
        return over

    def raise_error(self):
        """Raises the error of the write, the first time."""
        error = None if self._is_raised else self.error
        if error is not None:
            self._is_raised = True
            raise error


class Copies(background.Work):
    """The copies of one Engine; its jobs are Handles. `lock` guards the engine's directories."""

    def __init__(self, engine, lock):
        self.engine, self.lock = engine, lock
        super().__init__()
        self.blocked_s = 0.0  # total time that callers of stage() waited
        self.last_blocked_s = 0.0
        self.staged = 0
        self.shared = False  # the memory is the agent's
        self._handle = ctypes.c_void_p()
        library = _load()
        cpus = len(os.sched_getaffinity(0))
        threads = min(cpus, COPY_THREADS_MAX)
        c_api._call("rr_memory_open", threads, ctypes.byref(self._handle))
        self._library = library
        self._use_kept_memory()

    def stage(self, step, writers, writer, structure, addresses, states=(), world_size=1, axes=(),
              number=None):
        """Copies everything and returns a Handle. Waits while two copies are being written. Raises
        errors of earlier ones. `number`: of the save; None: the engine counts."""
        began = time.monotonic()
        self.raise_errors()
        order, kept = self._order(step, writers, writer, structure, addresses, states, world_size,
                                  axes, self.engine.saves_begun if number is None else number)
        while len(self._running) >= 2:
            self._running[0]._over.wait()
            self.raise_errors()
        slot = ctypes.c_uint32()
        copy = ("rr_memory_stage", self._handle, self.engine._handle, ctypes.byref(order),
                ctypes.byref(slot))
        try:
            name = c_api._blob_of(*copy)
        except c_api.CheckpointError as error:
            if error.kind != "limit":
                raise
            self._make_room(order)
            name = c_api._blob_of(*copy)
        del kept
        if number is None:
            self.engine.saves_begun += 1
        self.staged += 1
        self.last_blocked_s = time.monotonic() - began
        self.blocked_s += self.last_blocked_s
        note_metrics(save_blocked_ms=1e3 * self.last_blocked_s, save_blocked_s=self.blocked_s)
        return Handle(step, name.decode(), slot.value)

    def discard(self, handle):
        """Drops a copy that must not be used because its tensors changed meanwhile."""
        self._library.rr_memory_discard(self._handle, handle._slot)

    def drain(self, handle, then=None, rate=0, after=None):
        """Writes a copy in the background, after earlier ones, at `rate` bytes per second (0: no
        limit) unless hurry() was called. In the background, then(handle) is called if this rank
        committed it, and after(handle) once this rank's part is on disk."""
        self._library.rr_memory_hold(self._handle, handle._slot, 1)
        before = list(self._running)[-1:]
        self._running.append(handle)
        thread = threading.Thread(target=self._drain, args=(handle, then, rate, after, before),
                                  daemon=True, name="robustrun-drain")
        thread.start()

    def _set_rate(self, rate):
        self.engine.limit_writes(rate)

    def _drain(self, handle, then, rate, after, before):
        try:
            for each in before:  # a checkpoint that is committed later counts as newer
                each._over.wait()
            committed = ctypes.c_int()
            with self.lock:
                self._limit(rate)
                try:
                    said = c_api._blob_of("rr_memory_drain", self._handle, handle._slot,
                                            self.engine._handle, ctypes.byref(committed))
                finally:
                    self._limit(0)  # the limit is for this drain only
                handle.notes = blobs.Fields(said).texts()
                handle.committed = bool(committed.value)
                if then is not None and handle.committed:
                    then(handle)
            if after:
                after(handle)
        except BaseException as error:
            handle.error = error
            self._failed.append(handle)
        finally:
            self._library.rr_memory_hold(self._handle, handle._slot, 0)
            self._running.remove(handle)
            handle._over.set()

    def read(self, checkpoint, reads):
        """As Checkpoint.read; returns how many of the bytes came from memory."""
        requests = (c_api._Read * len(reads))(*reads)
        bytes_read = ctypes.c_uint64()
        c_api._call("rr_memory_read", self._handle, checkpoint._handle, requests, len(reads),
                      ctypes.byref(bytes_read))
        return bytes_read.value

    def holds(self, checkpoint):
        """The shards of `checkpoint` that have a copy here: [first, count]."""
        first, count = ctypes.c_uint64(), ctypes.c_uint64()
        c_api._call("rr_memory_holds", self._handle, checkpoint._handle, ctypes.byref(first),
                      ctypes.byref(count))
        return [first.value, count.value]

    def raise_errors(self):
        while self._failed:
            self._failed.pop(0).raise_error()

    def warn_of_errors(self):
        while self._failed:
            handle = self._failed.pop(0)
            if not handle._is_raised:
                warnings.warn("the save of step %d failed: %s" % (handle.step, handle.error),
                              RuntimeWarning, stacklevel=3)

    def close(self):
        self.hurry()
        self.settle()
        handle, self._handle = self._handle, ctypes.c_void_p()
        if handle:
            self._library.rr_memory_close(handle)
        self.warn_of_errors()

    def _order(self, step, writers, writer, structure, addresses, states, world_size, axes,
               number):
        if not isinstance(structure, c_api.Structure):
            structure = c_api.Structure(structure)
        if step < 0:
            raise ValueError("cannot save step %d: it is negative" % step)
        participants = struct.pack("<II", world_size, len(axes)) + b"".join(
            blobs.text(name) + struct.pack("<I", size)
            for name, size in axes) + blobs.texts(writers)
        states_blob = b""
        if states:
            states_blob = struct.pack("<I", len(states)) + b"".join(
                struct.pack("<I", rank) + blobs.text(name) + blobs.text(bytes(data))
                for rank, name, data in states)
        places = (ctypes.c_void_p * len(addresses))(*addresses)
        order = _Order(step, number, participants, len(participants), writer.encode(),
                       structure.blob, len(structure.blob), places, len(addresses), states_blob,
                       len(states_blob))
        return order, places

    def _make_room(self, order):
        needed = ctypes.c_uint64()
        c_api._call("rr_memory_plan", self.engine._handle, ctypes.byref(order),
                      ctypes.byref(needed))
        if needed.value <= self._library.rr_memory_slot_bytes(self._handle):
            return
        self.wait()
        # After the wait nothing in the old memory is still needed; the new copy is newer.
        slot_bytes = needed.value + (needed.value >> 4)  # a state may grow a little
        fd = self._ask_agent(2 * slot_bytes)
        self.shared = fd >= 0
        c_api._call("rr_memory_use", self._handle, fd, slot_bytes)

    def _use_kept_memory(self):
        """Takes over the memory that the previous attempt left."""
        fd = self._ask_agent(0)
        if fd >= 0:
            c_api._call("rr_memory_use", self._handle, fd, 0)
            self.shared = True

    def _ask_agent(self, wanted):
        """A memfd of the agent, or -1. A rank has only one: the first Copies to ask gets it."""
        global _user_of_agents_memory, _has_warned
        if not os.environ.get("ROBUSTRUN_SOCKET"):
            return -1
        user = _user_of_agents_memory and _user_of_agents_memory()
        if user is not None and user is not self:
            return -1
        _user_of_agents_memory = weakref.ref(self)
        try:
            with Agent(timeout_s=AGENT_TIMEOUT_S) as agent:
                return agent.memory(wanted)
        except Refused:
            return -1  # the agent has logged it
        except OSError as error:
            if not _has_warned:
                _has_warned = True
                warnings.warn("copies of this rank's state in memory will not outlive its process: "
                              "%s" % error, RuntimeWarning, stacklevel=2)
            return -1


def _load():
    library = c_api._load()
    if not getattr(library, "has_memory", False):
        handle, order = ctypes.c_void_p, ctypes.POINTER(_Order)
        for name, arguments in {
            "rr_memory_open": [ctypes.c_uint32, ctypes.POINTER(handle)],
            "rr_memory_use": [handle, ctypes.c_int, ctypes.c_uint64],
            "rr_memory_plan": [handle, order, ctypes.POINTER(ctypes.c_uint64)],
            "rr_memory_stage": [handle, handle, order, ctypes.POINTER(ctypes.c_uint32),
                                ctypes.POINTER(c_api._Blob)],
            "rr_memory_drain": [handle, ctypes.c_uint32, handle, ctypes.POINTER(ctypes.c_int),
                                ctypes.POINTER(c_api._Blob)],
            "rr_memory_read": [handle, handle, ctypes.POINTER(c_api._Read), ctypes.c_size_t,
                               ctypes.POINTER(ctypes.c_uint64)],
            "rr_memory_holds": [handle, handle, ctypes.POINTER(ctypes.c_uint64),
                                ctypes.POINTER(ctypes.c_uint64)],
            "rr_memory_hold": [handle, ctypes.c_uint32, ctypes.c_int],
            "rr_memory_discard": [handle, ctypes.c_uint32],
            "rr_memory_close": [handle],
            "rr_memory_slot_bytes": [handle],
        }.items():
            getattr(library, name).argtypes = arguments
        for name in ("rr_memory_hold", "rr_memory_discard", "rr_memory_close"):
            getattr(library, name).restype = None
        library.rr_memory_slot_bytes.restype = ctypes.c_uint64
        library.has_memory = True
    return library


_user_of_agents_memory = None
_has_warned = False  # that the agent could not be asked
