"""Images with a SHA-256 given by the user: in robustrun-blocks alone, and in a job."""

import hashlib
import os
import random

import pytest
from helpers.processes import is_alive, wait_for
from image.block_server import BLOCK, PROGRAM, Client, OddServer, Server
from image.squash import NEEDS_MOUNTS, packages_tree, squash

pytestmark = [
    *NEEDS_MOUNTS,
    pytest.mark.skipif(not os.access("/dev/fuse", os.W_OK), reason="no FUSE: /dev/fuse"),
    pytest.mark.skipif(not PROGRAM.exists(), reason="no robustrun-blocks"),
]
NODE_HEALTH = 20
OTHER = hashlib.sha256(b"another content").hexdigest()


@pytest.fixture
def odd():
    with OddServer(random.Random(3).randbytes(40 * BLOCK - 100)) as server:
        yield server


def digest_of(odd):
    return hashlib.sha256(odd.data).hexdigest()


def serve(folder, odd, digest, *options, **more):
    return Server(folder, f"{odd.url}#sha256={digest}", "--origin-rate", 10000, *options, **more)


def kept_sums(cache):
    (sums,) = (cache / "blocks").glob("*/sums")
    return sums.read_bytes()


def test_checked_content_comes_from_the_cache_for_any_source(tmp_path, odd):
    # Without reading ahead as well: the digest would not be checked.
    with serve(tmp_path, odd, digest_of(odd), "--prefetch", 0) as server:
        assert server.read(3 * BLOCK, 10) == odd.data[3 * BLOCK:][:10]
        server.wait_status("checked")
        assert server.status()["origin_bytes"] == len(odd.data)
        server.quit()
    with OddServer(odd.data) as mirror:
        mirror.etag = '"of the mirror"'
        with serve(tmp_path, mirror, digest_of(odd)) as server:
            assert server.status()["checked"] == 1
            assert server.image.read_bytes() == odd.data
            assert server.status()["origin_bytes"] == 0 and mirror.requests == 0
            server.quit()
        # Of a content that is not here the mirror's blocks are its own.
        with serve(tmp_path, mirror, OTHER, "--origin-rate", 0) as server:
            assert mirror.requests > 0 and server.status()["stored_blocks"] == 0


def test_another_content_is_reported_and_removed(tmp_path, odd):
    with serve(tmp_path, odd, OTHER) as server:
        assert server.read(0, 10) == odd.data[:10]
        wait_for(lambda: server.status() and server.client.events, 60, "the news")
        (said,) = server.client.events
        assert digest_of(odd) in said and OTHER in said and odd.url in said
        with pytest.raises(OSError):
            server.read(7 * BLOCK, 10)
        assert not any(kept_sums(server.cache))
        late = Client(server.socket)
        late.status()
        assert late.events == [said]
        late.close()
        assert server.status()["checked"] == 0
        assert server.quit() == 0
    with Server(tmp_path, odd.url, "--origin-rate", 0) as server:
        assert server.image.read_bytes() == odd.data
        assert server.status()["origin_bytes"] == len(odd.data)


def keep_checked_with_a_rotten_block(folder, odd, block):
    with serve(folder, odd, digest_of(odd)) as server:
        server.wait_status("checked")
        server.quit()
    (data,) = (server.cache / "blocks").glob("*/data")
    with open(data, "r+b") as file:
        os.pwrite(file.fileno(), b"damage", block * BLOCK + 100)


def test_a_block_damaged_later_is_fetched_again_and_all_are_checked_again(tmp_path, odd):
    keep_checked_with_a_rotten_block(tmp_path, odd, 9)
    requests = odd.requests
    with serve(tmp_path, odd, digest_of(odd)) as server:
        assert server.image.read_bytes() == odd.data
        assert server.status()["rotten"] == 1
        server.wait_status("checked")
        assert server.status()["origin_bytes"] == BLOCK and odd.requests > requests
        server.quit()
    requests = odd.requests
    with serve(tmp_path, odd, digest_of(odd)) as server:
        assert server.status()["checked"] == 1 and odd.requests == requests


