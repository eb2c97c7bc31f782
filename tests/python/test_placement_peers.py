"""What robustrun's placements are compared with: metric and other methods (bench/placement)."""

import itertools
import pathlib
import random
import sys

import pytest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "bench"))

from placement import baselines, bipartition, clusters, metric, slurm_order  # noqa: E402

SOME = clusters.arnold() + clusters.random_clusters(24)


def instance(minipods, dp, pp, alpha=0.3):
    """`minipods`: per minipod its leaves, per leaf (free nodes, nodes in use). tp = 8: each rank of
    dp and pp is a node."""
    nodes = []
    for pod, leaves in enumerate(minipods):
        for leaf, (free, used) in enumerate(leaves):
            for i in range(free + used):
                nodes.append(clusters.Node(f"n{len(nodes) + 1}", f"p{pod}l{leaf}", f"p{pod}",
                                           i < free))
    return clusters.Instance("by hand", tuple(nodes), 8, dp, pp, alpha, "by minipod")


def minipods_of(which, names):
    of = {node.name: node.minipod for node in which.nodes}
    return [of[name] for name in names]


# --- metric ---

def test_groups_follow_megatrons_order():
    found = metric.groups({"tp": 2, "dp": 2, "pp": 2}, gpus_per_node=2)
    assert sorted(map(sorted, found["dp"])) == [[0, 1], [0, 1], [2, 3], [2, 3]]
    assert sorted(map(sorted, found["pp"])) == [[0, 2], [0, 2], [1, 3], [1, 3]]
    swapped = metric.groups({"tp": 2, "dp": 2, "pp": 2}, 2, order=("tp", "pp", "dp"))
    assert sorted(map(sorted, swapped["pp"])) == [[0, 1], [0, 1], [2, 3], [2, 3]]


def test_groups_of_the_papers_figure_12():
    """96 GPUs are 12 nodes, a DP group has 6 of them, a PP group 2."""
    found = metric.groups({"tp": 4, "dp": 12, "pp": 2}, gpus_per_node=8)
    assert {len(group) for group in found["dp"]} == {6}
    assert {len(group) for group in found["pp"]} == {2}
    assert len(found["dp"]) == 4 * 2 and len(found["pp"]) == 4 * 12
    assert set.union(*found["dp"]) == set(range(12))


def test_groups_need_not_end_where_nodes_do():
    found = metric.groups({"tp": 1, "dp": 3, "pp": 2}, gpus_per_node=2)
    assert sorted(map(sorted, found["dp"])) == [[0, 1], [1, 2]]


def test_spread_is_the_number_of_differing_positions_of_equation_3():
    draw = random.Random(3)
    for _ in range(200):
        minipods = [draw.randrange(5) for _ in range(draw.randint(1, 6))]
        vectors = [[int(i == minipod) for i in range(5)] for minipod in minipods]
        differing = sum(any(a[i] != b[i] for a, b in itertools.combinations(vectors, 2))
                        for i in range(5))
        assert metric.spread(minipods) == differing


def test_quality_weighs_the_largest_spreads():
    found = metric.groups({"tp": 8, "dp": 2, "pp": 2}, gpus_per_node=8)
    # Places 0 1 are the first stage, 2 3 the second one.
    both = metric.quality(found, 0.3, ["a", "b", "a", "c"])
    assert both.worst == {"dp": 2, "pp": 2} and both.mean == {"dp": 2, "pp": 1}
    assert both.spread == pytest.approx(0.3 * 2 + 0.7 * 2)
    aligned = metric.quality(found, 0.3, ["a", "b", "a", "b"])
    assert aligned.spread == pytest.approx(0.6) and aligned.touched == pytest.approx(1.3)


def test_a_kind_within_the_nodes_leaves_all_weight_to_the_other():
    found = metric.groups({"tp": 1, "dp": 2, "pp": 4}, gpus_per_node=2)
    assert metric.quality(found, 0.3, ["a", "a", "b", "b"]).spread == 2


@pytest.mark.parametrize("names", [["n1", "n2", "n1", "n3"], ["n1", "n2", "n3"],
                                   ["n1", "n2", "n3", "n6"]])
def test_an_invalid_placement_has_no_quality(names):
    which = instance([[(3, 0)], [(2, 1)]], dp=2, pp=2)
    judge = metric.Judge(which, clusters.GPUS_PER_NODE)
    judge.quality(["n1", "n2", "n3", "n4"])
    with pytest.raises(AssertionError):
        judge.quality(names)


def test_network_seconds_are_those_of_the_busiest_uplink():
    sizes, traffic = {"tp": 1, "dp": 4, "pp": 2}, {"dp": 1e9, "pp": 2e8}

    def seconds(minipods):
        return metric.network_seconds(sizes, 1, minipods, traffic, gbps=8)

    # Each of two rings leaves "a" twice and comes back twice; pipelines stay.
    assert seconds("abababab") == pytest.approx(4 * 1.0)
    # Rings stay; of four pipelines, each sends half of its bytes each way.
    assert seconds("aaaabbbb") == pytest.approx(4 * 0.1)
    # A ring per minipod, but for two nodes that are exchanged, and no pipeline stays.
    assert seconds("aaabbbba") == pytest.approx(2 * 1.0 + 4 * 0.1)
    assert seconds("aaaaaaaa") == 0


# --- the packers ---

def test_every_method_places_every_job():
    for which in SOME:
        assert list(baselines.all_of(which)[0]) == baselines.NAMES  # quality() checks placements


