"""Which ranks the alignment test names, for tables of facts that ranks could have found."""

import random
import sys

import pytest
from conftest import PACKAGE

sys.path.insert(0, str(PACKAGE))
from robustrun._align.exchange import rounds  # noqa: E402
from robustrun._align.vote import judge  # noqa: E402

NAMES = ["step 1, output", "step 1, gradient", "weights"]


def facts(rank, node=None, digests="aaa", kind="cpu", unsteady=None, damaged=()):
    name = node or "n%d" % rank
    return {"rank": rank, "node": name, "host": name, "kind": kind, "unsteady": unsteady,
            "digests": [[n, d] for n, d in zip(NAMES, digests, strict=True)],
            "damaged": [list(way) for way in damaged]}


def outvoted(verdict):
    return [accused["rank"] for accused in verdict["outvoted"]]


def test_equal_ranks_are_aligned():
    verdict = judge([facts(rank) for rank in range(4)])
    assert verdict == {"result": "aligned", "outvoted": [], "undecided": [], "alone": []}


def test_one_rank_alone_is_aligned_with_itself():
    assert judge([facts(0)])["result"] == "aligned"
    assert judge([facts(0)])["alone"] == []


def test_the_minority_is_named_with_the_first_thing_that_differs():
    verdict = judge([facts(0), facts(1, digests="abb"), facts(2)])
    assert verdict["result"] == "outvoted"
    assert outvoted(verdict) == [1]
    assert verdict["outvoted"][0]["node"] == "n1"
    assert "2 of 3 ranks in step 1, gradient" in verdict["outvoted"][0]["why"]


def test_two_differing_ranks_are_undecided():
    verdict = judge([facts(0), facts(1, digests="bbb")])
    assert verdict["result"] == "undecided"
    assert verdict["undecided"][0]["ranks"] == [0, 1]
    assert "step 1, output" in verdict["undecided"][0]["why"]


def test_half_is_not_a_majority():
    verdict = judge([facts(0), facts(1), facts(2, digests="bbb"), facts(3, digests="bbb")])
    assert verdict["result"] == "undecided"
    assert judge([facts(0), facts(1), facts(2, digests="bbb"), facts(3, digests="ccc")])[
        "result"] == "undecided"


def test_a_rank_that_differs_from_itself_is_named_even_among_two():
    verdict = judge([facts(0), facts(1, digests="bbb", unsteady="weights")])
    assert outvoted(verdict) == [1]
    assert verdict["undecided"] == []
    assert "differs from itself in weights" in verdict["outvoted"][0]["why"]


def test_devices_of_several_kinds_are_not_compared():
    verdict = judge([facts(0, kind="H100"), facts(1, kind="H100"),
                     facts(2, kind="A100", digests="bbb")])
    assert verdict["result"] == "aligned"
    assert verdict["alone"] == [2]


@pytest.mark.parametrize("ways, named", [
    ([(0, 1)], [0, 1]),            # both ranks are on node a
    ([(0, 2), (0, 4)], [0]),       # rank 0 is in both
    ([(0, 2), (1, 4)], [0, 1]),    # node a is in both, none of its ranks
    ([(2, 0), (0, 2), (4, 1)], [0, 1]),
])
def test_damaged_bytes_are_the_fault_of_the_node_in_common(ways, named):
    node_of = "aabbcc"
    by_receiver = {}
    for way in ways:
        by_receiver.setdefault(way[1], []).append(way)
    verdict = judge([facts(rank, node=node_of[rank], damaged=by_receiver.get(rank, ()))
                     for rank in range(6)])
    assert outvoted(verdict) == named
    assert verdict["result"] == "outvoted"


@pytest.mark.parametrize("ways", [[(0, 2)], [(0, 2), (3, 4), (5, 1)]])
def test_damage_between_nodes_with_no_single_end_is_undecided(ways):
    verdict = judge([facts(rank, node="aabbcc"[rank], damaged=[w for w in ways if w[1] == rank])
                     for rank in range(6)])
    assert verdict["result"] == "undecided"
    assert verdict["outvoted"] == []


def test_random_single_faults_are_always_found_and_only_they():
    dice = random.Random(7)
    for _ in range(500):
        count = dice.randint(3, 40)
        bad = dice.randrange(count)
        wrong = "a" * dice.randrange(3)
        wrong += "b" * (3 - len(wrong))
        found = [facts(rank, digests=wrong if rank == bad else "aaa") for rank in range(count)]
        dice.shuffle(found)
        assert outvoted(judge(found)) == [bad]


@pytest.mark.parametrize("sizes", [[1], [2], [4], [1, 1], [2, 2], [4, 4, 4], [3, 1, 2], [1] * 7])
def test_every_pair_of_a_node_and_all_neighbours_exchange_once(sizes):
    nodes, first = [], 0
    for size in sizes:
        nodes.append(list(range(first, first + size)))
        first += size
    home = {rank: number for number, ranks in enumerate(nodes) for rank in ranks}
    seen = []
    for pairs in rounds(nodes):
        assert len({sender for sender, _ in pairs}) == len(pairs)
        assert len({receiver for _, receiver in pairs}) == len(pairs)
        seen += pairs
    assert len(set(seen)) == len(seen)
    within = {(a, b) for ranks in nodes for a in ranks for b in ranks if a != b}
    assert {pair for pair in seen if home[pair[0]] == home[pair[1]]} == within
    between = {(home[a], home[b]) for a, b in seen if home[a] != home[b]}
    neighbours = {(n, (n + step) % len(nodes)) for n in range(len(nodes)) for step in (1, -1)}
    assert between == {pair for pair in neighbours if pair[0] != pair[1]}
