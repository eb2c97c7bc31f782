"""Which nodes Slurm's topology/tree takes for a job that asks for a number of whole nodes.

As in its sources (24.x, plugin topology/tree, for nodes of equal weight and no required ones):
leaves are added one at a time, each with all its free nodes in the order of the node table, until
there are enough nodes. Pairwise comparison finds the best next leaf. Of two leaves at equal
distance from the taken ones, levels are compared from the leaf upwards. The first level on which a
switch holds all missing nodes decides: the leaf below that switch wins; if both switches do, the
tighter one. If no level below their common switch decides, the leaf whose switch has more nodes on
the last level wins. A nearer leaf wins if the leaf, or its ancestor at which the comparison ended,
holds all missing nodes. The distance is the sum over the taken leaves.
"""


class _Tree:
    """Leaf, minipod, core: free nodes below each, by name."""

    def __init__(self, instance):
        self.parent, self.free, self.nodes = {}, {"core": 0}, {}
        self.parent["core"] = "core"
        for node in instance.nodes:
            self.parent[node.leaf], self.parent[node.minipod] = node.minipod, "core"
            self.free.setdefault(node.minipod, 0)
            self.free.setdefault(node.leaf, 0)
            self.nodes.setdefault(node.leaf, [])
            if node.free:
                self.nodes[node.leaf].append(node.name)
                for switch in (node.leaf, node.minipod, "core"):
                    self.free[switch] += 1
        self.distance = {leaf: 0 for leaf in self.nodes}

    def take(self, leaf):
        count = self.free[leaf]
        for switch in (leaf, self.parent[leaf], "core"):
            self.free[switch] -= count
        for other in self.distance:
            same_leaf, same_minipod = other == leaf, self.parent[other] == self.parent[leaf]
            self.distance[other] += 0 if same_leaf else 2 if same_minipod else 4

    def compare(self, one, other, missing):
        """1, -1 or 0 if `one` is better, worse or equal; and whether it held all missing nodes."""
        while True:
            fits, other_fits = self.free[one] >= missing, self.free[other] >= missing
            if fits and other_fits:
                break
            if fits or other_fits:
                return (1 if fits else -1), fits
            if self.parent[one] == self.parent[other]:
                return _sign(self.free[one] - self.free[other]), fits
            one, other = self.parent[one], self.parent[other]
        tighter = _sign(self.free[other] - self.free[one])
        return tighter, True


def _sign(number):
    return (number > 0) - (number < 0)


def choose(instance):
    """Names of the nodes, in the order in which they were taken."""
    tree, chosen = _Tree(instance), []
    while len(chosen) < instance.needed:
        missing = instance.needed - len(chosen)
        best = None
        for leaf in tree.nodes:
            if not tree.free[leaf]:
                continue
            if best is None:
                best = leaf
                continue
            better, fits = tree.compare(leaf, best, missing)
            nearer = tree.distance[leaf] - tree.distance[best]
            if (nearer < 0 and fits) or (nearer == 0 and better > 0):
                best = leaf
        tree.take(best)
        chosen += tree.nodes[best][:missing]
    return chosen
