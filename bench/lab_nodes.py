"""Eight machines of a lab (tests/e2e/helpers/machines.py), each with a cache of its own, and runs
on them. All share one computer's processors. Takes root.
"""

import subprocess
import sys

from harness import ROBUSTRUN, empty_memory, start

NODES = 8


class Nodes:
    def __init__(self, lab, folder):
        self.lab, self.folder = lab, folder
        self.all = list(lab.machines.values())
        self.runs = 0
        self.cache = folder / "cache"  # each machine's own
        self.cache.mkdir()
        for machine in self.all:
            subprocess.run(["nsenter", "-t", str(machine.init), "-m", "mount", "-t", "tmpfs", "-o",
                            "mode=700", "none", self.cache], check=True)

    def within(self, machine, *words):
        return ["nsenter", "-t", str(machine.init), "-n", "-m", "-p", "-u",
                f"--wd={self.folder}", *map(str, words)]

    def clear(self, *names):
        """Removes these from every machine's cache, and empties the page cache."""
        for machine in self.all:
            subprocess.run(self.within(machine, "rm", "-rf", *(self.cache / n for n in names)),
                           check=True)
        empty_memory()

    def run(self, prefix, *words, cache=None, **environment):
        """Starts robustrun on the machine that `prefix` enters."""
        self.runs += 1
        output = f"run-{self.runs}.log"
        run = start([*prefix, ROBUSTRUN, f"--cache-dir={cache or self.cache}", "--preflight=off",
                     "--nproc-per-node=1", *words], self.folder, output,
                    **{**self.lab.home.environment(), **environment})
        run.log = self.folder / output
        return run

    def hosts(self, count=NODES):
        return f"--hosts=h[1-{count}]", "--iface=eth0"


def finish(run):
    """Waits for a run's success; returns its messages."""
    code, output = run.wait(), run.log.read_text(errors="replace")
    if code != 0:
        sys.exit(f"a start failed:\n{output}")
    return output
