"""Memory for the tensors that a load is about to fill, while the load still waits for the agent.

A restarted rank waits until the agent has saved the copies of its state. Meanwhile the kernel can
give the tensors their pages: those of robustrun.prepare() are still shared with other standby
workers, and new ones may have none. Contents do not change.
"""

import ctypes
import mmap
import os
import threading

MADV_POPULATE_WRITE = 23  # linux/mman.h, since Linux 5.14
WORTH_IT = 64 << 20  # bytes; fewer are there in a few ms


def begin(state):
    """Starts it in a thread and returns that, or None where it is not worth it. It is worth it in a
    restart under robustrun, for large tensors of the host."""
    if not os.environ.get("ROBUSTRUN_SOCKET") or \
            os.environ.get("TORCHELASTIC_RESTART_COUNT", "0") == "0":
        return None
    tensors = [each for each in _tensors(state)
               if each.device.type == "cpu" and each.is_contiguous()]
    if sum(each.numel() * each.element_size() for each in tensors) < WORTH_IT:
        return None
    thread = threading.Thread(target=_page_in, args=(tensors,), name="robustrun-page-in",
                              daemon=True)
    thread.start()
    return thread


def _tensors(state):
    """The tensors that are found without calling anything of the script's, such as
    state_dict()."""
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


def _page_in(tensors):
    madvise = ctypes.CDLL(None, use_errno=True).madvise
    madvise.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int]
    for tensor in tensors:
        begin = tensor.data_ptr() // mmap.PAGESIZE * mmap.PAGESIZE
        end = tensor.data_ptr() + tensor.numel() * tensor.element_size()
        if end > begin and madvise(begin, end - begin, MADV_POPULATE_WRITE) != 0:
            return  # an older kernel, or memory that cannot be written: the load will tell
