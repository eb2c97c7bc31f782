"""robustrun-blocks without what it usually has: a cache that can be written, and an agent."""

import fcntl
import os
import random
import subprocess
import time

import pytest
from block_server import BLOCK, Client, OddServer, Server
from images import NEEDS_MOUNTS, squash

pytestmark = [
    pytest.mark.skipif(os.geteuid() != 0, reason="mounting takes root"),
    pytest.mark.skipif(not os.access("/dev/fuse", os.W_OK), reason="no FUSE: /dev/fuse"),
]


@pytest.fixture
def odd():
    with OddServer(random.Random(9).randbytes(6 * BLOCK - 100)) as server:
        yield server


@pytest.fixture(params=["read-only", "read-only by now", "without inodes"])
def closed_cache(request, tmp_path, odd):
    cache = tmp_path / "closed"
    cache.mkdir()
    more = ",nr_inodes=1" if request.param == "without inodes" else ""
    subprocess.run(["mount", "-t", "tmpfs", "-o", f"mode=700{more}", "none", cache], check=True)
    try:
        if request.param == "read-only by now":
            with Server(tmp_path, odd.url, "--origin-rate", 0, name="before",
                        cache=cache) as server:
                server.read(0, 10)
                server.quit()
        if request.param.startswith("read-only"):
            subprocess.run(["mount", "-o", "remount,ro", cache], check=True)
        yield cache
    finally:
        subprocess.run(["umount", "-l", cache], check=True)


def test_a_cache_that_cannot_be_written_keeps_no_image_from_being_served(
    tmp_path, odd, closed_cache
):
    with Server(tmp_path, odd.url, cache=closed_cache) as server:
        assert server.client, server.words
        assert server.image.read_bytes() == odd.data
        assert server.read(2 * BLOCK + 5, 100) == odd.data[2 * BLOCK + 5:][:100]
        status = server.status()
        assert status["stored_blocks"] == 0 and status["errors"] == 0
        assert status["passed"] >= 6 and status["trouble"] == ""
        said = [event for event in server.client.events if "no block is kept" in event]
        assert len(said) == 1 and str(closed_cache) in said[0]
        assert server.quit() == 0


def test_a_cache_of_somebody_else_is_refused_all_the_same(tmp_path, odd):
    (tmp_path / "cache/blocks").mkdir(parents=True)
    os.chown(tmp_path / "cache/blocks", 65534, 65534)
    with Server(tmp_path, odd.url) as server:
        assert server.process.wait(20) == 1
        assert "not a private folder" in server.words


@pytest.mark.skipif(any(mark.args[0] for mark in NEEDS_MOUNTS), reason="loop mounts take more")
def test_it_ends_with_all_that_a_dead_agent_mounted_when_no_other_agent_comes(tmp_path):
    tree = tmp_path / "tree"
    tree.mkdir()
    (tree / "file").write_text("of the image")
    image = squash(tree, tmp_path / "image.sqsh")
    folder = tmp_path / "image-0"
    (folder / "root").mkdir(parents=True)
    folder.chmod(0o700)
    root = folder / "root"
    with open(folder / "owner", "w") as owner:
        fcntl.flock(owner, fcntl.LOCK_EX)
        with Server(folder, image, "--folder", folder, "--idle-exit", 1, name="blocks",
                    cache=tmp_path / "cache") as server:
            try:
                subprocess.run(["mount", "-t", "squashfs", "-o", "loop,ro", server.image, root],
                               check=True)
                server.client.close()
                time.sleep(3)  # longer than it would wait, were its agent dead
                assert server.process.poll() is None
                another = Client(server.socket)
                owner.close()
                time.sleep(3)  # nor while an agent is connected
                assert server.process.poll() is None
                assert (root / "file").read_text() == "of the image"
                another.close()
                assert server.process.wait(20) == 0
                assert not folder.exists()
            finally:
                if folder.exists():
                    subprocess.run(["umount", "-l", root], check=False)
