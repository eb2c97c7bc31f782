"""Start of a training whose Python environment lies on remote storage.

The environment is seen through FUSE, where each answer takes a millisecond (tests/helpers/
slow_view.cpp), and mounted anew for every start, so that none of it is in memory. From the command
to the end of the first step: torchrun; robustrun without reading ahead; its first start, which it
records; its second start, which reads ahead. The cost of recording is also taken from starts with
all files in memory, which are the shortest and vary least.
"""

import contextlib
import os
import pathlib
import shutil
import subprocess
import sys
import time

import harness
from harness import (
    BIN,
    HELPERS,
    Figure,
    Quick,
    Scratch,
    clean_environment,
    in_turns,
    median_ratio,
    or_absent,
    with_peer,
)

LATENCY_US, QUICK_LATENCY_US = 1000, 500
ROUNDS, NEAR_ROUNDS = 5, 20
QUICK = Quick(45, "1 start of each kind instead of 5, with 0.5 ms for each answer instead of 1 ms; "
              "none without reading ahead or with all files in memory")
VIEW = HELPERS / "slow_view"
SCRIPT = """
import sys, time
import torch
model = torch.nn.Linear(8, 8)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
model(torch.ones(4, 8)).sum().backward()
optimizer.step()
open(sys.argv[1], "w").write(str(time.monotonic()))
"""


@contextlib.contextmanager
def far(environment, place, latency_us):
    """The environment as on remote storage, with nothing of it in memory."""
    place.mkdir(exist_ok=True)
    view = subprocess.Popen([VIEW, environment, place, str(latency_us)])
    try:
        harness.wait_for(lambda: os.path.ismount(place), f"the mount of {VIEW.name}", 10)
        yield place / "bin" / "python"
    finally:
        unmount(place)
        view.wait(timeout=60)


def unmount(place):
    """Workers of a measurement that was stopped use it until their shims have ended them."""
    for _ in range(100):
        if subprocess.run(["umount", place], stderr=subprocess.DEVNULL).returncode == 0:
            return
        time.sleep(0.1)
    subprocess.run(["umount", "--lazy", place], check=True)


class Starts:
    def __init__(self, folder, latency_us):
        self.folder, self.latency_us = folder, latency_us
        self.environment = pathlib.Path(harness.PYTHON).parent.parent
        (folder / "train.py").write_text(SCRIPT)

    def seconds(self, command, cache=None):
        with far(self.environment, self.folder / "far", self.latency_us) as python:
            return self.seconds_with(python, command, cache)

    def seconds_with(self, python, command, cache=None):
        stepped = self.folder / "stepped"
        stepped.unlink(missing_ok=True)
        start = time.monotonic()
        harness.call([python if word == "PYTHON" else word for word in command] + [stepped],
                     self.folder,
                     clean_environment(PYTHON_EXEC=python, PYTHONDONTWRITEBYTECODE=1,
                                       XDG_CACHE_HOME=cache or self.folder / "none"), check=True)
        return float(stepped.read_text()) - start

    def torchrun(self):
        return self.seconds(["PYTHON", "-m", "torch.distributed.run", "train.py"])

    def without(self):
        return self.seconds([str(BIN / "robustrun"), "--prefetch=off", "train.py"])

    def first(self):
        shutil.rmtree(self.folder / "cache", ignore_errors=True)
        return self.seconds([str(BIN / "robustrun"), "train.py"], self.folder / "cache")

    def second(self):
        return self.seconds([str(BIN / "robustrun"), "train.py"], self.folder / "cache")

    def near_recorded(self):
        shutil.rmtree(self.folder / "cache", ignore_errors=True)
        seconds = self.seconds_with(
            harness.PYTHON, [str(BIN / "robustrun"), "--prefetch=on", "train.py"],
            self.folder / "cache")
        if not list((self.folder / "cache").glob("robustrun/hot/*")):
            sys.exit("the start was not recorded")
        return seconds

    def near_without(self):
        return self.seconds_with(
            harness.PYTHON, [str(BIN / "robustrun"), "--prefetch=off", "train.py"])


def measure(quick):
    if os.geteuid() != 0 or not VIEW.exists():
        sys.exit("this measurement mounts a view (FUSE): it takes root, and libfuse3 at the build")
    with Scratch() as folder:
        starts = Starts(folder, QUICK_LATENCY_US if quick else LATENCY_US)
        starts.first()
        if quick:
            second, torchrun = in_turns(QUICK.rounds, starts.second,
                                        lambda: or_absent(starts.torchrun))
            return [beside_torchrun(second, torchrun)]
        second, without, torchrun, first = in_turns(
            ROUNDS, starts.second, starts.without, starts.torchrun, starts.first)
        starts.near_recorded()
        recorded, near = in_turns(NEAR_ROUNDS, starts.near_recorded, starts.near_without)
    return [
        Figure("first step, second start / without reading ahead", "s", second, without,
               "at most half", median_ratio(second, without) <= 0.5),
        beside_torchrun(second, torchrun),
        Figure("first step, recorded start / without", "s", first, without,
               "at most 1.02", median_ratio(first, without) <= 1.02),
        Figure("first step, recorded start / without, files in memory", "s", recorded, near,
               "at most 1.02", median_ratio(recorded, near) <= 1.02),
    ]


def beside_torchrun(second, torchrun):
    second, torchrun, absent = with_peer(second, torchrun, "torchrun")
    return Figure("first step, second start / torchrun", "s", second, torchrun, "-", True, absent)
