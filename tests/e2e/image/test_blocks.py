"""robustrun-blocks with real FUSE, a real web server and a real squashfs: reads are right, whatever
happens to the store, the source and the server."""

import errno
import filecmp
import hashlib
import os
import random
import shutil
import signal
import subprocess
import threading
import time

import pytest
from helpers.processes import wait_for
from image.block_server import (
    BLOCK,
    ERROR,
    GET,
    NONE,
    OK,
    PEERS,
    SETTLED,
    WANT,
    Client,
    Nginx,
    OddServer,
    Server,
)

pytestmark = [
    pytest.mark.skipif(os.geteuid() != 0, reason="mounting takes root"),
    pytest.mark.skipif(not os.access("/dev/fuse", os.W_OK), reason="no FUSE: /dev/fuse"),
]


def digest(path):
    return hashlib.sha256(path.read_bytes()).hexdigest()


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    """A folder for the web server with `image`, a squashfs of `tree`."""
    for tool in ("mksquashfs", "squashfuse_ll"):
        if not shutil.which(tool):
            pytest.fail(f"no {tool}: scripts/install-deps.sh test installs it")
    folder = tmp_path_factory.mktemp("site")
    folder.chmod(0o755)
    rng = random.Random(11)
    tree = folder / "tree"
    (tree / "lib").mkdir(parents=True)
    (tree / "weights.bin").write_bytes(rng.randbytes(48 * BLOCK))
    for i in range(150):
        (tree / "lib" / f"module{i}.py").write_bytes(rng.randbytes(50_000))
    subprocess.run(["mksquashfs", tree, folder / "image", "-quiet", "-no-progress"], check=True,
                   stdout=subprocess.DEVNULL)
    (folder / "image").chmod(0o644)
    return folder


@pytest.fixture
def nginx(tmp_path, site):
    server = Nginx(tmp_path, site)
    yield server
    server.close()


def test_a_squashfs_from_a_web_server_has_the_same_files(tmp_path, site, nginx):
    with Server(tmp_path, nginx.url("image"), "--origin-rate", 0) as server:
        inside = tmp_path / "inside"
        inside.mkdir()
        subprocess.run(["squashfuse_ll", server.image, inside], check=True)
        try:
            compared = filecmp.dircmp(inside, site / "tree")
            assert compared.left_list == compared.right_list == ["lib", "weights.bin"]
            for path in sorted((site / "tree").rglob("*")):
                if path.is_file():
                    same = inside / path.relative_to(site / "tree")
                    assert same.read_bytes() == path.read_bytes(), path
        finally:
            subprocess.run(["umount", inside], check=True)
        assert digest(server.image) == digest(site / "image")
        status = server.status()
        # Each block left the web server once.
        assert status["origin_bytes"] == (site / "image").stat().st_size
        assert status["errors"] == 0 and status["waiting"] == 0
        assert status["origin_latency_us"] > 0 and status["origin_bytes_per_s"] > 0
        assert os.listdir(server.mount) == ["image"]
        with pytest.raises(OSError):
            open(server.image, "r+b")
        assert server.quit() == 0
    assert not os.path.ismount(server.mount)
    assert not server.socket.exists()


def test_https_needs_a_trusted_certificate(tmp_path, site, monkeypatch):
    certificate = tmp_path / "certificate.pem"
    subprocess.run(["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt",
                    "ec_paramgen_curve:prime256v1", "-nodes", "-days", "2", "-subj", "/CN=origin",
                    "-addext", "subjectAltName=IP:127.0.0.1", "-out", tmp_path / "own.pem",
                    "-keyout", certificate], check=True, capture_output=True)
    with open(certificate, "a") as both:
        both.write((tmp_path / "own.pem").read_text())
    server = Nginx(tmp_path, site, certificate)
    try:
        with Server(tmp_path, server.url("image")) as stranger:
            assert stranger.client is None
            assert "certificate" in stranger.words, stranger.words
        monkeypatch.setenv("CURL_CA_BUNDLE", str(tmp_path / "own.pem"))
        with Server(tmp_path, server.url("image"), name="trusted") as trusted:
            assert digest(trusted.image) == digest(site / "image")
    finally:
        server.close()


