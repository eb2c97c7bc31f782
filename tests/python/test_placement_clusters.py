"""The clusters of bench/run placement do not change."""

import collections
import hashlib
import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "bench"))

from placement import clusters  # noqa: E402

ALL = clusters.arnold() + clusters.random_clusters()
FIXED = "d1991420e18b8e15df89d6cc843dfb77e29c626a4cb14188fc4ddbe33c10fb8d"


def test_the_clusters_are_the_ones_that_were_fixed():
    """A solver must not be tuned by changing what it is measured on."""
    assert hashlib.sha256(repr(ALL).encode()).hexdigest() == FIXED


def test_there_are_the_papers_settings_and_two_hundred_random_ones():
    sizes = [(len({node.minipod for node in instance.nodes}), len(instance.free), instance.needed)
             for instance in ALL]
    assert sizes[:9:3] == [(3, 18, 12), (5, 438, 96), (11, 1019, 368)]
    assert len(ALL) == 209
    for (minipods, free, needed), instance in zip(sizes[9:], ALL[9:], strict=True):
        assert 2 <= minipods <= 16
        assert 0.3 <= needed / free <= 0.95
        assert instance.tp * instance.dp * instance.pp == needed * clusters.GPUS_PER_NODE


def test_leaves_are_those_of_32_port_switches_and_hang_on_one_minipod():
    for instance in ALL:
        leaves = collections.Counter(node.leaf for node in instance.nodes)
        assert max(leaves.values()) <= 16
        assert len({(node.leaf, node.minipod) for node in instance.nodes}) == len(leaves)
        names = [node.name for node in instance.nodes]
        assert len(set(names)) == len(names)


def test_names_tell_little_of_the_network():
    """Lexicographic order is not the natural one, and but for one naming in four, numbers come back
    to a minipod that they have left (where it has more than one rack)."""
    comes_back = 0
    for instance in ALL:
        order = [node.minipod for node in instance.nodes]
        changes = sum(a != b for a, b in zip(order, order[1:], strict=False))
        comes_back += changes > len(set(order)) - 1
        assert instance.naming != "by minipod" or changes == len(set(order)) - 1
    assert comes_back >= len(ALL) * 7 // 10
    natural = [[node.name for node in instance.free] for instance in ALL]
    assert sum(names != sorted(names) for names in natural) >= 205
