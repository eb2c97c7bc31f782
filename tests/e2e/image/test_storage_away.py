"""Jobs whose image is served by blocks, from a storage that goes away while they run."""

import hashlib
import os
import pathlib
import shutil
import subprocess
import tempfile
import time

import pytest
from helpers.processes import wait_for
from image.block_server import BLOCK, PROGRAM, OddServer
from image.squash import NEEDS_MOUNTS, packages_tree, squash

pytestmark = [*NEEDS_MOUNTS,
              pytest.mark.skipif(not PROGRAM.exists(), reason="no robustrun-blocks")]
BUDGET_S = 2
NODE_HEALTH = 20
SUM_BYTES = 16
LOST = "the image's storage does not answer"

# No other process has read the files of rank 1.
SCRIPT = """
import hashlib, mmap, os, time, of_the_image, robustrun
path = of_the_image.__file__.replace("of_the_image.py", "data.bin")
robustrun.step(1)
open("ready" + os.environ["RANK"], "w").close()
while not os.path.exists("away") or os.environ["RANK"] != "1":
    if os.path.exists("done"):
        raise SystemExit
    time.sleep(0.02)
with open(path, "rb") as file:
    print("sum", hashlib.sha256({read}).hexdigest(), flush=True)
open("done", "w").close()
"""
READS = {"read": "file.read()",
         "mapped": "memoryview(mmap.mmap(file.fileno(), 0, prot=mmap.PROT_READ))"}


@pytest.fixture(scope="module")
def image(tmp_path_factory):
    folder = tmp_path_factory.mktemp("image")
    tree = packages_tree(folder / "tree")
    (data,) = tree.glob("lib/python3*/site-packages/data.bin")
    data.write_bytes(os.urandom(16 << 20))
    made = squash(tree, folder / "image.sqsh")
    return made.read_bytes(), hashlib.sha256(data.read_bytes()).hexdigest()


@pytest.fixture
def training(nodes, image):
    """Starts a job of two nodes whose image this process serves."""
    bytes_of_it, _ = image
    runner = nodes.runner
    runtime = pathlib.Path(tempfile.mkdtemp(prefix="rr-away-"))  # sockets have short paths
    del runner.environment["PYTHON_EXEC"]
    with OddServer(bytes_of_it) as storage:
        def start(*options, read="read", script=SCRIPT):
            runner.write("train.py", script.format(read=READS[read]))
            job = nodes("--nnodes=2", "--nproc-per-node=1", "--preflight=off", "--max-restarts=0",
                        f"--image={storage.url}", *options, "train.py",
                        env={"XDG_RUNTIME_DIR": str(runtime),
                             "ROBUSTRUN_IMAGE_RETRY_S": str(BUDGET_S)})
            job.wait(lambda: all((runner.folder / f"ready{rank}").exists() for rank in (0, 1)),
                     "the first step", 150)
            return job

        start.storage = storage
        yield start
    runner.close()
    for line in pathlib.Path("/proc/self/mountinfo").read_text().splitlines()[::-1]:
        if line.split()[4].startswith(f"{runtime}/"):
            subprocess.run(["umount", "-f", "-l", line.split()[4]], check=False)
    shutil.rmtree(runtime, ignore_errors=True)


def go_away(training):
    def be_away(request, first, last):
        request.send_error(503)
        return True

    training.storage.behave = be_away


def kept_blocks(folder):
    (sums,) = (folder / "cache/robustrun/blocks").glob("*/sums")
    data = sums.read_bytes()
    parts = [data[at:at + SUM_BYTES] for at in range(0, len(data), SUM_BYTES)]
    return sum(any(part) for part in parts)


@pytest.mark.parametrize("read", READS)
def test_a_job_that_needs_lost_blocks_ends_with_the_node_and_the_cause(training, read):
    job = training("--prefetch=off", read=read)
    go_away(training)
    job.runner.write("away", "")
    began = time.monotonic()
    finished = job.finish(120)
    assert finished.code != 0
    print(f"ended after {time.monotonic() - began:.1f} s")
    assert time.monotonic() - began < 50  # and not a time limit for each page: one block has 32
    assert "sum" not in finished.text
    node = job.group_names()[1]
    (told,) = [record for record in job.records(NODE_HEALTH) if not record.number(5)]
    assert told.node == job.group()[1]
    assert told.text(2) == f"image {training.storage.url}"
    assert "parts of it that this machine lacks cannot be read: " in told.text(3)
    assert "503" in told.text(3)
    (incident,) = job.runner.report(job.run)["incidents"]
    print(incident)
    looks = incident["looks_like"]
    assert (looks["name"], looks["layer"]) == (LOST, "infrastructure")
    assert "503" in looks["evidence"] and node in looks["evidence"]
    assert f"{node}: image {training.storage.url}: parts of it" in finished.errors


def test_a_storage_that_comes_back_is_reported_and_the_job_goes_on(training):
    # Another part of the file: squashfs remembers a failed one.
    script = SCRIPT.replace("with open", """
import errno
try:
    open(path, "rb").read(8 << 20)
    raise SystemExit("it was read")
except OSError as error:
    assert error.errno == errno.EIO
open("failed", "w").close()
while not os.path.exists("back"):
    time.sleep(0.02)
with open(path, "rb") as file:
    file.seek(12 << 20)
    assert len(file.read()) == 4 << 20
open("done", "w").close()
raise SystemExit
with open""")
    job = training("--prefetch=off", script=script)
    go_away(training)
    job.runner.write("away", "")
    job.wait((job.runner.folder / "failed").exists, "a read that fails")
    training.storage.behave = lambda request, first, last: False
    job.runner.write("back", "")
    finished = job.finish()
    assert finished.code == 0, finished.errors
    assert [record.number(5) for record in job.records(NODE_HEALTH)] == [0, 1]
    assert f"image {training.storage.url}: the source answers again" in finished.errors


def test_a_job_whose_nodes_have_all_blocks_does_not_notice(training, image):
    bytes_of_it, right = image
    job = training()
    blocks = -(-len(bytes_of_it) // BLOCK)
    wait_for(lambda: kept_blocks(job.runner.folder) == blocks, 150, "all of the image")
    go_away(training)
    job.runner.write("away", "")
    finished = job.finish()
    assert finished.code == 0, finished.errors
    assert f"sum {right}" in finished.text
    assert not job.records(NODE_HEALTH)
    assert "503" not in finished.errors and "cannot be read" not in finished.errors
