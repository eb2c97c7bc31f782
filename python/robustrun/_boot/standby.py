"""A standby worker: imports what the job's workers import, and waits to become one of them.

It differs from a fresh worker only in what each attempt decides, which it receives at the end of
wait() (docs/formats/standby.md). Until then no user code runs, neither the script nor a module from
its folder, but for functions that the script has named for this (robustrun.prepare). Like the boot
module, it imports nothing from the standard library.
"""

import os
import sys

from .._progress import import_list

VERSION = b"ready 1"
# Beside a training that uses every processor: 1.5 % of one, and a tenth after a minute. If the
# training fails meanwhile, its processors are free, and the imports go on at full speed.
_NICE, _NICE_LATER, _LATER_S = 19, 10, 60
_USER_STAMPS_BYTES_MAX = 64 << 10  # of modules for robustrun.prepare()
_HOLDERS_AT_ONCE = 4096  # objects whose contents are looked through together
# Values that a library may have as a default: one variable that has such a value is no copy.
_DEFAULTS = {"", "0", "1", "29500", "127.0.0.1", "localhost"}
# Variables that libraries read in C while they are loaded, which cannot be observed.
_READ_IN_C = ("OMP_", "KMP_", "GOMP_", "MKL_", "OPENBLAS_", "BLIS_", "GLOG_", "TF_", "XLA_",
              "PYTORCH_", "TORCH_CPP_LOG_LEVEL", "TORCH_SHOW_CPP_STACKTRACES")


def wait(command, mode, program, safe_path):
    """Imports and waits; returns once this process is to be a worker. Ends the process if the agent
    is gone. `command`: how to start a fresh worker instead; `safe_path`: Python does not look for
    modules in the script's folder."""
    socket_path, _, list_path = os.environ.pop("ROBUSTRUN_STANDBY_SOCKET").partition(":")
    names, changed, same, calls, files = import_list.read(list_path)
    own = import_list.changed_variables()  # set by the interpreter, such as LC_CTYPE
    stamps = [stamp for stamp in map(_stamp, _own_paths(mode, program)) if stamp]
    differs = _other_than(same, None if mode == "module" else os.path.abspath(program))
    # The run's first workers wait for these imports, which an earlier run has listed.
    is_first = socket_path == "first"
    if is_first and not differs:
        differs = _changed_since(files, _folder(mode, program))
    if differs:
        names = []
    is_template = is_first or not socket_path
    if is_template:
        from . import template

        template.prepare(list_path)
    folder = None if safe_path else _folder(mode, program)
    with _Watch() as watch, _LowPriority(not is_first):
        _import_all(names)
        if is_template and calls and not differs and not template.why_not():
            for_results = _prepare(calls, folder)
            template.note_prepared(for_results is not None)
            stamps += for_results or []
    fields = [b"read=" + os.fsencode(name) for name in sorted(watch.read)]
    fields += stamps
    if differs:
        fields.append(b"differs=" + os.fsencode(differs))
    early = _set_before_imports([name for name in changed if name not in own], watch)
    if early:
        text = "the script sets %s, which takes effect only before imports" % early
        fields.append(b"refusal=" + os.fsencode(text))
    size = _memory_kb
    if is_template:
        socket_path, changes = template.serve([VERSION, b"memory_kb=%d" % size()] + fields)
        _change_environment(changes)
        size = _own_memory_kb
    order = _ask(socket_path, b"\0".join([VERSION, b"memory_kb=%d" % size()] + fields))
    if order is None:
        os._exit(0)
    _change_environment(order.split(b"\0")[:-1])
    sys.path_importer_cache.clear()  # folders may have changed since
    if folder is not None and _is_shadowed(folder):
        os.execv(sys.executable, command)


def _change_environment(changes):
    for change in changes:
        name, equals, value = change.partition(b"=")
        if equals:
            os.environ[os.fsdecode(name)] = os.fsdecode(value)
        else:
            os.environ.pop(os.fsdecode(name), None)


