"""The clusters and jobs on which placements are compared.

They were fixed before any solver was tuned on them and must not change: another question gets
another function. Their construction:

- Numbers come from SplitMix64 with a seed per instance, so they depend on no library's version.
- A minipod's leaves have 16 nodes each (32-port switches, half of them uplinks), the last one the
  rest; a minipod has at most 16 leaves. Free nodes are uneven: each minipod has a weight from 1 to
  8. Other jobs use up to as many nodes again; in half of the minipods these jobs hold whole leaves,
  in the other half nodes anywhere.
- Hosts are n1, n2, ... without leading zeros, so that lexicographic order is not the natural one.
  The place of each host follows one of NAMINGS; only the first of them sorts by minipod.
- The paper (Arnold, arXiv 2509.15940, table 1) gives minipods, nodes and jobs of its settings, but
  not which nodes are free: its number of nodes is taken as the number of free ones.
"""

import dataclasses

GPUS_PER_NODE = 8
LEAF_NODES = 16
MINIPOD_NODES = 256

NAMINGS = (
    "by minipod",    # numbered along the minipods, one after the other
    "racks dealt",   # racks (leaves) go to the minipods in turns, numbers along the racks
    "nodes dealt",   # single nodes go to the minipods in turns, in the order of their numbers
    "racks swapped",  # racks dealt, then a tenth of the hosts exchanged, as repairs do over time
)


class SplitMix64:
    """Steele, Lea, Flood 2014: a 64-bit counter and a mixing function."""

    MASK = (1 << 64) - 1

    def __init__(self, seed):
        self.state = seed & self.MASK

    def next(self):
        self.state = (self.state + 0x9E3779B97F4A7C15) & self.MASK
        z = self.state
        z = ((z ^ (z >> 30)) * 0xBF58476D1CE4E5B9) & self.MASK
        z = ((z ^ (z >> 27)) * 0x94D049BB133111EB) & self.MASK
        return z ^ (z >> 31)

    def below(self, limit):
        return self.next() * limit >> 64

    def between(self, least, most):
        return least + self.below(most - least + 1)

    def choice(self, items):
        return items[self.below(len(items))]

    def shuffle(self, items):
        for last in range(len(items) - 1, 0, -1):
            other = self.below(last + 1)
            items[last], items[other] = items[other], items[last]


@dataclasses.dataclass(frozen=True)
class Node:
    name: str
    leaf: str
    minipod: str
    free: bool


@dataclasses.dataclass(frozen=True)
class Instance:
    name: str
    nodes: tuple       # in the order of their numbers
    tp: int
    dp: int
    pp: int
    alpha: float       # the weight of DP; PP has the rest
    naming: str

    @property
    def needed(self):
        return self.tp * self.dp * self.pp // GPUS_PER_NODE

    @property
    def free(self):
        return [node for node in self.nodes if node.free]

    def toml(self, leaves=True, gbps=None):
        """The topology file of this cluster; with `leaves` False nodes are attached to minipods.
        `gbps`: by level, the bandwidth of a switch's uplinks."""
        below = {"minipod": {}, "leaf": {}}
        for node in self.nodes:
            below["leaf"].setdefault(node.leaf, []).append(node.name)
            here = below["minipod"].setdefault(node.minipod, {})
            here[node.leaf if leaves else node.name] = True
        levels = ["minipod", "leaf"] if leaves else ["minipod"]
        parts = [f"[level.{level}]\ngbps = {rate}\n" for level, rate in (gbps or {}).items()
                 if level in levels]
        for level in levels:
            key = "nodes" if level == levels[-1] else "switches"
            parts += [_table(name, level, key, items) for name, items in below[level].items()]
        return "\n".join(parts)


def _table(name, level, key, below):
    listed = ", ".join(f'"{item}"' for item in below)
    return f'[[switch]]\nname = "{name}"\nlevel = "{level}"\n{key} = [{listed}]\n'


