"""Several machines read an image by blocks from one storage, which sends each block about once."""

import hashlib
import os
import pathlib
import shutil
import signal
import time

import pytest
from helpers.jobs import start_job
from helpers.processes import command_of
from image.block_server import BLOCK
from image.far_storage import Far
from image.squash import NEEDS_MOUNTS, packages_tree, squash

pytestmark = NEEDS_MOUNTS
DATA = 96 << 20
WAITS_FOR_PEERS_S = 10  # agent/image/limits.h
SCRIPT = """
import hashlib, of_the_image, robustrun
path = of_the_image.__file__.replace("of_the_image.py", "data.bin")
print("sum", hashlib.sha256(open(path, "rb").read()).hexdigest(), flush=True)
robustrun.step(1)
"""


@pytest.fixture
def far(lab, robustrun, request):
    if not (pathlib.Path(robustrun.binary).parent / "robustrun-blocks").exists():
        pytest.skip("no robustrun-blocks: built without libfuse3 or libcurl")
    machines = lab(4)
    far = Far(robustrun, machines)
    tree = packages_tree(robustrun.folder / "tree")
    (data,) = tree.glob("lib/python3*/site-packages/data.bin")
    far.data = os.urandom(getattr(request, "param", DATA))
    data.write_bytes(far.data)
    image = squash(tree, far.below / "image.sqsh")
    far.right = hashlib.sha256(far.data).hexdigest()
    far.size = image.stat().st_size
    # It is not compressed, and the data is whole blocks of it.
    assert far.data in image.read_bytes(), "the image was made wrong"
    return far


def start(runner, far, *options):
    machines = far.machines
    runner.write("train.py", SCRIPT)
    return start_job(
        runner, "--hosts=h[1-4]", "--iface=eth0", "--nproc-per-node=1", "--preflight=off",
        f"--cache-dir={far.cache}", f"--image={far.path / 'image.sqsh'}", "--image-mode=blocks",
        *options, "train.py",
        env={**machines.home.environment(), "PYTHON_EXEC": "/bin/python3"}, prefix=machines.prefix,
    )


def sums_read(far, finished):
    """How many ranks have read what the image was made of, if all have; else what is wrong."""
    sums = [line.rpartition("sum ")[2] for line in finished.text.splitlines() if "sum " in line]
    if set(sums) == {far.right}:
        return len(sums)
    image = (far.below / "image.sqsh").read_bytes()
    state = "as it was made" if far.data in image else "no longer as it was made"
    raise AssertionError(
        f"{finished.text}instead of {far.right}\nthe image is {state}\n"
        f"{far.wrong_blocks(image)}")


def have_all(far, *names):
    return all(far.blocks_at(far.machines[name]) == -(-far.size // BLOCK) for name in names)


def server_of(machine):
    (server,) = [pid for pid in machine.processes()
                 if command_of(pid)[:1] == [b"robustrun-blocks"]]
    return server


def test_each_block_of_an_image_leaves_the_storage_about_once(far, robustrun):
    for start_of in ("recorded", "read ahead"):
        if start_of == "read ahead":
            for machine in far.machines.machines.values():
                shutil.rmtree(f"/proc/{machine.init}/root{far.cache}/blocks")
            far.mount()
        finished = start(robustrun, far).finish(300)
        assert finished.code == 0, finished.errors
        assert sums_read(far, finished) == 4
        read = far.bytes_read()
        print(f"{start_of}: {read / far.size:.3f} copies left the storage")
        # Each machine mounts it before it knows the others; without them it would be four.
        assert DATA < read <= 1.1 * far.size
    robustrun.expect_nothing_left()


def test_the_present_machines_share_blocks_while_one_is_late(far, robustrun):
    late = far.machines["h4"]
    late.drop("input")
    began = time.monotonic()
    job = start(robustrun, far, "--ssh-timeout=180")
    job.wait(lambda: have_all(far, "h1", "h2", "h3"), "all blocks elsewhere", 150)
    # Each has all blocks before the late machine comes, for which the others do not wait.
    time.sleep(max(0.0, WAITS_FOR_PEERS_S + 1 - (time.monotonic() - began)))
    late.pass_all()
    finished = job.finish(300)
    assert finished.code == 0, finished.errors
    assert sums_read(far, finished) == 4
    read = far.bytes_read()
    print(f"{read / far.size:.3f} copies left the storage")
    assert DATA < read <= 1.1 * far.size
    robustrun.expect_nothing_left()


def under_way(robustrun, far):
    """A job whose machines exchange the blocks of an image so slowly that most are missing."""
    job = start(robustrun, far, "--peers-rate=4")
    job.wait(lambda: all(far.blocks_at(m) >= 8 for m in far.machines.machines.values()),
             "the first blocks", 150)
    return job


@pytest.mark.parametrize("far", [32 << 20], indirect=True)
def test_a_stopped_server_delays_no_other_machine(far, robustrun):
    job = under_way(robustrun, far)
    victim = far.machines["h2"]
    server = server_of(victim)
    os.kill(server, signal.SIGSTOP)
    stopped = time.monotonic()
    try:
        job.wait(lambda: have_all(far, "h1", "h3", "h4"), "all blocks elsewhere", 150)
        print(f"the others had all {time.monotonic() - stopped:.1f} s later")
        assert not have_all(far, "h2"), "it was stopped too late to delay the others"
    finally:
        os.kill(server, signal.SIGCONT)
    finished = job.finish(300)
    assert finished.code == 0, finished.errors
    assert sums_read(far, finished) == 4


@pytest.mark.parametrize("far", [32 << 20], indirect=True)
@pytest.mark.parametrize("victim", ["server", "agent"])
def test_a_server_or_agent_that_dies_while_it_passes_blocks_on_is_replaced(far, robustrun, victim):
    job = under_way(robustrun, far)
    machine = far.machines["h3"]
    os.kill(server_of(machine) if victim == "server" else machine.agents()[0], signal.SIGKILL)
    finished = job.finish(300)
    assert finished.code == 0, finished.errors
    assert sums_read(far, finished) >= 4
    read = far.bytes_read()
    print(f"{read / far.size:.3f} copies left the storage")
    assert read <= 2 * far.size