class _LowPriority:
    """Runs imports at low priority, so that training goes first. Only if the priority can be raised
    again afterwards: as root, or with RLIMIT_NICE.

    It applies to every thread, because threads started by imports inherit it (OpenBLAS's in numpy),
    and to the session, because Linux may schedule by session (sched_autogroup)."""

    def __init__(self, is_wanted=True):
        self._is_wanted = is_wanted

    def __enter__(self):
        self._own = None
        try:
            own = os.getpriority(os.PRIO_PROCESS, 0)
            if self._is_wanted and own < _NICE and _may_return(own):
                self._own, self._later_at = own, os.times().elapsed + _LATER_S
                _set_priority(_NICE, _NICE)
                sys.meta_path.insert(0, self)  # to be asked now and then
        except OSError:
            pass

    def find_spec(self, name, path=None, target=None):
        """Called before each import, of any depth. Finds nothing."""
        if os.times().elapsed >= self._later_at:
            self._later_at = float("inf")
            if os.getpriority(os.PRIO_PROCESS, 0) > _NICE_LATER > self._own:
                _set_priority(_NICE_LATER, _NICE_LATER)  # the agent has not raised it already

    def __exit__(self, *exception):
        if self._own is not None:
            if self in sys.meta_path:
                sys.meta_path.remove(self)
            _set_priority(self._own, 0)


def _may_return(own):
    """Whether the priority can be raised again. Tried in a child, because the rules differ
    (capabilities, user namespaces, limits)."""
    child = os.fork()
    if child == 0:
        try:
            os.setpriority(os.PRIO_PROCESS, 0, own + 1)
            os.setpriority(os.PRIO_PROCESS, 0, own)
            os._exit(0)
        except BaseException:
            os._exit(1)
    return os.waitpid(child, 0)[1] == 0


def _set_priority(nice, session):
    """Of all threads, and of the session, which begins with 0 whatever the nice value of its
    processes."""
    for _ in range(2):  # a thread may start another one in between
        for thread in os.listdir("/proc/self/task"):
            try:
                os.setpriority(os.PRIO_PROCESS, int(thread), nice)
            except ProcessLookupError:
                pass  # it has just ended
    for _ in range(20):
        try:
            with open("/proc/self/autogroup", "r+b", buffering=0) as group:
                group.write(b"%d" % session)
            break
        except BlockingIOError:  # ten times a second for all users but root
            import time

            time.sleep(0.02)
        except OSError:
            break  # this kernel has none


class _Watch:
    """Records which environment variables the imports read and set.

    Iterating over all variables does not count as reading them: tqdm and fsspec iterate to find
    names with their prefix, others copy the environment. So looking up a name object that an
    iteration has just yielded is not counted. What an iterating package really used is estimated:
    variables with the package's name as prefix (_prefix_of), and copies that are still held after
    the import (_kept).
    """

    def __enter__(self):
        self.read, self.written = read, written = set(), set()
        self._prefixes = prefixes = set()  # of packages that iterated over all variables
        kind = type(os.environ)
        self._kind = kind
        self._own = own = (kind.__getitem__, kind.__setitem__, kind.__delitem__, kind.__iter__)
        # The name objects that iterations have yielded, by id. Looking one of them up belongs to
        # the iteration: items(), dict() and copy() do that for each name.
        given = {}

        def getitem(self, name):
            if given.pop(id(name), None) is not name:
                read.add(os.fsdecode(name))
            return own[0](self, name)

        def iterate(self):
            prefixes.add(_prefix_of(sys._getframe(1)))
            for name in own[3](self):
                given[id(name)] = name
                yield name

        def setitem(self, name, value):
            own[1](self, name, value)
            written.add(os.fsdecode(name))

        def delitem(self, name):
            own[2](self, name)
            written.add(os.fsdecode(name))

        kind.__getitem__, kind.__setitem__, kind.__delitem__ = getitem, setitem, delitem
        kind.__iter__ = iterate
        return self

    def __exit__(self, *exception):
        kind = self._kind
        kind.__getitem__, kind.__setitem__, kind.__delitem__, kind.__iter__ = self._own
        if self._prefixes:
            self.read |= _kept()

    def has_read(self, name):
        """Whether an import may have used the variable, in Python or (by the name) in C."""
        return (name in self.read or name.startswith(_READ_IN_C)
                or name.startswith(tuple(self._prefixes)))


