"""Other methods on the same free nodes: functions of an instance that return the nodes' names by
place.

The packers (best-fit, random-fit, GPU-packing, and fewest minipods, which the paper does not have)
only choose nodes; as in the paper (Arnold, arXiv 2509.15940, section 5) nodes of one minipod get
continuous indices. The program decides what an index means: with Megatron's order of ranks the
indices run along the data-parallel groups; with an order that follows the scheduling unit (the
paper's modified Megatron; its unit in table 1 is the PP group) they run along the pipelines. Each
packer counts with the better of both.

The paper has a line for each method; each function documents what that line leaves open.
"""

import dataclasses

from placement import bipartition, metric, slurm_order
from placement.clusters import GPUS_PER_NODE, SplitMix64

SEED = 2509


def number_of(name):
    return int(name.lstrip("n"))


def lexicographic(instance):
    """The first hosts by name as text: torchrun's order."""
    return sorted(node.name for node in instance.free)[: instance.needed]


def natural(instance):
    """The first hosts by number."""
    return sorted((node.name for node in instance.free), key=number_of)[: instance.needed]


def slurm_tree(instance):
    """The nodes that Slurm's topology/tree chooses, with ranks in the order of its host list."""
    return sorted(slurm_order.choose(instance), key=number_of)


def topo_aware(instance):
    return bipartition.place(instance)


def free_by_minipod(instance):
    """Names by minipod, along its leaves."""
    found = {}
    for node in sorted(instance.free, key=lambda node: (node.leaf, number_of(node.name))):
        found.setdefault(node.minipod, []).append(node.name)
    return found


def _take(instance, minipods):
    """Nodes of these minipods, one after the other, until there are enough."""
    free, chosen = free_by_minipod(instance), []
    for minipod in minipods:
        chosen += free[minipod][: instance.needed - len(chosen)]
    return chosen


def best_fit(instance):
    """The minipod with the least remaining resources first; minipods that can hold the whole job
    come before all others, the smallest first."""
    free = free_by_minipod(instance)
    whole = [name for name in free if len(free[name]) >= instance.needed]
    return _take(instance, sorted(whole or free, key=lambda name: (len(free[name]), name)))


def gpu_packing(instance):
    """Gandiva's packing, with minipods instead of GPUs: the most used one first."""
    free, size = free_by_minipod(instance), {}
    for node in instance.nodes:
        size[node.minipod] = size.get(node.minipod, 0) + 1
    return _take(instance, sorted(free, key=lambda name: (len(free[name]) / size[name], name)))


def fewest_minipods(instance):
    """The minipod with most free nodes first; the rest of the job by best fit."""
    free, chosen = free_by_minipod(instance), []
    missing = instance.needed
    while missing:
        left = [name for name in free if name not in chosen]
        whole = [name for name in left if len(free[name]) >= missing]
        chosen.append(min(whole, key=lambda name: (len(free[name]), name)) if whole
                      else max(left, key=lambda name: (len(free[name]), name)))
        missing -= min(missing, len(free[chosen[-1]]))
    return _take(instance, chosen)


def random_fit(instance):
    """Balanced random: each node comes from a random minipod that has one left. One draw with a
    fixed seed stands for the method."""
    prng = SplitMix64(SEED)
    free = free_by_minipod(instance)
    left = {name: list(nodes) for name, nodes in sorted(free.items())}
    taken = {name: [] for name in left}
    for _ in range(instance.needed):
        minipod = prng.choice([name for name in left if left[name]])
        taken[minipod].append(left[minipod].pop(0))
    return [name for nodes in taken.values() for name in nodes]


def along_pipelines(instance, names):
    """The same nodes with their indices along the pipelines: places are sorted by their first
    rank's position in its pipeline group, and get the nodes in order."""
    stage = instance.tp * instance.dp  # ranks of one pipeline stage

    def key(place):
        stage_number, within = divmod(place * GPUS_PER_NODE, stage)
        return within, stage_number

    result = [None] * len(names)
    for place, name in zip(sorted(range(len(names)), key=key), names, strict=True):
        result[place] = name
    return result


ORDERS = {"lexicographic": lexicographic, "natural": natural, "slurm tree": slurm_tree}
PACKERS = {"best-fit": best_fit, "random-fit": random_fit, "gpu-packing": gpu_packing,
           "fewest minipods": fewest_minipods}
OF_THE_PAPER = ["best-fit", "random-fit", "gpu-packing", "topo-aware"]
NAMES = [*PACKERS, "topo-aware", *ORDERS]


@dataclasses.dataclass(frozen=True)
class Candidate:
    names: list           # the nodes' names, by place
    quality: metric.Quality


def all_of(instance):
    """Two dictionaries of candidates by baseline: with the better of both meanings of an index for
    packers, and with Megatron's order of ranks."""
    judge = metric.Judge(instance, GPUS_PER_NODE)
    better, megatron = {}, {}

    def candidate(names):
        return Candidate(names, judge.quality(names))

    for name, choose in PACKERS.items():
        names = choose(instance)
        megatron[name] = candidate(names)
        better[name] = min(megatron[name], candidate(along_pipelines(instance, names)),
                           key=lambda one: (one.quality.spread, one.quality.touched))
    for name, choose in [("topo-aware", topo_aware), *ORDERS.items()]:
        better[name] = megatron[name] = candidate(choose(instance))
    return better, megatron
