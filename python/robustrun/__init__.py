"""The API for training scripts. All of it is optional.

    import robustrun
    robustrun.step(n, loss=loss)          # report progress: shown, and used for restart decisions
    if robustrun.stop_requested(): ...    # the workers are about to be stopped: save now
    robustrun.on_stop(save)               # a last checkpoint, by all ranks after the same step
    robustrun.prepare("model:build")      # a result that standby workers have ready after a failure
    robustrun.attempt()                   # number of restarts of this run: 0, 1, 2, …
    robustrun.Agent()                     # a connection to this worker's agent

Checkpoints: robustrun.checkpoint (save, load_latest) and robustrun.dcp. Outside robustrun, step()
and on_stop() do nothing and stop_requested() returns None, so a script may call them
unconditionally.

Each name is loaded at its first use, because boot.py imports this package in every worker.
"""

_HOME = {"step": "_api.calls", "attempt": "_api.calls", "stop_requested": "_api.calls",
         "StopRequest": "_api.calls", "Agent": "_api.agent", "prepare": "_api.prepared",
         "on_stop": "_checkpoint.last_save"}
__all__ = list(_HOME)


def __getattr__(name):
    if name not in _HOME:
        raise AttributeError("module %r has no attribute %r" % (__name__, name))
    from importlib import import_module

    value = globals()[name] = getattr(import_module("." + _HOME[name], __name__), name)
    return value
