"""The whole start of a training: a remote image, and packages on top of it.

Image, server and link are those of `images`, and the packages' wheels lie on the same server. From
the command to the end of the first step, with an empty page cache. By hand: the whole image is
copied, then a script installs the packages with pip and trains; the copy stays in the page cache.
Ours, `--image URL --deps requirements.txt`, at the second start of a site: the image's profile and
the packages' snapshot lie on this machine's disk, and no block. The image has these packages too,
but neither start reads them there. Takes root.
"""

import os
import shutil
import sys
import time

from harness import Figure, Quick, Scratch, empty_memory, in_turns, median_ratio
from origin import Lab, Origin

from figures.dependencies import FEW_PACKAGES, installers, wheelhouse
from figures.images import Starts, make_image
from figures.startup import SCRIPT

TRAIN = "".join(f"import {name}\n" for name in FEW_PACKAGES) + SCRIPT
ROUNDS = 5
QUICK = Quick(120, "1 round instead of 5",
              longer="making an image of 1.25 GB and copying it at 400 Mbit/s take a minute")
# The first column of /proc/uptime is time.monotonic()'s clock.
BY_HAND = """
set -e
python3 -m pip install --quiet --no-cache-dir --target packages -r requirements.txt
cut -d ' ' -f 1 /proc/uptime > installed
PYTHONPATH="$PWD/packages" exec python3 train.py "$1"
"""


class Totals(Starts):
    def __init__(self, lab, folder, server):
        super().__init__(lab, folder, f"{server}/torch.sqsh", TRAIN)
        self.environment = installers(folder, f"{server}/wheels/index.html")
        self.environment["PIP_TRUSTED_HOST"] = server.partition("//")[2]
        self.installed_s, self.trained_s = [], []
        (folder / "by_hand.sh").write_text(BY_HAND)

    def by_hand(self):
        shutil.rmtree(self.folder / "packages", ignore_errors=True)
        empty_memory()
        start = time.monotonic()
        self.fetch()
        copied = time.monotonic()
        end = self.stepped_at(self.copy, "--prefetch=off", "--no-python", "sh", "by_hand.sh",
                              cache=self.empty("none"), **self.environment)
        installed = float((self.folder / "installed").read_text())
        self.installed_s.append(installed - copied)
        self.trained_s.append(end - installed)
        return end - start

    def ours(self):
        shutil.rmtree(self.folder / "ours" / "blocks")
        return self.seconds(self.url, "--deps=requirements.txt", cache=self.folder / "ours",
                            **self.environment)

    def first(self):
        return self.seconds(self.url, "--deps=requirements.txt", cache=self.empty("ours"),
                            **self.environment)


def make_page(wheels):
    """Writes index.html, which both installers read as a list of links."""
    links = (f'<a href="{path.name}">{path.name}</a>' for path in sorted(wheels.iterdir()))
    (wheels / "index.html").write_text("\n".join(links))


def measure(quick):
    if os.geteuid() != 0:
        sys.exit("this measurement makes network namespaces and mounts: it takes root")
    with Scratch() as folder:
        (folder / "files").mkdir()
        make_image(folder / "files" / "torch.sqsh")
        wheels = wheelhouse(folder, FEW_PACKAGES)
        size = sum(path.stat().st_size for path in wheels.iterdir())
        make_page(wheels)
        wheels.rename(folder / "files" / "wheels")
        lab = Lab(folder / "lab", str(folder))
        origin = Origin(lab, folder / "origin", folder / "files")
        try:
            totals = Totals(lab, folder, origin.url)
            first = totals.first()
            ours, by_hand = in_turns(QUICK.rounds if quick else ROUNDS, totals.ours, totals.by_hand)
        finally:
            origin.close()
            lab.close()
    for name, values in (("copy", totals.copied_s), ("pip, with the start of its container",
                         totals.installed_s), ("training", totals.trained_s)):
        print(f"  by hand, {name}: {', '.join(f'{value:.2f}' for value in values)} s")
    return [
        Figure("first step, image and packages / full copy and pip", "s", ours, by_hand,
               "at most half", median_ratio(ours, by_hand) <= 0.5,
               f"{size >> 20} MiB of wheels; the site's first start: {first:.2f} s"),
    ]