def _prefix_of(frame):
    """The prefix of the variables that the code iterating in `frame` looks for: "TQDM_" for
    tqdm.utils."""
    while frame is not None and frame.f_globals.get("__name__") in ("os", "collections.abc"):
        frame = frame.f_back
    name = frame.f_globals.get("__name__") if frame is not None else None
    return (name or "os").partition(".")[0].upper() + "_"


def _kept():
    """Variables of which anything still holds a copy: a dictionary, pairs, or "NAME=value", in
    whatever container, object, class or function.

    The garbage collector knows all objects that may hold others. It does not know a dictionary of
    mere strings itself, but what holds it.
    """
    import gc

    holders = gc.get_objects()
    variables = dict(os.environ)
    names = variables.keys()
    lines = {"%s=%s" % pair: pair[0] for pair in variables.items()}

    def is_copy(found):
        return len(found) > 1 or any(variables[name] not in _DEFAULTS for name in found)

    def copied(*holders):
        found, single = set(), set()  # in dictionaries; as pairs and lines
        for held in gc.get_referents(*holders):
            kind = type(held)
            if kind is str:
                if held in lines:
                    single.add(lines[held])
            elif kind is tuple:
                if len(held) == 2 and type(held[0]) is str and type(held[1]) is str:
                    if variables.get(held[0]) == held[1]:
                        single.add(held[0])
            elif issubclass(kind, dict) and held is not variables:
                same = set()
                for name in names & dict.keys(held):
                    value = dict.get(held, name)
                    if type(value) is str and value == variables[name]:
                        same.add(name)
                if is_copy(same):
                    found |= same
        return found | single if is_copy(single) else found

    found = set()
    for at in range(0, len(holders), _HOLDERS_AT_ONCE):
        some = holders[at:at + _HOLDERS_AT_ONCE]
        if copied(*some):  # pairs and lines in different containers are no copy
            for holder in some:
                found |= copied(holder)
    return found


def _import_all(names):
    for name in names:
        if name not in sys.modules:
            try:
                __import__(name)
            except BaseException:
                pass  # if the script needs the module, its own import will report the error


def _set_before_imports(changed, watch):
    """The name of a variable that the script (not an import) sets and that imports read; or
    None."""
    for name in changed:
        if watch.has_read(name) and name not in watch.written:
            return name
    return None


def _other_than(same, script):
    """How this process differs from the workers that wrote the list, in words; None: it does
    not."""
    here = dict(each.split(" ", 1) for each in import_list.conditions(script))
    for name, value in (each.split(" ", 1) for each in same):
        if here.get(name) != value:
            words = {"packages": "the installed packages are not those"}
            other = words.get(name, "the %s is not that" % name)
            return other + " of the workers that wrote the list of imports"
    return None


def _changed_since(files, folder):
    """Which of the program's files is not what it was in the run that wrote the list; None: all
    are."""
    for each in files:
        digest, _, path = each.partition(" ")
        try:
            is_same = import_list.digest_of(os.path.join(folder, path)) == int(digest)
        except (OSError, ValueError):
            is_same = False
        if not is_same:
            return "%s has changed since the run that wrote the list of imports" % path
    return None


