"""The worker's side of the progress record; tracer/progress_record.h has its layout and meaning.

Every number is one 8-byte store to a shared mapping, so the agent can read the last values even
after SIGKILL. No threads, sockets or locks: a step costs about a microsecond.
"""

import os
import sys
from time import monotonic_ns

MAGIC = b"RRPROG01"
MAJOR = 1
BYTES = 4096
METRICS_MAX = 16
METRIC_NAME_BYTES = 24

# Indices of 8-byte words; tests/python/test_record.py compares them with the header.
STOP_REASON = 24 // 8
STOP_DEADLINE_NS = 32 // 8
STEPS_BEFORE = 56 // 8
WORKER_PID = 64 // 8
BOOT_AT_NS = 72 // 8
USER_CODE_AT_NS = 80 // 8
SEQUENCE = 88 // 8
STEPS = 96 // 8
FIRST_STEP_AT_NS = 104 // 8
LAST_STEP_AT_NS = 112 // 8
HAS_STEP = 120 // 8
STEP = 128 // 8
METRIC_COUNT = 136 // 8
METRICS = 144 // 8
METRIC_WORDS = (METRIC_NAME_BYTES + 8) // 8
IMPORTS_DONE_AT_NS = 656 // 8
GROUP_BEGIN_AT_NS = 664 // 8
GROUP_DONE_AT_NS = 672 // 8
LOAD_BEGIN_AT_NS = 680 // 8
LOAD_DONE_AT_NS = 688 // 8
OPTIMIZER_AT_NS = 696 // 8
SCRIPT_RETURNED_AT_NS = 896 // 8
SCRIPT_FINISHED_AT_NS = 904 // 8
DATA_BATCHES = 912 // 8
DATA_WAITED_NS = 920 // 8
DATA_WAITING_SINCE_NS = 928 // 8
DATA_SEQUENCE = 936 // 8
DATA_SOURCE = 944 // 8
DATA_SOURCE_BYTES = 64
DATA_PATH = 1008 // 8
DATA_PATH_BYTES = 192
DATA_SKIPPED = 1200 // 8

# The table of communicators (tracer/record_collectives.h), behind the first page.
COMMUNICATORS = 4096 // 8
COMMUNICATOR_SLOTS = 128
COMMUNICATOR_WORDS = 256 // 8
COMMUNICATOR_NAME_BYTES = 64
COMMUNICATORS_END = 8 * (COMMUNICATORS + COMMUNICATOR_SLOTS * COMMUNICATOR_WORDS)

_UNKNOWN = object()
_current = _UNKNOWN
boundary = None  # called with the record at the end of every step (_checkpoint/last_save.py)


class Record:
    """The record of this process. Only the thread that trains may write to it."""

    __slots__ = ("words", "reals", "by_script", "metrics", "has_communicators",
                 "begins_anew", "data_place")

    def __init__(self, mapping):
        view = memoryview(mapping)
        self.words = view.cast("Q")
        self.reals = view.cast("d")
        self.has_communicators = len(mapping) >= COMMUNICATORS_END  # otherwise the agent is older
        self.by_script = False  # robustrun.step() was called: optimizer steps no longer count
        self.begins_anew = False  # the optimizer that steps first had no state before
        self.metrics = {}  # name -> index of its value's word
        self.data_place = b"", b""  # the texts of what the script waits for (data_waits.py)

    def count_step(self):
        words = self.words
        now = monotonic_ns()
        locked = words[SEQUENCE] | 1
        words[SEQUENCE] = locked
        steps = words[STEPS]
        words[STEPS] = steps + 1
        if not steps:
            words[FIRST_STEP_AT_NS] = now
        words[LAST_STEP_AT_NS] = now
        words[SEQUENCE] = locked + 1
        if not steps:
            after_first_step()
        if boundary is not None:
            boundary(self)


def attach():
    """Claims the record named by the environment for this process (boot.py)."""
    global _current
    _current = record = _open()
    if record is not None:
        record.words[WORKER_PID] = os.getpid()
        record.words[BOOT_AT_NS] = monotonic_ns()


def mark_user_code():
    record = current()
    if record is not None:
        record.words[USER_CODE_AT_NS] = monotonic_ns()


def mark_end(word):
    """Records the time for SCRIPT_RETURNED_AT_NS, and later for SCRIPT_FINISHED_AT_NS. If the
    process is killed after these marks, little or nothing is lost."""
    record = current()
    if record is None:
        return
    if word == SCRIPT_RETURNED_AT_NS or record.words[SCRIPT_RETURNED_AT_NS]:
        record.words[word] = monotonic_ns()


def after_first_step():
    """Writes the lists for standby workers and for reading ahead, because by now the program has
    imported what it needs."""
    from . import import_list, imports

    imports.watch_script(None, None)
    hot_files = sys.modules.get(__package__ + ".hot_files")
    if hot_files is not None:
        hot_files.write()
    record = os.environ.get("ROBUSTRUN_RECORD", "")
    import_list.write_if_wanted(beside(record, ".modules"), anew=True)
    if "wandb" in sys.modules or "mlflow" in sys.modules:
        from . import tracker_runs

        tracker_runs.write_if_wanted(record and beside(record, ".trackers"))


def current():
    """This process's Record; None outside robustrun and in children of the worker."""
    global _current
    if _current is _UNKNOWN:
        try:
            _current = _claim()
        except Exception:
            _current = None
    return _current


def beside(path, ending):
    """The path of another file of the worker: the record's path with a different ending."""
    return (path[: -len(".record")] if path.endswith(".record") else path) + ending


def _claim():
    """Without boot.py (--inject=off, a wrapper script) the first process to ask gets the record."""
    record = _open()
    if record is not None:
        if not record.words[WORKER_PID]:
            record.words[WORKER_PID] = os.getpid()
        elif record.words[WORKER_PID] != os.getpid():
            return None
    return record


def _open():
    path = os.environ.get("ROBUSTRUN_RECORD")
    if not path:
        return None
    import mmap

    fd = os.open(path, os.O_RDWR | os.O_CLOEXEC)
    try:
        has_table = os.fstat(fd).st_size >= COMMUNICATORS_END
        mapping = mmap.mmap(fd, COMMUNICATORS_END if has_table else BYTES)
    finally:
        os.close(fd)
    if mapping[:8] != MAGIC or int.from_bytes(mapping[8:12], "little") != MAJOR:
        return None
    os.register_at_fork(after_in_child=_forget)
    return Record(mapping)


def _forget():
    """Runs in a forked child, which is not the worker: its steps do not count."""
    global _current
    _current = None
