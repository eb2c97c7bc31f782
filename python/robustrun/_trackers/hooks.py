"""Wraps what creates a tracker's run, once the script has imported the tracker (--trackers).

A hook never breaks the script. What fails in our part is logged once, and the call goes through
unchanged; so it does if it fails with what we put in.
"""

import os
import sys

from .._progress import imports

_PACKAGES = {  # the module after whose import the hook is installed -> ours, with install()
    "wandb": "wandb_runs",
    "mlflow.tracking.client": "mlflow_runs",
    "aim.sdk.run": "aim_runs",
    "torch.utils.tensorboard.writer": "tensorboard_folders",
}


def install(state):
    """`state`: the value of ROBUSTRUN_TRACKER_STATE, WORDS:FOLDER."""
    words, _, folder = state.partition(":")
    for name, ours in _PACKAGES.items():
        imports.after_import(name, _installer(ours, words.split(","), folder))


def _installer(ours, words, folder):
    def install(module):
        try:
            from . import runs

            book = runs.Runs.of_this_rank(folder, "resume" in words, "annotate" in words)
            package = __import__(__package__ + "." + ours, fromlist=["install"])
            package.install(module, book)
        except Exception as error:
            say("%s: --trackers has no effect" % ours.partition("_")[0], error)

    return install


def wrap(tracker, original, before, after):
    """A function that calls `original` with what before(bound) makes of the script's arguments (an
    inspect.BoundArguments; None: unchanged), and then after(result, bound). In children of the
    worker it is the original."""
    import functools
    import inspect

    worker = os.getpid()
    signature = inspect.signature(original)

    @functools.wraps(original)
    def call(*args, **kwargs):
        if os.getpid() != worker:
            return original(*args, **kwargs)
        changed = guarded(tracker, lambda: before(signature.bind(*args, **kwargs)))
        if changed is not None:
            try:
                result = original(*changed.args, **changed.kwargs)
            except Exception as error:
                say("%s: the run cannot be continued, another one is created" % tracker, error)
                changed = None
        if changed is None:
            result = original(*args, **kwargs)
        guarded(tracker, lambda: after(result, signature.bind(*args, **kwargs)))
        return result

    return call


def guarded(tracker, function):
    """The result of function(); None if it fails."""
    try:
        return function()
    except Exception as error:
        say("%s: --trackers has failed, the script goes on" % tracker, error)
        return None


_said = set()


def say(text, error=None):
    """A line on standard error, each text once."""
    if text in _said:
        return
    _said.add(text)
    if error is not None:
        reason = str(error).strip().partition("\n")[0][:300]
        text = "%s: %s: %s" % (text, type(error).__name__, reason)
    try:
        sys.stderr.write("robustrun: trackers: %s\n" % text)
        sys.stderr.flush()
    except Exception:
        pass  # a script may have closed it
