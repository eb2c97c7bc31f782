"""Weights & Biases: wandb.init(id=…, resume="allow"); incidents are alerts.

An offline run gets its earlier parts' id as well, so `wandb sync` uploads all of them as one run.
"""

import os
import sys

from . import hooks

_SET_BY_USER = ("WANDB_RUN_ID", "WANDB_RESUME", "WANDB_RESUME_FROM", "WANDB_FORK_FROM",
                "WANDB_SWEEP_ID")
_LABELS = ("entity", "project", "group", "job_type")


def install(wandb, book):
    original = wandb.init

    def before(bound):
        given = bound.arguments
        if _is_set(given) or _returns_active_run(wandb, given):
            return None
        identity = book.claim("wandb", _labels(given), given.get("name"))
        if identity is None:
            return None
        given.update(id=identity, resume="allow")
        return bound

    def after(run, bound):
        given = bound.arguments
        if run is None or getattr(run, "disabled", False):
            return
        if not _is_set(given) and not run.settings.sweep_id:
            if book.continues("wandb", run.id):
                hooks.say("wandb run %s is continued" % run.id)
            book.note("wandb", _labels(given), given.get("name"), run.id,
                      lambda: getattr(run, "_is_finished", False))
        for _, text in book.incidents("wandb"):
            run.alert(title="robustrun: incident", text=text, level="WARN")

    hooked = hooks.wrap("wandb", original, before, after)
    for name in ("wandb", "wandb.sdk", "wandb.sdk.wandb_init"):
        module = sys.modules.get(name)
        if getattr(module, "init", None) is original:
            module.init = hooked


def _is_set(given):
    """Whether the user chose the run, or the run is of a sweep, of several processes, or none."""
    if any(os.environ.get(name) for name in _SET_BY_USER):
        return True
    if any(given.get(name) for name in ("id", "resume_from", "fork_from")):
        return True
    mode = given.get("mode") or os.environ.get("WANDB_MODE")
    if given.get("resume") not in (None, False, "allow") or mode in ("disabled", "shared"):
        return True
    settings = given.get("settings") or {}
    get = settings.get if isinstance(settings, dict) else lambda name: getattr(settings, name, None)
    return any(get(name) for name in ("run_id", "resume", "resume_from", "fork_from", "sweep_id"))


def _returns_active_run(wandb, given):
    reinit = given.get("reinit")
    return wandb.run is not None and reinit in (None, False, "default", "return_previous")


def _labels(given):
    return [given.get(name) or os.environ.get("WANDB_" + name.upper(), "") for name in _LABELS]
