"""Dependencies on a node that has none of them: pip, uv with a warm cache, and a snapshot.

The wheels are those of this project's test environment, repacked from the installed packages (real
content, our compression). Each reading is one stage on a node without the packages: `pip install
--target` from the wheels; the same by uv, whose cache has them unpacked on the same file system, so
that it links; and ours, from the agent's start of the stage to the mounted snapshot, by its log.
Then all three from the command to the end of the packages' import. The page cache is empty before
each, without even the interpreter. Takes root.
"""

import base64
import contextlib
import csv
import hashlib
import os
import pathlib
import re
import shutil
import sys
import time
import zipfile

import harness
from harness import (
    BIN,
    Figure,
    Quick,
    Scratch,
    clean_environment,
    empty_memory,
    in_turns,
    median_ratio,
)

FEW_PACKAGES = ("numpy", "sympy", "mpmath", "networkx")
QUICK_PACKAGES = ("numpy", "networkx")
PACKAGES = (*FEW_PACKAGES, "torch", "filelock", "fsspec", "jinja2", "markupsafe", "setuptools",
            "typing_extensions", "packaging", "safetensors")
ROUNDS = 5
QUICK = Quick(40, "2 rounds of 2 packages instead of 5 of 13", rounds=2)
IMPORTED = ("numpy", "torch", "sympy", "networkx")
UV = pathlib.Path(harness.PYTHON).parent / "uv"
READY = re.compile(r"the dependencies of \S+ are at \S+ after (\d+) ms")


def installed(name, environment):
    """A package's name, its version and its folder of metadata."""
    ask = ("import importlib.metadata as m, sys\n"
           "d = m.distribution(sys.argv[1])\n"
           "print(d.metadata['Name'], d.version, d._path)")
    done = harness.call([harness.PYTHON, "-c", ask, name], env=environment, check=True)
    return done.stdout.split(maxsplit=2)


def repack(name, wheels, environment):
    """Makes a wheel of an installed package, without its programs, which pip makes anew; returns
    the requirement that pins it."""
    given, version, info = installed(name, environment)
    info = pathlib.Path(info.strip())
    tag = next(line.split()[1] for line in (info / "WHEEL").read_text().splitlines()
               if line.startswith("Tag:"))
    stem = f"{re.sub(r'[-.]+', '_', given)}-{version}"
    rows = []
    with zipfile.ZipFile(wheels / f"{stem}-{tag}.whl", "w", zipfile.ZIP_DEFLATED,
                         compresslevel=1) as wheel:
        for row in csv.reader((info / "RECORD").read_text().splitlines()):
            path = row[0]
            source = info.parent / path
            if path.startswith("..") or path.endswith(".pyc") or not source.is_file():
                continue
            if path in (f"{info.name}/RECORD", f"{info.name}/INSTALLER"):
                continue
            content = source.read_bytes()
            digest = base64.urlsafe_b64encode(hashlib.sha256(content).digest())
            rows.append(f"{path},sha256={digest.rstrip(b'=').decode()},{len(content)}")
            wheel.writestr(path, content)
        wheel.writestr(f"{info.name}/RECORD", "\n".join([*rows, f"{info.name}/RECORD,,", ""]))
    return f"{given}=={version}"


def wheelhouse(folder, packages):
    """Makes the packages' wheels and a requirements.txt that pins them; returns the wheels'
    folder."""
    wheels = folder / "wheels"
    wheels.mkdir()
    environment = clean_environment()
    pins = [repack(name, wheels, environment) for name in packages]
    (folder / "requirements.txt").write_text("\n".join(["--no-index", *pins, ""]))
    return wheels


def installers(folder, wheels):
    """The environment in which pip and uv find these wheels (a folder or a page)."""
    return {"PIP_FIND_LINKS": wheels, "PIP_DISABLE_PIP_VERSION_CHECK": 1, "UV_FIND_LINKS": wheels,
            "UV_CACHE_DIR": folder / "uv-cache", "XDG_CACHE_HOME": folder / "cache",
            "TMPDIR": folder}


class Installs:
    def __init__(self, folder, packages):
        self.folder = folder
        self.wheels = wheelhouse(folder, packages)
        self.environment = clean_environment(**installers(folder, self.wheels))
        imports = "\n".join(f"import {name}" for name in IMPORTED
                            if name in packages)
        (folder / "train.py").write_text(
            f"import sys, time\n{imports}\n"
            "open(sys.argv[1], 'w').write(str(time.monotonic()))\n")
        self.stages, self.totals = {}, {}

    @contextlib.contextmanager
    def target(self):
        target = self.folder / "target"
        try:
            yield target
        finally:
            shutil.rmtree(target, ignore_errors=True)

    def run(self, options, environment):
        stepped = self.folder / "stepped"
        stepped.unlink(missing_ok=True)
        done = harness.call([BIN / "robustrun", "--prefetch=off", *options, "train.py", stepped],
                            self.folder, environment, check=True)
        return float(stepped.read_text()), done.stderr

    def by_installer(self, name, command):
        with self.target() as target:
            empty_memory()
            start = time.monotonic()
            harness.call([*command, "--target", target, "-r", "requirements.txt"], self.folder,
                         self.environment, check=True)
            stage = time.monotonic() - start
            end, _ = self.run([], {**self.environment, "PYTHONPATH": str(target)})
        self.stages.setdefault(name, []).append(stage)
        self.totals.setdefault(name, []).append(end - start)

    def pip(self):
        self.by_installer("pip", [harness.PYTHON, "-m", "pip", "install", "--no-cache-dir"])

    def uv(self):
        self.by_installer("uv", [UV, "pip", "install", "--python", harness.PYTHON])

    def ours(self):
        empty_memory()
        start = time.monotonic()
        end, log = self.run(["--deps=requirements.txt"], self.environment)
        self.stages.setdefault("ours", []).append(int(READY.search(log).group(1)) / 1000)
        self.totals.setdefault("ours", []).append(end - start)


def measure(quick):
    if os.geteuid() != 0:
        sys.exit("this measurement empties the page cache: it takes root")
    if not UV.exists():
        sys.exit("no uv in .venv: scripts/install-deps.sh test installs it")
    with Scratch() as folder:
        installs = Installs(folder, QUICK_PACKAGES if quick else PACKAGES)
        installs.uv()  # warms its cache
        installs.ours()  # makes the snapshot
        installs.stages.clear()
        installs.totals.clear()
        in_turns(QUICK.rounds if quick else ROUNDS, installs.ours, installs.pip, installs.uv)
        stages, totals = installs.stages, installs.totals
        size = sum(path.stat().st_size for path in installs.wheels.iterdir()) >> 20
    note = f"{size} MiB of wheels"
    figures = [
        Figure("dependencies: snapshot / pip", "s", stages["ours"], stages["pip"],
               "at most 1/5", median_ratio(stages["ours"], stages["pip"]) <= 1 / 5, note),
        Figure("dependencies: snapshot / uv, warm cache", "s", stages["ours"], stages["uv"],
               "at most 1/1.5", median_ratio(stages["ours"], stages["uv"]) <= 1 / 1.5, note),
    ]
    for name in ("pip", "uv"):
        figures.append(Figure(f"command to imports: snapshot / {name}", "s", totals["ours"],
                              totals[name], "-", True))
    return figures
