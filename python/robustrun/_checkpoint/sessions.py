"""Which ranks save together, and under which session name (docs/checkpoints.md)."""

import collections
import os
import sys

STORE_KEY = "robustrun/checkpoint/session"

World = collections.namedtuple("World", "rank size")
Session = collections.namedtuple("Session", "run attempt incarnation")
_session = None


def _process_group():
    """torch.distributed if it is initialised, else None."""
    dist = sys.modules.get("torch.distributed")
    return dist if dist is not None and dist.is_available() and dist.is_initialized() else None


def under_robustrun():
    return bool(os.environ.get("ROBUSTRUN_RUN_ID"))


def world():
    """This rank and the number of ranks."""
    dist = _process_group()
    if dist is not None:
        return World(dist.get_rank(), dist.get_world_size())
    size = int(os.environ.get("WORLD_SIZE", "1"))
    if size > 1 and not under_robustrun():
        raise RuntimeError("cannot use checkpoints yet: %d ranks know each other only after "
                           "torch.distributed.init_process_group()" % size)
    return World(int(os.environ.get("RANK", "0")) if size > 1 else 0, size)


def machine():
    """A name that is equal on ranks with the same local disks, and only on them."""
    try:
        with open("/proc/sys/kernel/random/boot_id") as file:
            boot = file.read().strip()
    except OSError:
        boot = ""
    return "%s %s" % (os.uname().nodename, boot)


def session():
    """The session: the same on every rank, different at every start."""
    global _session
    if _session is None:
        _session = _named()
    return _session


def _named():
    if under_robustrun():
        # The incarnation says which supervisor ordered the attempt: one that was replaced may live
        # on and order attempts with the same numbers. An older agent does not pass it.
        return Session(os.environ["ROBUSTRUN_RUN_ID"], int(os.environ["ROBUSTRUN_ATTEMPT"]),
                       int(os.environ.get("ROBUSTRUN_INCARNATION") or 0))
    name = "run-" + os.urandom(8).hex()
    dist = _process_group()
    if dist is not None and dist.get_world_size() > 1:
        from torch.distributed.distributed_c10d import _get_default_store

        store = _get_default_store()  # the ranks' key-value store: needs no collective
        if dist.get_rank() == 0:
            store.set(STORE_KEY, name)
        name = store.get(STORE_KEY).decode()
    return Session(name, 0, 0)
