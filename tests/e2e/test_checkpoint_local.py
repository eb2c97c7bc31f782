"""Checkpoints on machines' own disks: a machine is lost for good, and a spare goes on from the
newest step on shared storage."""

import json
import os
import signal
from pathlib import Path

import pytest
from checkpoint_reader import read_manifest, read_shard
from nodes import QUICK, start_job
from test_checkpoint_peers import notes

torch = pytest.importorskip("torch")

# Each machine has a /dev/shm of its own, which is gone with its power: its local disk. The state is
# a function of the step: whoever reads it knows whether it is right, to the bit.
SCRIPT = r"""
import os, time
import torch
import torch.distributed as dist
import robustrun
from robustrun import checkpoint

rank, folder = int(os.environ["RANK"]), os.environ["SAVES"]
attempt, replicated = robustrun.attempt(), os.environ["REPLICATED"] == "1"
sizes = [300_000, 17, 25_000, 250_000]

def state_of(step):
    mine = 0 if replicated else rank
    return {"step": step, "tensors": [torch.arange(n, dtype=torch.float32) * (step + 1) + mine + i
                                      for i, n in enumerate(sizes)]}

def note(name, text):
    path = os.path.join(folder, f"{name}.{rank}")
    with open(path + ".tmp", "w") as file:
        file.write(text)
    os.replace(path + ".tmp", path)

torch.set_num_threads(1)
dist.init_process_group("gloo")
state = state_of(-1)
step = checkpoint.load_latest(state, directories=folder + "/checkpoints")
if step is None:
    step = -1
else:
    right = state_of(step)
    assert state["step"] == step
    assert all(torch.equal(a, b) for a, b in zip(state["tensors"], right["tensors"])), "bytes"
    note(f"resumed.{attempt}", str(step))
for step in range(step + 1, 5 if attempt == 0 else step + 4):
    robustrun.step(step)
    checkpoint.save(state_of(step), step, directories=folder + "/checkpoints", drain_every=3,
                    local=os.environ["LOCAL_DISK"], replicated=replicated, keep=1)
checkpoint.wait()
dist.barrier()
note(f"saved.{attempt}", str(step))
while True:
    time.sleep(0.05)
"""


def listed(robustrun, place):
    found = json.loads(robustrun.run("ckpt", "ls", "--json", place).text)
    return {each["step"]: each for each in found if each["state"] == "committed"}


@pytest.mark.parametrize("replicated", [False, True], ids=["own", "replicated"])
def test_a_spare_goes_on_from_the_newest_step_on_shared_storage(lab, robustrun, replicated):
    machines = lab(3)
    saves = robustrun.folder / "saves"
    places = saves / "checkpoints"
    places.mkdir(parents=True)
    robustrun.write("job.py", SCRIPT)
    job = start_job(
        robustrun, "--hosts=h[1-3]", "--iface=eth0", "--nnodes=2", "--spares=1", *QUICK, "job.py",
        env={**machines.home.environment(), "SAVES": str(saves), "GLOO_SOCKET_IFNAME": "eth0",
             "LOCAL_DISK": f"/dev/shm/disk-{os.getpid()}", "REPLICATED": str(int(replicated))},
        prefix=machines.prefix,
    )
    job.wait(job.spares, "the spare", 90)
    assert job.wait(lambda: notes(saves, "saved.0"), "saves", 120) == [[4], [4]]
    # 0 and 3 are drained, and 0 went behind 3; 4 is on the machines' disks alone.
    found = listed(robustrun, places)
    assert sorted(found) == [3, 4] and found[3]["drained"] and found[3]["verified"]
    assert found[4]["local"] == ["h1", "h2"] and not found[4]["drained"]
    manifest = read_manifest(Path(found[4]["folders"][0]) / "MANIFEST")
    files = manifest["nodes"]["h1"] + manifest["nodes"]["h2"]
    assert sorted(files) == list(range(len(manifest["files"]))) and len(files) == 2
    manifest = read_manifest(Path(found[3]["folders"][0]) / "MANIFEST")
    for shard in manifest["shards"]:  # as anybody who reads the page of the format
        if shard["bytes"] < 200_000:
            assert read_shard(manifest, found[3]["folders"], shard)
    assert "on local disks alone: h1, h2" in robustrun.run("ckpt", "ls", places).text
    verified = robustrun.run("ckpt", "verify", "--step=4", places)
    assert verified.code == 1 and "NOT REACHABLE" in verified.text
    assert "DAMAGED" not in verified.text
    assert robustrun.run("ckpt", "verify", "--step=3", places).code == 0

    # A worker dies: its machine's disk is still there, and the newest step is taken.
    victim = machines["h2"].workers("job.py")[0]
    os.kill(victim, signal.SIGKILL)
    assert job.wait(lambda: notes(saves, "resumed.1"), "a resumption", 120) == [[4], [4]]
    assert job.wait(lambda: notes(saves, "saved.1"), "saves", 120) == [[7], [7]]
    found = listed(robustrun, places)
    assert sorted(found) == [5, 6, 7] and [step for step in found if found[step]["drained"]] == [5]

    # A machine is lost with its disk: 7 and 6 cannot be read by all, nor are they marked.
    machines["h2"].lose_power()
    assert job.wait(lambda: notes(saves, "resumed.2"), "a resumption", 120) == [[5], [5]]
    assert "is on a local disk of a machine that is not there" in job.out() + job.err()
    assert job.wait(lambda: notes(saves, "saved.2"), "saves", 120) == [[8], [8]]
    found = listed(robustrun, places)
    assert not any(each["poisoned"] for each in found.values())
    assert [step for step in found if found[step]["drained"]] == [6]
    job.stop()
    robustrun.expect_nothing_left()
