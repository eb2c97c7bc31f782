"""`robustrun plan` of small jobs costs as much as the best placement, found by an integer program,
and its bound is valid. The program itself is checked against all placements.

Seeds: nodes.rounds().
"""

import json

import pytest
from helpers.jobs import rounds
from nodes.placement_oracle import draw_job, least_cost, least_cost_of_all

TOLERANCE = 1e-4


def topology(job):
    """Each minipod a switch; names run across them."""
    parts, names = [], [[] for _ in job.free]
    left = list(job.free)
    number = 0
    while any(left):
        for minipod, count in enumerate(left):
            if count:
                number += 1
                left[minipod] -= 1
                names[minipod].append(f"n{number}")
    for minipod, nodes in enumerate(names):
        listed = ", ".join(f'"{name}"' for name in nodes)
        parts.append(f'[[switch]]\nname = "pod{minipod}"\nlevel = "minipod"\nnodes = [{listed}]\n')
    return "\n".join(parts), {name: f"pod{m}" for m, nodes in enumerate(names) for name in nodes}


def plan(robustrun, job):
    text, minipod_of = topology(job)
    path = robustrun.write("topology.toml", text)
    done = robustrun.run(
        "plan", "--json", f"--topology={path}", f"--hosts={','.join(minipod_of)}",
        f"--nnodes={job.nodes}", f"--nproc-per-node={job.slots}",
        f"--parallel=tp={job.tp},dp={job.dp},pp={job.pp}", f"--rank-order={'-'.join(job.order)}",
        f"--affinity={job.alpha}",
    )
    assert done.code == 0, done.errors
    return json.loads(done.text), minipod_of


@rounds(of_ci=40)
def test_no_placement_costs_less(robustrun, seed):
    job = draw_job(seed)
    said, minipod_of = plan(robustrun, job)
    names = [node["name"] for node in sorted(said["nodes"], key=lambda node: node["place"])]
    assert len(set(names)) == len(names) == job.nodes
    cost = job.cost([minipod_of[name] for name in names])
    assert said["cost"]["worst"] == pytest.approx(cost, abs=TOLERANCE), "its own figure is wrong"
    least = least_cost(job, robustrun.folder)
    assert said["bound"] <= least + TOLERANCE, "the bound is above the optimum placement"
    assert cost == pytest.approx(least, abs=TOLERANCE), f"{job}: {names}"


@rounds(of_ci=10)
def test_the_program_finds_the_least_of_all_placements(tmp_path, seed):
    job = draw_job(seed, nodes_most=6, minipods_most=3)
    assert least_cost(job, tmp_path) == pytest.approx(least_cost_of_all(job), abs=TOLERANCE)
