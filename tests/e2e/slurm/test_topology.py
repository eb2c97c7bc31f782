"""The topology that a running slurmctld with topology/tree reports is the one of topology.conf.
Real Slurm on loopback (cluster.py)."""

import subprocess

from helpers.runner import BUILD

TOPOLOGY = """
# Two pods of different depth, and a switch whose nodes Slurm does not know.
SwitchName=core Switches=pod[1-2],later
SwitchName=pod1 Switches=leaf1,leaf2   # comment
SwitchName=leaf1 Nodes=n[1-2]
SwitchName=leaf2 Nodes=n3 LinkSpeed=100
SwitchName=pod2 Nodes=n[4-6]
SwitchName=later Nodes=n[7-8]
"""
TREE = {
    "n1": ["leaf1", "pod1", "core"],
    "n2": ["leaf1", "pod1", "core"],
    "n3": ["leaf2", "pod1", "core"],
    "n4": ["pod2", "pod2", "core"],
    "n5": ["pod2", "pod2", "core"],
    "n6": ["pod2", "pod2", "core"],
    "n7": ["later", "later", "core"],
    "n8": ["later", "later", "core"],
}
HERE = ["n1", "n2", "n3", "n4", "n5", "n6"]


def read(path):
    """{node: switches from the bottom up} as robustrun reads it."""
    done = subprocess.run([BUILD / "test-helpers" / "show_topology", path], capture_output=True,
                          text=True)
    assert done.returncode == 0, done.stderr
    lines = [line.split() for line in done.stdout.splitlines()]
    return {first[:-1]: rest for first, *rest in lines if first.endswith(":")}


def show_topology(cluster, name="shown"):
    path = cluster.folder / name
    path.write_text(cluster.run("scontrol", "show", "topology").stdout)
    return path


def test_scontrol_shows_the_tree_of_topology_conf(slurm):
    cluster = slurm(6, options=("TopologyPlugin=topology/tree",), files={"topology.conf": TOPOLOGY})
    shown = show_topology(cluster)
    print(shown.read_text())
    assert read(shown) == TREE
    assert read(cluster.folder / "topology.conf") == TREE

    # Every task gets the same tree.
    told = cluster.folder / "told"
    told.write_text(cluster.run(
        "srun", "--nodes=6", "--ntasks=6", "--ntasks-per-node=1", "sh", "-c",
        "echo $SLURM_TOPOLOGY_ADDR $SLURM_TOPOLOGY_ADDR_PATTERN").stdout)
    print(told.read_text())
    assert read(told) == {node: TREE[node] for node in HERE}


def test_a_slurm_without_topology_is_an_error(slurm):
    cluster = slurm(2)
    assert cluster.run("scontrol", "show", "topology", check=False).stdout == ""
    told = cluster.folder / "told"
    told.write_text(cluster.run(
        "srun", "--nodes=1", "sh", "-c",
        "echo $SLURM_TOPOLOGY_ADDR $SLURM_TOPOLOGY_ADDR_PATTERN").stdout)
    print(told.read_text())
    refused = subprocess.run([BUILD / "test-helpers" / "show_topology", told],
                             capture_output=True, text=True)
    assert refused.returncode == 2 and "no topology plugin" in refused.stderr
