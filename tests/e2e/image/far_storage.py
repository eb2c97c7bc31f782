"""A storage that a lab's machines share, and caches that they do not."""

import contextlib
import pathlib
import subprocess

from helpers.fuse import need_fuse
from helpers.processes import wait_for

SUM_BYTES = 16  # docs/formats/block-store.md


def give_folder(machine, folder):
    """One of its own in the place of `folder`, in memory, for as long as the machine runs."""
    subprocess.run(["nsenter", "-t", str(machine.init), "-m", "mount", "-t", "tmpfs", "-o",
                    "mode=700", "none", folder], check=True)


def blocks_kept(machine, cache):
    """Their numbers, of all blobs in that folder of the machine."""
    found = []
    for path in pathlib.Path(f"/proc/{machine.init}/root{cache}").glob("blocks/*/sums"):
        data = b""
        with contextlib.suppress(FileNotFoundError):  # a cache that is just being laid out
            data = path.read_bytes()
        found += [at // SUM_BYTES for at in range(0, len(data), SUM_BYTES)
                  if any(data[at:at + SUM_BYTES])]
    return found


class Far:
    """A folder that each machine sees through a FUSE mount of its own, which counts what it reads,
    and a cache that is each machine's own."""

    def __init__(self, runner, machines):
        self.helper = pathlib.Path(runner.binary).parent.parent / "test-helpers/slow_view"
        need_fuse(self.helper)
        self.machines = machines
        self.below, self.path = runner.folder / "below", runner.folder / "shared"
        self.cache, self.counts = runner.folder / "cache", runner.folder / "counts"
        for folder in (self.below, self.path, self.cache, self.counts):
            folder.mkdir()
        for machine in machines.machines.values():
            give_folder(machine, self.cache)
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
        """How many the machine's cache has."""
        return len(blocks_kept(machine, self.cache))
