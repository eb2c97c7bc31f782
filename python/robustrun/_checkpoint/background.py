"""Background work while the script trains: writing copies to disk, draining local disks.

Jobs run one after the other, with a rate limit that is lifted while something waits for them. The
process waits for them before it ends.
"""

import atexit
import threading
import weakref


class Work:
    """Base of classes that run jobs in the background.

    `_running`: jobs that are not over. `_failed`: jobs whose error has not been raised yet. Each
    job has an event `_over`. Subclasses implement _set_rate(), raise_errors() and warn_of_errors(),
    for when it is too late to raise.
    """

    def __init__(self):
        self._rate_lock = threading.Lock()
        self._hurried = 0  # number of callers of hurry(); while above 0 there is no limit
        self._running, self._failed = [], []
        _open_works.add(self)

    def hurry(self):
        """Lifts the rate limit until relax()."""
        with self._rate_lock:
            self._hurried += 1
            self._set_rate(0)

    def relax(self):
        """Restores the rate limit, from the next job on."""
        with self._rate_lock:
            self._hurried -= 1

    def _limit(self, rate):
        with self._rate_lock:
            self._set_rate(0 if self._hurried else rate)

    def is_running(self):
        return bool(self._running)

    def settle(self):
        """Waits until no job is running."""
        for each in list(self._running):
            each._over.wait()

    def wait(self):
        """Waits until no job is running, and raises their errors."""
        self.settle()
        self.raise_errors()


_open_works = weakref.WeakSet()


def hurry():
    """Lifts all rate limits, because the process is about to end."""
    for work in list(_open_works):
        work.hurry()


@atexit.register
def _finish():
    """Completes all jobs before the interpreter ends."""
    hurry()
    # A job that ends may start another one, from local disks to shared storage.
    for _ in range(2):
        for work in list(_open_works):
            work.settle()
    for work in list(_open_works):
        work.warn_of_errors()
