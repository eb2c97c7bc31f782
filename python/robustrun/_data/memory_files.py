"""Tensors on their way from a loader process to the rank lie in memory files, not in /dev/shm.

torch makes a file in /dev/shm for each. That folder has 64 MB in a container by default, and files
in it can outlive their processes. A memory file (memfd_create) has no name there, is limited by
memory alone, and ends with the last process that has it open. torch passes its descriptor on as it
does with its own files.

The bytes are written, not mapped: the loader process never looks at these pages again, so mapping
and zeroing them would be lost work. What torch would collate in shared memory is therefore collated
in ordinary memory.
"""

import ctypes
import errno
import os
from multiprocessing import reduction

_NAME = "robustrun-batch"
_CLOEXEC, _NO_EXEC = 1, 8  # MFD_CLOEXEC; MFD_NOEXEC_SEAL, since Linux 6.3, where it may be required
_WRITE_MAX = 1 << 30  # bytes; Linux writes less than 2 GiB at once
_LARGE = 16 << 20  # bytes, which take milliseconds to copy
_SHM = "/dev/shm"
_ROOM_LEFT = 1 << 20  # bytes there, for semaphores and other processes

_libc = ctypes.CDLL(None, use_errno=True)
_libc.write.argtypes = (ctypes.c_int, ctypes.c_void_p, ctypes.c_size_t)
_libc.write.restype = ctypes.c_ssize_t


def _memory_file(flags):
    if hasattr(os, "memfd_create"):
        return os.memfd_create(_NAME, flags)
    # Conda's Python is built for older systems.
    file = _libc.memfd_create(_NAME.encode(), flags)
    if file < 0:
        raise OSError(ctypes.get_errno(), "memfd_create")
    return file


def _open():
    try:
        return _memory_file(_CLOEXEC | _NO_EXEC)
    except OSError:
        return _memory_file(_CLOEXEC)


def _file_with(storage):
    """The descriptor of a memory file with the bytes of a torch.UntypedStorage. OSError."""
    at, left = storage.data_ptr(), storage.nbytes()
    file = _open()
    try:
        while left:
            # os.write() would need a buffer object; ctypes makes a new type for each size.
            written = _libc.write(file, at, min(left, _WRITE_MAX))
            if written < 0 and ctypes.get_errno() == errno.EINTR:
                continue
            if written <= 0:
                raise OSError(ctypes.get_errno(), "write")
            at, left = at + written, left - written
    except BaseException:
        os.close(file)
        raise
    return file


def _has_room(size):
    try:
        found = os.statvfs(_SHM)
    except OSError:
        return False
    return found.f_bavail * found.f_frsize > size + _ROOM_LEFT


class _Reducer:
    """For pickle, in the place of torch's function: how bytes of tensors reach another process."""

    def __init__(self, torch, reductions):
        self._torch, self._reductions = torch, reductions
        self._of_torch = reductions.reduce_storage
        self._seen = reductions.SharedCache()  # large ones that were handed over, by address

    def __call__(self, storage):
        if storage.device.type != "cpu" or storage.nbytes() == 0 or storage.is_shared() \
                or self._torch.multiprocessing.get_sharing_strategy() != "file_descriptor":
            return self._of_torch(storage)
        if storage.nbytes() > _LARGE and self._is_kept(storage) and _has_room(storage.nbytes()):
            try:
                return self._of_torch(storage)
            except RuntimeError:  # another process was faster
                pass
        try:
            file = _file_with(storage)
        except OSError:
            return self._of_torch(storage)
        try:
            handed = reduction.DupFd(file)
        finally:
            os.close(file)
        return self._reductions.rebuild_storage_fd, (type(storage), handed, storage.nbytes())

    def _is_kept(self, storage):
        """Whether it was handed over before and still exists: the dataset keeps it, and each batch
        is a part of it, so it should not be copied each time. torch turns it into shared memory."""
        before = self._seen.get(storage._cdata)
        if before is not None and not before.expired():
            return True
        self._seen[storage._cdata] = self._reductions.StorageWeakRef(storage)
        return False


def use():
    """From now on this process hands tensors over in memory files. No effect where there are none,
    or where torch has other functions than those that are replaced here."""
    import torch
    from torch.multiprocessing import reductions

    try:
        of_torch = torch.UntypedStorage._new_using_fd_cpu
        reducers = reduction.ForkingPickler._extra_reducers
        if reducers[torch.UntypedStorage] is not reductions.reduce_storage:
            return
        reducer = _Reducer(torch, reductions)
        file = _file_with(torch.UntypedStorage(8))
        try:
            if not torch.UntypedStorage._new_shared_fd_cpu(file, 8).is_shared():
                return
        finally:
            os.close(file)
    except Exception:  # of private names, or a kernel without memory files
        return
    reduction.ForkingPickler.register(torch.UntypedStorage, reducer)
    torch.UntypedStorage._new_using_fd_cpu = staticmethod(
        lambda size: torch.UntypedStorage(size) if size else of_torch(size))
