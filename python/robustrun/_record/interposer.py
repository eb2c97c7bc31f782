"""Counts collectives on tensors of the processor where torch itself does not: torch 2.2 to 2.7.

Opt-in (--trace=dispatcher), because every collective then takes a way through Python, a few tenths
of a millisecond. Kernels for the dispatch key above all others see the calls of C++ (DDP's
reducer) as well. They hand on to the next kernel with autograd left out, as torch's own do not
need it. A group is found through ProcessGroup.unbox, which torch has since 2.2.
"""

import sys
from time import monotonic_ns

from . import groups, progress

OPERATIONS = (
    "allreduce_", "allreduce_coalesced_", "broadcast_", "reduce_", "allgather_",
    "_allgather_base_", "allgather_coalesced_", "allgather_into_tensor_coalesced_",
    "reduce_scatter_", "_reduce_scatter_base_", "reduce_scatter_tensor_coalesced_",
    "alltoall_", "alltoall_base_", "gather_", "scatter_", "barrier")
_KEY = "AutogradCPU"  # on a GPU the plugin sees more, and a kernel's end is not the call's

_library = []  # kept: the kernels go with it
_counts = {}  # name of the group -> _Count


class _Count:
    """Of one group's collectives, in its slot of the record. Any thread may tell that one is done;
    what is told is the last up to which all are."""

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
                _finish(*entered)  # no way to know when: as if it were at once
        return result

    return kernel


def _enter(name):
    """None for a group without a slot, or in a child of the worker."""
    first, record = groups.slot_of(name), progress.current()
    if first is None or record is None:
        return None
    count = _counts.get(name)
    if count is None or count.first != first or not record.words[first + groups.ENTERED]:
        count = _counts[name] = _Count(first)  # new, or made anew under its old name
    return name, count, count.enter(record.words)


def _finish(name, count, ordinal):
    record = progress.current()
    if record is not None and _counts.get(name) is count and groups.slot_of(name) == count.first:
        count.finish(record.words, ordinal)
