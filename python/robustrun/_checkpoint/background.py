"""What goes on while the script trains: writing copies to disk, draining local disks.

One after the other, with a limit of bytes a second that whoever waits lifts. Ends with the process,
which waits for it.
"""

import atexit
import threading
import weakref


class Work:
    """Whoever runs something: in `_running` while it is not over, in `_failed` when it went wrong
    and nobody was told. Each of them has an event `_over`. What has a limit: _set_rate()."""

    def __init__(self):
        self._rate_lock = threading.Lock()
        self._hurried = 0  # by so many: nothing has a limit
        self._running, self._failed = [], []
        _open_works.add(self)

    def hurry(self):
        """Nothing has a limit any more, until relax()."""
        with self._rate_lock:
            self._hurried += 1
            self._set_rate(0)

    def relax(self):
        """From the next one on."""
        with self._rate_lock:
            self._hurried -= 1

    def _limit(self, rate):
        with self._rate_lock:
            self._set_rate(0 if self._hurried else rate)

    def is_running(self):
        return bool(self._running)

    def settle(self):
        """Until nothing is on its way."""
        for each in list(self._running):
            each._over.wait()

    def wait(self):
        """Until nothing is on its way; raises what went wrong."""
        self.settle()
        self.raise_errors()


_open_works = weakref.WeakSet()


def hurry():
    """The process is about to end: nothing has a limit any more."""
    for work in list(_open_works):
        work.hurry()


@atexit.register
def _finish():
    """What is on its way gets there before the interpreter ends."""
    hurry()
    # Whatever ends may be followed by its way from local disks to shared storage.
    for _ in range(2):
        for work in list(_open_works):
            work.settle()