def test_the_second_start_finds_the_blocks_of_the_first_one(tmp_path, nginx):
    order = [9, 2, 3, 14, 0]
    with Server(tmp_path, nginx.url("image"), "--origin-rate", 0) as server:
        assert server.status()["recording"] == 1
        for block in order:
            server.read(block * BLOCK + 1000, 4096)
        assert server.status()["demand_fetches"] == len(order)
        assert server.client.ask(SETTLED) == (OK, b"")
        assert server.status()["recording"] == 0
        server.read(6 * BLOCK, 4096)  # no longer part of the start
        server.quit()
        profile = (server.cache / "hot" / f"{server.key}.blocks").read_text()
        runs = [line.split()[1:3] for line in profile.splitlines() if line.startswith("run")]
        assert runs == [["9", "1"], ["2", "2"], ["14", "1"], ["0", "1"]]
    shutil.rmtree(server.cache / "blocks")  # a fresh node that knows the profile
    with Server(tmp_path, nginx.url("image"), "--origin-rate", 0) as server:
        server.wait_status("hot_done")
        assert server.status()["stored_blocks"] == len(order)
        for block in order:
            server.read(block * BLOCK + 1000, 4096)
        status = server.status()
        assert status["demand_fetches"] == 0
        assert status["origin_bytes"] == len(order) * BLOCK
    with Server(tmp_path, nginx.url("image"), "--origin-rate", 0) as server:
        server.wait_status("hot_done")
        for block in order:
            server.read(block * BLOCK + 1000, 4096)
        assert server.status()["origin_bytes"] == 0


def test_with_all_blocks_in_the_store_the_source_may_disappear(tmp_path, site, nginx):
    with Server(tmp_path, nginx.url("image"), "--origin-rate", 10000) as server:
        server.wait_status("all_done")
        nginx.stop()
        assert digest(server.image) == digest(site / "image")
        status = server.status()
        assert status["demand_fetches"] == 0 and status["errors"] == 0
        nginx.start()


def test_after_a_kill_the_next_server_takes_over(tmp_path, site, nginx):
    with Server(tmp_path, nginx.url("image")) as first:
        first.read(0, 100)
        first.kill()
        with pytest.raises(OSError) as dead:
            os.statvfs(first.mount)
        assert dead.value.errno == errno.ENOTCONN
        with Server(tmp_path, nginx.url("image")) as second:
            assert digest(second.image) == digest(site / "image")
            third = Server(tmp_path, nginx.url("image"))
            assert third.process.wait(20) == 1
            assert "something is mounted there" in third.words
            assert digest(second.image) == digest(site / "image")
            assert second.quit() == 0
        assert not os.path.ismount(second.mount)


def test_a_damaged_store_is_fetched_again(tmp_path, site, nginx):
    with Server(tmp_path, nginx.url("image"), "--origin-rate", 0) as server:
        assert digest(server.image) == digest(site / "image")
        server.quit()
    with open(server.cache / "blocks" / server.key / "data", "r+b") as data:
        for block in (0, 7):
            data.seek(block * BLOCK + 12345)
            data.write(b"damage")
    with Server(tmp_path, nginx.url("image"), "--origin-rate", 0) as server:
        assert digest(server.image) == digest(site / "image")
        status = server.status()
        assert status["rotten"] == 2
        assert status["origin_bytes"] == 2 * BLOCK


