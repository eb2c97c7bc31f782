"""Copies of dead workers are saved while the next attempt begins: its workers run, and only what
they load waits. The disk is slow, and standby workers are ready before a worker dies, so that
saving takes longer than a restart on any machine. An agent gives up a save after 8 s, and 5 ms for
each MB more."""

import json
import os
import signal
import subprocess

import pytest
from helpers.fuse import await_mount, need_fuse
from helpers.processes import free_memory, wait_for

torch = pytest.importorskip("torch")

# Each rank's state is a function of the step. Ranks communicate only by files, so that only the
# agents keep a rank from loading before another rank's copy is saved. The first attempt makes two
# copies in memory and saves none; then rank 1 dies on request.
SCRIPT = r"""
import os, signal, sys, time
import torch
import robustrun
from robustrun import checkpoint

rank, folder, mode = int(os.environ["RANK"]), os.environ["NOTES"], os.environ["MODE"]
saves, count = os.environ["SAVES"], int(os.environ["FLOATS"])
attempt = robustrun.attempt()

def state_of(step):
    return {"step": step, "tensor": torch.full((count,), float(10 * step + rank))}

def note(name, *words):
    path = os.path.join(folder, f"{name}.{attempt}.{rank}")
    with open(path + ".part", "w") as file:
        file.write(" ".join(map(str, words)))
    os.replace(path + ".part", path)

def await_note(name):
    while not all(os.path.exists(os.path.join(folder, f"{name}.{attempt}.{each}"))
                  for each in (0, 1)):
        time.sleep(0.01)

torch.set_num_threads(1)
state = state_of(-1)
note("up", time.monotonic(), os.getpid())
if "plain" in mode and attempt > 0:
    await_note("up")
    sys.exit(0)
if attempt == 0:
    assert checkpoint.load_latest(state, directories=saves) is None
    for step in (1, 2):
        checkpoint.save(state_of(step), step, directories=saves, every_step=True,
                        disk_every=1_000_000)
        robustrun.step(step)  # it gets on: what comes next is no crash loop
    note("copied")
    await_note("copied")
    while rank == 0 or not os.path.exists(os.path.join(folder, "die")):
        time.sleep(0.01)
    os.kill(os.getpid(), signal.SIGKILL)
if "save" in mode:  # without a look at what is there
    checkpoint.save(state_of(9), 9, directories=saves)
    note("saved", time.monotonic())
else:
    step = checkpoint.load_latest(state, directories=saves)
    assert state["step"] == step
    assert torch.equal(state["tensor"], state_of(step)["tensor"]), "bytes"
    note("loaded", time.monotonic(), step, checkpoint.last_load().from_memory)
"""


class SlowDisk:
    """A folder with a limited number of bytes per second."""

    def __init__(self, folder, rate):
        self.below, self.path = folder / "below", folder / "slow"
        self.below.mkdir()
        self.path.mkdir()
        need_fuse("bindfs")
        self.server = subprocess.Popen(["bindfs", "-f", "--no-allow-other", f"--write-rate={rate}",
                                        self.below, self.path])
        await_mount(self.server, self.path)

    def close(self):
        self.server.kill()
        self.server.wait()
        subprocess.run(["umount", "-l", self.path], check=False)


@pytest.fixture
def slow_disk(robustrun):
    made = []

    def make(rate):
        made.append(SlowDisk(robustrun.folder, rate))
        return made[-1].path

    yield make
    for disk in made:
        disk.close()


def notes(folder, name, attempt=1):
    paths = [folder / f"{name}.{attempt}.{rank}" for rank in (0, 1)]
    if not all(path.exists() for path in paths):
        return None
    return [[float(word) for word in path.read_text().split()] for path in paths]


def is_committed(saves):
    return bool(list(saves.glob("*/*/MANIFEST")))


def committed_in(robustrun, saves):
    """The saved steps. Agents may also save older copies, which stay incomplete: they do not know
    of each other's."""
    listed = robustrun.run("ckpt", "ls", "--json", saves)
    assert listed.code == 0, listed.errors
    return sorted(each["step"] for each in json.loads(listed.text)
                  if each["state"] == "committed")


def environment(robustrun, saves, mib, mode="load"):
    folder = robustrun.folder / "notes"
    folder.mkdir()
    robustrun.write("job.py", SCRIPT)
    return folder, {"SAVES": str(saves), "NOTES": str(folder), "FLOATS": str(mib << 18),
                    "MODE": mode}


