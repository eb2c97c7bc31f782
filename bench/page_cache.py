"""What the kernel keeps in memory of files: for measurements that begin at the disk."""

import os


def drop_cache(folder):
    """Of all files below `folder`, those that are written back."""
    for path in folder.rglob("*"):
        if path.is_file():
            fd = os.open(path, os.O_RDONLY)
            os.posix_fadvise(fd, 0, 0, os.POSIX_FADV_DONTNEED)
            os.close(fd)
