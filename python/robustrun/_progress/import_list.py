"""Lists the modules of a worker that a standby worker can import before it has a script.

Only modules of the interpreter and its site-packages. The list is written to an empty file that the
agent creates beside the record: at the first step, or on the boot signal. Imports nothing, so that
the program's sys.modules does not change.
"""

import os
import sys

HEAD = "robustrun-modules 1"
_SITE = ("site-packages", "dist-packages")
_CALLS_BYTES_MAX = 64 << 10  # the agent takes lists of at most 256 KiB
_FILES_BYTES_MAX = 64 << 10
_SOURCES_BYTES_MAX = 4 << 20  # of all files of the program together, to be read at the first step
# When this process began, in seconds; None: unknown. Python itself has imported the module.
_started = sys.modules["time"].time() if "time" in sys.modules else None
# These replace parts of the standard library and depend on the script's order of imports.
_ORDER_MATTERS = ("gevent", "eventlet")


def write_if_wanted(path, anew=False):
    """Writes the list if the file `path` exists and is empty, or has an older one and `anew` is
    set. Returns whether it did."""
    try:
        if os.stat(path).st_size != 0 and not anew:
            return False
        lines = [HEAD]
        lines += ["module " + name for name in choose(sys.modules, _folder(), library_roots())]
        lines += ["variable " + name for name in changed_variables()]
        lines += ["same " + each for each in conditions(_script())]
        lines += _file_lines()
        prepared = sys.modules.get("robustrun._api.prepared")
        if prepared is not None:
            room = _CALLS_BYTES_MAX
            for call in prepared.calls():
                if len(call) <= room:
                    room -= len(call)
                    lines.append("prepare " + call)
        with open(path + ".part", "w", encoding="utf-8", errors="surrogateescape") as file:
            file.write("\n".join(lines) + "\n")
        os.replace(path + ".part", path)
    except Exception:
        return False  # not requested, or no space: the next start has no list
    return True


def read(path):
    """Reads a list: (modules in order of import, changed variables, conditions, calls of
    robustrun.prepare, files of the program with their digests)."""
    with open(path, encoding="utf-8", errors="surrogateescape") as file:
        head, *lines = file.read().splitlines()
    if head != HEAD:
        raise ValueError("not a list of modules: %r" % path)
    pairs = [line.split(" ", 1) for line in lines]
    return tuple([text for kind, text in pairs if kind == wanted]
                 for wanted in ("module", "variable", "same", "prepare", "file"))


def choose(modules, folder, roots):
    """The names in `modules` that come from `roots` and not from the script's `folder`."""
    if any(name in modules for name in _ORDER_MATTERS):
        return []
    # An environment below the script's folder is not user code.
    inside = [root for root in roots if _is_below(root, folder)]
    chosen = []
    for name, module in list(modules.items()):
        if name == "__main__" or name.partition(".")[0] == "robustrun" or name.split() != [name]:
            continue
        try:
            spec = module.__spec__
            is_itself = spec.name == name  # os.path is posixpath
            origin = spec.origin if spec.has_location or spec.origin else ""
        except Exception:
            continue
        if not is_itself or not isinstance(origin, str):
            continue
        if origin in ("built-in", "frozen"):
            chosen.append(name)
        elif _is_below_one(origin, inside if _is_below(origin, folder) else roots):
            chosen.append(name)
    return chosen


def own_files(modules, folder, roots):
    """The source files from which the program's own modules were imported, without the script:
    below its folder, or where Python looks for modules."""
    libraries = set(choose(modules, folder, roots))
    places = [folder] + [entry for entry in sys.path if os.path.isabs(entry)]
    found = set()
    for name, module in list(modules.items()):
        if name in libraries or name == "__main__" or name.partition(".")[0] == "robustrun":
            continue
        path = getattr(module, "__file__", None)
        # Not what a compiler has written elsewhere (torch.compile, extensions).
        if (isinstance(path, str) and _is_below_one(path, places)
                and not _is_below_one(path, roots)):
            found.add(path)
    return sorted(found)


def _file_lines():
    """What must be equal when a later run uses the list: files below the script's folder are named
    relative to it. One rank of a node does it, and only for a script, whose own file is known."""
    if os.environ.get("LOCAL_RANK") != "0":
        return []
    script = _script()
    if not script:
        return ["keep no"]
    folder = _folder()
    paths = own_files(sys.modules, folder, library_roots())
    try:
        states = [os.stat(path) for path in paths + [script]]
        if sum(state.st_size for state in states) > _SOURCES_BYTES_MAX:
            return ["keep no"]
        if _started and max(state.st_mtime for state in states) > _started:
            return ["keep no"]  # it may not be what was imported
        lines = ["file %d %s" % (digest_of(path), os.path.relpath(path, folder)
                                 if _is_below(path, folder) else path) for path in paths]
    except OSError:
        return ["keep no"]  # one was removed, or lies in an archive
    is_clear = all(line.splitlines() == [line] for line in lines)
    if not is_clear or sum(map(len, lines)) > _FILES_BYTES_MAX:
        return ["keep no"]
    return lines


def digest_of(path):
    with open(path, "rb") as file:
        return _digest(file.read())


def library_roots():
    """The folders of the standard library and of installed packages."""
    roots = [os.path.dirname(os.__file__)]
    roots += [entry for entry in sys.path if os.path.basename(entry) in _SITE]
    return roots


def conditions(script):
    """What must be equal in a process that imports the list, as "NAME VALUE". What cannot be read,
    or a missing script, is left out."""
    found = ["interpreter " + " ".join(sys.version.split())]
    if script:
        try:
            found.append("script %d" % digest_of(script))
        except OSError:
            pass
    names = []
    for root in library_roots()[1:]:
        if not _is_below(root, sys.prefix):
            continue  # the program may have added it
        try:
            names += [n for n in os.listdir(root) if n.endswith((".dist-info", ".egg-info"))]
        except OSError:
            continue
    found.append("packages %d" % _digest("\0".join(sorted(names)).encode("utf-8", "replace")))
    return found


def _digest(data):
    """A hash of `data`; hashlib would be one more import."""
    return int.from_bytes(data + b"\1", "little") % ((1 << 127) - 1)


def _script():
    """The script's path; None if a module runs as __main__."""
    main = sys.modules.get("__main__")
    return None if getattr(main, "__spec__", None) else getattr(main, "__file__", None)


def changed_variables():
    """The environment variables that the program has set, changed or removed since its start."""
    with open("/proc/self/environ", "rb") as file:
        entries = file.read().split(b"\0")
    before = {}
    for entry in entries:
        name, equals, value = entry.partition(b"=")
        if equals:
            before.setdefault(name, value)
    after = {os.fsencode(name): os.fsencode(value) for name, value in os.environ.items()}
    names = {*before, *after}
    return sorted(os.fsdecode(name) for name in names if before.get(name) != after.get(name))


def _folder():
    """The script's folder; for a module, the folder where Python looked for it first."""
    main = getattr(sys.modules.get("__main__"), "__file__", None)
    return os.path.dirname(os.path.realpath(main)) if main else os.getcwd()


def _is_below(path, folder):
    return path.startswith(folder.rstrip("/") + "/")


def _is_below_one(path, folders):
    return any(_is_below(path, folder) for folder in folders)
