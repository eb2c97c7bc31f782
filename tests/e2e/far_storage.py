"""A storage that a lab's machines share, and caches that they do not."""

import contextlib
import os
import pathlib
import subprocess

import pytest
from conftest import wait_for

SUM_BYTES = 16  # docs/formats/block-store.md


class Far:
    """A folder that each machine sees through a FUSE mount of its own, which counts what it reads,
    and a cache that is each machine's own."""

    def __init__(self, runner, machines):
        self.helper = pathlib.Path(runner.binary).parent.parent / "test-helpers/slow_view"
        if not os.access("/dev/fuse", os.W_OK) or not self.helper.exists():
            pytest.skip("no FUSE: /dev/fuse, or the tests were built without libfuse3")
        self.machines = machines
        self.below, self.path = runner.folder / "below", runner.folder / "shared"
        self.cache, self.counts = runner.folder / "cache", runner.folder / "counts"
        for folder in (self.below, self.path, self.cache, self.counts):
            folder.mkdir()
        for machine in machines.machines.values():
            subprocess.run([*self.within(machine), "mount", "-t", "tmpfs", "-o", "mode=700", "none",
                            self.cache], check=True)
        self.mount()

    @staticmethod
    def within(machine):
        return ["nsenter", "-t", str(machine.init), "-m"]

    def mount(self):
        """Nothing is read yet, and nothing of it is in memory."""
        self.views = []
        for machine in self.machines.machines.values():
            self.views.append(subprocess.Popen(
                [*self.within(machine), self.helper, self.below, self.path, "2000",
                 self.counts / machine.name]))
            wait_for(lambda m=machine: self.is_mounted(m), what="the mount")

    def is_mounted(self, machine):
        return f" {self.path} fuse" in pathlib.Path(f"/proc/{machine.init}/mounts").read_text()

    def bytes_read(self):
        """Ends the mounts."""
        for machine in self.machines.machines.values():
            # A block server may still be on its way out.
            unmount = [*self.within(machine), "umount", self.path]
            wait_for(lambda unmount=unmount: subprocess.run(unmount).returncode == 0,
                     what="the end of the storage's readers")
        for view in self.views:
            view.wait(30)
        return sum(int((self.counts / name).read_text().split()[1])
                   for name in self.machines.machines)

    def blocks_at(self, machine):
        """That the machine's cache has."""
        found = pathlib.Path(f"/proc/{machine.init}/root{self.cache}").glob("blocks/*/sums")
        data = b""
        with contextlib.suppress(FileNotFoundError):  # a cache that is just being laid out
            data = b"".join(path.read_bytes() for path in found)
        sums = [data[at:at + SUM_BYTES] for at in range(0, len(data), SUM_BYTES)]
        return len([one for one in sums if any(one)])
