"""robustrun-blocks starts while its source is away: stored blocks are served, others fail in time,
and a source that comes back as another file is not mixed with them."""

import contextlib
import errno
import os
import random
import time

import pytest
from helpers.processes import wait_for
from image.block_server import BLOCK, OddServer, Server

pytestmark = [
    pytest.mark.skipif(os.geteuid() != 0, reason="mounting takes root"),
    pytest.mark.skipif(not os.access("/dev/fuse", os.W_OK), reason="no FUSE: /dev/fuse"),
]


def be_away(request, first, last):
    request.send_error(503)
    return True


def be_there(request, first, last):
    return False


@pytest.fixture
def odd():
    with OddServer(random.Random(5).randbytes(6 * BLOCK)) as server:
        yield server


@pytest.fixture
def restarted(tmp_path, odd):
    """A server whose predecessor was killed, with blocks 0 and 5 (the ends) and 2; its source is
    away."""
    with Server(tmp_path, odd.url, "--origin-rate", 0) as first:
        for block in (0, 2, 5):
            first.read(block * BLOCK, 10)
        first.kill()
    odd.behave = be_away
    with Server(tmp_path, odd.url, "--origin-rate", 0, "--retry-budget", 2) as second:
        assert second.key == first.key, second.words
        yield second


def fails_in_time(server, offset):
    began = time.monotonic()
    with pytest.raises(OSError) as failed:
        server.read(offset, 10)
    assert failed.value.errno == errno.EIO
    assert time.monotonic() - began < 30


def test_stored_blocks_are_served_and_the_others_once_the_source_is_back(restarted, odd):
    trouble = restarted.status()["trouble"]
    assert "503" in trouble and "goes on with what is kept of it: 3 of 6 blocks" in trouble
    assert any("goes on with what is kept" in event for event in restarted.client.events)
    for block in (0, 2, 5):
        assert restarted.read(block * BLOCK + 77, 1000) == odd.data[block * BLOCK + 77:][:1000]
    fails_in_time(restarted, BLOCK)
    assert "503" in restarted.status()["trouble"]
    assert restarted.read(2 * BLOCK, 10) == odd.data[2 * BLOCK:][:10]
    odd.behave = be_there

    def is_read():  # a recent failure is not retried at once
        with contextlib.suppress(OSError):
            return restarted.image.read_bytes() == odd.data
    wait_for(is_read, 20, "all of it")
    assert restarted.status()["trouble"] == ""
    wait_for(lambda: restarted.status() and any(
        "answers again" in event for event in restarted.client.events), 20, "it is told")


def test_a_source_that_comes_back_as_another_file_is_not_mixed_in(restarted, odd):
    odd.etag = '"v2"'
    odd.behave = be_there
    fails_in_time(restarted, BLOCK)
    status = restarted.status()
    assert "whose blocks are kept" in status["trouble"]
    assert restarted.key in status["trouble"]
    assert any("another file" in event for event in restarted.client.events)
    assert restarted.read(2 * BLOCK, 10) == odd.data[2 * BLOCK:][:10]


def test_the_answer_of_the_source_counts_and_not_its_former_file(tmp_path, odd):
    with Server(tmp_path, odd.url, "--origin-rate", 0) as first:
        first.read(0, 10)
    odd.etag = '"v2"'
    with Server(tmp_path, odd.url, "--origin-rate", 0) as second:
        assert second.key != first.key
        assert second.status()["stored_blocks"] == 0
        second.read(0, 10)
    odd.behave = be_away
    with Server(tmp_path, odd.url, "--retry-budget", 2) as third:
        assert third.key == second.key  # the last one


def test_without_a_known_blob_there_is_no_start(tmp_path, odd):
    with Server(tmp_path, odd.url, "--origin-rate", 0) as first:
        first.read(0, 10)
    odd.behave = be_away
    with Server(tmp_path, odd.url + "?token=2", "--retry-budget", 1) as other:
        assert other.process.wait(20) == 1
        assert "503" in other.words


def test_a_silent_source_does_not_prevent_a_start(tmp_path, odd):
    with Server(tmp_path, odd.url, "--origin-rate", 0) as first:
        first.read(0, 10)

    def be_silent(request, first, last):
        odd.stop_event.wait(60)
        return False
    odd.behave = be_silent
    began = time.monotonic()
    with Server(tmp_path, odd.url, "--origin-rate", 0, "--retry-budget", 2) as second:
        assert second.key == first.key
        assert time.monotonic() - began < 9  # and not the ten seconds of a stalled connection
        assert "does not answer" in second.status()["trouble"]
        assert second.read(5, 10) == odd.data[5:15]
        fails_in_time(second, BLOCK)