def _own_paths(mode, program):
    """What the interpreter and the program are made of."""
    paths = [sys.executable, os.path.join(sys.prefix, "pyvenv.cfg")]
    paths += import_list.library_roots()[1:]
    if mode != "module":
        paths.append(os.path.abspath(program))
    return paths


def _stamp(path):
    """The field of a file's stamp; None if there is no such file."""
    try:
        found = os.stat(path)
    except OSError:
        return None
    return b"stamp=%d %d " % (found.st_ino, found.st_mtime_ns) + os.fsencode(path)


def _memory_kb():
    return _rolled_up("Pss:")


def _own_memory_kb():
    """What is not shared with the template."""
    return _rolled_up("Private_")


def _rolled_up(kind):
    try:
        with open("/proc/self/smaps_rollup", encoding="ascii") as file:
            sizes = [int(line.split()[1]) for line in file if line.startswith(kind)]
    except OSError:
        sizes = []
    if not sizes:  # Linux before 4.14
        with open("/proc/self/statm", "rb") as file:
            sizes = [int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE") // 1024]
    return sum(sizes)


def _prepare(calls, folder):
    """Makes the results of robustrun.prepare(). Returns stamps of the user's modules that were
    imported for this, as they were when they were read; None: they cannot be watched."""
    from .._api import prepared

    before = set(sys.modules)
    if folder is not None:
        sys.path.insert(0, folder)
    try:
        with _SourceStamps() as stamps:
            prepared.make(calls)
    finally:
        if folder in sys.path:
            sys.path.remove(folder)
    found = dict(stamps)
    for name in set(sys.modules) - before:
        path = getattr(sys.modules[name], "__file__", None)
        if isinstance(path, str) and path not in found:
            found[path] = _stamp(path)  # a library in C, or in an archive
    roots = tuple(root + "/" for root in import_list.library_roots())
    own = [stamp for path, stamp in sorted(found.items()) if not path.startswith(roots)]
    if None in own or sum(map(len, own)) > _USER_STAMPS_BYTES_MAX:
        return None
    return own


class _SourceStamps(dict):
    """Path -> stamp of each source file that is imported within, taken before it is read."""

    def __enter__(self):
        from _frozen_importlib_external import SourceFileLoader

        self._loader, self._plain = SourceFileLoader, SourceFileLoader.path_stats

        def path_stats(loader, path):
            self.setdefault(path, _stamp(path))
            return self._plain(loader, path)

        SourceFileLoader.path_stats = path_stats
        return self

    def __exit__(self, *exception):
        self._loader.path_stats = self._plain


def _folder(mode, program):
    """Where Python looks first for a module that the program imports."""
    if mode == "module":
        return os.getcwd()
    path = os.path.realpath(program)
    return path if os.path.isdir(path) else os.path.dirname(path)


def _is_shadowed(folder):
    """Whether a module in the script's folder would have been imported instead of one that was."""
    from _frozen_importlib_external import PathFinder

    for name in {name.partition(".")[0] for name in sys.modules} - {"__main__", "robustrun"}:
        spec = PathFinder.find_spec(name, [folder])
        if spec is None or spec.loader is None:  # otherwise just a folder of that name
            continue
        own = getattr(sys.modules.get(name), "__spec__", None)
        if own is None or own.origin != spec.origin:  # not one that robustrun.prepare() needed
            return True
    return False


def _ask(path, message):
    """Sends one message; returns the reply, or None if the agent is gone."""
    import _socket  # importing socket would add a module that the script did not import

    connection = _socket.socket(_socket.AF_UNIX, _socket.SOCK_STREAM)
    try:
        connection.connect(path)
        connection.sendall(len(message).to_bytes(4, "little") + message)
        return _receive(connection, int.from_bytes(_receive(connection, 4), "little"))
    except (OSError, EOFError):
        return None
    finally:
        connection.close()


def _receive(connection, size):
    data = b""
    while len(data) < size:
        more = connection.recv(size - len(data))
        if not more:
            raise EOFError
        data += more
    return data
