"""Copies of the attempt before may still be on their way from memory to disk.

Whoever loads or saves checkpoints waits for them first: what they become is the newest, and the
first claim of a session ends what those before may commit."""

import os
import warnings

from .._api.agent import Agent, Refused

TIMEOUT_S = 90.0  # the agent answers within less

_settled_in = None  # the process that has asked


def settle():
    """Returns when none is, or nobody waits any longer. Asks the agent once."""
    global _settled_in
    if _settled_in == os.getpid() or not os.environ.get("ROBUSTRUN_SOCKET"):
        return
    try:
        with Agent(timeout_s=TIMEOUT_S) as agent:
            agent.await_saves()
    except Refused:
        pass  # an older agent starts no worker before that
    except OSError as error:
        warnings.warn("cannot hear whether copies in memory are still being saved: %s" % error,
                      RuntimeWarning, stacklevel=2)
    _settled_in = os.getpid()
