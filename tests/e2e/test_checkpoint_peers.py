"""Copies on a second machine: a machine is lost for good, and the job goes on from a step that
nobody had written to a disk."""

import json

import pytest
from nodes import QUICK, dice, fields, rounds, start_job

torch = pytest.importorskip("torch")

COPIES_KEPT = 35  # docs/formats/journal.md

# Each rank's state is a function of the step: whoever reads it knows whether it is right, to the
# bit. The first attempt makes one copy in memory and waits for its end; no worker writes to disk.
SCRIPT = r"""
import os, time
import torch
import torch.distributed as dist
import robustrun
from robustrun import checkpoint

rank, folder = int(os.environ["RANK"]), os.environ["SAVES"]
attempt = robustrun.attempt()
sizes = [300_000, 17, 25_000]

def state_of(step):
    return {"step": step, "tensors": [torch.arange(n, dtype=torch.float32) * (step + 1) + rank + i
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
    note(f"resumed.{attempt}", f"{step} {checkpoint.last_load().from_memory} {4 * sum(sizes)}")
while True:
    step += 1
    if attempt > 0 or step == int(os.environ["COPIED"]):
        checkpoint.save(state_of(step), step, directories=folder + "/checkpoints", every_step=True,
                        disk_every=1_000_000)
    robustrun.step(step)
    dist.barrier()
    note("done", str(step))
    while attempt == 0 and step == int(os.environ["COPIED"]):
        time.sleep(0.01)
    time.sleep(0.02)
"""


def notes(folder, name, ranks=2):
    paths = [folder / f"{name}.{rank}" for rank in range(ranks)]
    if not all(path.exists() for path in paths):
        return None
    return [[int(word) for word in path.read_text().split()] for path in paths]


def ranks_at_peers(job):
    """Those of which a second machine has a copy."""
    at_peer = {}
    for record in job.records(COPIES_KEPT):
        for copy in map(fields, record.body.get(2, [])):
            at_peer[copy.get(1, [0])[0]] = bool(copy.get(3, [0])[0])
    return {rank for rank, is_there in at_peer.items() if is_there}


def start_copied(robustrun, machines, saves, copied, *options, hosts=3):
    """A job of two machines of which each has a copy of the other's step `copied`."""
    (saves / "checkpoints").mkdir(parents=True)
    robustrun.write("job.py", SCRIPT)
    job = start_job(
        robustrun, f"--hosts=h[1-{hosts}]", "--iface=eth0", "--nnodes=2", f"--spares={hosts - 2}",
        *QUICK, *options, "job.py",
        env={**machines.home.environment(), "SAVES": str(saves), "GLOO_SOCKET_IFNAME": "eth0",
             "COPIED": str(copied)},
        prefix=machines.prefix,
    )
    if hosts > 2:
        job.wait(job.spares, "the spare", 90)
    job.wait(lambda: ranks_at_peers(job) == {0, 1}, "copies of both ranks at peers", 120)
    return job


@rounds(of_ci=1)
def test_a_lost_machine_costs_no_step_that_its_peer_has(lab, robustrun, seed):
    chance = dice(seed, "peers' copies")
    machines = lab(3)
    saves = robustrun.folder / "saves"
    copied = 3 + chance.randrange(30)
    job = start_copied(robustrun, machines, saves, copied)
    victim = chance.choice(["h1", "h2"])
    lost_rank = job.group_names().index(victim)
    print("loses", victim, "with copies of step", copied)
    machines[victim].lose_power()
    resumed = job.wait(lambda: notes(saves, "resumed.1"), "a resumption", 120)
    for rank, (step, from_memory, size) in enumerate(resumed):
        assert step == copied
        assert from_memory == size, f"rank {rank} (lost: {lost_rank}) took it from memory"
    job.wait(lambda: min(notes(saves, "done"))[0] > copied + 2, "more steps", 60)
    job.stop()
    robustrun.expect_nothing_left()


def test_a_run_that_a_lost_machine_ends_has_saved_what_its_peer_has(lab, robustrun):
    machines = lab(2)
    saves = robustrun.folder / "saves"
    job = start_copied(robustrun, machines, saves, 7, "--wait-for-nodes=0", hosts=2)
    machines["h2"].lose_power()
    assert job.finish(90).code != 0
    newest, = json.loads(robustrun.run("ckpt", "ls", "--json", saves / "checkpoints").text)
    assert (newest["step"], newest["state"], newest["tensors"]) == (7, "committed", 6)
    assert robustrun.run("ckpt", "verify", saves / "checkpoints").code == 0
    robustrun.expect_nothing_left()
