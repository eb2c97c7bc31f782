"""Counts collectives on CPU tensors where torch itself does not: torch 2.2 to 2.7.

Opt-in (--trace=dispatcher), because every collective then passes through Python, which takes a few
tenths of a millisecond. Kernels for the topmost dispatch key see calls from C++ (DDP's reducer),
too.
They call the next kernel without autograd, which torch's kernels do not need. The group is found
through ProcessGroup.unbox, which torch has since 2.2.
"""

import sys
from time import monotonic_ns

from .._progress import progress
from . import groups

OPERATIONS = (
    "allreduce_", "allreduce_coalesced_", "broadcast_", "reduce_", "allgather_",
    "_allgather_base_", "allgather_coalesced_", "allgather_into_tensor_coalesced_",
    "reduce_scatter_", "_reduce_scatter_base_", "reduce_scatter_tensor_coalesced_",
    "alltoall_", "alltoall_base_", "gather_", "scatter_", "barrier")
_KEY = "AutogradCPU"  # on GPUs the plugin sees more, and a kernel does not end with the call

_library = []  # kept alive: the kernels go with it
_counts = {}  # name of the group -> _Count


class _Count:
    """Counts one group's collectives in its slot of the record. Any thread may report that one is
    done; `done` is the last one up to which all are."""

    __slots__ = ("first", "entered", "done", "early", "lock")

    def __init__(self, first):
        import _thread

        self.first = first
        self.entered = self.done = 0
        self.early = set()  # done before an older one
        self.lock = _thread.allocate_lock()

    def enter(self, words):
        with self.lock:
            self.entered += 1
            words[self.first + groups.ENTERED_AT] = monotonic_ns()
            words[self.first + groups.ENTERED] = self.entered
            words[self.first + groups.STARTED] = self.entered
            return self.entered

    def finish(self, words, ordinal):
        with self.lock:
            self.early.add(ordinal)
            while self.done + 1 in self.early:
                self.done += 1
                self.early.remove(self.done)
            words[self.first + groups.DONE_AT] = monotonic_ns()
            words[self.first + groups.DONE] = self.done


def install():
    torch = sys.modules["torch"]
    binding = torch._C._distributed_c10d
    if _library or not hasattr(binding.ProcessGroup, "unbox"):
        return
    library = torch.library.Library("c10d", "IMPL")
    for name in OPERATIONS:
        operation = getattr(torch.ops.c10d, name, None)
        if operation is not None:
            library.impl(name, _make_kernel(torch, binding, operation.default), _KEY)
    _library.append(library)
    groups.all_are(groups.KIND_INTERPOSER)


def _make_kernel(torch, binding, operation):
    where = [argument.name for argument in operation._schema.arguments].index("process_group")
    unbox_group, unbox_work = binding.ProcessGroup.unbox, binding.Work.unbox
    below = torch._C._AutoDispatchBelowAutograd

    def kernel(*arguments):
        entered = None
        try:
            entered = _enter(unbox_group(arguments[where]).group_name)
        except Exception:
            pass  # the program matters more than our view of it
        with below():
            result = operation(*arguments)
        if entered:
            try:
                work = unbox_work(result[-1] if isinstance(result, tuple) else result)
                work.get_future().add_done_callback(lambda future: _finish(*entered))
            except Exception:
                _finish(*entered)  # the end cannot be seen: count it as done now
        return result

    return kernel


def _enter(name):
    """Counts an entered collective. None for a group without a slot, or in a child of the
    worker."""
    first, record = groups.slot_of(name), progress.current()
    if first is None or record is None:
        return None
    count = _counts.get(name)
    if count is None or count.first != first or not record.words[first + groups.ENTERED]:
        count = _counts[name] = _Count(first)  # a new group, or one made again under the same name
    return name, count, count.enter(record.words)


def _finish(name, count, ordinal):
    record = progress.current()
    if record is not None and _counts.get(name) is count and groups.slot_of(name) == count.first:
        count.finish(record.words, ordinal)
