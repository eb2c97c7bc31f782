"""Small squashfs images for tests: a tree of packages, and a system with an interpreter."""

import os
import pathlib
import re
import shutil
import subprocess
import sys

import pytest

NEEDS_MOUNTS = [
    pytest.mark.skipif(os.geteuid() != 0, reason="mounting by the kernel takes root"),
    pytest.mark.skipif(not os.path.exists("/dev/loop-control"),
                       reason="no loop devices: /dev/loop-control"),
    pytest.mark.skipif(not shutil.which("mksquashfs"),
                       reason="no mksquashfs: scripts/install-deps.sh test installs it"),
]
SYSTEM_PYTHON = pathlib.Path("/usr/bin/python3")
LEFT_OUT = ("test", "idlelib", "lib2to3", "tkinter", "turtledemo", "distutils", "ensurepip",
            "dist-packages", "config-*", "__pycache__")


def squash(tree, image, *options):
    """Makes an image without compression, to save time."""
    subprocess.run(["mksquashfs", tree, image, "-quiet", "-no-progress", "-noappend", "-noI",
                    "-noD", "-noF", "-noX", *options], check=True, stdout=subprocess.DEVNULL)
    return image


def packages_tree(tree):
    """A virtual environment of this machine's interpreter with a module of its own."""
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", "--symlinks", tree], check=True)
    (site,) = tree.glob("lib/python3*/site-packages")
    (site / "of_the_image.py").write_text('WORD = "from the image"\n')
    (tree / "bin" / "image-tool").write_text("#!/bin/sh\necho tool of the image\n")
    (tree / "bin" / "image-tool").chmod(0o755)
    (site / "data.bin").write_bytes(b"0123456789abcdef" * (3 << 16))  # 3 MiB
    return tree


def libraries_of(*files):
    found = set()
    for file in files:
        listing = subprocess.run(["ldd", file], capture_output=True, text=True).stdout
        found |= set(re.findall(r"(/\S+) \(0x", listing))
    return found


def copy_to(tree, path):
    target = tree / str(path).lstrip("/")
    target.parent.mkdir(parents=True, exist_ok=True)
    shutil.copy2(path, target)


def system_tree(tree):
    """The tree of a container image: interpreter, libraries, user names, and empty folders."""
    real = SYSTEM_PYTHON.resolve()
    library = pathlib.Path("/usr/lib") / real.name
    shutil.copytree(library, tree / str(library).lstrip("/"), symlinks=False,
                    ignore=shutil.ignore_patterns(*LEFT_OUT))
    copy_to(tree, real)
    (tree / "usr/bin/python3").symlink_to(real.name)
    (tree / "bin").symlink_to("usr/bin")
    for path in libraries_of(real, *library.glob("lib-dynload/*.so")):
        copy_to(tree, path)
    for folder in ("etc", "home", "tmp", "proc", "sys", "dev", "opt"):
        (tree / folder).mkdir()
    (tree / "etc/os-release").write_text('NAME="image of a test"\n')
    (tree / "etc/passwd").write_text("root:x:0:0::/root:/bin/sh\n")
    (tree / "opt/in_image.py").write_text('print("a script of the image")\n')
    return tree
