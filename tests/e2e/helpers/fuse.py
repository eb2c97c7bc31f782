"""FUSE file systems that a test mounts."""

import os
import shutil

import pytest
from helpers.processes import wait_for


def need_fuse(program):
    """Skips where the machine has no FUSE."""
    if not os.access("/dev/fuse", os.W_OK):
        pytest.skip("no FUSE: /dev/fuse cannot be opened")
    if not shutil.which(program):
        pytest.fail(f"no {program}: scripts/install-deps.sh test installs what it takes")


def await_mount(server, path):
    """Waits until that process has mounted something there; fails if it ends."""
    wait_for(lambda: os.path.ismount(path) or server.poll() is not None, what="the mount")
    assert os.path.ismount(path), f"the file system at {path} ended with {server.returncode}"
