"""Limits of processes, descriptors, threads and memory, from 3 upwards, for a run and for commands
that read it. The program that is limited is robustrun with all that it starts."""

import os
import shutil
import subprocess
import sys

from harness import ROBUSTRUN
from hostile.place import Place, as_user, dice, processes_now, user_of

MIB, GIB = 1 << 20, 1 << 30
STACK = GIB           # of a thread, so that the memory bounds the threads
LIMITS = {
    "processes": range(3, 40),
    "descriptors": range(3, 64),
    "threads": range(3, 24),
    "MiB of memory": (*range(3, 32), *range(32, 128, 8), *range(128, 512, 32),
                      *range(512, 2049, 256)),
}
# The command of every other seed is a run.
COMMANDS = (("report",), ("status",), ("ls",), ("logs",), ("plan", "--hosts=a,b", "end.py"),
            ("check",), ("doctor",))
SWEEP = [(what, limit) for what, limits in LIMITS.items() for limit in limits]
COUNT = 2 * len(SWEEP)
RUNS = {
    "a run": ("--standby=off", "--no-python", "/bin/echo", "here"),
    "a run on two nodes": ("--standby=off", "--launcher=processes", "--nnodes=2",
                           "--wait-for-nodes=5", "--no-python", "/bin/echo", "here"),
}


def limited(what, limit, uid):
    """The prefix of a command with that limit."""
    if what == "descriptors":
        return ["prlimit", f"--nofile={limit}:{limit}"]
    if what == "threads":
        return ["prlimit", f"--stack={STACK}:{STACK}", f"--as={limit * GIB}:{limit * GIB}"]
    if what == "MiB of memory":
        return ["prlimit", f"--as={limit * MIB}:{limit * MIB}"]
    if os.geteuid() != 0:
        limit += processes_now()
        return ["prlimit", f"--nproc={limit}:{limit}"]
    # Root has no limit of processes.
    return [*as_user(uid), "prlimit", f"--nproc={limit}:{limit}"]


class Player:
    def __enter__(self):
        for tool in ("prlimit", "setpriv"):
            if not shutil.which(tool):
                sys.exit(f"no {tool}: install util-linux")
        return self

    def __exit__(self, *_):
        pass

    def play(self, seed):
        draw = dice("limits", seed)
        what, limit = SWEEP[(seed - 1) // 2 % len(SWEEP)]
        with Place() as place:
            name, words = self.command(place, seed, draw)
            uid = user_of(seed)
            prefix = limited(what, limit, uid)
            if prefix[0] == "setpriv":
                place.give_to(uid)
            loaded = self.begins(place, prefix)
            ended = place.run(*words, prefix=prefix)
            return place.line(f"{name} with {limit} {what}", ended, loaded=loaded,
                              before_next=lambda: place.give_to(os.getuid()))

    def command(self, place, seed, draw):
        """A run for every other seed; otherwise a command about a run that ended before."""
        if seed % 2:
            name = draw.choice(list(RUNS))
            return name, RUNS[name]
        made = place.run("--standby=off", "--run-dir", "robustrun-runs/done", "end.py")
        assert made.code == 0, made.err
        words = draw.choice(COMMANDS)
        return words[0], words

    def begins(self, place, prefix):
        """Whether the program can be loaded at all under the limit: otherwise the kernel or the
        dynamic linker ends it, and what it does is not robustrun's."""
        return subprocess.run([*prefix, ROBUSTRUN, "--version"], cwd=place.folder,
                              capture_output=True, timeout=60).returncode == 0
