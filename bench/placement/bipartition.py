"""Topology-aware placement by dual recursive bipartition (Amaral et al., SC'17; Scotch before it).

The minipods are divided into two halves with about the same number of free nodes. If a half can
hold the whole job, the smaller such half gets it. Otherwise the job's communication graph is cut
into two parts that fit, with few connections between them, by Fiduccia and Mattheyses' method (DAC
1982). Each half is divided again, down to single minipods, where nodes are taken along the leaves.

The graph's nodes are the job's places. Neighbours in a ring of data-parallel ranks and in a
pipeline have an edge, once per pair and kind, with the kind's weight in the objective.
"""

from placement.clusters import GPUS_PER_NODE

SCALE = 10  # weights are whole numbers: tenths
PASSES_MAX = 20


def communication_graph(instance):
    """By place: {neighbour: weight}."""
    graph = [{} for _ in range(instance.needed)]
    dp_weight = round(instance.alpha * SCALE)
    stage = instance.tp * instance.dp
    world = stage * instance.pp
    pairs = {"dp": set(), "pp": set()}
    for rank in range(world):
        place = rank // GPUS_PER_NODE
        base = rank - rank % stage
        following = base + (rank - base + instance.tp) % stage
        pairs["dp"].add(_pair(place, following // GPUS_PER_NODE))
        if rank + stage < world:
            pairs["pp"].add(_pair(place, (rank + stage) // GPUS_PER_NODE))
    for kind, weight in (("dp", dp_weight), ("pp", SCALE - dp_weight)):
        for one, other in pairs[kind]:
            if one != other:
                graph[one][other] = graph[one].get(other, 0) + weight
                graph[other][one] = graph[one][other]
    return graph


def _pair(one, other):
    return (min(one, other), max(one, other))


class Cut:
    """Two parts of a set of places, improved by moves of one place at a time."""

    def __init__(self, graph, first, second, limits):
        """`limits`: most places that the first and the second part may have."""
        self.graph, self.limits = graph, limits
        self.side = dict.fromkeys(first, 0) | dict.fromkeys(second, 1)
        self.sizes = [len(first), len(second)]

    def weight(self):
        return sum(weight for place, side in self.side.items() if side == 0
                   for other, weight in self.graph[place].items() if self.side.get(other) == 1)

    def gain(self, place):
        """How much less the cut weighs when `place` changes sides."""
        here = self.side[place]
        return sum(weight if self.side[other] != here else -weight
                   for other, weight in self.graph[place].items() if other in self.side)

    def improve(self):
        for _ in range(PASSES_MAX):
            if not self.one_pass():
                break
        return self

    def one_pass(self):
        """Moves each place at most once, the best move first even if it costs; then takes back the
        moves after the best state. Returns whether the cut weighs less."""
        buckets = _Buckets((place, self.side[place], self.gain(place)) for place in self.side)
        moves, total, best_total, best_count = [], 0, 0, 0
        while (choice := buckets.best(self._may_leave)) is not None:
            place, gain = choice
            buckets.remove(place)
            self._move(place)
            for other, weight in self.graph[place].items():
                if other in buckets.gain:
                    # The edge was cut or joined, which reverses its part in the other's gain.
                    same = self.side[other] == self.side[place]
                    buckets.change(other, -2 * weight if same else 2 * weight)
            moves.append(place)
            total += gain
            if total > best_total:
                best_total, best_count = total, len(moves)
        for place in reversed(moves[best_count:]):
            self._move(place)
        return best_total > 0

    def _may_leave(self, side):
        return self.sizes[1 - side] < self.limits[1 - side]

    def _move(self, place):
        side = self.side[place]
        self.side[place] = 1 - side
        self.sizes[side] -= 1
        self.sizes[1 - side] += 1

    def parts(self):
        return ([place for place in self.side if self.side[place] == 0],
                [place for place in self.side if self.side[place] == 1])


class _Buckets:
    """Free places by side and gain; of equal ones, the last to come is the first to go."""

    def __init__(self, entries):
        self.gain, self.side, self.bucket = {}, {}, ({}, {})
        for place, side, gain in entries:
            self.side[place] = side
            self._add(place, gain)

    def _add(self, place, gain):
        self.gain[place] = gain
        self.bucket[self.side[place]].setdefault(gain, {})[place] = True

    def remove(self, place):
        gain = self.gain.pop(place)
        bucket = self.bucket[self.side[place]]
        del bucket[gain][place]
        if not bucket[gain]:
            del bucket[gain]

    def change(self, place, difference):
        gain = self.gain[place] + difference
        self.remove(place)
        self._add(place, gain)

    def best(self, may_leave):
        """(place, gain) of the best move that the sizes allow."""
        most = [(max(self.bucket[side]), side) for side in (0, 1)
                if self.bucket[side] and may_leave(side)]
        if not most:
            return None
        gain, side = max(most)
        return next(reversed(self.bucket[side][gain])), gain


def halves(minipods, free):
    """Two sets of minipods with about the same number of free nodes."""
    parts, sizes = ([], []), [0, 0]
    for minipod in sorted(minipods, key=lambda name: (-free[name], name)):
        side = int(sizes[1] < sizes[0])
        parts[side].append(minipod)
        sizes[side] += free[minipod]
    return parts, sizes


def divide(graph, places, sizes, stage_places):
    """Cuts `places` into two parts that fit into `sizes`: the best result of several starts."""
    least, most = len(places) - sizes[1], min(sizes[0], len(places))
    shares = {max(0, least), most, min(most, max(least, len(places) * sizes[0] // sum(sizes)))}
    along_pipelines = sorted(places, key=lambda place: (place % stage_places, place))
    best = None
    for order in (sorted(places), along_pipelines):
        for share in sorted(shares):
            cut = Cut(graph, order[:share], order[share:], sizes).improve()
            if best is None or cut.weight() < best.weight():
                best = cut
    return best.parts()


def place(instance):
    """The nodes' names, by place."""
    nodes = {}
    for node in sorted(instance.free, key=lambda node: (node.leaf, int(node.name[1:]))):
        nodes.setdefault(node.minipod, []).append(node.name)
    free = {minipod: len(names) for minipod, names in nodes.items()}
    graph = communication_graph(instance)
    stage_places = max(1, instance.tp * instance.dp // GPUS_PER_NODE)
    result = [None] * instance.needed
    pending = [(list(nodes), list(range(instance.needed)))]
    while pending:
        minipods, places = pending.pop()
        if not places:
            continue
        if len(minipods) == 1:
            for one, name in zip(sorted(places), nodes[minipods[0]], strict=False):
                result[one] = name
            continue
        parts, sizes = halves(minipods, free)
        holding = [side for side in (0, 1) if sizes[side] >= len(places)]
        if holding:
            pending.append((parts[min(holding, key=lambda side: sizes[side])], places))
        else:
            first, second = divide(graph, places, sizes, stage_places)
            pending += [(parts[0], first), (parts[1], second)]
    return result
