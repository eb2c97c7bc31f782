"""Copies in the agent's memory: unsaved state of a killed worker is saved and read back."""

import os
import pathlib
import random
import signal

import pytest
from helpers.processes import open_files_of, wait_for

torch = pytest.importorskip("torch")

HELPERS = str(pathlib.Path(__file__).parent.parent / "helpers")
# Each rank's state is a function of the step, so any reader can check it. One copy in memory each
# step; the worker never saves to disk.
SCRIPT = f"""
import sys
sys.path.append({HELPERS!r})
""" + r"""
import os, signal, time
import light_torch, torch
import torch.distributed as dist
import torch.distributed.nn  # before there is a group: see diagnosis/faulty_job.py
import robustrun
from robustrun import checkpoint

rank, world = int(os.environ["RANK"]), int(os.environ["WORLD_SIZE"])
folder, last, mode = os.environ["SAVES"], int(os.environ["LAST"]), os.environ["MODE"]
attempt = robustrun.attempt()
sizes = [3_000_000, 17, 250_000]

def state_of(step):
    return {"step": step, "tensors": [torch.arange(n, dtype=torch.float32) * (step + 1) + rank + i
                                      for i, n in enumerate(sizes)]}

def note(name, text):
    with open(f"{name}.{rank}.tmp", "w") as file:
        file.write(text)
    os.replace(f"{name}.{rank}.tmp", f"{name}.{rank}")

note(f"pid.{attempt}", str(os.getpid()))
dist.init_process_group("gloo")
state = state_of(-1)
step = checkpoint.load_latest(state, directories=folder)
if step is None:
    assert attempt == 0
    step = -1
else:
    right = state_of(step)
    assert state["step"] == step
    assert all(torch.equal(a, b) for a, b in zip(state["tensors"], right["tensors"])), "bytes"
    note(f"resumed.{attempt}", f"{step} {checkpoint.last_load().from_memory} {4 * sum(sizes)}")

while step + 1 < last:
    step += 1
    handle = checkpoint.save(state_of(step), step, directories=folder, every_step=True,
                             disk_every=5 if "drain" in mode else 1_000_000)
    robustrun.step(step)
    dist.barrier()
    note("staged", str(step))
    if "kill" in mode and attempt == 0 and step == 7:
        dist.barrier()
        if rank == 1:
            os.kill(os.getpid(), signal.SIGKILL)
        time.sleep(60)
checkpoint.wait()
dist.barrier()
dist.destroy_process_group()
"""


def read_notes(folder, name, ranks=2):
    paths = [folder / f"{name}.{rank}" for rank in range(ranks)]
    if not all(path.exists() for path in paths):
        return None
    return [[int(word) for word in path.read_text().split()] for path in paths]


def copied_by_all(folder):
    return min(read_notes(folder, "staged") or [[-1]])[0]


def start_job(robustrun, mode, last, *options, **environment):
    saves = robustrun.folder / "saves"
    saves.mkdir()
    robustrun.write("job.py", SCRIPT)
    return robustrun.start(
        "--nproc-per-node=2", "--standby=off", *options, "job.py",
        env={"SAVES": str(saves), "LAST": str(last), "MODE": mode, **environment},
    )


def test_a_step_that_was_only_in_memory_is_resumed_from_it(robustrun):
    running = start_job(robustrun, "kill", 12)
    finished = running.finish(250)
    assert finished.code == 0, finished.errors
    resumed = read_notes(robustrun.folder, "resumed.1")
    for step, from_memory, size in resumed:
        assert step == 7, "the last step that was copied"
        assert from_memory == size, "all of it came from the memory of the attempt before"
    assert "saved the copy in memory of step 7, which is committed" in finished.errors
    metrics = robustrun.report()["metrics"]
    assert any(metric["name"] == "save_blocked_ms" and metric["value"] > 0 for metric in metrics)
    robustrun.expect_nothing_left()


def test_a_rate_limit_for_copies_does_not_slow_the_saves_of_the_agent(robustrun):
    """The worker's write of step 4 would take weeks; it dies at step 7."""
    running = start_job(robustrun, "kill-drain", 9, ROBUSTRUN_CHECKPOINT_DRAIN_RATE="20")
    finished = running.finish(250)
    assert finished.code == 0, finished.errors
    assert [step for step, _, _ in read_notes(robustrun.folder, "resumed.1")] == [7, 7]
    assert "saved the copy in memory of step 7, which is committed" in finished.errors


def test_workers_killed_at_any_time_lose_no_step_that_all_had_copied(robustrun):
    seed = random.randrange(1 << 30)
    print("seed", seed)
    chance = random.Random(seed)
    running = start_job(robustrun, "none", 100_000, "--max-restarts=20")
    folder = robustrun.folder
    for attempt in range(1, 4):
        target = copied_by_all(folder) + chance.randrange(2, 12)
        wait_for(lambda least=target: copied_by_all(folder) >= least, 150, "more steps")
        os.kill(read_notes(folder, f"pid.{attempt - 1}")[chance.randrange(2)][0], signal.SIGKILL)
        resumed = wait_for(lambda name=f"resumed.{attempt}": read_notes(folder, name), 150,
                           "a resumption")
        steps = {step for step, _, _ in resumed}
        assert len(steps) == 1, "all ranks resume from one step"
        assert steps.pop() >= target
    running.process.send_signal(signal.SIGTERM)
    running.finish()
    robustrun.expect_nothing_left()


def holders_of_copies(robustrun):
    """Pids that have memory for copies open."""
    return {pid for pid in robustrun.marked()
            if any("robustrun-copies" in file for file in open_files_of(pid))}


def test_memory_of_copies_is_gone_with_the_run(robustrun):
    before = set(os.listdir("/dev/shm"))
    running = start_job(robustrun, "none", 100_000)
    wait_for(lambda: holders_of_copies(robustrun), 150, "memory for copies")
    running.process.send_signal(signal.SIGTERM)
    running.finish()
    robustrun.expect_nothing_left()
    left = {name for name in set(os.listdir("/dev/shm")) - before if "robustrun" in name}
    assert not {name for name in left if not name.startswith("robustrun-test-")}  # of others' tests
