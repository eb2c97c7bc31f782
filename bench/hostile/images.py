"""Mutated squashfs images: fields of the superblock, bytes of its tables, and lengths. They are
mounted by the kernel, or by blocks through FUSE. Takes root, FUSE, loop devices and mksquashfs."""

import os
import pathlib
import shutil
import struct
import subprocess
import sys

from harness import BIN, PYTHON
from hostile.encoding import NUMBERS
from hostile.place import Place, dice
from image.squash import packages_tree, squash

COUNT = 80
SUPERBLOCK = 96
# Offset and format of each field: squashfs_fs.h of the kernel.
FIELDS = {
    "magic": (0, "<I"), "inodes": (4, "<I"), "mkfs_time": (8, "<I"), "block_size": (12, "<I"),
    "fragments": (16, "<I"), "compression": (20, "<H"), "block_log": (22, "<H"),
    "flags": (24, "<H"), "no_ids": (26, "<H"), "s_major": (28, "<H"), "s_minor": (30, "<H"),
    "root_inode": (32, "<Q"), "bytes_used": (40, "<Q"), "id_table": (48, "<Q"),
    "xattr_table": (56, "<Q"), "inode_table": (64, "<Q"), "directory_table": (72, "<Q"),
    "fragment_table": (80, "<Q"), "lookup_table": (88, "<Q"),
}
TABLES = ("inode_table", "directory_table", "fragment_table", "lookup_table", "id_table")
BLOCKS = BIN / "robustrun-blocks"
BOUND_S = 170  # an image that is not mounted within 50 s is tried again, three times in all
SCRIPT = """
import of_the_image
print(of_the_image.WORD, len(open(of_the_image.__file__, "rb").read()))
"""


def field(image, name):
    at, form = FIELDS[name]
    return struct.unpack_from(form, image, at)[0]


def changed(image, seed, draw):
    """The image with one change, and its name. The first seeds take each field of the superblock
    in turn; others change tables and lengths."""
    image = bytearray(image)
    names = list(FIELDS)
    how = names[(seed - 1) % len(names)] if seed <= 2 * len(names) else draw.choice(
        ("table", "table", "table", "table", "cut", "data"))
    if how in FIELDS:
        at, form = FIELDS[how]
        size = struct.calcsize(form)
        value = draw.choice((*NUMBERS, field(image, how) + 1, field(image, how) ^ 1 << 5,
                             len(image), len(image) - 1)) % (1 << 8 * size)
        struct.pack_into(form, image, at, value)
        return bytes(image), f"{how} = {value:#x}"
    if how == "cut":
        length = draw.randrange(SUPERBLOCK, len(image))
        return bytes(image[:length]), f"cut after {length} of {len(image)} bytes"
    if how == "data":
        at = draw.randrange(SUPERBLOCK, field(image, "inode_table"))
    else:
        how = draw.choice([name for name in TABLES if field(image, name) < len(image)])
        at = min(field(image, how) + draw.randrange(256), len(image) - 1)
    count = draw.choice((1, 2, 8, 64))
    image[at:at + count] = draw.randbytes(len(image[at:at + count]))
    return bytes(image), f"{count} bytes of {how} at {at}"


def mounts_below(folder):
    table = pathlib.Path("/proc/self/mountinfo").read_text().splitlines()
    return [line.split()[4] for line in table if line.split()[4].startswith(f"{folder}/")]


class Player:
    def __enter__(self):
        if os.geteuid() != 0:
            sys.exit("mounting by the kernel takes root")
        if not os.path.exists("/dev/loop-control") or not os.access("/dev/fuse", os.W_OK):
            sys.exit("no loop devices, or no FUSE")
        if not shutil.which("mksquashfs"):
            sys.exit("no mksquashfs: scripts/install-deps.sh test installs it")
        with Place() as place:
            self.image = squash(packages_tree(place.folder / "tree"),
                                place.folder / "image.sqsh").read_bytes()
        return self

    def __exit__(self, *_):
        pass

    def play(self, seed):
        draw = dice("images", seed)
        image, how = changed(self.image, seed, draw)
        mode = "blocks" if BLOCKS.exists() and draw.random() < 0.5 else "pagecache"
        with Place() as place:
            del place.runner.environment["PYTHON_EXEC"]  # a path of this machine
            (place.folder / "image.sqsh").write_bytes(image)
            place.runner.write("train.py", SCRIPT)
            ended = place.run(f"--image={place.folder}/image.sqsh", f"--image-mode={mode}",
                              "--max-restarts=0", "--standby=off", "train.py", bound_s=BOUND_S)
            place.left()
            mounts = mounts_below(place.folder)
            for mount in reversed(mounts):
                subprocess.run(["umount", "-f", "-l", mount], check=False)
            # The script, or the interpreter of the image, may fail for what it reads.
            return place.line(f"{how}, {mode}", ended, may_trace=True,
                              wanted=f"mounts left: {len(mounts)}" if mounts else "",
                              before_next=lambda: self.back(place))

    def back(self, place):
        place.runner.environment["PYTHON_EXEC"] = PYTHON
