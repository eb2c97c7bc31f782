"""Injected faults: the worker's part of `robustrun inject`. Imported when one is ordered.

The agent leaves an order beside the record and sends a real-time signal, whose handler (run.py)
calls obey() in the main thread. obey() removes an order that it accepts, and renames one that
cannot be carried out in this process.
"""

import json
import os
import sys
import time

VERSION = 1
ORDER_BYTES_MAX = 4096


def obey(path):
    try:
        with open(path, "rb") as file:
            order = json.loads(file.read(ORDER_BYTES_MAX))
        known = order["version"] == VERSION and order["kind"] in _KINDS
        kind, seconds = order["kind"], float(order["seconds"])
        prepared = known and _KINDS[kind](seconds)
        if prepared:
            os.unlink(path)
        else:
            os.replace(path, path + ".refused")
    except (OSError, ValueError, KeyError, TypeError):
        return  # there is no valid order: the program continues
    if prepared:
        prepared()


def _raise(seconds):
    def now():
        raise RuntimeError("injected by robustrun inject")

    return now


def _hold_the_gil(seconds):
    import ctypes

    library = ctypes.PyDLL(None)  # keeps the GIL during calls

    def now():
        end = time.monotonic() + seconds
        left = seconds
        while left > 0:
            library.usleep(ctypes.c_uint(int(min(left, 1000) * 1e6)))
            left = end - time.monotonic()

    return now


def _sleep_before_collective(seconds):
    """Sleeps before the first of: a collective of torch.distributed, all of which call
    _rank_not_in_group, or a forward pass of DDP, whose collectives are started in C++."""
    module = sys.modules.get("torch.distributed.distributed_c10d")
    if not hasattr(module, "_rank_not_in_group"):
        return None
    places = [(module, "_rank_not_in_group")]
    parallel = sys.modules.get("torch.nn.parallel.distributed")
    if parallel is not None:
        places.append((parallel.DistributedDataParallel, "forward"))
    return lambda: _sleep_before_next(places, seconds)


def _sleep_before_batch(seconds):
    module = sys.modules.get("torch.utils.data.dataloader")
    if module is None:
        return None
    return lambda: _sleep_before_next([(module._BaseDataLoaderIter, "__next__")], seconds)


def _sleep_before_next(places, seconds):
    """Wraps the functions until the first call of any of them, and delays that call."""
    originals = [(owner, name, getattr(owner, name)) for owner, name in places]

    def late(original):
        def call(*args, **kwargs):
            if originals:
                for owner, name, function in originals:
                    setattr(owner, name, function)
                originals.clear()
                time.sleep(seconds)
            return original(*args, **kwargs)

        return call

    for owner, name, function in list(originals):
        setattr(owner, name, late(function))


_KINDS = {"exception": _raise, "gil-lock": _hold_the_gil,
          "collective-sleep": _sleep_before_collective, "data-stall": _sleep_before_batch}
