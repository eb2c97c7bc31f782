"""The best placement of a small job, found without robustrun: as an integer program of Arnold's eq.
2 and 3 for cbc (Debian: coinor-cbc), and by trying all placements.

Nodes of a minipod are alike, so a placement is a minipod for each place. Groups come from
bench/placement/metric.py, which is independent of robustrun too.
"""

import dataclasses
import itertools
import pathlib
import random
import re
import shutil
import subprocess
import sys

import pytest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[3] / "bench"))

from placement import metric  # noqa: E402

ORDERS = (metric.ORDER, ("tp", "cp", "ep", "pp", "dp"))
SCALE = 1000  # weights of the program are whole numbers


@dataclasses.dataclass(frozen=True)
class Job:
    free: tuple      # nodes by minipod
    slots: int       # ranks per node
    tp: int
    dp: int
    pp: int
    alpha: float
    order: tuple

    @property
    def nodes(self):
        return self.tp * self.dp * self.pp // self.slots

    def groups(self):
        sizes = {"tp": self.tp, "dp": self.dp, "pp": self.pp}
        return metric.groups(sizes, self.slots, self.order)

    def cost(self, minipod_by_place):
        return metric.quality(self.groups(), self.alpha, minipod_by_place).spread


def draw_job(seed, nodes_most=10, minipods_most=4):
    """A job of 4 or more nodes that no single minipod can hold and whose groups span nodes. In half
    of the jobs a node is one cell of the matrix of groups, where alignment is most often possible;
    most have both kinds of groups, and a trade-off to make.
    """
    draw = random.Random(f"placement {seed}")
    while True:
        slots = draw.choice((1, 2, 4, 8))
        tp = draw.choice([size for size in (1, 2, 4, 8) if size <= slots])
        if draw.random() < 0.5:
            tp = slots
        nodes = draw.randint(4, nodes_most)
        ranks = nodes * slots // tp
        pp = draw.choice([size for size in range(1, nodes + 1) if ranks % size == 0])
        largest = draw.choice((nodes // 2, nodes - 1))
        free = [draw.randint(1, largest) for _ in range(draw.randint(2, minipods_most))]
        alpha = draw.choice((0, 0.1, 0.3, 0.5, 0.7, 1))
        job = Job(tuple(free), slots, tp, ranks // pp, pp, alpha, draw.choice(ORDERS))
        kinds = len(job.groups())
        if sum(free) >= nodes and kinds and (kinds > 1 or draw.random() < 0.1):
            return job


def program(job):
    """The job in CPLEX's LP format.

    x_p_m: place p is in minipod m; t_k_g_m: group g of kind k touches m; z_k: some group of the
    kind touches more than one; s_k: the largest spread of the kind.
    """
    places, minipods = range(job.nodes), range(len(job.free))
    groups = {kind: sorted({tuple(sorted(group)) for group in members if len(group) > 1})
              for kind, members in job.groups().items()}
    weights = metric.weights(job.alpha, groups.keys())
    lines = ["Minimize", " cost: " + " + ".join(
        f"{round(weights[kind] * SCALE)} s_{kind}" for kind in groups), "Subject To"]

    def total(terms):
        return " + ".join(terms)

    lines += [f" {total(f'x_{p}_{m}' for m in minipods)} = 1" for p in places]
    lines += [f" {total(f'x_{p}_{m}' for p in places)} <= {job.free[m]}" for m in minipods]
    for kind, members in groups.items():
        for g, group in enumerate(members):
            touched = [f"t_{kind}_{g}_{m}" for m in minipods]
            for m in minipods:
                lines += [f" {touched[m]} - x_{p}_{m} >= 0" for p in group]
            # Spread: the number touched, less 1 if it is 1.
            lines.append(f" s_{kind} - z_{kind} - {' - '.join(touched)} >= -1")
            lines.append(f" {total(touched)} - {len(job.free) - 1} z_{kind} <= 1")
    # Minipods with as many nodes are alike: the first place is in the first of them.
    lines += [f" x_0_{m} = 0" for m in minipods if job.free[m] in job.free[:m]]
    lines.append("Binary")
    lines += [f" x_{p}_{m}" for p in places for m in minipods]
    lines += [f" z_{kind}" for kind in groups]
    return "\n".join([*lines, "End", ""])


def least_cost(job, folder):
    """The cost of the best placement, by cbc."""
    if not shutil.which("cbc"):
        pytest.fail("no cbc: scripts/install-deps.sh test installs it")
    path = folder / "program.lp"
    path.write_text(program(job))
    done = subprocess.run(["cbc", str(path), "threads", "0", "ratioGap", "0", "solve"],
                          capture_output=True, text=True, timeout=300)
    assert "Optimal solution found" in done.stdout, done.stdout + program(job)
    return float(re.findall(r"^Objective value:\s+(\S+)", done.stdout, re.M)[-1]) / SCALE


def least_cost_of_all(job):
    """The cost of the best placement, by trying all of them."""
    groups = job.groups()
    best = None
    for minipods in itertools.product(range(len(job.free)), repeat=job.nodes):
        if all(minipods.count(m) <= most for m, most in enumerate(job.free)):
            cost = metric.quality(groups, job.alpha, minipods).spread
            best = cost if best is None else min(best, cost)
    return best
