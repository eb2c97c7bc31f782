"""Waits for training data are in the record: how long, since when, and for what."""

import pytest

BATCHES, WAITED, SINCE, SEQUENCE, SOURCE, PATH = 912, 920, 928, 936, 944, 1008
SKIPPED = 1200
HEAD = "from robustrun._progress import data_waits\n"


@pytest.fixture
def ran(record, boot, tmp_path):
    def run(text):
        (tmp_path / "t.py").write_text(HEAD + text)
        done = boot("script", "t.py", env=record.environment())
        assert done.returncode == 0, done.stderr
        return done.stdout.decode()

    return run


def text_at(record, offset, size):
    return record.path.read_bytes()[offset:offset + size].rstrip(b"\0")


def test_waits_are_counted_and_what_is_awaited_is_named_while_they_last(record, ran):
    ran("import time\nfor _ in range(3):\n"
        "    with data_waits.waiting() as wait:\n        wait.place(b'web', b'/data/web.bin')\n"
        "        time.sleep(0.01)\n"
        "data_waits.skips(7)\n"
        "with data_waits.waiting(b'Images'):\n    import os\n    os._exit(0)\n")
    assert record.word(SKIPPED) == 7
    assert record.word(BATCHES) == 3 and 30_000_000 <= record.word(WAITED) < 60e9
    assert record.word(SINCE) > 0  # it ended while it waited
    assert text_at(record, SOURCE, 64) == b"Images" and not text_at(record, PATH, 192)
    assert record.word(SEQUENCE) % 2 == 0


def test_an_exception_ends_a_wait_without_a_batch(record, ran):
    ran("try:\n    with data_waits.waiting():\n        raise StopIteration\n"
        "except StopIteration:\n    pass\n")
    assert record.word(BATCHES) == 0 and record.word(SINCE) == 0 and record.word(WAITED) > 0


def test_long_texts_are_cut_the_path_at_its_beginning(record, ran):
    ran("with data_waits.waiting() as wait:\n"
        "    wait.place(b's' * 100, b'/' + b'x' * 300 + b'/web.bin')\n"
        "    import os\n    os._exit(0)\n")
    assert text_at(record, SOURCE, 64) == b"s" * 64
    path = text_at(record, PATH, 192)
    assert len(path) == 192 and path.endswith(b"x/web.bin")
    assert record.word(SKIPPED) == 0  # the word behind it


def test_a_child_leaves_the_record_alone(record, ran):
    ran("import os\nwith data_waits.waiting():\n    child = os.fork()\n"
        "    if not child:\n        with data_waits.waiting(b'child'):\n            pass\n"
        "if not child:\n    os._exit(0)\nos.waitpid(child, 0)\n")
    assert record.word(BATCHES) == 1 and not text_at(record, SOURCE, 64)
