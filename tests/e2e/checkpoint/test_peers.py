"""Copies on a second machine: a machine is lost for good, and the job goes on from a step that was
on no disk."""

import json
import time

import pytest
from checkpoint import saving_job
from checkpoint.saving_job import notes
from helpers.jobs import QUICK, dice, fields, rounds, start_job

torch = pytest.importorskip("torch")

COPIES_KEPT = 35  # docs/formats/journal.md

# The first attempt makes one copy in memory and waits for its end; no worker writes to disk.
SCRIPT = saving_job.BEGIN + r"""
while True:
    step += 1
    if attempt > 0 or step == int(os.environ["COPIED"]):
        checkpoint.save(state_of(step), step, directories=places, every_step=True,
                        disk_every=1_000_000)
    robustrun.step(step)
    dist.barrier()
    note("done", str(step))
    while attempt == 0 and step == int(os.environ["COPIED"]):
        time.sleep(0.01)
    time.sleep(0.02)
"""


def ranks_at_peers(job):
    """The steps of which a second machine has a copy."""
    at_peer = {}
    for record in job.records(COPIES_KEPT):
        for copy in map(fields, record.body.get(2, [])):
            at_peer[copy.get(1, [0])[0]] = bool(copy.get(3, [0])[0])
    return {rank for rank, is_there in at_peer.items() if is_there}


def start_copied(robustrun, machines, saves, copied, *options, hosts=3, script=SCRIPT):
    """A job of two machines of which each has a copy of the other's step `copied`."""
    (saves / "checkpoints").mkdir(parents=True)
    robustrun.write("job.py", script)
    job = start_job(
        robustrun, f"--hosts=h[1-{hosts}]", "--iface=eth0", "--nnodes=2", f"--spares={hosts - 2}",
        *QUICK, *options, "job.py",
        env={**machines.home.environment(), "SAVES": str(saves), "GLOO_SOCKET_IFNAME": "eth0",
             "COPIED": str(copied)},
        prefix=machines.prefix,
    )
    if hosts > 2:
        job.wait(job.spares, "the spare", 150)
    job.wait(lambda: ranks_at_peers(job) == {0, 1}, "copies of both ranks at peers", 300)
    return job


@rounds(of_ci=1)
def test_a_lost_machine_loses_no_step_that_its_peer_holds(lab, robustrun, seed):
    chance = dice(seed, "peers' copies")
    machines = lab(3)
    saves = robustrun.folder / "saves"
    copied = 3 + chance.randrange(30)
    job = start_copied(robustrun, machines, saves, copied)
    victim = chance.choice(["h1", "h2"])
    lost_rank = job.group_names().index(victim)
    print("loses", victim, "with copies of step", copied)
    machines[victim].lose_power()
    resumed = job.wait(lambda: notes(saves, "resumed.1"), "a resumption", 300)
    for rank, (step, from_memory, size) in enumerate(resumed):
        assert step == copied
        assert from_memory == size, f"rank {rank} (lost: {lost_rank}) took it from memory"
    job.wait(lambda: min(notes(saves, "done"))[0] > copied + 2, "more steps", 150)
    job.stop()
    robustrun.expect_nothing_left()


def test_a_run_ended_by_a_lost_machine_has_saved_the_copies_of_its_peer(lab, robustrun):
    machines = lab(2)
    saves = robustrun.folder / "saves"
    job = start_copied(robustrun, machines, saves, 7, "--wait-for-nodes=0", "--standby=off",
                       hosts=2)
    machines["h2"].lose_power()
    assert job.finish(300).code != 0
    newest, = json.loads(robustrun.run("ckpt", "ls", "--json", saves / "checkpoints").text)
    assert (newest["step"], newest["state"], newest["tensors"]) == (7, "committed", 6)
    assert robustrun.run("ckpt", "verify", saves / "checkpoints").code == 0
    robustrun.expect_nothing_left()


RATE_MIB = 4  # that each machine sends at most: a round takes 4 s, in which many steps are done
BALLAST = 4_000_000

# A training that makes copies of each rank's state in every step, and writes none to a disk. All is
# a function of the step and of what was loaded, to the bit, gradients of two ranks included.
TRAINING = r"""
import torch

def begin():
    torch.manual_seed(7)
    model = torch.nn.Sequential(torch.nn.Linear(16, 32), torch.nn.Tanh(), torch.nn.Linear(32, 1))
    return model, torch.optim.AdamW(model.parameters(), lr=0.01)

def gradients_of(model, step, rank):
    draw = torch.Generator().manual_seed(1000 * step + rank)
    inputs = torch.randn(8, 16, generator=draw)
    loss = (model(inputs) - inputs.sum(1, keepdim=True).sin()).square().mean()
    model.zero_grad()
    loss.backward()
    return [each.grad for each in model.parameters()] + [loss.detach().reshape(1)]

def advance(model, optimizer, sums):
    for each, total in zip(model.parameters(), sums):
        each.grad = total / 2
    optimizer.step()
    return (sums[-1] / 2).item()
"""

