"""Lists the files that the program reads until its first step, so that the agent can read them
ahead at the next start (docs/startup.md).

The agent requests the list by an empty file beside the record. An audit hook sees what Python opens
and imports; files that libraries map by themselves are found in /proc/self/maps from time to time.
An audit hook cannot be removed: once the list is written, it returns at once.
"""

import os
import sys
from time import monotonic

HEAD = "robustrun-files 1"
_PATHS_MAX = 50000
_SECONDS_MAX = 300.0  # without a step; files read later do not belong to the start
_FIRST_LOOK = 0.05  # seconds until the maps are read again; doubled each time

_touched = None  # path -> whether it was mapped, in order of first use; None: not watching
_list = None
_ignored = ("/proc/", "/sys/", "/dev/")  # and the agent's files for this worker
_worker = 0
_end = _next_look = _pause = 0.0


def install(path, own_prefix):
    """Begins to watch if the agent requests it, that is, if the file `path` is empty. Files whose
    paths begin with `own_prefix` are not listed."""
    global _touched, _list, _ignored, _worker, _end, _next_look, _pause
    try:
        if os.stat(path).st_size != 0:
            return
    except OSError:
        return
    _list, _worker, _touched = path, os.getpid(), {}
    _ignored += (own_prefix,)
    now = monotonic()
    _end, _pause = now + _SECONDS_MAX, _FIRST_LOOK
    _next_look = now + _pause
    _look_at_maps()
    sys.addaudithook(_on_audit)


def write():
    """Writes the list and stops watching."""
    global _touched, _end, _next_look
    touched = _touched
    if touched is None or os.getpid() != _worker:
        return
    _end = _next_look = float("inf")  # the code below opens files itself
    try:
        _look_at_maps()
        _touched = None
        lines = [HEAD]
        for path, mapped in touched.items():
            if "\n" not in path and "\0" not in path:
                lines.append(("mapped " if mapped else "read ") + path)
        with open(_list + ".part", "w", encoding="utf-8", errors="surrogateescape") as file:
            file.write("\n".join(lines) + "\n")
        os.replace(_list + ".part", _list)
    except Exception:
        _touched = None  # the next start has no list


def _on_audit(event, arguments):
    if _touched is None:
        return
    try:
        if event == "open":
            path, _, flags = arguments
            if type(flags) is int and not flags & os.O_ACCMODE and not flags & os.O_DIRECTORY:
                _note(path, False)
        elif event == "import":
            _note(arguments[1], True)  # the file of an extension module
        elif event == "ctypes.dlopen":
            _note(arguments[0], True)
        else:
            return
        _look_at_time()
    except Exception:
        pass  # the program matters more than our view of it


def _note(path, mapped):
    if type(path) is bytes:
        path = os.fsdecode(path)
    if type(path) is not str or not path or (mapped and "/" not in path):
        return
    if path[0] != "/":
        path = os.getcwd() + "/" + path
    if path not in _touched and len(_touched) < _PATHS_MAX:
        if not path.startswith(_ignored):
            _touched[path] = mapped


def _look_at_time():
    global _next_look, _pause
    now = monotonic()
    if now >= _end:
        write()
    elif now >= _next_look:
        _pause *= 2
        _next_look = now + _pause  # set before the look: opening the maps is an event, too
        _look_at_maps()


def _look_at_maps():
    fd = os.open("/proc/self/maps", os.O_RDONLY | os.O_CLOEXEC)
    try:
        pieces = []
        while True:
            piece = os.read(fd, 1 << 20)
            if not piece:
                break
            pieces.append(piece)
    finally:
        os.close(fd)
    last = None
    for line in b"".join(pieces).split(b"\n"):
        start = line.find(b"/")
        if start < 0:
            continue
        path = line[start:]
        if path != last:
            last = path
            if not path.endswith(b" (deleted)"):
                name = os.fsdecode(path)
                if _touched.get(name) is False:
                    _touched[name] = True
                _note(name, True)
