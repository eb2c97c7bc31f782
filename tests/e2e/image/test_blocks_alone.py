"""robustrun-blocks without a writable cache, or without an agent."""

import errno
import fcntl
import os
import pathlib
import random
import resource
import subprocess
import time

import pytest
from helpers.processes import wait_for
from image.block_server import BLOCK, PROGRAM, Client, OddServer, Server
from image.squash import NEEDS_MOUNTS, squash

pytestmark = [
    pytest.mark.skipif(os.geteuid() != 0, reason="mounting takes root"),
    pytest.mark.skipif(not os.access("/dev/fuse", os.W_OK), reason="no FUSE: /dev/fuse"),
]


@pytest.fixture
def odd():
    with OddServer(random.Random(9).randbytes(6 * BLOCK - 100)) as server:
        yield server


@pytest.fixture(scope="module")
def failing_store(tmp_path_factory):
    library = tmp_path_factory.mktemp("failing") / "failing_store.so"
    source = pathlib.Path(__file__).with_name("failing_store.c")
    subprocess.run(["cc", "-shared", "-fPIC", "-o", library, source], check=True)
    return library


@pytest.fixture
def refuse(failing_store, monkeypatch):
    """From now on a system call of servers fails, except for the first `count` times."""

    def begin(call, error, count=0):
        monkeypatch.setenv("LD_PRELOAD", str(failing_store))
        monkeypatch.setenv("STORE_FAILS", f"{call} {error} {count}")

    return begin


@pytest.fixture(params=["read-only", "read-only by now", "without inodes", "over a quota",
                        "without a right"])
def closed_cache(request, tmp_path, odd, refuse):
    cache = tmp_path / "closed"
    cache.mkdir()
    if request.param in ("over a quota", "without a right"):
        refuse("mkdir", errno.EDQUOT if request.param == "over a quota" else errno.EACCES)
        yield cache
        return
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


def test_an_image_is_served_even_if_the_cache_cannot_be_written(
    tmp_path, odd, closed_cache
):
    with Server(tmp_path, odd.url, cache=closed_cache) as server:
        assert server.client, server.words
        assert server.image.read_bytes() == odd.data
        assert server.read(2 * BLOCK + 5, 100) == odd.data[2 * BLOCK + 5:][:100]
        status = server.status()
        assert status["stored_blocks"] == 0 and status["errors"] == 0
        assert status["passed"] >= 6 and status["trouble"] == ""
        said = [event for event in server.client.events if "no blocks are kept" in event]
        assert len(said) == 1 and str(closed_cache) in said[0]
        assert server.quit() == 0


def away(request, first, last):
    request.send_error(503)
    return True


def test_a_late_client_gets_the_state_of_the_cache_and_of_the_source(tmp_path, odd, closed_cache):
    with Server(tmp_path, odd.url, "--retry-budget", 1, cache=closed_cache) as server:
        odd.behave = away
        with pytest.raises(OSError):
            server.read(0, 10)
        late = Client(server.socket)
        late.status()
        late.close()
        assert len([event for event in late.events if "no blocks are kept" in event]) == 1
        assert [event for event in late.events if "503" in event]


@pytest.mark.parametrize("error, words", [(errno.EDQUOT, "a quota"),
                                          (errno.ENOSPC, "the disk"),
                                          (errno.EACCES, "Permission denied")],
                         ids=["quota", "disk", "right"])
def test_a_full_cache_is_reported_once_and_everything_is_served(
    tmp_path, odd, refuse, error, words
):
    refuse("pwrite", error, 2)
    with Server(tmp_path, odd.url, "--origin-rate", 0, "--prefetch", 0) as server:
        assert server.image.read_bytes() == odd.data

        def said(client):
            client.status()
            return [event for event in client.events if "may not be kept" in event]

        wait_for(lambda: said(server.client), what="the news")
        assert server.read(5 * BLOCK, 100) == odd.data[5 * BLOCK:][:100]
        status = server.status()
        assert status["stored_blocks"] == 2 and status["passed"] >= 4
        assert status["errors"] == 0 and status["trouble"] == ""
        assert len(said(server.client)) == 1 and words in said(server.client)[0]
        late = Client(server.socket)
        assert said(late) == said(server.client)
        late.close()
        assert server.quit() == 0


def test_a_cache_of_another_user_is_still_refused(tmp_path, odd):
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
                time.sleep(3)  # longer than it would wait for a dead agent
                assert server.process.poll() is None
                another = Client(server.socket)
                another.status()  # the server knows the mount
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


def test_without_threads_there_is_one_line_and_no_mount(tmp_path, odd):
    def no_room_for_a_stack():
        resource.setrlimit(resource.RLIMIT_STACK, (1 << 36, resource.RLIM_INFINITY))
        resource.setrlimit(resource.RLIMIT_AS, (1 << 34, 1 << 34))

    mount = tmp_path / "mnt"
    done = subprocess.run(
        [PROGRAM, "serve", "--source", odd.url, "--cache", tmp_path / "cache", "--mount", mount,
         "--socket", tmp_path / "mnt.sock"],
        preexec_fn=no_room_for_a_stack, capture_output=True, text=True, timeout=120)
    assert done.returncode == 1, done.stderr
    line, = done.stderr.splitlines()
    assert line.startswith("robustrun-blocks: cannot go on: ") and "ulimit -u" in line
    assert str(mount) not in pathlib.Path("/proc/self/mountinfo").read_text()


def test_a_client_for_whom_there_is_no_thread_is_turned_away_and_the_others_are_served(
        tmp_path, odd):
    with Server(tmp_path, odd.url, "--origin-rate", 0) as server:
        assert server.status()["key"] == server.key  # its client has threads now
        pid = server.process.pid
        pages = int(pathlib.Path(f"/proc/{pid}/statm").read_text().split()[0])
        before = resource.prlimit(pid, resource.RLIMIT_AS)
        room = pages * resource.getpagesize() + (2 << 20)  # less than a thread's stack
        resource.prlimit(pid, resource.RLIMIT_AS, (room, before[1]))
        clients = []
        with pytest.raises((EOFError, ConnectionError)):
            for _ in range(8):  # stacks of threads that have ended may be used again
                clients.append(Client(server.socket))
                clients[-1].status()
        assert server.status()["key"] == server.key
        resource.prlimit(pid, resource.RLIMIT_AS, before)
        assert Client(server.socket).status()["key"] == server.key
