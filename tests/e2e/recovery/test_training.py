"""The main use: a DDP training over gloo loses a rank, resumes from its checkpoint and ends with
the loss curve of an undisturbed run under torchrun, to the last bit."""

import json
import os
import signal

from helpers.forked_python import forked_python
from helpers.processes import wait_for
from helpers.runner import ROOT

EXAMPLE = ROOT / "examples" / "train.py"
STEPS, EVERY = 120, 20


def arguments(robustrun, name, *more):
    folder = robustrun.folder / name
    folder.mkdir()
    return [
        "--nproc-per-node=2", str(EXAMPLE), "--steps", str(STEPS), "--every", str(EVERY),
        "--checkpoint", str(folder / "checkpoints"), "--curve", str(folder / "curve"),
        "--pid-dir", str(folder), *more,
    ]


def curve(robustrun, name):
    """Step to loss as written, bit for bit; a repeated step must have the same loss."""
    losses = {}
    for line in (robustrun.folder / name / "curve").read_text().splitlines():
        step, loss = line.split(" ", 1)
        assert losses.setdefault(step, loss) == loss, f"step {step} had two losses"
    return losses


def test_a_killed_rank_does_not_change_the_loss_curve(robustrun):
    python = forked_python().executable
    theirs = robustrun.run("-m", "torch.distributed.run", *arguments(robustrun, "theirs"),
                           argv0=python, env={"PYTHON_EXEC": python}, timeout=400)
    assert theirs.code == 0, theirs.errors

    # The script is torchrun's: under compat, too.
    compat = robustrun.run("--compat=torchrun", *arguments(robustrun, "compat"), timeout=400)
    assert compat.code == 0, compat.errors
    assert curve(robustrun, "compat") == curve(robustrun, "theirs")

    running = robustrun.start("--standby=off", "--summary-json", "summary.json",
                              *arguments(robustrun, "killed", "--slow", "0.03"))
    written = robustrun.folder / "killed" / "curve"

    def is_between_checkpoints():
        steps = written.read_text().count("\n") if written.exists() else 0
        return steps > EVERY and EVERY // 3 <= steps % EVERY <= 2 * EVERY // 3

    wait_for(is_between_checkpoints, 300)
    os.kill(int((robustrun.folder / "killed" / "rank-1.pid").read_text()), signal.SIGKILL)
    finished = running.finish(400)
    assert finished.code == 0, finished.errors
    assert curve(robustrun, "killed") == curve(robustrun, "theirs")

    summary = json.loads((robustrun.folder / "summary.json").read_text())
    assert (summary["outcome"], summary["attempts"]) == ("succeeded", 2)
    (incident,) = summary["incidents"]
    assert incident["rank"] == 1 and "SIGKILL" in incident["ended"]
    assert 0 < incident["steps_lost"] < 2 * EVERY
    names = [phase["name"] for phase in incident["phases"]]
    assert names[:2] == ["detect", "stop the others"] and "first step" in names
    final = {metric["name"]: metric["value"] for metric in summary["metrics"]}
    assert final["loss"] < 0.7
