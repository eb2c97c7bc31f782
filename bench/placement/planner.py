"""`robustrun plan` of an instance: the placement, without starting anything."""

import json
import subprocess

from placement.clusters import GPUS_PER_NODE


class Planner:
    """Plans one at a time: all plans use the same files of one folder."""

    def __init__(self, binary, folder, environment=None):
        self.binary, self.folder, self.environment = binary, folder, environment

    def call(self, *options):
        """The plan as JSON; a failed command is an AssertionError."""
        done = subprocess.run([self.binary, "plan", "--json", *map(str, options)],
                              cwd=self.folder, env=self.environment, capture_output=True,
                              text=True, stdin=subprocess.DEVNULL)
        assert done.returncode == 0, f"{done.args}: {done.returncode}\n{done.stderr}"
        return json.loads(done.stdout)

    def write(self, topology, hosts):
        (self.folder / "topology.toml").write_text(topology)
        (self.folder / "hosts").write_text("".join(f"{host}\n" for host in hosts))
        return [f"--topology={self.folder / 'topology.toml'}",
                f"--hostfile={self.folder / 'hosts'}"]

    def instance(self, instance, *more, **of_topology):
        """The plan of a clusters.Instance, with its free nodes in the order of their numbers.
        `of_topology`: the arguments of Instance.toml()."""
        files = self.write(instance.toml(**of_topology), [node.name for node in instance.free])
        return self.call(*files, f"--nnodes={instance.needed}",
                         f"--nproc-per-node={GPUS_PER_NODE}",
                         f"--parallel=tp={instance.tp},dp={instance.dp},pp={instance.pp}",
                         f"--affinity={instance.alpha}", *more)

    def knows(self, option):
        done = subprocess.run([self.binary, "plan", "--help"], cwd=self.folder,
                              env=self.environment, capture_output=True, text=True,
                              stdin=subprocess.DEVNULL)
        return option in done.stdout + done.stderr


def names(plan):
    """The nodes' names, by place."""
    return [node["name"] for node in sorted(plan["nodes"], key=lambda node: node["place"])]
