"""Which rank reads which of the bytes that all ranks want (_checkpoint/collective_read.py)."""

import collections
import random
import sys

import pytest
from conftest import PACKAGE

pytest.importorskip("torch")
sys.path.insert(0, str(PACKAGE))
from robustrun._checkpoint import collective_read  # noqa: E402

Shard = collections.namedtuple("Shard", "shape bytes")


def targets_of(sizes):
    return [collective_read.Target(index, 0, size, None) for index, size in enumerate(sizes)]


def dealt(sizes, in_memory, away=()):
    """Rows of 4 bytes."""
    shards = [Shard((size // 4,), size) for size in sizes]
    return collective_read.dealt(shards, targets_of(sizes), in_memory, len(in_memory), away)


def test_every_byte_has_one_reader_and_the_load_is_balanced():
    seed = random.randrange(2**32)
    print("seed", seed)
    chance = random.Random(seed)
    for _ in range(100):
        size = chance.randrange(2, 9)
        sizes = [4 * chance.randrange(1, 2 ** chance.randrange(2, 26))
                 for _ in range(chance.randrange(1, 60))]
        parts = dealt(sizes, [(0, 0)] * size)
        expected = [(number, 0) for number in range(len(sizes))]
        assert [(part.target, part.begin) for part in parts if part.begin == 0] == expected
        for number, count in enumerate(sizes):
            mine = [part for part in parts if part.target == number]
            ends = [part.begin + part.bytes for part in mine]
            assert [part.begin for part in mine] == [0, *ends[:-1]] and ends[-1] == count
            assert all(part.begin % (8 << 20) == 0 for part in mine)
        loads = [sum(part.bytes for part in parts if part.owner == rank) for rank in range(size)]
        largest = max(part.bytes for part in parts)
        assert max(loads) <= sum(sizes) / size + largest


def test_a_small_part_of_a_shard_is_read_like_any_other():
    shard = Shard((4096,), 16384)
    for size in (1, 2048, 8192):
        target = collective_read.Target(0, 16384 - size, size, None)
        parts = collective_read.dealt([shard], [target], [(0, 0)] * 2, 2)
        assert [(part.target, part.begin, part.bytes) for part in parts] == [(0, 0, size)]


def test_bytes_in_a_ranks_memory_are_read_by_it_and_the_rest_is_shared():
    parts = dealt([64 << 20] * 8, [(0, 0), (2, 3), (3, 3)])
    owners = collections.defaultdict(set)
    for part in parts:
        owners[part.target].add(part.owner)
    assert [owners[number] for number in range(2, 6)] == [{1}, {1}, {1}, {2}]
    for rank in range(3):
        rest = sum(part.bytes for part in parts if part.owner == rank and
                   part.target not in range(2, 6))
        assert abs(rest - (4 * 64 << 20) / 3) <= 16 << 20


def test_what_is_on_a_machines_disk_is_read_by_its_ranks_unless_it_is_in_a_memory():
    sizes = [4000] * 12
    nowhere = [(0, 0)] * 4
    away = [[[8, 4]], [[8, 4]], [[0, 4]], [[0, 4]]]  # two machines of two ranks
    owners = collections.defaultdict(set)
    for part in dealt(sizes, nowhere, away):
        owners[part.target].add(part.owner)
    assert set.union(*(owners[number] for number in range(4))) == {0, 1}
    assert set.union(*(owners[number] for number in range(8, 12))) == {2, 3}
    kept = [(0, 0), (9, 1), (0, 0), (0, 0)]
    assert {part.owner for part in dealt(sizes, kept, away) if part.target == 9} == {1}
    assert collective_read.nowhere(targets_of(sizes), nowhere, away) == []
    lost = [[[8, 4]], [[8, 4]], [[0, 4], [9, 2]], [[0, 4], [9, 2]]]
    assert collective_read.nowhere(targets_of(sizes), nowhere, lost) == [9, 10]
    assert collective_read.nowhere(targets_of(sizes), kept, lost) == [10]
    assert collective_read.nowhere(targets_of(sizes), nowhere, [[]] * 4) == []


def test_messages_are_of_one_owner_and_device_and_bounded():
    sizes = [40 << 10] * 3000 + [100 << 20] + [400] * 50
    parts = dealt(sizes, [(0, 0)] * 3)
    devices = ["cpu" if number % 7 else "cuda" for number in range(len(sizes))]
    messages = collective_read._messages(parts, devices, 3)
    assert sorted(part for message in messages for part in message) == sorted(parts)
    for message in messages:
        assert len({(part.owner, devices[part.target]) for part in message}) == 1
        assert sum(part.bytes for part in message) <= collective_read.PART_BYTES
    assert len(messages) < 20
