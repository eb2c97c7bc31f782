"""Leaves the names of the trackers' runs that the first attempt created, for the agent's suggestion
at the first restart. Only looks: nothing of the tracker is wrapped or called but its getter."""

import os
import sys


def write_if_wanted(path):
    """Once, at the first step of the first attempt, unless such runs are continued anyway."""
    words = os.environ.get("ROBUSTRUN_TRACKER_STATE", "").partition(":")[0].split(",")
    if os.environ.get("ROBUSTRUN_ATTEMPT") != "0" or not path or "resume" in words:
        return
    runs = []
    for find in (_wandb_run, _mlflow_run):
        try:
            runs += find() or []
        except Exception:
            pass  # the program matters more than our view of it
    if runs:
        with open(path, "w") as file:
            file.write("\n".join(runs)[:1000])


def _wandb_run():
    module = sys.modules.get("wandb")
    run = getattr(module, "run", None)
    if run is None or getattr(run, "disabled", False):
        return None
    ours = ("WANDB_RUN_ID", "WANDB_RESUME", "WANDB_SWEEP_ID")
    if any(os.environ.get(name) for name in ours) or run.settings.resume or run.settings.sweep_id:
        return None  # the user sees to it
    return ["wandb run %s" % run.id]


def _mlflow_run():
    if "mlflow.tracking.fluent" not in sys.modules:
        return None
    run = sys.modules["mlflow"].active_run()
    return run and ["mlflow run %s" % run.info.run_id]
