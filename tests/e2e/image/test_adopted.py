"""A killed agent leaves its block server behind; the run's next agent takes it over, over SSH."""

import contextlib
import os
import pathlib
import signal

import pytest
from helpers.jobs import start_job, wait_until_gone
from helpers.processes import command_of, is_alive, wait_for
from image.block_server import PROGRAM
from image.squash import NEEDS_MOUNTS, packages_tree, squash

pytestmark = [*NEEDS_MOUNTS,
              pytest.mark.skipif(not PROGRAM.exists(), reason="no robustrun-blocks")]
SCRIPT = """
import os, time, of_the_image, robustrun
robustrun.step(1)
attempt, rank = os.environ["TORCHELASTIC_RESTART_COUNT"], os.environ["RANK"]
open(f"ready{attempt}.{rank}", "w").close()
while attempt == "0" or not os.path.exists("go"):
    time.sleep(0.02)
data = open(of_the_image.__file__.replace("of_the_image.py", "data.bin"), "rb").read()
print("rank", rank, of_the_image.WORD, len(data), flush=True)
"""


def servers_of(machine):
    return [pid for pid in machine.processes() if command_of(pid)[:1] == [b"robustrun-blocks"]]


def mounts_of(machine):
    with contextlib.suppress(OSError):
        table = pathlib.Path(f"/proc/{machine.init}/mounts").read_text().splitlines()
        return [line.split()[1] for line in table if "/mounts/image-" in line]


def stepped(job, attempt):
    files = [job.runner.folder / f"ready{attempt}.{rank}" for rank in (0, 1)]
    job.wait(lambda: all(file.exists() for file in files), f"steps of attempt {attempt}", 150)


@pytest.fixture
def training(lab, robustrun):
    machines = lab(2)
    image = squash(packages_tree(robustrun.folder / "tree"), robustrun.folder / "image.sqsh")
    robustrun.write("train.py", SCRIPT)
    job = start_job(
        robustrun, "--hosts=h[1-2]", "--iface=eth0", "--nproc-per-node=1", "--preflight=off",
        f"--cache-dir={robustrun.folder / 'cache'}", f"--image={image}", "--image-mode=blocks",
        "train.py", env={**machines.home.environment(), "PYTHON_EXEC": "/bin/python3"},
        prefix=machines.prefix)
    stepped(job, 0)
    return machines, job


def test_the_next_agent_takes_the_server_over_and_mounts_nothing_twice(training):
    machines, job = training
    victim = machines["h1"]
    (server,) = servers_of(victim)
    before = mounts_of(victim)
    assert len(before) == 2  # the blocks and, from them, the image
    (agent,) = victim.agents()
    os.kill(agent, signal.SIGKILL)
    wait_until_gone([agent], 60, "the agent")
    assert is_alive(server)
    stepped(job, 1)
    assert servers_of(victim) == [server]
    assert sorted(mounts_of(victim)) == sorted(before)
    assert victim.agents() != [agent]
    job.runner.write("go", "")
    finished = job.finish()
    assert finished.code == 0, finished.errors
    for rank in (0, 1):
        assert f"rank {rank} from the image {3 << 20}" in finished.text
    wait_for(lambda: not mounts_of(victim) and not servers_of(victim), what="the image's end")
    job.runner.expect_nothing_left()


def test_the_next_agent_replaces_a_stopped_server(training):
    machines, job = training
    victim = machines["h1"]
    (server,) = servers_of(victim)
    os.kill(server, signal.SIGSTOP)
    os.kill(victim.agents()[0], signal.SIGKILL)
    try:
        stepped(job, 1)
        (new,) = [pid for pid in servers_of(victim) if pid != server]
        job.runner.write("go", "")
        finished = job.finish()
        assert finished.code == 0, finished.errors
        wait_until_gone([new], 60, "the new server")
    finally:
        os.kill(server, signal.SIGKILL)
    wait_for(lambda: not mounts_of(victim), what="the image's end")
