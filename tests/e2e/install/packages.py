"""The packages of this checkout, built once per run of tests, and what is in them."""

import fcntl
import functools
import pathlib
import re
import subprocess

import pytest
from helpers.runner import ROOT

TOOLS = ROOT / ".venv-package"
GLIBC_OLDEST = (2, 28)

# Two workers without torch: each says who it is, and where its interpreter is.
SCRIPT = """\
import os, sys
import robustrun
print("rank", os.environ["RANK"], "of", os.environ["WORLD_SIZE"], "by", sys.prefix)
"""


@functools.lru_cache(maxsize=1)
def built():
    """dist/ of this checkout; skips the test where the tools are missing."""
    if not (TOOLS / "installed").exists():
        pytest.skip("no .venv-package: scripts/install-deps.sh package")
    (ROOT / "build").mkdir(exist_ok=True)
    with open(ROOT / "build" / "package.lock", "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        done = subprocess.run([ROOT / "scripts" / "package", "all"], capture_output=True, text=True)
    assert done.returncode == 0, done.stdout[-4000:] + done.stderr[-4000:]
    return ROOT / "dist"


def the_only(pattern):
    found = list(built().glob(pattern))
    assert len(found) == 1, found
    return found[0]


def wheel():
    return the_only("robustrun-*.whl")


def tarball():
    return the_only("robustrun-*.tar.gz")


def debian_package():
    return the_only("robustrun_*.deb")


def unpack(folder):
    """Unpacks the tarball below `folder`; gives the prefix."""
    subprocess.run(["tar", "xf", tarball(), "-C", folder], check=True)
    prefixes = list(pathlib.Path(folder).glob("robustrun-*"))
    assert len(prefixes) == 1, prefixes
    return prefixes[0]


def elf_files(prefix):
    """Name below `prefix` -> path of every program and library there."""
    files = [path for path in sorted(prefix.rglob("*")) if path.is_file()]
    return {str(path.relative_to(prefix)): path for path in files
            if path.open("rb").read(4) == b"\x7fELF"}


def symbols_beyond_glibc(path):
    """Versioned symbols that no glibc of GLIBC_OLDEST has."""
    table = subprocess.run(["objdump", "-T", path], capture_output=True, text=True).stdout
    newer = []
    for version, name in re.findall(r"\(?\b([A-Z]+[A-Z0-9]*_[0-9.]+)\)?\s+(\S+)$", table, re.M):
        library, number = version.rsplit("_", 1)
        if library != "GLIBC" or tuple(map(int, number.split("."))) > GLIBC_OLDEST:
            newer.append(f"{name}@{version}")
    return newer


def needed_libraries(path):
    header = subprocess.run(["objdump", "-p", path], capture_output=True, text=True).stdout
    return set(re.findall(r"NEEDED\s+(\S+)", header))
