"""The binary is pushed to hosts where nothing of ours is installed."""

import re
import subprocess

from helpers.runner import BINARY

EVERYWHERE = {"linux-vdso.so.1", "libc.so.6", "libm.so.6", "libgcc_s.so.1", "ld-linux-x86-64.so.2"}
GLIBC_OLDEST = (2, 34)


def test_it_needs_no_library_that_a_plain_system_lacks():
    needed = subprocess.run(["ldd", BINARY], capture_output=True, text=True, check=True).stdout
    names = {line.split()[0].rpartition("/")[2] for line in needed.splitlines()}
    assert names <= EVERYWHERE


def test_it_runs_with_the_glibc_of_older_systems():
    symbols = subprocess.run(
        ["objdump", "-T", BINARY], capture_output=True, text=True, check=True).stdout
    versions = {tuple(map(int, found)) for found in re.findall(r"GLIBC_(\d+)\.(\d+)", symbols)}
    assert versions and max(versions) <= GLIBC_OLDEST
