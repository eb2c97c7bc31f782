"""Dependencies on eight machines at once: until each of them has the snapshot mounted.

Links have 200 Mbit/s each way: eight machines share two processors, and with faster links the
processors would be measured. The readings are the stage `environment` of `robustrun report`, by
each machine's own clock, in two cases: the snapshot lies in a cache that all machines share; each
machine has a cache of its own, the snapshot lies in one of them, and machines pass it on. Packages
are those of `dependencies --quick`. The page cache is empty before. Takes root.
"""

import json
import os
import statistics
import subprocess
import sys

from harness import ROBUSTRUN, Figure, Quick, Scratch, clean_environment, in_turns
from lab_nodes import NODES, Nodes, finish
from origin import BURST, LATENCY, Lab

from figures.dependencies import FEW_PACKAGES, installers, wheelhouse

RATE = "200mbit"
ROUNDS = 7
QUICK = Quick(55, "1 round instead of 7, of the case in which the snapshot is passed on")
CAME = "the dependencies came from other nodes"


class Machines(Nodes):
    def __init__(self, lab, folder):
        super().__init__(lab, folder)
        self.environment = installers(folder, wheelhouse(folder, FEW_PACKAGES))
        self.shared = folder / "shared"
        self.shared.mkdir(mode=0o700)
        self.ratios = {"shared": [], "own": []}
        (folder / "train.py").write_text(f"import {FEW_PACKAGES[0]}\n")
        for machine in self.all:
            limit = ("root", "tbf", "rate", RATE, "burst", BURST, "latency", LATENCY)
            machine.within("tc", "qdisc", "add", "dev", "eth0", *limit)
            lab.within_hub("tc", "qdisc", "add", "dev", machine.cable, *limit)

    def job(self, count, cache):
        """The median and the longest stage of the first `count` machines, by the report, and how
        many of them got the snapshot from others."""
        errors = finish(self.run(self.lab.prefix, *self.hosts(count), "--deps=requirements.txt",
                                 f"--run-dir={self.folder / 'run'}", "train.py", cache=cache,
                                 **self.environment))
        done = subprocess.run([ROBUSTRUN, "report", "--json", self.folder / "run"], text=True,
                              capture_output=True, check=True, env=clean_environment())
        subprocess.run(["rm", "-rf", self.folder / "run"], check=True)
        stage = next(each for each in json.loads(done.stdout)["stages"]
                     if each["of"] == "start" and each["stage"] == "environment")
        if stage["samples"] != count:
            sys.exit(f"{stage['samples']} of {count} machines reported their dependencies")
        return stage["median_s"], stage["max_s"], errors.count(CAME)

    def with_shared_cache(self):
        self.clear()
        median, most, _ = self.job(NODES, self.shared)
        self.ratios["shared"].append(most / median)
        return most

    def with_own_caches(self):
        for machine in self.all[1:]:
            subprocess.run(self.within(machine, "rm", "-rf", self.cache / "deps"), check=True)
        self.clear("blocks")
        median, most, came = self.job(NODES, None)
        if came != NODES - 1:
            print(f"  only {came} machines got the snapshot from others, the rest installed it")
        self.ratios["own"].append(most / median)
        return most


def measure(quick):
    if os.geteuid() != 0:
        sys.exit("this measurement makes network namespaces and mounts: it takes root")
    with Scratch() as folder:
        lab = Lab(folder / "lab", str(folder)).add(NODES)
        try:
            machines = Machines(lab, folder)
            for cache in (None,) if quick else (machines.shared, None):
                machines.job(1, cache)  # makes the snapshot
            measures = [machines.with_own_caches, machines.with_shared_cache]
            own, *shared = in_turns(QUICK.rounds if quick else ROUNDS,
                                    *measures[:1 if quick else None])
        finally:
            lab.close()
    figures = figures_of("passed on", own, machines.ratios["own"])
    for seconds in shared:
        figures += figures_of("hit in a shared cache", seconds, machines.ratios["shared"])
    return figures


def figures_of(case, seconds, ratios):
    return [Figure(f"dependencies, slowest of {NODES} machines: {case}", "s", seconds, [], "-",
                   True),
            Figure(f"slowest machine / median machine, {case}", "", ratios, [], "below 1.2",
                   statistics.median(ratios) < 1.2)]
