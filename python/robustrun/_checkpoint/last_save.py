"""A last checkpoint before a stop: all ranks save after the same step, and end.

    robustrun.on_stop(lambda stop: save(model, optimizer, stop.step))

If the run is to end (a signal to robustrun, preemption or time limit by Slurm, --time-limit,
--stop-after-steps) or a slow machine is replaced, the agent writes reason and deadline into the
record. It sends no signal to workers that have announced, through on_stop(), that they save by
themselves. They see the reason at their next step boundary: in robustrun.step(), else after an
optimizer step.

Ranks see it at different steps, and none may leave a collective that others are in. So each rank
continues training and publishes in torch's own store at which step it saw the stop. The last rank
to do so announces the step after the latest of them, after which all save. No rank can be past that
step: finishing it takes collectives with all ranks, which follow their publication. If another rank
has failed (reason "restart"), nothing is saved and workers get signals as usual.
"""

import atexit
import gc
import io
import os
import sys
import threading
import time
import traceback

from .._api.calls import STOP_REASONS, StopRequest
from .._progress import progress

EXIT_CODE = 143  # as if SIGTERM had ended it
_ASK_AGAIN_S = 0.02
_MARGIN_S = 0.5  # time before the deadline to end in

_save = None
_store = None  # torch's store, once the stop was seen
_named = None  # the step after which all ranks save
_over = False


class LastStop(StopRequest):
    """The argument of a save function: a StopRequest with `step`, the number of steps done."""

    __slots__ = ("step",)


def on_stop(save):
    """Registers `save`, to be called on every rank after the same step before the run is stopped.

    save(stop) may use collectives and should return within stop.seconds_left; stop.step is the
    number of steps done, and stop.reason why the run ends. Afterwards the process exits with code
    143. Call on_stop() on every rank, after init_process_group(). on_stop(None) withdraws it. Does
    nothing outside robustrun.
    """
    global _save
    if save is not None and not callable(save):
        raise TypeError("on_stop() needs a function of one argument, or None")
    if progress.current() is None or not os.environ.get("ROBUSTRUN_SOCKET"):
        return
    from .._api.agent import Agent

    try:
        with Agent() as agent:
            agent.request("save_on_stop", enabled=save is not None)
    except OSError as error:
        sys.stderr.write("robustrun: no last checkpoint before a stop: %s\n" % error)
        return
    _save = save
    progress.boundary = _at_boundary if save is not None else None


def leave(end):
    """Ends the process, if `end` is the SystemExit of a last save, as the interpreter would.

    Only the tear-down of modules is left out: while process groups exist, torch may abort the
    process during it (github.com/pytorch/pytorch/pull/179291). Destroying the groups first does not
    help, because DDP holds one, too.
    """
    if not _over or end.code != EXIT_CODE or _group_size() < 2:
        return
    threading._shutdown()
    atexit._run_exitfuncs()
    for thing in gc.get_objects():  # open files
        if type(thing) in (io.BufferedRandom, io.BufferedWriter, io.TextIOWrapper):
            try:
                thing.flush()
            except Exception:
                pass  # closed, or a pipe without a reader
    os._exit(EXIT_CODE)


def _at_boundary(record):
    """Runs at the end of every step. Until a stop it only reads one word of the record."""
    reason = STOP_REASONS.get(record.words[progress.STOP_REASON] & 0xFF)
    if reason is None or reason == "restart" or _over:
        return
    step = record.words[progress.STEPS]
    world = _group_size()
    if world < 2:
        _finish(record, reason, step, 1)
    elif _agreed(step, world) and step >= _named:
        _finish(record, reason, step, world)


def _agreed(step, world):
    global _over
    try:
        return _step_of_all(step, world)
    except Exception as error:  # rank 0 has ended, and with it the store
        _over = True
        sys.stderr.write("robustrun: no last checkpoint: %s\n" % error)
        return False


def _group_size():
    """The number of ranks to wait for: 1 if this rank is alone or there is no process group."""
    torch = sys.modules.get("torch.distributed")
    if torch is None or not torch.is_available() or not torch.is_initialized():
        return 1
    return torch.get_world_size()


def _step_of_all(step, world):
    """Publishes once at which step this rank saw the stop. True, with _named set, if all have."""
    global _store, _named
    if _named is not None:
        return True
    if _store is None:
        from torch.distributed import PrefixStore, distributed_c10d, get_rank

        prefix = "robustrun/last_save/%s" % os.environ.get("ROBUSTRUN_ATTEMPT", "0")
        _store = PrefixStore(prefix, distributed_c10d._get_default_store())
        _store.set("seen/%d" % get_rank(), str(step))
        if _store.add("seen", 1) == world:
            seen = [int(_store.get("seen/%d" % rank)) for rank in range(world)]
            _store.set("step", str(max(seen) + 1))
            _store.add("named", 1)
    if not _store.add("named", 0):
        return False
    _named = int(_store.get("step"))
    return True


def _finish(record, reason, step, world):
    global _over
    _over = True
    stop = LastStop(reason, record.words[progress.STOP_DEADLINE_NS])
    stop.step = step
    if world > 1 and step > _named:  # the ranks do not step together
        sys.stderr.write("robustrun: no last checkpoint: this rank has done %d steps, but the "
                         "others save after %d\n" % (step, _named))
    else:
        background = sys.modules.get("robustrun._checkpoint.background")
        if background is not None:
            background.hurry()
        try:
            _save(stop)
        except Exception:
            traceback.print_exc()
    if world > 1:
        _wait_for_others(record, world)
    raise SystemExit(EXIT_CODE)


def _wait_for_others(record, world):
    """Waits until all ranks have saved: a rank that ends closes its connections, rank 0 the
    store."""
    try:
        _store.add("saved", 1)
        while _store.add("saved", 0) < world:
            left = StopRequest("stop", record.words[progress.STOP_DEADLINE_NS]).seconds_left
            if left is not None and left < _MARGIN_S:
                return
            time.sleep(_ASK_AGAIN_S)
    except Exception:
        pass  # rank 0, which has seen all ranks save, has ended
