"""Waits for copies of the previous attempt that are still being written from memory to disk.

Must happen before any load or save: the copies become the newest checkpoint, and the first claim of
a session ends the right of earlier sessions to commit."""

import os
import warnings

from .._api.agent import Agent, Refused

TIMEOUT_S = 90.0  # longer than the agent takes to answer

_settled_in = None  # pid of the process that has asked


def settle():
    """Returns when all copies are written, or after a time-out. Asks the agent once per process."""
    global _settled_in
    if _settled_in == os.getpid() or not os.environ.get("ROBUSTRUN_SOCKET"):
        return
    try:
        with Agent(timeout_s=TIMEOUT_S) as agent:
            agent.await_saves()
    except Refused:
        pass  # an older agent starts workers only after that
    except OSError as error:
        warnings.warn("cannot ask the agent whether copies in memory are still being saved: %s"
                      % error, RuntimeWarning, stacklevel=2)
    _settled_in = os.getpid()
