"""The cache of robustrun-blocks, listed, verified and pruned by `robustrun cache`."""

import json
import os
import random

import pytest
from image.block_server import BLOCK, OddServer, Server

pytestmark = [
    pytest.mark.skipif(os.geteuid() != 0, reason="mounting takes root"),
    pytest.mark.skipif(not os.access("/dev/fuse", os.W_OK), reason="no FUSE: /dev/fuse"),
]


@pytest.fixture
def odd():
    with OddServer(random.Random(7).randbytes(6 * BLOCK - 100)) as server:
        yield server


@pytest.fixture
def cache(robustrun, tmp_path):
    """Runs `robustrun cache VERB …`; returns its exit code and output."""

    def run(*words):
        done = robustrun.run("cache", *words, "--cache-dir", tmp_path / "cache", "--json")
        return done.code, json.loads(done.out)

    return run


def blobs(listed):
    return [entry for entry in listed["entries"] if entry["kind"] == "blob"]


def serve(tmp_path, odd, *options):
    return Server(tmp_path, odd.url, "--origin-rate", 0, "--prefetch", 0, *options)


def test_a_damaged_block_is_found_and_the_next_start_fetches_it_again(tmp_path, odd, cache):
    with serve(tmp_path, odd) as server:
        assert server.image.read_bytes() == odd.data
        server.quit()
        folder = server.cache / "blocks" / server.key
    code, listed = cache("verify")
    assert code == 0
    (blob,) = blobs(listed)
    assert blob["name"] == server.key and blob["what"] == odd.url and not blob["in_use"]
    assert blob["here"] == blob["length"] == len(odd.data) <= blob["bytes"]

    with open(folder / "data", "r+b") as data:
        data.seek(3 * BLOCK + 1234)
        byte = data.read(1)
        data.seek(3 * BLOCK + 1234)
        data.write(bytes([byte[0] ^ 1]))
    assert blobs(cache("ls")[1])[0]["damage"] == ""
    code, listed = cache("verify")
    assert code == 1
    assert blobs(listed)[0]["damage"] == "1 of 6 blocks were wrong, and are forgotten"
    code, listed = cache("verify")
    assert code == 0 and blobs(listed)[0]["here"] == len(odd.data) - BLOCK

    asked = odd.requests
    with serve(tmp_path, odd) as server:
        opened = odd.requests - asked  # to see the content of the source
        assert server.image.read_bytes() == odd.data
        status = server.status()
        assert status["origin_bytes"] == BLOCK and status["rotten"] == 0
        assert odd.requests == asked + opened + 1
    assert blobs(cache("verify")[1])[0]["here"] == len(odd.data)


def test_a_blob_in_use_stays_until_it_is_closed(tmp_path, odd, cache):
    with serve(tmp_path, odd) as server:
        server.read(2 * BLOCK, 10)
        code, removed = cache("gc", "--max", "0", "--unused", "1s")
        assert code == 1 and removed["removed"] == []
        (blob,) = blobs(cache("ls")[1])
        assert blob["in_use"] and blob["here"] < blob["length"] == len(odd.data)
        assert server.read(2 * BLOCK, 10) == odd.data[2 * BLOCK:][:10]
        asked = odd.requests
        assert server.read(2 * BLOCK + 500, 10) == odd.data[2 * BLOCK + 500:][:10]
        assert odd.requests == asked  # it is still there
        server.quit()
    code, removed = cache("gc", "--max", "0")
    assert code == 0
    assert [entry["name"] for entry in removed["removed"]] == [server.key]
    assert blobs(cache("ls")[1]) == [] and not (server.cache / "blocks" / server.key).exists()
