"""A real environment with PyTorch on a remote web server, and eight machines that start from it.

The image has 1 GiB or more, the server is nginx behind 400 Mbit/s and 5 ms, each machine has a
cache of its own, and the links between machines are not limited. The test asserts what leaves the
server and what workers see, not how fast: all machines share one computer's processors.
Takes root, some minutes, and the memory for eight caches.
"""

import collections
import hashlib
import importlib.util
import os
import pathlib
import re
import shutil
import sys

import pytest
from helpers.jobs import start_job
from helpers.processes import free_memory
from image.block_server import BLOCK, PROGRAM
from image.far_origin import ADDRESS, Origin
from image.far_storage import blocks_kept, give_folder
from image.squash import NEEDS_MOUNTS, squash

pytestmark = [*NEEDS_MOUNTS,
              pytest.mark.skipif(not PROGRAM.exists(), reason="no robustrun-blocks")]
NODES, NODE_HEALTH = 8, 20
SIZE_MIN, COLD_MIN = 1 << 30, 128 << 20
MEMORY_BESIDES = 6 << 30  # eight interpreters with PyTorch, and the image itself
COPIES_MAX = 1.2
EDGES = 2 * (64 << 10)  # the part by which a server identifies the file

# A training that runs until it is told to end, and then reads what no start has read.
SCRIPT = """
import hashlib, os, sys, time
import torch
torch.set_num_threads(1)
assert torch.__file__.startswith(sys.prefix) and "/mounts/image-" in sys.prefix, torch.__file__
model = torch.nn.Linear(8, 8)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
def step():
    optimizer.zero_grad()
    model(torch.ones(4, 8)).sum().backward()
    optimizer.step()
step()
print("has stepped", flush=True)
if sys.argv[1] == "on":
    while not os.path.exists("told"):
        step()
        time.sleep(0.1)
    with open(os.path.join(sys.prefix, "cold.bin"), "rb") as cold:
        print("sum", hashlib.sha256(cold.read()).hexdigest(), flush=True)
"""


def make_image(folder):
    """An image of this test's environment: its path, and the sum of its file cold.bin."""
    assert importlib.util.find_spec("torch"), "no PyTorch: scripts/install-deps.sh test installs it"
    environment = pathlib.Path(sys.prefix).resolve()
    size = sum(path.lstat().st_size for path in environment.rglob("*"))
    cold = folder / "cold.bin"
    digest = hashlib.sha256()
    with open(cold, "wb") as file:
        for _ in range(max(COLD_MIN, SIZE_MIN + (SIZE_MIN >> 3) - size) >> 20):
            piece = os.urandom(1 << 20)
            file.write(piece)
            digest.update(piece)
    image = squash(environment, folder / "torch.sqsh", "-p", f"cold.bin f 444 0 0 cat {cold}")
    cold.unlink()
    assert image.stat().st_size >= SIZE_MIN
    return image, digest.hexdigest()


