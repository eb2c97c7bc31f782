"""A machine for aarch64, emulated whole: Debian's kernel, a root file system in memory with busybox
and Python, and the tarball in /opt. It runs one script as its first process and ends with it.
"""

import functools
import os
import re
import shutil
import subprocess

import pytest
from helpers.runner import ROOT
from install import packages

ARCH = "aarch64"
EMULATOR = "qemu-system-aarch64"
PARTS = ROOT / f".machine-{ARCH}"
MEMORY_MIB = 2048
# An emulated processor is some twenty times slower than a real one.
SECONDS_MAX = 400

INIT = """\
#!/bin/busybox sh
/bin/busybox --install -s /bin
mount -t proc proc /proc
mount -t sysfs sys /sys
mount -t devtmpfs dev /dev
mkdir -p /dev/shm /sys/fs/cgroup /job /root
mount -t tmpfs none /dev/shm
mount -t tmpfs -o mode=1777 none /tmp
mount -t cgroup2 none /sys/fs/cgroup
ip link set lo up
hostname machine
export HOME=/root PATH=/opt/robustrun/bin:/usr/bin:/bin:/sbin LANG=C.UTF-8
cd /job
echo ==== begin
sh /script < /dev/null 2>&1
echo ==== end $?
poweroff -f
"""


def missing():
    """Why no such machine can be started here; empty: it can."""
    if packages.HERE == ARCH:
        return "this machine has that processor"
    if not all(map(shutil.which, (EMULATOR, "cpio"))) or not (PARTS / "made-for").exists():
        return f"no {EMULATOR}, cpio or {PARTS.name}: scripts/install-deps.sh {ARCH}"
    return ""


@functools.lru_cache(maxsize=1)
def kernel():
    (found,) = (PARTS / "boot").glob("vmlinuz-*")
    return found


class VirtualMachine:
    """`files`: name below /job -> text."""

    def __init__(self, folder, files):
        self.folder = folder
        self.root = folder / "root"
        self.root.mkdir()
        for name in ("bin", "sbin", "lib", "usr", "etc"):
            shutil.copytree(PARTS / name, self.root / name, symlinks=True,
                            ignore=shutil.ignore_patterns("modules", "doc", "man", "locale"))
        (self.root / "bin" / "sh").symlink_to("busybox")
        for name in ("proc", "sys", "dev", "tmp", "job"):
            (self.root / name).mkdir()
        (self.root / "opt").mkdir()
        packages.unpack(self.root / "opt", ARCH).rename(self.root / "opt" / "robustrun")
        for name, text in files.items():
            (self.root / "job" / name).write_text(text)

    def run(self, script):
        """What the script prints, and its exit code."""
        (self.root / "script").write_text(script)
        init = self.root / "init"
        init.write_text(INIT)
        init.chmod(0o755)
        image = self.folder / "root.cpio"
        with open(image, "wb") as file:
            names = subprocess.run(["find", ".", "-print0"], cwd=self.root, check=True,
                                   capture_output=True).stdout
            subprocess.run(["cpio", "--quiet", "--null", "-o", "-H", "newc", "-R", "0:0"],
                           cwd=self.root, input=names, stdout=file, check=True)
        done = subprocess.run(
            [EMULATOR, "-M", "virt", "-cpu", "neoverse-n1", "-smp", str(os.cpu_count() or 1),
             "-m", str(MEMORY_MIB), "-display", "none", "-serial", "stdio", "-monitor", "none",
             "-nic", "none", "-no-reboot", "-kernel", kernel(), "-initrd", image,
             "-append", "console=ttyAMA0 quiet loglevel=1 panic=-1"],
            capture_output=True, stdin=subprocess.DEVNULL, timeout=SECONDS_MAX)
        text = done.stdout.decode(errors="replace").replace("\r\n", "\n")
        shown = re.search(r"==== begin\n(.*)==== end (\d+)\n", text, re.S)
        if not shown:
            pytest.fail(f"the machine has not run its script: {text[-4000:]} {done.stderr}")
        return shown[1], int(shown[2])
