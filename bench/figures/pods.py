"""A job on 8 machines in two pods with slow links between them: computed against natural order.

Machines are network namespaces (tests/e2e/helpers/machines.py), pods are bridges, each with an
uplink that token buckets limit both ways. Racks of two hosts go to the pods in turns, and names run
along the racks, so natural order puts every pipeline across the uplinks. The job sends what a
training with pipelines and data parallelism sends (pipeline_job.py); `robustrun plan` makes the
prediction. Takes root.
"""

import json
import statistics
import sys
import uuid

from harness import (
    ROBUSTRUN,
    ROOT,
    Figure,
    Quick,
    Scratch,
    call,
    clean_environment,
    in_turns,
    median_ratio,
)
from placement import metric
from placement.planner import Planner, names

sys.path.append(str(ROOT / "tests" / "e2e"))
from helpers.machines import Lab  # noqa: E402
from helpers.runner import MARKER  # noqa: E402

JOB = ROOT / "bench" / "pipeline_job.py"
RACK, HOSTS = 2, 8
POD_OF = {f"h{i + 1}": f"pod{i // RACK % 2 + 1}" for i in range(HOSTS)}
DP, PP, STEPS = 2, 4, 5
MICROBATCHES, CHUNK_BYTES, GRADIENT_BYTES = 16, 512 * 1024, 2 * 1024 * 1024
RATE_MBIT = 200
IFACE = "eth0"  # of every machine
# What a rank sends per step: chunks in both directions; its part of a ring all-reduce.
TRAFFIC = {"pp": 2 * MICROBATCHES * CHUNK_BYTES, "dp": 2 * (DP - 1) * GRADIENT_BYTES // DP}
LIMIT_SECONDS = 300
GAIN_SHARE_MIN = 0.5
ROUNDS = 5
QUICK = Quick(55, "1 round instead of 5")


def topology():
    pods = {}
    for host, pod in POD_OF.items():
        pods.setdefault(pod, []).append(f'"{host}"')
    return f"[level.pod]\ngbps = {RATE_MBIT / 1000}\n" + "".join(
        f'[[switch]]\nname = "{pod}"\nlevel = "pod"\nnodes = [{", ".join(hosts)}]\n'
        for pod, hosts in pods.items())


class Pods:
    """The machines, their bridges and the limits on the uplinks."""

    def __init__(self, folder):
        self.marker = uuid.uuid4().hex
        self.lab = Lab(folder / "lab", self.marker)

    def __enter__(self):
        self.lab.add(HOSTS)
        for pod in sorted(set(POD_OF.values())):
            self.add_pod(pod)
        for host, pod in POD_OF.items():
            self.lab.within_hub("ip", "link", "set", self.lab[host].cable, "master", pod)
        return self

    def __exit__(self, *_):
        self.lab.close()

    def add_pod(self, pod):
        hub = self.lab.within_hub
        hub("ip", "link", "add", "name", pod, "type", "bridge")
        hub("ip", "link", "set", pod, "up")
        ends = {f"{pod}up": pod, f"{pod}down": "bridge0"}
        one, other = ends
        hub("ip", "link", "add", "name", one, "type", "veth", "peer", "name", other)
        for end, bridge in ends.items():
            hub("ip", "link", "set", end, "master", bridge, "up")
            hub("tc", "qdisc", "add", "dev", end, "root", "tbf", "rate", f"{RATE_MBIT}mbit",
                "burst", "128kb", "latency", "100ms")

    def environment(self):
        return clean_environment(**{**self.lab.home.environment(), MARKER: self.marker})

    def step_seconds(self, *options):
        """The median step of a run with these options."""
        with Scratch() as folder:
            said = folder / "steps.json"
            sizes = [DP, PP, STEPS, MICROBATCHES, CHUNK_BYTES, GRADIENT_BYTES]
            call([*self.lab.prefix, ROBUSTRUN, "--run-dir", folder / "run", f"--iface={IFACE}",
                  "--nproc-per-node=1", *options, JOB, said, IFACE, *sizes], folder,
                 self.environment(), check=True, seconds=LIMIT_SECONDS)
            return statistics.median(json.loads(said.read_text()))


def measure(quick):
    with Scratch() as folder, Pods(folder) as pods:
        path = folder / "topology.toml"
        path.write_text(topology())
        hosts = f"--hosts=h[1-{HOSTS}]"
        volumes = ",".join(f"{kind}={size}" for kind, size in TRAFFIC.items())
        network = [f"--topology={path}", f"--parallel=dp={DP},pp={PP}", f"--traffic={volumes}"]
        plan = Planner(ROBUSTRUN, folder, pods.environment()).call(
            hosts, "--nproc-per-node=1", *network)
        check(plan)
        ours, natural = in_turns(QUICK.rounds if quick else ROUNDS,
                                 lambda: pods.step_seconds(hosts, *network),
                                 lambda: pods.step_seconds(hosts, "--topology=off"))
    predicted = plan["network_seconds"]["ours"] / plan["network_seconds"]["natural"]
    ratio = median_ratio(ours, natural)
    return [Figure("step over two pods", "s", ours, natural, f"predicted {predicted:.3g}",
                   1 - ratio >= GAIN_SHARE_MIN * (1 - predicted),
                   f"natural order is the peer; predicted {plan['network_seconds']['ours']:.3g} s "
                   f"and {plan['network_seconds']['natural']:.3g} s on the network alone")]


def check(plan):
    """Asserts that the plan's prediction is the result of the metric's own formula."""
    sizes = {"tp": 1, "dp": DP, "pp": PP}
    for order, hosts in (("ours", names(plan)), ("natural", sorted(POD_OF))):
        seconds = metric.network_seconds(sizes, 1, [POD_OF[host] for host in hosts], TRAFFIC,
                                         RATE_MBIT / 1000)
        said = plan["network_seconds"][order]
        assert abs(said - seconds) <= 0.01 * seconds, f"{order}: {said} s, not {seconds} s"