class Site:
    def __init__(self, runner, machines):
        self.runner, self.lab = runner, machines
        self.machines = list(machines.machines.values())
        self.cache, files = runner.folder / "cache", runner.folder / "files"
        self.cache.mkdir()
        files.mkdir()
        self.image, self.right = make_image(files)
        self.size = self.image.stat().st_size
        needed = NODES * self.size + MEMORY_BESIDES
        if free_memory() < needed:
            pytest.skip(f"eight caches take {needed >> 30} GiB of memory, more than is free")
        for machine in self.machines:
            give_folder(machine, self.cache)
        self.origin = Origin(machines, runner.folder / "origin", files)
        runner.write("train.py", SCRIPT)

    def start(self, how):
        self.asked_before = len(self.origin.answers())
        return start_job(
            self.runner, f"--hosts=h[1-{NODES}]", "--iface=eth0", "--nproc-per-node=1",
            "--preflight=off", "--standby=off", f"--cache-dir={self.cache}",
            f"--image={self.origin.url}/torch.sqsh", "train.py", how,
            env={**self.lab.home.environment(), "PYTHON_EXEC": "/bin/python3",
                 "no_proxy": ADDRESS}, prefix=self.lab.prefix)

    def answers(self):
        """Of the origin to the last start."""
        return self.origin.answers()[self.asked_before:]

    def place(self, machine, pattern):
        return list(pathlib.Path(f"/proc/{machine.init}/root{self.cache}").glob(pattern))

    def hot(self, machine):
        """Blocks that the machine's next start reads ahead."""
        (profile,) = self.place(machine, "hot/*.blocks")
        runs = re.findall(r"^run (\d+) (\d+) ", profile.read_text(), re.MULTILINE)
        return {int(first) + i for first, count in runs for i in range(int(count))}

    def forget_blocks(self):
        for machine in self.machines:
            shutil.rmtree(*self.place(machine, "blocks"))

    def have_all(self):
        # The allocated size is cheap to see; the sums are counted once it is large enough.
        data = [path for machine in self.machines for path in self.place(machine, "blocks/*/data")]
        return (len(data) == NODES
                and all(path.stat().st_blocks * 512 >= self.size for path in data)
                and all(len(blocks_kept(machine, self.cache)) == -(-self.size // BLOCK)
                        for machine in self.machines))

    def close(self):
        self.origin.close()
        self.image.unlink()


@pytest.fixture
def site(lab, robustrun):
    made = Site(robustrun, lab(NODES))
    yield made
    robustrun.close()
    made.close()


def learn(site):
    """The first start, of empty caches, is recorded on each machine."""
    finished = site.start("short").finish(300)
    assert finished.code == 0, finished.errors
    assert finished.text.count("has stepped") == NODES, finished.text
    hot = set().union(*(site.hot(machine) for machine in site.machines))
    assert len(hot) * BLOCK > 64 << 20  # PyTorch is not smaller
    return hot


def start_and_lose_the_origin(site, hot):
    site.forget_blocks()
    job = site.start("on")
    job.wait(lambda: job.out().count("has stepped") == NODES, "the first step of all", 300)
    job.wait(site.have_all, "all of the image on each machine", 600)
    sent = collections.Counter()
    for first, count in site.answers():
        sent[first // BLOCK in hot] += count
    copies = sent[True] / (len(hot) * BLOCK)
    print(f"image: {site.size >> 20} MiB, {len(hot) * BLOCK >> 20} MiB of them hot; "
          f"{copies:.3f} copies of these left the server, "
          f"{sent.total() / site.size:.3f} of the whole")
    site.origin.cut()
    site.runner.write("told", "")
    finished = job.finish(300)
    assert finished.code == 0, finished.errors
    assert finished.text.count(f"sum {site.right}") == NODES, finished.text
    assert not [record for record in job.records(NODE_HEALTH)
                if record.text(2).startswith("image")]
    assert copies <= COPIES_MAX
    assert sent.total() <= COPIES_MAX * site.size


def block_of(path, block):
    with open(path, "rb") as file:
        return os.pread(file.fileno(), BLOCK, block * BLOCK)


def start_warm_with_a_rotten_block(site):
    site.origin.mend()
    victim = site.machines[2]
    blocks = sorted(site.hot(victim))
    block = blocks[len(blocks) // 2]
    (data,) = site.place(victim, "blocks/*/data")
    right = block_of(site.image, block)
    with open(data, "r+b") as file:
        os.pwrite(file.fileno(), bytes(byte ^ 255 for byte in right[1000:1100]),
                  block * BLOCK + 1000)
    assert block_of(data, block) != right
    finished = site.start("short").finish(300)
    assert finished.code == 0, finished.errors
    assert finished.text.count("has stepped") == NODES, finished.text
    assert block_of(data, block) == right
    answers = site.answers()
    print(f"warm caches: {sum(count for _, count in answers) >> 10} KiB left the server")
    # The machine gets it from another one, or at worst from the server.
    assert sum(count for _, count in answers) <= NODES * EDGES + BLOCK


def test_eight_machines_start_pytorch_from_one_copy_and_do_without_the_server(site):
    hot = learn(site)
    start_and_lose_the_origin(site, hot)
    start_warm_with_a_rotten_block(site)
    site.runner.expect_nothing_left()
