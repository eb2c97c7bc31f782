"""The processes of torch's DataLoader that read for one pass. One that was killed is noticed only
while a batch is awaited, and is no error of the script's: the caller makes new ones.

torch's own handler of SIGCHLD raises an error wherever the script is, as soon as a loader process
has ended. So torch knows of the processes only within __next__().
"""

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

    def has_lost_one(self, within_s):
        """Whether a process has ended although it should not, or does so within a time."""
        if self._signals is None:
            return False
        ending = connection.wait([each.sentinel for each in self._batches._workers], within_s)
        for each in self._batches._workers:
            if each.sentinel in ending:
                each.join(END_S)  # it has closed its files, but may not have ended
        return not all(each.is_alive() for each in self._batches._workers)

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
