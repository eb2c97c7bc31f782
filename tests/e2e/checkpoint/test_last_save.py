"""A last checkpoint before a stop: DDP over gloo, real signals, and notes of each rank's saves."""

import json
import os
import pathlib
import signal
import time

import pytest
from helpers.processes import wait_for

HELPERS = str(pathlib.Path(__file__).parent.parent / "helpers")
# Trains for ever; rank 1 is the slower one, so that the ranks see the stop at different steps.
SCRIPT = f"""
import sys
sys.path.append({HELPERS!r})
""" + """
import json, os, pathlib, time
import light_torch, torch, robustrun
import torch.distributed as dist
from robustrun._checkpoint.notes import note

dist.init_process_group("gloo")
rank = dist.get_rank()
folder = pathlib.Path(sys.argv[1])
model = torch.nn.parallel.DistributedDataParallel(torch.nn.Linear(4, 1))
optimizer = torch.optim.SGD(model.parameters(), lr=0.01)

def save(stop):
    began = time.monotonic_ns()
    state = {"step": stop.step, "reason": stop.reason, "left": stop.seconds_left}
    torch.save((state, model.state_dict()), folder / f"rank-{rank}.pt")
    dist.barrier()  # collectives work: no rank is in a step
    took = time.monotonic_ns() - began
    note("saved", step=stop.step, directories=[str(folder)], bytes=100, blocking_ns=took,
         total_ns=took)
    if rank == 0:
        note("committed", step=stop.step, directories=[str(folder)], bytes=200)

if "on_stop" in sys.argv:
    robustrun.on_stop(save)
n = 0
while True:
    optimizer.zero_grad()
    model(torch.ones(2, 4)).sum().backward()
    optimizer.step()
    n += 1
    if "by_script" in sys.argv:
        robustrun.step(n)
    (folder / f"step-{rank}").write_text(str(n))
    if n == 20 and "fail" in sys.argv and rank == 1:
        os._exit(7)  # an interpreter that ends with a group may be aborted: see faulty_job.py
    time.sleep(0.001 * (1 + 3 * rank))
"""


def start(robustrun, *how, options=()):
    script = robustrun.write("train.py", SCRIPT)
    saved = robustrun.folder / "saved"
    saved.mkdir()
    running = robustrun.start("--nproc-per-node=2", "--standby=off", *options, str(script),
                              str(saved), *how)
    steps = saved / "step-1"
    wait_for(lambda: steps.exists() and int(steps.read_text() or 0) >= 10, 300, "ten steps")
    return running, saved


def what_was_saved(folder):
    import torch

    return [torch.load(folder / f"rank-{rank}.pt")[0] for rank in (0, 1)]


@pytest.mark.parametrize("how", ["by_optimizer", "by_script"])
def test_all_ranks_save_after_the_same_step_and_end(robustrun, how):
    running, saved = start(robustrun, "on_stop", how, options=["--shutdown-timeout=60"])
    os.kill(running.pid, signal.SIGTERM)
    asked = time.monotonic()
    finished = running.finish(90)
    assert finished.code == 128 + signal.SIGTERM, finished.errors
    assert time.monotonic() - asked < 50, "it was not waited for until the deadline"
    first, second = what_was_saved(saved)
    assert first["step"] == second["step"] >= 10
    assert (first["reason"], second["reason"]) == ("stop", "stop")
    assert 0 < first["left"] <= 60
    robustrun.expect_nothing_left()

    report = robustrun.report()
    assert report["outcome"] == "stopped" and not report["incidents"]
    checkpoints = report["checkpoints"]
    assert checkpoints["last_committed_step"] == first["step"]
    assert (checkpoints["saves"], checkpoints["committed"], checkpoints["bytes"]) == (1, 1, 200)
    assert checkpoints["blocking_s"] > 0
    assert checkpoints["blocking_median_s"] <= checkpoints["blocking_most_s"]
    status = robustrun.run("status", str(robustrun.newest_run()), "--json")
    assert json.loads(status.out)["committed_step"] == first["step"]
    words = robustrun.run("report", "-v", str(robustrun.newest_run())).text
    assert f"1 saved, 1 committed, the last at step {first['step']}" in words


def test_without_it_a_signal_ends_the_workers_at_once(robustrun):
    running, saved = start(robustrun, options=["--shutdown-timeout=60"])
    os.kill(running.pid, signal.SIGTERM)
    asked = time.monotonic()
    assert running.finish(60).code == 128 + signal.SIGTERM
    assert time.monotonic() - asked < 30
    assert not list(saved.glob("*.pt"))


def test_after_a_failed_rank_no_rank_saves_or_waits(robustrun):
    running, saved = start(robustrun, "on_stop", "fail",
                           options=["--shutdown-timeout=60", "--max-restarts=0"])
    finished = running.finish(50)  # less than the time allowed for a save
    assert finished.code == 7, finished.errors
    assert not list(saved.glob("*.pt"))


def test_a_second_signal_does_not_wait_for_the_save(robustrun):
    running, saved = start(robustrun, "on_stop", options=["--shutdown-timeout=60"])
    # One rank is stopped: the others' collectives, and so the save, would take until the deadline.
    os.kill(running.workers(2)[1], signal.SIGSTOP)
    os.kill(running.pid, signal.SIGTERM)
    wait_for(lambda: b"SIGTERM" in (robustrun.newest_run() / "journal").read_bytes(),
             what="the first signal")
    os.kill(running.pid, signal.SIGTERM)
    assert running.finish(40).code == 128 + signal.SIGTERM
    assert not list(saved.glob("*.pt"))
    robustrun.expect_nothing_left()