@pytest.mark.parametrize("name", baselines.PACKERS)
def test_nodes_of_a_minipod_get_continuous_indices(name):
    for which in SOME:
        minipods = minipods_of(which, baselines.PACKERS[name](which))
        assert len(list(itertools.groupby(minipods))) == len(set(minipods))


def test_packers_choose_as_they_say():
    which = instance([[(6, 0)], [(3, 9)], [(4, 0)], [(2, 1)]], dp=5, pp=1)
    chosen = {name: minipods_of(which, choose(which))
              for name, choose in baselines.PACKERS.items()}
    assert chosen["best-fit"] == ["p0"] * 5
    assert chosen["gpu-packing"] == ["p1"] * 3 + ["p3"] * 2
    wide = instance([[(6, 0)], [(3, 9)], [(4, 0)], [(2, 1)]], dp=8, pp=1)
    chosen = {name: minipods_of(wide, choose(wide)) for name, choose in baselines.PACKERS.items()}
    assert chosen["best-fit"] == ["p3"] * 2 + ["p1"] * 3 + ["p2"] * 3
    assert chosen["fewest minipods"] == ["p0"] * 6 + ["p3"] * 2


def test_random_fit_takes_from_every_minipod():
    which = instance([[(40, 0)], [(40, 0)], [(40, 0)], [(40, 0)]], dp=15, pp=4)
    names = baselines.random_fit(which)
    counts = [minipods_of(which, names).count(f"p{i}") for i in range(4)]
    assert all(7 <= count <= 25 for count in counts), counts
    assert names == baselines.random_fit(which)


def test_indices_along_the_pipelines_keep_pipelines_together():
    which = instance([[(2, 0)], [(4, 0)], [(2, 0)]], dp=4, pp=2)
    judge = metric.Judge(which, clusters.GPUS_PER_NODE)
    names = [node.name for node in which.free]
    assert judge.quality(names).worst == {"dp": 2, "pp": 2}
    assert judge.quality(baselines.along_pipelines(which, names)).worst == {"dp": 3, "pp": 0}


# --- host orders and Slurm ---

def test_the_orders_of_names_differ():
    which = instance([[(12, 0)]], dp=3, pp=1)
    assert baselines.lexicographic(which) == ["n1", "n10", "n11"]
    assert baselines.natural(which) == ["n1", "n2", "n3"]


def leaves_of(which, names):
    of = {node.name: node.leaf for node in which.nodes}
    return sorted({of[name] for name in names})


def test_slurm_takes_the_tightest_leaf_that_holds_the_job():
    which = instance([[(9, 0), (5, 0)], [(4, 0), (3, 0)]], dp=4, pp=1)
    assert leaves_of(which, slurm_order.choose(which)) == ["p1l0"]


def test_slurm_takes_the_tightest_minipod_and_then_its_fullest_leaf():
    which = instance([[(9, 0), (8, 0)], [(4, 0), (6, 0), (5, 0)]], dp=10, pp=1)
    # The second minipod is tighter; its leaf of 6 first, then the tightest that holds the other 4.
    assert leaves_of(which, slurm_order.choose(which)) == ["p1l0", "p1l1"]


def test_slurm_continues_nearby():
    # After the leaf of 6 a leaf of 3 elsewhere would fit tightly.
    which = instance([[(6, 0), (4, 0)], [(3, 0), (3, 0)]], dp=9, pp=1)
    assert minipods_of(which, slurm_order.choose(which)) == ["p0"] * 9


# --- bipartition ---

def random_graph(draw, size):
    graph = [{} for _ in range(size)]
    for one, other in itertools.combinations(range(size), 2):
        if draw.random() < 0.3:
            graph[one][other] = graph[other][one] = draw.choice((3, 5, 7))
    return graph


def test_fiduccia_mattheyses_improves_within_the_limits():
    for seed in range(30):
        draw = random.Random(seed)
        graph = random_graph(draw, 14)
        limits = (draw.randint(7, 10), draw.randint(7, 10))
        cut = bipartition.Cut(graph, range(7), range(7, 14), limits)
        before = cut.weight()
        first, second = cut.improve().parts()
        assert cut.weight() <= before
        assert sorted(first + second) == list(range(14))
        assert len(first) <= limits[0] and len(second) <= limits[1]
        # Nothing is left that one move could gain.
        for place, side in cut.side.items():
            assert cut.gain(place) <= 0 or cut.sizes[1 - side] == limits[1 - side], seed


def test_fiduccia_mattheyses_leaves_local_optima():
    """Two cliques with one edge between them, begun badly: exchanges cost before they pay."""
    cliques = [set(range(0, 8, 2)), set(range(1, 8, 2))]
    graph = [{} for _ in range(8)]
    for clique in cliques:
        for one, other in itertools.permutations(clique, 2):
            graph[one][other] = 5
    graph[0][1] = graph[1][0] = 3
    cut = bipartition.Cut(graph, range(4), range(4, 8), (5, 5)).improve()
    assert cut.weight() == 3
    assert {frozenset(part) for part in cut.parts()} == {frozenset(part) for part in cliques}


def test_the_job_is_not_cut_where_one_half_holds_it():
    which = instance([[(5, 0)], [(9, 0)], [(4, 0)]], dp=4, pp=2)
    assert minipods_of(which, bipartition.place(which)) == ["p1"] * 8


def test_pipelines_stay_whole_when_only_they_count():
    which = instance([[(6, 0)], [(6, 0)]], dp=4, pp=3, alpha=0.0)
    quality = metric.Judge(which, clusters.GPUS_PER_NODE).quality(bipartition.place(which))
    assert quality.worst == {"dp": 2, "pp": 0}
