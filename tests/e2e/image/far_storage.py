"""A storage that a lab's machines share, and caches that they do not."""

import contextlib
import pathlib
import subprocess

from helpers.fuse import need_fuse
from helpers.processes import wait_for
from image.block_server import BLOCK

SUM_BYTES = 16  # docs/formats/block-store.md


def give_folder(machine, folder):
    """Mounts a private folder in memory over `folder`, for as long as the machine runs."""
    subprocess.run(["nsenter", "-t", str(machine.init), "-m", "mount", "-t", "tmpfs", "-o",
                    "mode=700", "none", folder], check=True)


def blocks_kept_in(folder):
    """The numbers of the blocks of one blob."""
    data = b""
    with contextlib.suppress(FileNotFoundError):  # a cache that is being created
        data = (folder / "sums").read_bytes()
    return [at // SUM_BYTES for at in range(0, len(data), SUM_BYTES)
            if any(data[at:at + SUM_BYTES])]


def blocks_kept(machine, cache):
    """The numbers of the blocks of all blobs in that folder of the machine."""
    folders = pathlib.Path(f"/proc/{machine.init}/root{cache}").glob("blocks/*")
    return [number for folder in folders for number in blocks_kept_in(folder)]


def differences(right, wrong, blocks):
    """In which bytes two blocks differ, and whether the wrong one is another block, or zeros."""
    at = [i for i, (a, b) in enumerate(zip(right, wrong, strict=True)) if a != b]
    part = wrong[at[0]:at[-1] + 1]
    content = "zeros" if not any(part) else part[:16].hex()
    if wrong in blocks:
        content = f"block {blocks.index(wrong)}"
    return f"{len(at)} bytes in {at[0]}-{at[-1]}: {content}"


class Far:
    """A folder that each machine sees through a FUSE mount of its own, which counts its reads, and
    a cache of its own for each machine."""

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
        """Mounts anew: nothing is read yet, and nothing is in memory."""
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
            # A block server may still be ending.
            unmount = [*self.within(machine), "umount", self.path]
            wait_for(lambda unmount=unmount: subprocess.run(unmount).returncode == 0,
                     what="the end of the storage's readers")
        for view in self.views:
            view.wait(30)
        return sum(int((self.counts / name).read_text().split()[1])
                   for name in self.machines.machines)

    def wrong_blocks(self, image):
        """What the machines keep that is not of the image, as lines for a person."""
        blocks = [image[at:at + BLOCK] for at in range(0, len(image), BLOCK)]
        lines = []
        for machine in self.machines.machines.values():
            wrong = []
            for folder in pathlib.Path(f"/proc/{machine.init}/root{self.cache}").glob("blocks/*"):
                data = (folder / "data").read_bytes()
                for number in blocks_kept_in(folder):
                    kept = data[number * BLOCK:(number + 1) * BLOCK]
                    if kept != blocks[number]:
                        wrong.append(f"{number} ({differences(blocks[number], kept, blocks)})")
            lines.append(f"{machine.name} keeps wrong blocks: {', '.join(wrong) or 'none'}")
        return "\n".join(lines)

    def blocks_at(self, machine):
        """The number of blocks in the machine's cache."""
        return len(blocks_kept(machine, self.cache))