@pytest.mark.parametrize("is_right", [True, False])
def test_a_damaged_block_may_come_from_a_mirror_whose_content_is_checked(tmp_path, odd,
                                                                            is_right):
    keep_checked_with_a_rotten_block(tmp_path, odd, 9)
    content = odd.data if is_right else odd.data[:9 * BLOCK] + b"other" + odd.data[9 * BLOCK + 5:]
    with OddServer(content) as mirror:
        mirror.etag = '"of the mirror"'
        with serve(tmp_path, mirror, digest_of(odd)) as server:
            assert server.read(9 * BLOCK, 10) == content[9 * BLOCK:][:10]
            assert server.status()["origin_bytes"] == BLOCK
            if is_right:
                server.wait_status("checked")
                assert server.image.read_bytes() == odd.data
            else:
                wait_for(lambda: server.status() and server.client.events, 60, "the news")
                assert mirror.url in server.client.events[0]
                assert not any(kept_sums(server.cache))


def test_an_invalid_digest_is_refused(tmp_path, odd):
    server = serve(tmp_path, odd, "12")
    assert server.process.wait(20) == 2
    assert "64 hexadecimal digits" in server.words and odd.requests == 0


TRAIN = """
import os, time, of_the_image, robustrun
robustrun.step(1)
ready = f"ready.{os.environ['RANK']}"
open(ready + ".part", "w").write(str(os.getpid()))
os.rename(ready + ".part", ready)
step = 1
while not os.path.exists("done"):
    time.sleep(0.05)
    step += 1
    robustrun.step(step)
print("word", of_the_image.WORD)
"""


@pytest.fixture
def image(nodes, tmp_path):
    del nodes.runner.environment["PYTHON_EXEC"]
    made = squash(packages_tree(tmp_path / "tree"), tmp_path / "packages.sqsh")
    with OddServer(made.read_bytes()) as server:
        yield server


def start(nodes, image, digest, count=1):
    nodes.runner.write("train.py", TRAIN)
    return nodes(f"--nnodes={count}", "--nproc-per-node=1", "--preflight=off",
                 f"--image={image.url}#sha256={digest}", "train.py")


def test_a_job_with_the_right_digest_has_a_checked_image(nodes, image):
    job = start(nodes, image, digest_of(image))
    checked = nodes.runner.folder / "cache/robustrun/blocks"
    job.wait(lambda: list(checked.glob("*/checked")), "the end of the check", 60)
    nodes.runner.write("done", "")
    finished = job.finish()
    assert finished.code == 0, finished.errors
    assert "word from the image" in finished.text


@pytest.mark.parametrize("count", [1, 3])
def test_a_job_with_another_content_ends_even_if_it_reads_no_more(nodes, image, count):
    ready = [nodes.runner.folder / f"ready.{rank}" for rank in range(count)]
    middle = len(image.data) // BLOCK // 2

    # Data that no worker reads: the whole image is stored after the first step.
    def hold_back(request, first, last):
        while first // BLOCK == middle and not all(each.exists() for each in ready):
            if image.stop_event.wait(0.05):
                return True
        return False

    image.behave = hold_back
    job = start(nodes, image, OTHER, count)
    job.wait(lambda: all(each.exists() for each in ready), "the first steps", 120)
    finished = job.finish(120)
    assert finished.code != 0
    assert not any(is_alive(int(each.read_text())) for each in ready)
    told = [record for record in job.records(NODE_HEALTH)
            if record.text(2) == f"image {image.url}"]
    assert 1 <= len(told) <= count  # the first ends all of them
    for digest in (digest_of(image), OTHER):
        assert digest in finished.errors and all(digest in each.text(3) for each in told)
    assert image.url in finished.errors
    incidents = nodes.runner.report(job.run)["incidents"]
    print(incidents)
    assert incidents[0]["looks_like"]["name"] == "the image's digest is wrong"
    nodes.runner.expect_nothing_left()
