"""Start of eight machines from an image that lies on one remote web server.

Image, server and link are those of `images`; links between machines are not limited. From the
command to the end of each machine's first step, with nothing of the image in memory or in a cache:
one run of eight nodes that pass blocks on, at its second start; eight runs of one machine each, at
their second start too; the whole image copied to the first machine and from there to the others
along a binomial tree, then a start from the copies. All machines share this one's processors. Takes
root.
"""

import os
import pathlib
import statistics
import subprocess
import sys
import threading
import time

from harness import PYTHON, Figure, Quick, Scratch, in_turns, median_ratio
from lab_nodes import NODES, Nodes, finish
from origin import Lab, Origin

from figures.images import COPY, make_image
from figures.startup import SCRIPT

BLOCK = 128 << 10  # docs/formats/block-store.md
SUM_BYTES = 16
ROUNDS = 5
QUICK = Quick(240, "1 round instead of 5; no tree of copies",
              longer="eight machines share two processors, and each start imports torch on all")
TRAIN = SCRIPT.replace("sys.argv[1]", 'sys.argv[1] + os.environ["RANK"]').replace(
    "import sys", "import os, sys")
SEND = """
import os, socket, sys
with socket.create_server(("", 7000)) as server, open(sys.argv[1], "rb") as copy:
    peer = server.accept()[0]
    while os.sendfile(peer.fileno(), copy.fileno(), None, 1 << 24):
        pass
"""
TAKE = """
import shutil, socket, sys, time
while True:
    try:
        peer = socket.create_connection((sys.argv[1], 7000))
        break
    except OSError:
        time.sleep(0.01)
with peer.makefile("rb") as source, open(sys.argv[2], "wb") as copy:
    shutil.copyfileobj(source, copy, 1 << 20)
"""


class Machines(Nodes):
    def __init__(self, lab, folder, origin):
        super().__init__(lab, folder)
        self.origin = origin
        self.copy = self.cache / "copy.sqsh"
        self.slowest_to_median = []
        self.copies = []
        (folder / "train.py").write_text(TRAIN)

    def wait(self, runs, start):
        """Seconds until each machine's first step, sorted."""
        for run in runs:
            finish(run)
        stepped = list(self.folder.glob("stepped*"))
        seconds = sorted(float(path.read_text()) - start for path in stepped)
        for path in stepped:
            path.unlink()
        if len(seconds) != NODES:
            sys.exit(f"{len(seconds)} of {NODES} machines did a step")
        return seconds

    def start(self, prefix, image, name, *options):
        # The interpreter is the image's.
        return self.run(["env", "-u", "PYTHON_EXEC", *prefix], f"--image={image}", *options,
                        "train.py", self.folder / name)

    def job(self, image):
        return self.start(self.lab.prefix, image, "stepped-", *self.hosts())

    def together(self):
        self.clear("blocks")
        sent, start = self.origin.sent(), time.monotonic()
        seconds = self.wait([self.job(f"{self.origin.url}/torch.sqsh")], start)
        self.copies.append((self.origin.sent() - sent) / self.held())
        self.slowest_to_median.append(seconds[-1] / statistics.median(seconds))
        return seconds[-1]

    def alone(self):
        self.clear("blocks")
        start = time.monotonic()
        runs = [self.start(self.within(machine), f"{self.origin.url}/torch.sqsh",
                           f"stepped-{machine.name}-") for machine in self.all]
        return self.wait(runs, start)[-1]

    def tree(self):
        self.clear("blocks", self.copy.name)
        start = time.monotonic()
        subprocess.run(self.within(self.all[0], PYTHON, "-c", COPY,
                                   f"{self.origin.url}/torch.sqsh", self.copy), check=True)
        have = 1
        while have < NODES:
            pairs = list(zip(self.all[:have], self.all[have:], strict=False))
            turns = [threading.Thread(target=self.pass_on, args=pair) for pair in pairs]
            for turn in turns:
                turn.start()
            for turn in turns:
                turn.join()
            have += len(pairs)
        seconds = self.wait([self.job(self.copy)], start)
        self.clear(self.copy.name)
        return seconds[-1]

    def pass_on(self, giver, taker):
        sending = subprocess.Popen(self.within(giver, PYTHON, "-c", SEND, self.copy))
        subprocess.run(self.within(taker, PYTHON, "-c", TAKE, giver.address, self.copy), check=True)
        sending.wait()

    def held(self):
        """Bytes of the distinct blocks that the machines hold."""
        held = set()
        for machine in self.all:
            root = pathlib.Path(f"/proc/{machine.init}/root{self.cache}")
            for path in root.glob("blocks/*/sums"):
                sums = path.read_bytes()
                held |= {at for at in range(0, len(sums), SUM_BYTES)
                         if any(sums[at:at + SUM_BYTES])}
        return len(held) * BLOCK


def measure(quick):
    if os.geteuid() != 0:
        sys.exit("this measurement makes network namespaces and mounts: it takes root")
    with Scratch() as folder:
        (folder / "files").mkdir()
        make_image(folder / "files" / "torch.sqsh")
        lab = Lab(folder / "lab", str(folder)).add(NODES)
        origin = Origin(lab, folder / "origin", folder / "files")
        try:
            machines = Machines(lab, folder, origin)
            machines.together()  # the first start, which is recorded
            del machines.copies[:], machines.slowest_to_median[:]
            measures = [machines.together, machines.alone, machines.tree]
            ours, alone, *tree = in_turns(QUICK.rounds if quick else ROUNDS,
                                          *measures[:2 if quick else None])
        finally:
            origin.close()
            lab.close()
    return [
        Figure("slowest first step, passing blocks on / each for itself", "s", ours, alone,
               "below 1", median_ratio(ours, alone) < 1),
        *(Figure("slowest first step, passing blocks on / a tree of copies", "s", ours, each,
                 "below 1", median_ratio(ours, each) < 1) for each in tree),
        Figure("slowest machine / median machine", "", machines.slowest_to_median, [],
               "at most 1.2", statistics.median(machines.slowest_to_median) <= 1.2),
        Figure("bytes that left the storage / bytes of the blocks that nodes have", "",
               machines.copies, [], "at most 1.1", statistics.median(machines.copies) <= 1.1),
    ]
