"""Copies of sharded states in the agent's memory, by robustrun.dcp."""

import json
import os
import random
import signal
from pathlib import Path

import pytest
from checkpoint.test_dcp import both, ckpt, job, with_newer_torch
from checkpoint.test_memory import copied_by_all, holders_of_copies, read_notes
from checkpoint.test_peers import start_copied
from helpers.processes import wait_for

torch = pytest.importorskip("torch")
JOB = Path(__file__).with_name("dcp_memory_job.py")

# Each tensor is a function of the step, so any reader can check it.
SCRIPT = r"""
import os, signal, sys, time
import torch
import torch.distributed as dist
import torch.distributed.nn  # before there is a group: see diagnosis/faulty_job.py
import robustrun
from robustrun.dcp import RobustReader, RobustWriter
sys.path.insert(0, "TESTS")
import dcp_torch as dcp
from dcp_torch import Replicate, Shard, distribute_tensor, init_device_mesh

rank, world = int(os.environ["RANK"]), int(os.environ["WORLD_SIZE"])
folder, mode = os.environ["SAVES"] + "/checkpoints", os.environ.get("MODE", "lost")
last = int(os.environ.get("LAST", "100000"))
attempt = robustrun.attempt()

def note(name, text):
    path = os.path.join(os.environ["SAVES"], f"{name}.{rank}")
    with open(path + ".tmp", "w") as file:
        file.write(text)
    os.replace(path + ".tmp", path)

note(f"pid.{attempt}", str(os.getpid()))
torch.set_num_threads(1)
dist.init_process_group("gloo")
mesh = init_device_mesh("cpu", (world,))

def state_of(step, along=0):
    whole = {"rows": (torch.arange(600_000).view(1000, 600) * 1.5 + step, Shard(along)),
             "uneven": (torch.arange(35).view(7, 5).bfloat16() - step, Shard(along)),
             "all": (torch.arange(70_000) + step, Replicate())}
    return {"model": {name: distribute_tensor(tensor, mesh, [place])
                      for name, (tensor, place) in whole.items()},
            "extra": {"step": step, "plain": torch.full((11,), step)}}

def bits(value):
    return (value.to_local() if hasattr(value, "to_local") else value).contiguous().view(-1)

def check(found, right):
    assert found["extra"]["step"] == right["extra"]["step"]
    assert torch.equal(found["extra"]["plain"], right["extra"]["plain"])
    for name, value in right["model"].items():
        assert torch.equal(bits(found["model"][name]).view(torch.uint8),
                           bits(value).view(torch.uint8)), name

sampler = {"seen": 0}

def resume(along, name):
    reader = RobustReader(folder, own={"sampler": sampler})
    step = reader.latest()
    if step is None:
        assert attempt == 0
        return -1
    state = state_of(-1, along)
    dcp.load(state, storage_reader=reader)
    check(state, state_of(step, along))
    assert sampler == {"seen": 10 * step + rank}
    got = reader.last_load
    note(f"{name}.{attempt}", f"{step} {got.from_memory} {got.from_disk} {got.bytes}")
    return step

step = resume(0, "resumed")
if "other" in mode and attempt > 0:
    sampler["seen"] = 0
    assert resume(1, "other") == step  # other shards than were copied

writer = RobustWriter(folder, every_step=True, own={"sampler": sampler},
                      disk_every=4 if "drain" in mode else 1_000_000)
while step + 1 < last:
    step += 1
    sampler["seen"] = 10 * step + rank
    dcp.save(state_of(step), storage_writer=writer, checkpoint_id=step)
    robustrun.step(step)
    note("staged", str(step))
    while mode == "lost":
        time.sleep(0.01)
    if "kill" in mode and attempt == 0 and step == 6:
        dist.barrier()
        if rank == 1:
            os.kill(os.getpid(), signal.SIGKILL)
        time.sleep(60)
writer.wait()
dist.barrier()
sys.stdout.flush()
os._exit(0)  # mesh, reader and writer keep the group: see diagnosis/faulty_job.py
""".replace("TESTS", str(JOB.parent))


def start_job(robustrun, mode, last, *options, **environment):
    saves = robustrun.folder / "saves"
    (saves / "checkpoints").mkdir(parents=True)
    robustrun.write("job.py", SCRIPT)
    return robustrun.start(
        "--nproc-per-node=2", "--standby=off", *options, "job.py",
        env={"SAVES": str(saves), "LAST": str(last), "MODE": mode, **environment},
    )


@pytest.mark.parametrize(
    "mode", [pytest.param("kill", marks=pytest.mark.nightly), "kill-drain-other"])
