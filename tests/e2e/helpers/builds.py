"""Other builds of robustrun beside the one under test."""

import re
import shutil
import subprocess

from helpers.runner import BINARY, BUILD

VERSION = b"0.1.0"
OTHER_VERSION = b"0.1.9"


def installed_copy(prefix):
    """The build under test as it would be installed below `prefix`; gives its program."""
    (prefix / "bin").mkdir(parents=True)
    for name in ("robustrun", "robustrun-shim", "robustrun-blocks"):
        shutil.copy2(BUILD / "bin" / name, prefix / "bin" / name)
    shutil.copytree(BUILD / "share", prefix / "share",
                    ignore=shutil.ignore_patterns("__pycache__"))
    return prefix / "bin" / "robustrun"


def make_other(program):
    """Turns a copy of robustrun into one of another version and build."""
    notes = subprocess.run(["readelf", "--notes", BINARY], capture_output=True, text=True,
                           check=True).stdout
    build = bytes.fromhex(re.search(r"Build ID: ([0-9a-f]+)", notes)[1])
    content = program.read_bytes()
    assert content.count(build) == 1 and VERSION in content
    content = content.replace(build, build[::-1]).replace(VERSION, OTHER_VERSION)
    program.write_bytes(content)
    shown = subprocess.run([program, "--version"], capture_output=True, check=True).stdout
    assert OTHER_VERSION in shown, shown
    return program


def root_without_glibc(folder):
    """Fills `folder` with a system to chroot into, of busybox alone."""
    (folder / "bin").mkdir(parents=True)
    shutil.copy2(shutil.which("busybox"), folder / "bin")
    for name in ("sh", "uname", "readlink", "test", "mkdir", "cat"):
        (folder / "bin" / name).symlink_to("busybox")


def has_static_busybox():
    """Whether a system without glibc can be made."""
    busybox = shutil.which("busybox")
    if busybox is None:
        return False
    shown = subprocess.run(["readelf", "--segments", busybox], capture_output=True, text=True)
    return shown.returncode == 0 and "INTERP" not in shown.stdout