def test_two_servers_share_one_store(tmp_path, site):
    path = site / "image"
    with (Server(tmp_path, path, "--origin-rate", 0, name="one") as one,
          Server(tmp_path, path, "--origin-rate", 0, name="two") as two):
        assert one.key == two.key
        readers = [threading.Thread(target=digest, args=(server.image,)) for server in (one, two)]
        for reader in readers:
            reader.start()
        for reader in readers:
            reader.join()
        assert digest(one.image) == digest(two.image) == digest(path)
        with Server(tmp_path, path, "--origin-rate", 0, name="three") as three:
            assert digest(three.image) == digest(path)
            assert three.status()["origin_bytes"] == 0


def test_a_full_disk_is_tolerated(tmp_path, site):
    disk = tmp_path / "disk"
    disk.mkdir()
    subprocess.run(["mount", "-t", "tmpfs", "-o", "size=1m", "tmpfs", disk], check=True)
    try:
        with Server(tmp_path, site / "image", "--origin-rate", 0, cache=disk / "cache") as server:
            assert digest(server.image) == digest(site / "image")
            status = server.status()
            assert status["passed"] > 10 and status["errors"] == 0
            assert 0 < status["stored_blocks"] <= (1 << 20) // BLOCK
            server.quit()
    finally:
        subprocess.run(["umount", disk], check=True)


def test_peers_are_asked_before_the_source(tmp_path, site):
    content = (site / "image").read_bytes()
    with Server(tmp_path, site / "image", "--origin-rate", 0) as server:
        assert server.client.ask(PEERS) == (OK, b"")
        got = {}
        reader = threading.Thread(target=lambda: got.update(a=server.read(3 * BLOCK, 10)))
        reader.start()
        kind, id, block, _ = server.client.receive()
        assert (kind, block) == (WANT, 3)
        server.client.send(OK, 3, content[3 * BLOCK:4 * BLOCK], id)
        reader.join()
        assert got["a"] == content[3 * BLOCK:3 * BLOCK + 10]
        other = Client(server.socket)
        assert other.ask(GET, 3, b"\0") == (OK, content[3 * BLOCK:4 * BLOCK])
        assert other.ask(GET, 4, b"\0") == (NONE, b"")
        assert other.ask(GET, 10**6, b"\0")[0] == ERROR
        reader = threading.Thread(target=lambda: got.update(b=other.ask(GET, 4, b"\1")))
        reader.start()
        kind, id, block, _ = server.client.receive()
        assert (kind, block) == (WANT, 4)
        server.client.send(NONE, 4, b"", id)
        reader.join()
        assert got["b"] == (OK, content[4 * BLOCK:5 * BLOCK])
        status = other.status()
        assert status["peer_bytes"] == BLOCK and status["origin_bytes"] == BLOCK
        server.client.close()  # the agent is gone: only the source is left
        assert server.read(5 * BLOCK, 10) == content[5 * BLOCK:5 * BLOCK + 10]
        server.client = other


def test_it_ends_when_it_is_no_longer_needed(tmp_path, site):
    with Server(tmp_path, site / "image", "--idle-exit", 1) as server:
        with open(server.image, "rb") as image:
            server.client.close()
            time.sleep(3)  # longer than it would wait with the image closed
            assert server.process.poll() is None
            assert image.read(10) == (site / "image").read_bytes()[:10]
        assert server.process.wait(20) == 0
    assert not os.path.ismount(server.mount)
    with Server(tmp_path, site / "image") as server:
        server.process.send_signal(signal.SIGTERM)
        assert server.process.wait(20) == 0
    assert not os.path.ismount(server.mount)


def status_only(code):
    def behave(request, first, last):
        request.send_response(code)
        request.send_header("Content-Length", "0")
        request.end_headers()
        return True
    return behave


def redirect(request, first, last):
    request.send_response(302)
    request.send_header("Location", "/again")
    request.send_header("Content-Length", "0")
    request.end_headers()
    return True