def restarted(robustrun, folder):
    """The notes of the second attempt's ranks, which were standby workers."""
    robustrun.waiting_standbys(2)
    (folder / "die").touch()
    return wait_for(lambda: notes(folder, "up"), 120, "new workers")


def test_workers_start_while_copies_are_saved_for_more_than_8_s_and_load_the_result(
        robustrun, slow_disk):
    # Two workers and the next two with 400 MiB each, and as much again for the copies.
    if free_memory() < 6 << 30:
        pytest.skip("copies of 400 MiB a rank take 6 GiB of free memory, and this machine has less")
    saves = slow_disk(80 << 20)  # 800 MiB: 10 s, and 12 s are waited for
    folder, env = environment(robustrun, saves, 400)
    running = robustrun.start("--nproc-per-node=2", "job.py", env=env)
    up = restarted(robustrun, folder)
    was_committed = is_committed(saves)
    finished = running.finish(120)
    assert finished.code == 0, finished.errors
    assert "no longer outlive it" not in finished.errors, "no memory was given for copies"
    assert not was_committed, "new workers were there before the copies were saved"
    loaded = notes(folder, "loaded")
    for (at, step, from_memory), (began, _) in zip(loaded, up, strict=True):
        assert step == 2, "the newest that was in memory"
        assert from_memory == 400 << 20, "all of it from the memory of the attempt before"
        assert at - began > 2, "what was loaded was waited for"
    assert "saved the copy in memory of step 2, which is committed" in finished.errors
    assert "loads and saves of the next workers wait for that" in finished.errors, "8 s were over"
    assert "not waiting" not in finished.errors
    assert committed_in(robustrun, saves) == [2]
    robustrun.expect_nothing_left(10)


def test_a_rank_waits_for_copies_that_another_node_saves(nodes, slow_disk):
    robustrun = nodes.runner
    saves = slow_disk(40 << 20)  # 200 MiB: 5 s
    folder, env = environment(robustrun, saves, 100)
    job = nodes("--nnodes=2", "--nproc-per-node=1", "job.py", env=env)
    restarted(robustrun, folder)
    assert not is_committed(saves)
    finished = job.finish(120)
    assert finished.code == 0, finished.errors
    assert [step for _, step, _ in notes(folder, "loaded")] == [2, 2]
    assert committed_in(robustrun, saves) == [2]
    robustrun.expect_nothing_left(10)


@pytest.mark.nightly
def test_a_save_without_a_load_waits_for_earlier_copies(robustrun, slow_disk):
    saves = slow_disk(40 << 20)
    folder, env = environment(robustrun, saves, 100, "save")
    running = robustrun.start("--nproc-per-node=2", "job.py", env=env)
    restarted(robustrun, folder)
    assert not is_committed(saves)
    finished = running.finish(120)
    assert finished.code == 0, finished.errors
    assert "saved the copy in memory of step 2, which is committed" in finished.errors
    assert committed_in(robustrun, saves) == [2, 9]
    robustrun.expect_nothing_left(10)


def test_a_run_that_ends_meanwhile_has_saved_the_copies(robustrun, slow_disk):
    """Workers that load no checkpoint do not wait, and their agent stays until all copies are on
    disk."""
    saves = slow_disk(40 << 20)
    folder, env = environment(robustrun, saves, 100, "plain")
    running = robustrun.start("--nproc-per-node=2", "job.py", env=env)
    restarted(robustrun, folder)
    assert not is_committed(saves)
    finished = running.finish(120)
    assert finished.code == 0, finished.errors
    assert committed_in(robustrun, saves) == [2]
    robustrun.expect_nothing_left(10)


@pytest.mark.nightly  # a busy machine may need longer for a restart than the disk for the copies
def test_workers_that_die_again_meanwhile_lose_nothing(robustrun, slow_disk):
    saves = slow_disk(80 << 20)
    folder, env = environment(robustrun, saves, 400)
    running = robustrun.start("--nproc-per-node=2", "job.py", env=env)
    up = restarted(robustrun, folder)
    os.kill(int(up[0][1]), signal.SIGKILL)
    assert not is_committed(saves)
    wait_for(lambda: notes(folder, "up", 2), 120, "workers of a third attempt")
    finished = running.finish(120)
    assert finished.code == 0, finished.errors
    assert [step for _, step, _ in notes(folder, "loaded", 2)] == [2, 2], finished.errors
    robustrun.expect_nothing_left(10)
