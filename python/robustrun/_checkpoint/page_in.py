"""Memory for the tensors that a load is about to fill, while the load still waits for the agent.

A restarted rank waits until the agent has saved the copies of its state. Meanwhile the kernel can
give the tensors their pages: those of robustrun.prepare() are still shared with other standby
workers, and new ones may have none. Contents do not change.
"""

import ctypes
import errno
import mmap
import os
import threading

MADV_POPULATE_WRITE = 23  # linux/mman.h, since Linux 5.14
WORTH_IT = 64 << 20  # bytes; fewer are there in a few ms


def begin(state):
    """Starts it in a thread and returns that, or None where it is not worth it. It is worth it in a
    restart under robustrun, for large tensors of the host. Raises nothing: the load tells what is
    wrong with a state."""
    if not os.environ.get("ROBUSTRUN_SOCKET") or \
            os.environ.get("TORCHELASTIC_RESTART_COUNT", "0") == "0":
        return None
    try:
        memory = [(each.data_ptr(), each.numel() * each.element_size(), each)
                  for each in _tensors(state)
                  if each.device.type == "cpu" and each.is_contiguous()]
        if sum(size for _, size, _ in memory) < WORTH_IT:
            return None
        thread = threading.Thread(target=_page_in, args=(memory,), name="robustrun-page-in",
                                  daemon=True)
        thread.start()
        return thread
    except Exception:
        return None


def _tensors(state):
    """The tensors that are found without state_dict(), which may be slow and the script's own."""
    import torch

    if isinstance(state, torch.Tensor):
        yield state
    elif isinstance(state, torch.nn.Module):
        yield from state.parameters()
        yield from state.buffers()
    elif isinstance(state, torch.optim.Optimizer):
        yield from _tensors(list(state.state.values()))
    elif isinstance(state, dict):
        for each in state.values():
            yield from _tensors(each)
    elif isinstance(state, (list, tuple)):
        for each in state:
            yield from _tensors(each)


def _page_in(memory):
    madvise = ctypes.CDLL(None, use_errno=True).madvise
    madvise.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int]
    for address, size, _ in memory:
        begin = address // mmap.PAGESIZE * mmap.PAGESIZE
        end = address + size
        if end > begin and madvise(begin, end - begin, MADV_POPULATE_WRITE) != 0 and \
                ctypes.get_errno() == errno.EINVAL:
            return  # an older kernel
