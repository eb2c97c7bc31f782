"""An image that several machines take from one storage by blocks; each leaves it about once."""

import os
import pathlib
import shutil
import subprocess

import pytest
from far_storage import Far
from images import NEEDS_MOUNTS, packages_tree, squash
from nodes import start_job

pytestmark = NEEDS_MOUNTS
DATA = 96 << 20
SCRIPT = """
import hashlib, of_the_image, robustrun
path = of_the_image.__file__.replace("of_the_image.py", "data.bin")
print("sum", hashlib.sha256(open(path, "rb").read()).hexdigest(), flush=True)
robustrun.step(1)
"""


@pytest.fixture
def far(lab, robustrun):
    if not (pathlib.Path(robustrun.binary).parent / "robustrun-blocks").exists():
        pytest.skip("no robustrun-blocks: built without libfuse3 or libcurl")
    machines = lab(4)
    far = Far(robustrun, machines)
    tree = packages_tree(robustrun.folder / "tree")
    (data,) = tree.glob("lib/python3*/site-packages/data.bin")
    data.write_bytes(os.urandom(DATA))
    squash(tree, far.below / "image.sqsh")
    far.right = subprocess.check_output(["sha256sum", data], text=True).split()[0]
    return far


def start(runner, far):
    machines = far.machines
    runner.write("train.py", SCRIPT)
    return start_job(
        runner, "--hosts=h[1-4]", "--iface=eth0", "--nproc-per-node=1", "--preflight=off",
        f"--cache-dir={far.cache}", f"--image={far.path / 'image.sqsh'}", "--image-mode=blocks",
        "train.py", env={**machines.home.environment(), "PYTHON_EXEC": "/bin/python3"},
        prefix=machines.prefix,
    )


def test_each_block_of_an_image_leaves_the_storage_about_once(far, robustrun):
    size = (far.below / "image.sqsh").stat().st_size
    for start_of in ("recorded", "read ahead"):
        if start_of == "read ahead":
            for machine in far.machines.machines.values():
                shutil.rmtree(f"/proc/{machine.init}/root{far.cache}/blocks")
            far.mount()
        finished = start(robustrun, far).finish(120)
        assert finished.code == 0, finished.errors
        assert finished.text.count(f"sum {far.right}") == 4, finished.text
        read = far.bytes_read()
        print(f"{start_of}: {read / size:.3f} copies left the storage")
        # Each machine mounts it before it knows the others; without them it would be four.
        assert DATA < read <= 1.1 * size
    robustrun.expect_nothing_left()