TRAINED = TRAINING + r"""
import os, time
import torch.distributed as dist
import robustrun
from robustrun import checkpoint

rank, folder, attempt = int(os.environ["RANK"]), os.environ["SAVES"], robustrun.attempt()
torch.set_num_threads(1)
dist.init_process_group("gloo")
model, optimizer = begin()
state = {"model": model, "optimizer": optimizer, "ballast": torch.zeros(int(os.environ["BALLAST"]))}
step = checkpoint.load_latest(state, directories=folder + "/checkpoints")
if step is None:
    step = 0
else:
    assert torch.equal(state["ballast"], torch.full_like(state["ballast"], float(step)))
    with open(os.path.join(folder, f"resumed.{attempt}.{rank}"), "w") as file:
        file.write(f"{step} {checkpoint.last_load().from_memory}")
while True:
    step += 1
    sums = gradients_of(model, step, rank)
    for each in sums:
        dist.all_reduce(each)
    loss = advance(model, optimizer, sums)
    state["ballast"].add_(1)
    checkpoint.save(state, step, directories=folder + "/checkpoints", every_step=True,
                    disk_every=1_000_000)
    robustrun.step(step)
    with open(os.path.join(folder, f"losses.{rank}"), "a") as file:
        file.write(f"{attempt} {step} {loss.hex()} {time.monotonic()}\n")
    time.sleep(0.02)
"""


def losses_of(folder, rank):
    path = folder / f"losses.{rank}"
    lines = path.read_text().splitlines(keepends=True) if path.exists() else []
    return [(int(attempt), int(step), float.fromhex(loss), float(at)) for attempt, step, loss, at in
            (line.split() for line in lines if line.endswith("\n"))]


def undisturbed_losses(steps):
    """The same training in one process without interruption."""
    code = {}
    exec(TRAINING, code)
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    model, optimizer = code["begin"]()
    losses = []
    for step in range(1, steps + 1):
        first, second = ([each.clone() for each in code["gradients_of"](model, step, rank)]
                         for rank in range(2))
        sums = [a + b for a, b in zip(first, second, strict=True)]
        losses.append(code["advance"](model, optimizer, sums))
    torch.set_num_threads(threads)
    return losses


@rounds(of_ci=1)
def test_copies_made_faster_than_sent_are_of_the_same_step_on_all_peers(lab, robustrun, seed):
    chance = dice(seed, "rounds of copies")
    machines = lab(3)
    saves = robustrun.folder / "saves"
    (saves / "checkpoints").mkdir(parents=True)
    robustrun.write("job.py", TRAINED)
    job = start_job(
        robustrun, "--hosts=h[1-3]", "--iface=eth0", "--nnodes=2", "--spares=1",
        f"--copies-rate={RATE_MIB}", "--standby=off", *QUICK, "job.py",
        env={**machines.home.environment(), "SAVES": str(saves), "GLOO_SOCKET_IFNAME": "eth0",
             "BALLAST": str(BALLAST)},
        prefix=machines.prefix,
    )
    job.wait(job.spares, "the spare", 150)
    job.wait(lambda: ranks_at_peers(job) == {0, 1}, "copies of both ranks at peers", 300)
    round_s = 4 * BALLAST / (RATE_MIB << 20)
    lost_at = time.monotonic() + (3 + 2 * chance.random()) * round_s
    job.wait(lambda: time.monotonic() > lost_at, "some rounds", 60)
    assert json.loads(robustrun.run("ckpt", "ls", "--json", saves / "checkpoints").text) == []
    victim = chance.choice(["h1", "h2"])
    machines[victim].lose_power()
    before = losses_of(saves, 0)
    reached, lost_at = before[-1][1], before[-1][3]
    resumed = job.wait(lambda: resumptions(saves), "a resumption", 300)
    step = resumed[0][0]
    behind_s = lost_at - next(at for _, each, _, at in before if each == step)
    print(f"lost {victim} at step {reached}, goes on from {step}: {behind_s:.1f} s, "
          f"{reached - step} steps; a copy takes {round_s:.1f} s to be sent")
    assert all(each == [step, each[1]] and each[1] > 4 * BALLAST for each in resumed)
    assert behind_s < 2 * (round_s + 1) + 10, "two rounds at most"
    job.wait(lambda: losses_of(saves, 0)[-1][:2] > (1, reached + 10), "more steps", 150)
    job.stop()
    for rank in range(2):
        made = losses_of(saves, rank)
        right = undisturbed_losses(max(each for _, each, _, _ in made))
        assert {each for attempt, each, _, _ in made if attempt == 1} > {step + 1, reached}
        assert all(loss == right[each - 1] for _, each, loss, _ in made), "another loss"
    robustrun.expect_nothing_left()


def resumptions(folder):
    """Of each rank in the second attempt: step, bytes that came from memory."""
    paths = [folder / f"resumed.1.{rank}" for rank in range(2)]
    found = [[int(word) for word in path.read_text().split()] for path in paths if path.exists()]
    return found if len(found) == 2 and all(len(each) == 2 for each in found) else None
