"""Start of a training from an image of at least 1 GiB that lies on a remote web server.

The image is the measurement's own Python environment with PyTorch, and this machine's headers, as
images for development have them; a squashfs without compression of data, as enroot makes it. The
server is nginx behind 400 Mbit/s and 5 ms. From the command to the end of the first step, with
nothing of the image in memory or in a cache: the whole file is copied and then mounted; blocks are
fetched on demand, without reading ahead; the first start, which is recorded; the second start,
which reads ahead. The cost of the image is each of these less a start from a local copy. Takes
root.
"""

import os
import pathlib
import shutil
import sys
import time

from harness import (
    PYTHON,
    ROBUSTRUN,
    Figure,
    Quick,
    Scratch,
    call,
    clean_environment,
    empty_memory,
    in_turns,
    median_ratio,
)
from origin import Lab, Origin

from figures.startup import SCRIPT

SIZE_MIN = 1 << 30
ROUNDS = 5
QUICK = Quick(110, "1 round instead of 5; neither blocks on demand nor the recorded start",
              longer="making an image of 1.25 GB and copying it at 400 Mbit/s take a minute")
COPY = """
import shutil, sys, urllib.request
with urllib.request.urlopen(sys.argv[1]) as source, open(sys.argv[2], "wb") as copy:
    shutil.copyfileobj(source, copy, 1 << 20)
"""


def make_image(path):
    """Makes the image; returns its size."""
    environment = pathlib.Path(PYTHON).parent.parent
    call(["mksquashfs", *environment.iterdir(), "/usr/include", path, "-quiet", "-no-progress",
          "-comp", "lzo", "-noD", "-noF"], check=True)
    size = path.stat().st_size
    if size < SIZE_MIN:
        print(f"  the image has {size >> 20} MiB only: this environment is small")
    return size


class Starts:
    def __init__(self, lab, folder, url, script=SCRIPT):
        self.lab, self.folder, self.url = lab, folder, url
        self.copy = folder / "copy.sqsh"
        self.copied_s = []
        self.local_s = []
        (folder / "train.py").write_text(script)

    def seconds(self, image, *options, cache, **environment):
        """From the command to the end of the first step, with an empty page cache."""
        empty_memory()
        start = time.monotonic()
        return self.stepped_at(image, *options, "train.py", cache=cache, **environment) - start

    def stepped_at(self, image, *words, cache, **environment):
        """When the first step of this start ended."""
        stepped = self.folder / "stepped"
        stepped.unlink(missing_ok=True)
        environment = clean_environment(**self.lab.home.environment(), **environment)
        del environment["PYTHON_EXEC"]  # the interpreter is the image's
        call([*self.lab.prefix, ROBUSTRUN, f"--image={image}", f"--cache-dir={cache}", *words,
              stepped], self.folder, environment, check=True)
        return float(stepped.read_text())

    def fetch(self):
        """Copies the whole file over the link."""
        start = time.monotonic()
        call([*self.lab.prefix, PYTHON, "-c", COPY, self.url, self.copy], check=True)
        self.copied_s.append(time.monotonic() - start)

    def full(self):
        self.fetch()
        self.local_s.append(self.seconds(self.copy, "--prefetch=off", cache=self.empty("none")))
        return self.copied_s[-1] + self.local_s[-1]

    def lazy(self):
        return self.seconds(self.url, "--prefetch=off", cache=self.empty("lazy"))

    def first(self):
        return self.seconds(self.url, cache=self.empty("ours"))

    def second(self):
        """A start with the profile of the first one, and no block."""
        shutil.rmtree(self.folder / "ours" / "blocks")
        return self.seconds(self.url, cache=self.folder / "ours")

    def empty(self, name):
        cache = self.folder / name
        shutil.rmtree(cache, ignore_errors=True)
        cache.mkdir(mode=0o700)
        return cache


def less(readings, baseline):
    return [max(a - b, 0.001) for a, b in zip(readings, baseline, strict=True)]


def measure(quick):
    if os.geteuid() != 0:
        sys.exit("this measurement makes network namespaces and mounts: it takes root")
    with Scratch() as folder:
        (folder / "files").mkdir()
        size = make_image(folder / "files" / "torch.sqsh")
        lab = Lab(folder / "lab", str(folder))
        origin = Origin(lab, folder / "origin", folder / "files")
        try:
            starts = Starts(lab, folder, f"{origin.url}/torch.sqsh")
            starts.first()
            measures = [starts.second, starts.full, starts.lazy, starts.first]
            second, full, *rest = in_turns(QUICK.rounds if quick else ROUNDS,
                                           *measures[:2 if quick else None])
        finally:
            origin.close()
            lab.close()
    print(f"  image: {size / 1e9:.2f} GB; a start from a local copy: "
          f"{', '.join(f'{value:.2f}' for value in starts.local_s)} s")
    figures = copy_figures(second, full, starts.copied_s, starts.local_s)
    return figures if quick else figures + lazy_figures(second, *rest, starts.local_s)


def copy_figures(second, full, copied, local):
    image = less(second, local)
    return [
        Figure("image, second start / full copy", "s", image, copied,
               "at most 1/4", median_ratio(copied, image) >= 4),
        Figure("first step, second start / full copy", "s", second, full, "at most half",
               median_ratio(second, full) <= 0.5),
    ]


def lazy_figures(second, lazy, first, local):
    image, lazily = less(second, local), less(lazy, local)
    return [
        Figure("image, second start / blocks on demand", "s", image, lazily,
               "at most 1/2", median_ratio(lazily, image) >= 2),
        Figure("first step, second start / blocks on demand", "s", second, lazy, "-", True),
        Figure("first step, recorded start / blocks on demand", "s", first, lazy,
               "at most 1.02", median_ratio(first, lazy) <= 1.02),
    ]
