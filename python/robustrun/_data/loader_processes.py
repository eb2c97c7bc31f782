"""The processes of torch's DataLoader that read for one pass. One that was killed is no error of
the script's: the caller makes new ones, while a batch is awaited or, by when_one_ends(), before.

torch's own handler of SIGCHLD raises an error wherever the script is, as soon as a loader process
has ended. So torch knows of the processes only within __next__().
"""

import os
import signal
import threading
import weakref
from multiprocessing import connection

END_S = 5  # at most, between the end of a process's connections and its own


class _DoneEvent:
    """In the place of torch's event that tells the processes to end. multiprocessing's takes a lock
    to be set, which a process that was killed while it asked holds forever. Here it is set without
    the lock: only this process sets it, once."""

    def __init__(self, event):
        self._event = event  # a process that is spawned finds its semaphores only while it exists
        self._flag = event._flag
        self._is_set = False

    def set(self):
        if not self._is_set:
            self._is_set = True
            self._flag.release()

    def is_set(self):
        return self._is_set


class LoaderProcesses:
    """An iterator over the batches of `batches`, an iterator of torch's DataLoader."""

    def __init__(self, loader, batches):
        from torch.utils.data._utils import signal_handling

        self._loader, self._batches = loader, batches
        # Without processes, or in a torch that does otherwise, all is left to torch.
        watched = getattr(batches, "_worker_pids_set", False) and hasattr(batches, "_workers")
        self._signals = signal_handling if watched else None
        # Persistent processes come here with each pass.
        if watched and hasattr(getattr(batches, "_workers_done_event", None), "_cond"):
            batches._workers_done_event = _DoneEvent(batches._workers_done_event)
        self._unwatch()

    def __iter__(self):
        return self

    def __next__(self):
        if self._signals is None:
            return next(self._batches)
        try:
            self._watch()
            return next(self._batches)
        finally:
            self._unwatch()

    def _watch(self):
        self._signals._set_worker_pids(id(self._batches),
                                       tuple(each.pid for each in self._batches._workers))
        self._batches._worker_pids_set = True
        self._signals._error_if_any_worker_fails()

    def _unwatch(self):
        if self._signals is not None and self._batches._worker_pids_set:
            self._signals._remove_worker_pids(id(self._batches))
            self._batches._worker_pids_set = False

    def when_one_ends(self, method):
        """Calls method(self) once, in a thread of its own that sleeps until then, when a process
        has ended for whatever reason; not if this or the method's object is gone, or Python ends.
        """
        if self._signals is None:
            return
        # Of its own: torch closes the others.
        ends = [os.dup(each.sentinel) for each in self._batches._workers]
        told, tell = os.pipe()
        # Persistent processes stay.
        weakref.finalize(self, _tell, told, tell, os.getpid()).atexit = False
        device = _device() if self._loader.pin_memory else None
        threading.Thread(target=_call_at_end, name="robustrun loader processes", daemon=True, args=(
            ends, told, weakref.WeakMethod(method), weakref.ref(self), device)).start()

    def has_lost_one(self, within_s):
        """Whether a process has ended although it should not, or does so within a time."""
        if self._signals is None:
            return False
        ending = connection.wait([each.sentinel for each in self._batches._workers], within_s)
        for each in self._batches._workers:
            if each.sentinel in ending:
                each.join(END_S)  # it has closed its files, but may not have ended
        return not all(each.is_alive() for each in self._batches._workers)

    def lost_one(self):
        """In torch's words, after has_lost_one()."""
        code, pid = next((each.exitcode, each.pid) for each in self._batches._workers
                         if not each.is_alive())
        how = ("is killed by signal: %s" % signal.strsignal(-code) if code < 0
               else "exited unexpectedly with exit code %d" % code)
        return "DataLoader worker (pid %d) %s" % (pid, how)

    def close(self):
        """Ends the others, which may wait for a lock of one that was killed."""
        for each in self._batches._workers:
            each.kill()
        try:
            self._batches._shutdown_workers()
        except ValueError:  # torch knew of them no more
            pass
        if getattr(self._loader, "_iterator", None) is self._batches:  # persistent_workers
            self._loader._iterator = None
        self._batches = iter(())


def _tell(told, tell, pid):
    if os.getpid() == pid:  # not in a forked child
        os.write(tell, b"!")
        os.close(tell)
        os.close(told)


def _device():
    """(function, its argument) that gives another thread this one's accelerator: torch pins memory
    for that of the thread that makes an iterator."""
    import torch

    for api, current, choose in (("accelerator", "current_device_index", "set_device_index"),
                                 ("cuda", "current_device", "set_device")):
        module = getattr(torch, api, None)
        if module is not None and module.is_available():
            return getattr(module, choose), getattr(module, current)()
    return None


def _call_at_end(ends, told, method, processes, device):
    try:
        connection.wait([*ends, told])
    finally:
        for each in ends:
            os.close(each)
    if not threading.main_thread().is_alive():  # torch ends its processes at exit
        return
    called, given = method(), processes()
    if called is not None and given is not None:
        if device:
            device[0](device[1])
        called(given)