def test_a_step_without_files_is_resumed_from_memory_and_other_shards_from_disk(robustrun, mode):
    finished = start_job(robustrun, mode, 9).finish(300)
    assert finished.code == 0, finished.errors
    resumed = read_notes(robustrun.folder / "saves", "resumed.1")
    for step, _, from_disk, _ in resumed:
        assert step == 6, "the last step that was copied"
        assert from_disk == 0, "all of it came from the memory of the attempt before"
    once = 4 * 600_000 + 2 * 35 + 8 * (70_000 + 11)
    assert sum(from_memory for _, from_memory, _, _ in resumed) == once
    assert sum(size for _, _, _, size in resumed) == once + 8 * (70_000 + 11), "handed on"
    if "other" in mode:
        resumed = read_notes(robustrun.folder / "saves", "other.1")
        assert [step for step, _, _, _ in resumed] == [6, 6]
        assert all(0 < from_disk <= size for _, _, from_disk, size in resumed)
    assert "saved the copy in memory of step 6, which is committed" in finished.errors
    found = json.loads(ckpt("ls", "--json", robustrun.folder / "saves/checkpoints"))
    steps = [each["step"] for each in found if each["state"] == "committed"]
    # At the end of the run, too, the agent saves what is only in memory: step 8.
    assert steps == ([8, 6, 3] if "drain" in mode else [8, 6])
    assert "sound" in ckpt("verify", "--all", robustrun.folder / "saves/checkpoints")
    robustrun.expect_nothing_left()


def test_workers_killed_at_any_time_lose_no_step_that_all_had_copied(robustrun):
    seed = random.randrange(1 << 30)
    print("seed", seed)
    chance = random.Random(seed)
    running = start_job(robustrun, "none", 100_000, "--max-restarts=20")
    folder = robustrun.folder / "saves"
    for attempt in range(1, 3):
        target = copied_by_all(folder) + chance.randrange(2, 9)
        wait_for(lambda least=target: copied_by_all(folder) >= least, 150, "more steps")
        os.kill(read_notes(folder, f"pid.{attempt - 1}")[chance.randrange(2)][0], signal.SIGKILL)
        resumed = wait_for(lambda name=f"resumed.{attempt}": read_notes(folder, name), 150,
                           "a resumption")
        steps = {step for step, _, _, _ in resumed}
        assert len(steps) == 1, "all ranks resume from one step"
        assert steps.pop() >= target
    wait_for(lambda: holders_of_copies(robustrun), what="copies of the new attempt")
    running.process.send_signal(signal.SIGTERM)
    running.finish()
    robustrun.expect_nothing_left()


def test_the_shards_of_a_lost_machine_come_from_the_memory_of_its_peer(lab, robustrun):
    machines = lab(3)
    saves = robustrun.folder / "saves"
    job = start_copied(robustrun, machines, saves, 0, "--standby=off", script=SCRIPT)
    machines["h2"].lose_power()
    resumed = job.wait(lambda: read_notes(saves, "resumed.1"), "a resumption", 300)
    assert [(step, from_disk) for step, _, from_disk, _ in resumed] == [(0, 0)] * 2
    assert all(from_memory > 0 for _, from_memory, _, _ in resumed)
    job.stop()
    robustrun.expect_nothing_left()


@pytest.fixture
def folder(tmp_path):
    for name in ("a", "a-2"):
        (tmp_path / name).mkdir()
    return tmp_path / "a"


def memory_job(*words, **more):
    return job(*words, script=JOB, **more)


def committed(folder):
    found = json.loads(ckpt("ls", "--json", *both(folder)))
    return [each["step"] for each in found if each["state"] == "committed"]


def test_copies_are_written_in_the_background_without_an_agent_too(folder):
    memory_job(2, "save_copies", folder, "1")
    job(1, "load", folder, "3")
    assert committed(folder) == [3, 2, 1]
    ckpt("export", *both(folder), "--to", "torch", str(folder / "x.pt"))


def test_some_copies_are_written_and_a_synchronous_save_follows_them(folder):
    memory_job(2, "save_copies", folder, "2")
    job(2, "load", folder, "5")
    assert committed(folder) == [5, 4, 2]


@pytest.mark.parametrize("way", [
    "torn", "finish", pytest.param("planner", marks=pytest.mark.nightly)])
def test_a_value_that_cannot_be_copied_is_refused_and_never_committed(folder, way):
    said = memory_job(2, "save_refused", folder, way)
    assert {"torn": "tensor 'model.columns' changed while step 1 was being saved",
            "planner": "with a Bare, which does not keep its `metadata`",
            "finish": "the planner's metadata changed during the save"}[way] in said
    assert committed(folder) == [2]


@with_newer_torch
@pytest.mark.parametrize("kind", ["THREAD", pytest.param("PROCESS", marks=pytest.mark.nightly)])
def test_an_asynchronous_save_makes_no_second_copy(folder, kind):
    said = memory_job(2, "save_async_copy", folder, kind)
    assert "needs dcp.save, in the thread that created the writer" in said
    assert committed(folder) == []
