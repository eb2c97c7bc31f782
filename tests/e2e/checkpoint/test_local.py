"""Checkpoints on machines' own disks: a machine is lost for good, and a spare goes on from the
newest step on shared storage."""

import json
import os
import signal
from pathlib import Path

import pytest
from checkpoint import saving_job
from checkpoint.reader import read_manifest, read_shard
from checkpoint.saving_job import notes, resumed_at
from helpers.jobs import QUICK, start_job

torch = pytest.importorskip("torch")

# Each machine has a /dev/shm of its own, which is gone with its power: its local disk.
SCRIPT = saving_job.BEGIN + r"""
for step in range(step + 1, 5 if attempt == 0 else step + 4):
    robustrun.step(step)
    checkpoint.save(state_of(step), step, directories=places, drain_every=3,
                    local=os.environ["LOCAL_DISK"], replicated=replicated, keep=1)
checkpoint.wait()
dist.barrier()
note(f"saved.{attempt}", str(step))
while True:
    time.sleep(0.05)
"""

# Drains of the first attempt take for ever; later attempts save nothing.
BROKEN_OFF = saving_job.BEGIN + r"""
for step in range(step + 1, 3 if attempt == 0 else step + 1):
    robustrun.step(step)
    checkpoint.save(state_of(step), step, directories=places, drain_every=9, drain_rate=1,
                    local=os.environ["LOCAL_DISK"], replicated=replicated)
dist.barrier()
note(f"saved.{attempt}", str(step))
while True:
    robustrun.step(step)
    time.sleep(0.05)
"""


def listed(robustrun, place):
    found = json.loads(robustrun.run("ckpt", "ls", "--json", place).text)
    return {each["step"]: each for each in found if each["state"] == "committed"}


def started(lab, robustrun, script, replicated):
    """Two machines and a spare."""
    machines = lab(3)
    saves = robustrun.folder / "saves"
    (saves / "checkpoints").mkdir(parents=True)
    robustrun.write("job.py", script)
    job = start_job(
        robustrun, "--hosts=h[1-3]", "--iface=eth0", "--nnodes=2", "--spares=1",
        "--standby=off", *QUICK, "job.py",
        env={**machines.home.environment(), "SAVES": str(saves), "GLOO_SOCKET_IFNAME": "eth0",
             "LOCAL_DISK": f"/dev/shm/disk-{os.getpid()}", "REPLICATED": str(int(replicated))},
        prefix=machines.prefix,
    )
    job.wait(job.spares, "the spare", 90)
    return machines, job, saves


# Each test runs with one of the kinds in `make test`.
OWN, REPLICATED = pytest.param(False, id="own"), pytest.param(True, id="replicated")


def nightly(kind):
    return pytest.param(*kind.values, id=kind.id, marks=pytest.mark.nightly)


@pytest.mark.parametrize("replicated", [OWN, nightly(REPLICATED)])
def test_a_spare_goes_on_from_the_newest_step_on_shared_storage(lab, robustrun, replicated):
    machines, job, saves = started(lab, robustrun, SCRIPT, replicated)
    places = saves / "checkpoints"
    assert job.wait(lambda: notes(saves, "saved.0"), "saves", 120) == [[4], [4]]
    # 0 and 3 are drained, 0 was removed after 3; 4 is only on the machines' disks.
    found = listed(robustrun, places)
    assert sorted(found) == [3, 4] and found[3]["drained"] and found[3]["verified"]
    assert found[4]["local"] == ["h1", "h2"] and not found[4]["drained"]
    manifest = read_manifest(Path(found[4]["folders"][0]) / "MANIFEST")
    files = manifest["nodes"]["h1"] + manifest["nodes"]["h2"]
    assert sorted(files) == list(range(len(manifest["files"]))) and len(files) == 2
    manifest = read_manifest(Path(found[3]["folders"][0]) / "MANIFEST")
    for shard in manifest["shards"]:  # as any reader of the format page does
        if shard["bytes"] < 200_000:
            assert read_shard(manifest, found[3]["folders"], shard)
    assert "on local disks alone: h1, h2" in robustrun.run("ckpt", "ls", places).text
    verified = robustrun.run("ckpt", "verify", "--step=4", places)
    assert verified.code == 1 and "NOT REACHABLE" in verified.text
    assert "DAMAGED" not in verified.text
    assert robustrun.run("ckpt", "verify", "--step=3", places).code == 0

    # A worker dies: its machine's disk is intact, and the newest step is taken.
    victim = machines["h2"].workers("job.py")[0]
    os.kill(victim, signal.SIGKILL)
    assert job.wait(lambda: resumed_at(saves, 1), "a resumption", 120) == [4, 4]
    assert job.wait(lambda: notes(saves, "saved.1"), "saves", 120) == [[7], [7]]
    found = listed(robustrun, places)
    assert sorted(found) == [5, 6, 7] and [step for step in found if found[step]["drained"]] == [5]

    # A machine is lost with its disk: not all ranks can read 7 and 6, and they are not marked.
    machines["h2"].lose_power()
    assert job.wait(lambda: resumed_at(saves, 2), "a resumption", 120) == [5, 5]
    job.wait(lambda: "is only on a local disk of a machine that is missing"
             in job.out() + job.err(), "the cause, in a worker's words")
    assert job.wait(lambda: notes(saves, "saved.2"), "saves", 120) == [[8], [8]]
    found = listed(robustrun, places)
    assert not any(each["poisoned"] for each in found.values())
    assert [step for step in found if found[step]["drained"]] == [6]
    job.stop()
    robustrun.expect_nothing_left()


@pytest.mark.parametrize("replicated", [nightly(OWN), REPLICATED])
def test_the_next_attempt_finishes_a_drain_that_a_dead_worker_began(lab, robustrun,
                                                                              replicated):
    machines, job, saves = started(lab, robustrun, BROKEN_OFF, replicated)
    places = saves / "checkpoints"
    assert job.wait(lambda: notes(saves, "saved.0"), "saves", 120) == [[2], [2]]
    job.wait(lambda: len(list(places.rglob("*.drain-g*"))) == 2, "halves of both ranks", 60)
    found = listed(robustrun, places)
    assert sorted(found) == [0, 1, 2] and not any(each["drained"] for each in found.values())

    os.kill(machines["h2"].workers("job.py")[0], signal.SIGKILL)
    assert job.wait(lambda: resumed_at(saves, 1), "a resumption", 120) == [2, 2]
    job.wait(lambda: listed(robustrun, places)[2]["drained"], "the newest on shared storage", 120)
    found = listed(robustrun, places)
    assert [step for step in found if found[step]["drained"]] == [2]
    assert not list(places.rglob("*.drain-g*"))
    assert robustrun.run("ckpt", "verify", "--step=2", places).code == 0

    machines["h2"].lose_power()
    assert job.wait(lambda: resumed_at(saves, 2), "a resumption", 120) == [2, 2]
    job.stop()
    robustrun.expect_nothing_left()
