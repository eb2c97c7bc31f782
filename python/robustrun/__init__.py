"""What a training script may say to robustrun, and ask it. All of it does nothing elsewhere.

    import robustrun
    robustrun.step(n, loss=loss)          # progress: shown, used for restart decisions
    if robustrun.stop_requested(): ...    # a good moment to save
    robustrun.on_stop(save)               # a last checkpoint, by all ranks after the same step
    robustrun.attempt()                   # 0, 1, 2, … restarts of this run
    robustrun.Agent()                     # the control socket of this worker's agent

Each name is loaded at its first use: boot.py imports this package in every worker.
"""

_HOME = {"step": "_api.calls", "attempt": "_api.calls", "stop_requested": "_api.calls",
         "StopRequest": "_api.calls", "Agent": "_api.agent", "on_stop": "_checkpoint.last_save"}
__all__ = list(_HOME)


def __getattr__(name):
    if name not in _HOME:
        raise AttributeError("module %r has no attribute %r" % (__name__, name))
    from importlib import import_module

    value = globals()[name] = getattr(import_module("." + _HOME[name], __name__), name)
    return value