@pytest.mark.parametrize("behave, words", [
    (status_only(404), "has no such file (404)"),
    (status_only(403), "refuses it (403)"),
    (status_only(200), "does not serve ranges"),
    (redirect, "redirects too often"),
], ids=["404", "403", "no ranges", "redirects"])
def test_a_server_that_cannot_be_used_is_named_at_once(tmp_path, behave, words):
    with OddServer(bytes(BLOCK), behave) as odd:
        server = Server(tmp_path, odd.url + "?token=secret")
        assert server.process.wait(20) == 1
        assert words in server.words and odd.url in server.words
        assert "secret" not in server.words
        assert not os.path.ismount(server.mount)


def test_a_wrong_range_is_an_error(tmp_path):
    with OddServer(bytes(BLOCK)) as odd:
        odd.behave = lambda request, first, last: (
            odd.serve(request, first, last, (first + 1, last + 1)) or True)
        server = Server(tmp_path, odd.url)
        assert server.process.wait(20) == 1
        assert "wrong range" in server.words


@pytest.mark.parametrize("fault", ["503", "reset", "short", "slow"])
def test_requests_to_a_failing_server_are_retried(tmp_path, fault):
    data = random.Random(5).randbytes(6 * BLOCK + 17)
    with OddServer(data) as odd:
        def falter(request, first, last):
            if odd.requests % 2 == 0 or last - first < BLOCK // 2:
                return False
            if fault == "503":
                return status_only(503)(request, first, last)
            if fault == "slow":
                odd.stop_event.wait(0.3)
                return False
            request.close_connection = True
            if fault == "short":
                request.send_response(206)
                request.send_header("ETag", odd.etag)
                request.send_header("Content-Range", f"bytes {first}-{last}/{len(data)}")
                request.send_header("Content-Length", str(last - first + 1))
                request.end_headers()
                request.wfile.write(data[first:first + 1000])
            return True
        odd.behave = falter
        with Server(tmp_path, odd.url, "--origin-rate", 0) as server:
            assert digest(server.image) == hashlib.sha256(data).hexdigest()
            status = server.status()
            assert status["errors"] == 0 and status["trouble"] == ""
            assert status["origin_bytes"] == len(data)


def test_a_changed_image_is_an_error_that_says_so(tmp_path):
    with OddServer(bytes(4 * BLOCK)) as odd, \
            Server(tmp_path, odd.url, "--origin-rate", 0) as server:
        server.read(0, 10)
        odd.etag = '"v2"'
        with pytest.raises(OSError) as failed:
            server.read(2 * BLOCK, 10)
        assert failed.value.errno == errno.EIO
        assert "it was changed while it was served" in server.status()["trouble"]
        assert any('"v2"' in event for event in server.client.events)
        assert server.read(100, 10) == bytes(10)  # the content of the store is unchanged


def test_a_changed_file_is_an_error_too(tmp_path):
    path = tmp_path / "file"
    path.write_bytes(bytes(4 * BLOCK))
    with Server(tmp_path, path, "--origin-rate", 0) as server:
        with open(path, "r+b") as file:
            file.write(b"x")
        with pytest.raises(OSError):
            server.read(2 * BLOCK, 10)
        assert str(path) in server.status()["trouble"]


def test_a_read_fails_when_the_source_is_silent_for_longer_than_its_budget(tmp_path):
    with OddServer(bytes(4 * BLOCK)) as odd, \
            Server(tmp_path, odd.url, "--origin-rate", 0, "--retry-budget", 2) as server:
        server.read(0, 10)

        def be_silent(request, first, last):
            odd.stop_event.wait(60)
            return False
        odd.behave = be_silent
        began = time.monotonic()
        with pytest.raises(OSError) as failed:
            server.read(2 * BLOCK, 10)
        assert failed.value.errno == errno.EIO
        assert 1.5 < time.monotonic() - began < 45  # of the 60 s of its silence
        assert server.read(100, 10) == bytes(10)
        wait_for(lambda: server.status()["waiting"] == 0, 20, "no read waits")