def _divide(prng, total, parts):
    """Uneven shares of at least 1 and at most MINIPOD_NODES each."""
    weights = [prng.between(1, 8) for _ in range(parts)]
    shares = [max(1, total * weight // sum(weights)) for weight in weights]
    shares = [min(share, MINIPOD_NODES) for share in shares]
    while sum(shares) != total:
        which = prng.below(parts)
        step = 1 if sum(shares) < total else -1
        if 1 <= shares[which] + step <= MINIPOD_NODES:
            shares[which] += step
    return shares


def _minipod(prng, name, free):
    """Leaves of a minipod, each a list of (leaf, minipod, is free)."""
    size = min(free + prng.below(free + 1), MINIPOD_NODES)
    order = list(range(size))
    if prng.below(2):
        prng.shuffle(order)
    else:
        firsts = list(range(0, size, LEAF_NODES))
        prng.shuffle(firsts)
        order = [i for first in firsts for i in range(first, min(first + LEAF_NODES, size))]
    taken = set(order[: size - free])
    leaves = []
    for first in range(0, size, LEAF_NODES):
        leaf = f"{name}l{len(leaves) + 1}"
        last = min(first + LEAF_NODES, size)
        leaves.append([(leaf, name, i not in taken) for i in range(first, last)])
    return leaves


def _in_turns(queues):
    """The first of each, then the second of each, ..."""
    longest = max(len(queue) for queue in queues)
    return [queue[i] for i in range(longest) for queue in queues if i < len(queue)]


def _numbered(prng, minipods, naming):
    """All nodes in the order of their numbers."""
    if naming == "by minipod":
        order = [node for leaves in minipods for leaf in leaves for node in leaf]
    elif naming == "nodes dealt":
        order = _in_turns([[node for leaf in leaves for node in leaf] for leaves in minipods])
    else:
        order = [node for leaf in _in_turns(minipods) for node in leaf]
    if naming == "racks swapped":
        for _ in range(max(1, len(order) // 20)):
            one, other = prng.below(len(order)), prng.below(len(order))
            order[one], order[other] = order[other], order[one]
    return tuple(Node(f"n{number}", *node) for number, node in enumerate(order, 1))


def make(name, seed, minipods, free, job, alpha, naming):
    """`job`: (dp, tp, pp), as the paper's table has them."""
    prng = SplitMix64(seed)
    shares = _divide(prng, free, minipods)
    pods = [_minipod(prng, f"pod{i}", share) for i, share in enumerate(shares, 1)]
    dp, tp, pp = job
    return Instance(name, _numbered(prng, pods, naming), tp, dp, pp, alpha, naming)


def arnold():
    """The paper's three settings with its three affinities: dense 0, experts 0.3, the most 0.5."""
    settings = (("i", 3, 18, (12, 4, 2)), ("ii", 5, 438, (24, 4, 8)), ("iii", 11, 1019, (46, 8, 8)))
    return [make(f"arnold {name}, alpha {alpha}", 20250918 + number, minipods, free, job, alpha,
                 "racks dealt")
            for number, (name, minipods, free, job) in enumerate(settings)
            for alpha in (0.0, 0.3, 0.5)]


def _draw_job(prng, free):
    """Sizes whose product fills whole nodes: 30 to 95 % of the free nodes, at least 2."""
    while True:
        tp, pp = prng.choice((1, 2, 4, 8)), prng.choice((2, 3, 4, 6, 8, 12, 16))
        least, most = max(2, -(-free * 30 // 100)), free * 95 // 100
        if least > most:
            continue
        ranks = prng.between(least, most) * GPUS_PER_NODE
        dp = ranks // (tp * pp)
        nodes, rest = divmod(tp * pp * dp, GPUS_PER_NODE)
        if dp >= 2 and rest == 0 and least <= nodes <= most:
            return dp, tp, pp


def random_cluster(number):
    prng = SplitMix64(7_000_000 + number)
    minipods = prng.between(2, 16)
    free = minipods * prng.choice((6, 10, 20, 40)) + prng.below(12)
    alpha = prng.choice((0.0, 0.3, 0.5))
    return make(f"random {number}", prng.next(), minipods, free, _draw_job(prng, free), alpha,
                NAMINGS[number % len(NAMINGS)])


def random_clusters(count=200):
    return [random_cluster(number) for number in range(count)]


def large(nodes, candidates, pp=8, alpha=0.3):
    """For solving times: a job on `nodes` of `candidates` nodes, in minipods of some 93 free nodes
    as in the paper's setting iii."""
    dp, rest = divmod(nodes, pp)
    assert rest == 0, "pp does not divide the nodes"
    minipods = max(2, round(candidates / 93))
    return make(f"{nodes} of {candidates}", 512_000 + nodes, minipods, candidates,
                (dp, GPUS_PER_NODE, pp), alpha, "racks dealt")
