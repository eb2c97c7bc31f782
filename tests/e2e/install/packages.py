"""The packages of this checkout, built once per run of tests, and what is in them."""

import fcntl
import functools
import os
import pathlib
import re
import subprocess

import pytest
from helpers.runner import ROOT

TOOLS = ROOT / ".venv-package"
GLIBC_OLDEST = (2, 28)
HERE = os.uname().machine
DEBIAN = {"x86_64": "amd64", "aarch64": "arm64"}

# Of glibc, as every system has it; nothing else may be needed.
GLIBC = {"libc.so.6", "libm.so.6", "libpthread.so.0", "libdl.so.2"}
NEEDED = {
    "libexec/robustrun": GLIBC,
    "libexec/robustrun-blocks": GLIBC,
    "libexec/robustrun-shim": set(),
    "share/robustrun/librobustrun.so": GLIBC,
    "share/robustrun/librobustrun_tracer.so": {"libc.so.6"},
}
LOADER = {"ld-linux-x86-64.so.2", "ld-linux-aarch64.so.1"}

# Two workers without torch: each says who it is, and where its interpreter is.
SCRIPT = """\
import os, sys
import robustrun
print("rank", os.environ["RANK"], "of", os.environ["WORLD_SIZE"], "by", sys.prefix)
"""


@functools.lru_cache(maxsize=2)
def built(arch=HERE):
    """dist/ of this checkout, with the packages for this processor; skips the test where the tools
    are missing."""
    if not (TOOLS / "installed").exists():
        pytest.skip("no .venv-package: scripts/install-deps.sh package")
    if arch != HERE and not (ROOT / f".sysroot-{arch}" / "made-for").exists():
        pytest.skip(f"no .sysroot-{arch}: scripts/install-deps.sh {arch}")
    (ROOT / "build").mkdir(exist_ok=True)
    with open(ROOT / "build" / "package.lock", "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        done = subprocess.run([ROOT / "scripts" / "package", "all", arch],
                              capture_output=True, text=True)
    assert done.returncode == 0, done.stdout[-4000:] + done.stderr[-4000:]
    return ROOT / "dist"


def the_only(arch, pattern):
    found = list(built(arch).glob(pattern))
    assert len(found) == 1, found
    return found[0]


def wheel(arch=HERE):
    return the_only(arch, f"robustrun-*_{arch}.whl")


def tarball(arch=HERE):
    return the_only(arch, f"robustrun-*-linux-{arch}.tar.gz")


def debian_package(arch=HERE):
    return the_only(arch, f"robustrun_*_{DEBIAN[arch]}.deb")


def unpack(folder, arch=HERE):
    """Unpacks the tarball below `folder`; gives the prefix."""
    subprocess.run(["tar", "xf", tarball(arch), "-C", folder], check=True)
    prefixes = list(pathlib.Path(folder).glob("robustrun-*"))
    assert len(prefixes) == 1, prefixes
    return prefixes[0]


def elf_files(prefix):
    """Name below `prefix` -> path of every program and library there."""
    files = [path for path in sorted(prefix.rglob("*")) if path.is_file() and not path.is_symlink()]
    return {str(path.relative_to(prefix)): path for path in files
            if path.open("rb").read(4) == b"\x7fELF"}


def objdump(option, path):
    # It ends with 1 for a static program, which has no such table.
    done = subprocess.run(["objdump", option, path], capture_output=True, text=True)
    assert "file format elf64" in done.stdout, done.stderr
    return done.stdout


def symbols_beyond_glibc(path):
    """Versioned symbols that no glibc of GLIBC_OLDEST has."""
    table = objdump("-T", path)
    newer = []
    for version, name in re.findall(r"\(?\b([A-Z]+[A-Z0-9]*_[0-9.]+)\)?\s+(\S+)$", table, re.M):
        library, number = version.rsplit("_", 1)
        if library != "GLIBC" or tuple(map(int, number.split("."))) > GLIBC_OLDEST:
            newer.append(f"{name}@{version}")
    return newer


def needed_libraries(path):
    return set(re.findall(r"NEEDED\s+(\S+)", objdump("-p", path))) - LOADER


def expect_old_glibc_alone(prefix):
    files = elf_files(prefix)
    assert "GLIBC_2." in objdump("-T", files["libexec/robustrun"])
    newer = {name: symbols for name, path in files.items()
             if (symbols := symbols_beyond_glibc(path))}
    assert newer == {}
    assert {name: needed_libraries(path) for name, path in files.items()} == NEEDED
