"""How good a placement is: Arnold's weighted maximal spread (arXiv 2509.15940, eq. 2 and 3).

Written from the paper and from Megatron's order of ranks, independently of robustrun's solver, so
that it can check the solver's figures.

The spread of a group is the number of minipods that hold some of its nodes but not all: 0 if one
minipod holds the group, otherwise the number of minipods that it touches. It is never 1, and a
ratio of two spreads may have a 0 below. So there is `touched` as well: the number of minipods
without that exception, which the paper's own program (eq. 4) minimises; ratios are of `touched`.
"""

import collections
import dataclasses
import math

ORDER = ("tp", "cp", "ep", "dp", "pp")  # Megatron's default, the fastest digit first


def groups(sizes, gpus_per_node, order=ORDER):
    """By kind (dp, pp): for each group of ranks, the set of places (nodes of the job, counted from
    0) that hold it. `sizes` is by kind; missing kinds have size 1, as cp and ep always have. Kinds
    that stay within the nodes are left out."""
    names = [name for name in order if sizes.get(name, 1) > 1]
    assert all(name in ("tp", "dp", "pp") for name in names)
    strides, world = {}, 1
    for name in names:
        strides[name] = world
        world *= sizes[name]
    found = {}
    for kind in ("dp", "pp"):
        if kind not in strides:
            continue
        members = {}
        for rank in range(world):
            digit = rank // strides[kind] % sizes[kind]
            members.setdefault(rank - digit * strides[kind], set()).add(rank // gpus_per_node)
        if max(len(places) for places in members.values()) > 1:
            found[kind] = list(members.values())
    return found


def network_seconds(sizes, gpus_per_node, switch_by_place, traffic, gbps):
    """An estimate of a step's time between switches. Data-parallel groups are rings, pipelines are
    chains that send half of their bytes each way. A kind takes as long as its busiest uplink;
    kinds follow one another. `traffic`: bytes per rank and step, by kind; `gbps`: a switch's
    uplinks together, each way."""
    seconds = 0.0
    world = math.prod(sizes.values())
    strides, stride = {}, 1
    for kind in (name for name in ORDER if name in sizes):
        strides[kind], stride = stride, stride * sizes[kind]
    for kind in ("dp", "pp"):
        up, down = collections.Counter(), collections.Counter()
        seen = {}  # rings of the same places: gpus_per_node of them are alike
        for rank in range(world):
            if rank // strides[kind] % sizes[kind] == 0:
                ranks = range(rank, rank + strides[kind] * sizes[kind], strides[kind])
                places = tuple(dict.fromkeys(one // gpus_per_node for one in ranks))
                seen[places] = seen.get(places, 0) + 1
        for places, count in seen.items():
            switches = [switch_by_place[place] for place in places]
            ends = list(zip(switches, switches[1:], strict=False))
            share = traffic[kind] * count
            if kind == "pp":
                ends, share = ends + [(there, here) for here, there in ends], share / 2
            elif len(switches) > 1:
                ends.append((switches[-1], switches[0]))
            for here, there in ends:
                if here != there:
                    up[here] += share
                    down[there] += share
        seconds += max([0, *up.values(), *down.values()]) * 8 / (gbps * 1e9)
    return seconds


def spread(minipods):
    """Eq. 3, for the minipods of a group's nodes."""
    touched = len(set(minipods))
    return touched if touched > 1 else 0


@dataclasses.dataclass(frozen=True)
class Quality:
    spread: float    # eq. 2
    touched: float   # the same for minipods touched
    worst: dict      # by kind: the largest spread
    mean: dict       # by kind: the mean over all groups of ranks


def weights(alpha, kinds):
    """The weight of each kind; a job with one kind only has no trade-off to make."""
    if len(kinds) == 1:
        return {kind: 1.0 for kind in kinds}
    return {"dp": alpha, "pp": 1 - alpha}


def quality(groups_by_kind, alpha, minipod_by_place):
    """The quality of a placement: `minipod_by_place[p]` is the minipod of the node of place p."""
    weight = weights(alpha, groups_by_kind.keys())
    worst, most, mean = {}, {}, {}
    for kind, members in groups_by_kind.items():
        minipods = [{minipod_by_place[place] for place in group} for group in members]
        spreads = [spread(touched) for touched in minipods]
        worst[kind] = max(spreads)
        most[kind] = max(len(touched) for touched in minipods)
        mean[kind] = sum(spreads) / len(spreads)
    return Quality(sum(weight[kind] * worst[kind] for kind in worst),
                   sum(weight[kind] * most[kind] for kind in most), worst, mean)


class Judge:
    """Judges placements of one instance (clusters.Instance)."""

    def __init__(self, instance, gpus_per_node):
        self.sizes = {"tp": instance.tp, "dp": instance.dp, "pp": instance.pp}
        self.gpus_per_node = gpus_per_node
        self.groups = groups(self.sizes, gpus_per_node)
        self.minipod_of = {node.name: node.minipod for node in instance.nodes}
        self.free = {node.name for node in instance.free}
        self.needed, self.alpha = instance.needed, instance.alpha

    def quality(self, names):
        """`names`: the nodes' names by place. Fails if they are not a placement of the job."""
        assert len(names) == self.needed, f"{len(names)} places, not {self.needed}"
        assert len(set(names)) == len(names), "a node has two places"
        assert self.free.issuperset(names), "a node that is not free has a place"
        return quality(self.groups, self.alpha, [self.minipod_of[name] for name in names])

    def seconds(self, names, traffic, gbps):
        """network_seconds() between minipods."""
        return network_seconds(self.sizes, self.gpus_per_node,
                               [self.minipod_of[name] for name in names], traffic, gbps)
