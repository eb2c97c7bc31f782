"""Lets the agent read torch's Flight Recorder, through torch's own server on a Unix socket.

torch._C._distributed_c10d._WorkerServer answers without the GIL, hence also for a program that
hangs. It prints lines to descriptor 2 when it begins and ends, and its threads never end by
themselves. So it runs in a thread with its own descriptor table, in which 0, 1 and 2 are /dev/null
and nothing else is open: its lines are not shown, the user's output is not touched, no file of the
user is kept open, and all signals go to the user's threads as before. That thread stops the server
when the interpreter exits, before C++ destroys the recorder.
"""

import _thread
import os
import sys

from .._progress import progress

ENTRIES = 512  # operations that the recorder keeps; each costs about 450 bytes and 15 µs per answer
PATH_BYTES_MAX = 107
LAST_WORDS_BYTES_MAX = 16 << 20  # the agent reads at most this much
# Back ends with a recorder of their own, from torch 2.14 on; without a name gloo's is meant. Their
# dumps have names that agent/evidence/flight_source.cpp knows as well.
HOOKED = ("nccl2", "nccl-lazy")
EXIT_SECONDS_MAX = 1.0

_CLOSE_RANGE = 436  # number of the system call on all Linux architectures
_CLOSE_RANGE_UNSHARE = 2
_CLONE_FILES = 0x400

_kept = []  # the server: its destructor must never run
_last_words = []  # (pid, path) once there is a process group


def prepare():
    """Call it before torch creates its recorder. True if torch has one that can be queried."""
    binding = sys.modules["torch"]._C._distributed_c10d
    if not hasattr(binding, "_dump_fr_trace_json") or not hasattr(binding, "_WorkerServer"):
        return False
    names = ("TORCH_FR_BUFFER_SIZE", "TORCH_NCCL_TRACE_BUFFER_SIZE")
    if not any(name in os.environ for name in names):
        # A newer torch prints a warning about the older name.
        os.environ[names[_version() < (2, 9)]] = str(ENTRIES)
    return True


def _version():
    numbers = sys.modules["torch"].__version__.split(".")
    return int(numbers[0]), int(numbers[1])


def start():
    """Starts the server at ROBUSTRUN_FLIGHT_SOCKET."""
    path = os.environ.get("ROBUSTRUN_FLIGHT_SOCKET", "")
    if not path or len(os.fsencode(path)) > PATH_BYTES_MAX or _kept:
        return
    try:
        os.unlink(path)  # left by this process before an exec
    except FileNotFoundError:
        pass
    _prepare_last_words()
    import atexit
    import ctypes  # torch has imported it already

    begun, leave, left = (_thread.allocate_lock() for _ in range(3))
    for lock in (begun, leave, left):
        lock.acquire()
    make = sys.modules["torch"]._C._distributed_c10d._WorkerServer
    library = ctypes.CDLL(None, use_errno=True)
    _thread.start_new_thread(_serve, (make, path, library, begun, leave, left))
    begun.acquire()
    if _kept:
        # It must survive even the tear-down of modules.
        ctypes.pythonapi.Py_IncRef(ctypes.py_object(_kept[0]))
        atexit.register(_stop, os.getpid(), leave, left)


def _prepare_last_words():
    record = os.environ.get("ROBUSTRUN_RECORD")
    if not record:
        return
    path = progress.beside(record, ".flight")
    for name in (path, *(f"{path}.{back_end}" for back_end in HOOKED)):
        try:
            os.unlink(name)  # left by this process before an exec
        except FileNotFoundError:
            pass
    _last_words[:] = os.getpid(), path


def leave_last_words():
    """Writes the recorders' entries to files that outlive the process.

    For a worker that ends by an exception, before its agent knows. Takes milliseconds.
    """
    if not _last_words or _last_words[0] != os.getpid():  # no group, or a forked child
        return
    path = _last_words[1]
    dump = sys.modules["torch"]._C._distributed_c10d._dump_fr_trace_json
    try:
        _leave(path, dump())
        for back_end in HOOKED:
            words = dump(backend=back_end)  # TypeError: torch before 2.14
            if b'"entries"' in words:
                _leave(f"{path}.{back_end}", words)
    except Exception:
        pass  # how the program ends matters more than our view of it


def _leave(path, words):
    if len(words) > LAST_WORDS_BYTES_MAX:
        return
    flags = os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_NOFOLLOW | os.O_CLOEXEC
    with open(os.open(path + ".part", flags, 0o600), "wb") as file:
        file.write(words)
    os.rename(path + ".part", path)  # so that a reader finds the complete file


def _stop(worker, leave, left):
    if os.getpid() == worker:  # a forked child inherits this handler, but not the thread
        leave.release()
        left.acquire(True, EXIT_SECONDS_MAX)


def _serve(make, path, library, begun, leave, left):
    import signal

    signal.pthread_sigmask(signal.SIG_BLOCK, signal.valid_signals())
    _uncollected(_begin, make, path, library)
    begun.release()
    if _kept:
        leave.acquire()
        _uncollected(_end, path)
        left.release()


def _uncollected(function, *arguments):
    """Calls `function` without garbage collection, which would close the user's files in this
    thread's descriptor table."""
    import gc

    collects = gc.isenabled()
    gc.disable()
    try:
        function(*arguments)
    except Exception:
        pass
    finally:
        if collects:
            gc.enable()


def _begin(make, path, library):
    if _leave_the_table(library):
        _kept.append(make(path))


def _end(path):
    """Stops the server after one request, because shutdown() hangs if it is not yet serving."""
    import socket

    with socket.socket(socket.AF_UNIX) as client:
        client.settimeout(EXIT_SECONDS_MAX / 2)
        client.connect(path)
        os.unlink(path)  # no new connections
        client.sendall(b"GET / HTTP/1.1\r\nHost: worker\r\nConnection: close\r\n\r\n")
        if client.recv(1):
            _kept[0].shutdown()


def _leave_the_table(library):
    """Gives this thread its own descriptor table with nothing in it but /dev/null."""
    if library.syscall(_CLOSE_RANGE, 3, 0xFFFFFFFF, _CLOSE_RANGE_UNSHARE) != 0:
        # Before Linux 5.9. Containers often refuse unshare(): then there is no server.
        if library.unshare(_CLONE_FILES) != 0:
            return False
        for name in os.listdir("/proc/thread-self/fd"):
            if int(name) > 2:
                _close(int(name))
    null = os.open(os.devnull, os.O_RDWR)
    for number in (0, 1, 2):
        os.dup2(null, number)
    if null > 2:
        os.close(null)
    return True


def _close(number):
    try:
        os.close(number)
    except OSError:
        pass  # the descriptor of the listing itself
