"""The template of standby workers: an interpreter that holds the imports, and from which each
standby is forked within milliseconds (docs/formats/standby.md).

Only while it has one thread and nothing that a fork would share: fork() copies one thread, and
locks that others hold stay locked. Like the boot module, it imports nothing that the script has
not.
"""

import os
import sys

from .._progress import imports

CONTROL = 3  # the descriptor of its socket to the agent
_STREAMS = (1, 2)
_ORDER_BYTES = 1 << 18
_PASSED = 4  # descriptors of an order: the shim's socket, and the standby's 0 to 2
_PR_SET_PDEATHSIG = 1
_SIGKILL = 9
_ORPHANED_WITHIN_S = 5.0

_mkdir = os.mkdir
_made_folders = []  # by imports
_first_torch_seed = None
_seeded = []  # names of modules whose generator an import has seeded
_generators = []  # of Python, of imports, that began with a seed of their own
_has_prepared = False  # robustrun.prepare() has run, in a process that could be forked
_is_watchable = True  # changes of the modules that were imported for it would be noticed


class _NotingMkdir:
    """No function: pathlib of Python 3.10 and older keeps os.mkdir in a class, which would make a
    method of a function."""

    def __call__(self, path, *arguments, **named):
        _mkdir(path, *arguments, **named)
        _made_folders.append(os.fsdecode(path))


def prepare(list_path):
    """Before the imports: keeps what they print, for each standby to print, and watches for what
    forks cannot share."""
    os.set_inheritable(CONTROL, False)  # not for programs that imports start
    os.mkdir = _NotingMkdir()  # tempfile.mkdtemp() calls it
    for name, watch in _WATCHES:
        imports.after_import(name, watch)
    for stream in _STREAMS:
        kept = _open_memory(list_path)
        os.dup2(kept, stream)
        os.close(kept)


def _open_memory(list_path):
    if hasattr(os, "memfd_create"):  # not in a Python for old C libraries
        return os.memfd_create("robustrun-printed")
    path = list_path + ".printed"
    opened = os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o600)
    os.unlink(path)
    return opened


def _watch_random(module):
    plain, seed = module.Random.seed, module.seed

    def noting(generator, a=None, *arguments, **named):
        if generator in _generators:
            _generators.remove(generator)
        if a is None:
            _generators.append(generator)
        return plain(generator, a, *arguments, **named)

    def telling(*arguments, **named):
        _seeded.append("random")
        return seed(*arguments, **named)

    module.Random.seed, module.seed = noting, telling
    _undo.append(lambda: setattr(module.Random, "seed", plain))
    _undo.append(lambda: setattr(module, "seed", seed))


def _watch_numpy(module):
    seed = module.seed

    def telling(*arguments, **named):
        _seeded.append("numpy.random")
        return seed(*arguments, **named)

    module.seed = telling
    _undo.append(lambda: setattr(module, "seed", seed))


def _note_torch_seed(_):
    global _first_torch_seed
    if _first_torch_seed is None:
        _first_torch_seed = _torch_seed()


_WATCHES = (("random", _watch_random), ("numpy.random", _watch_numpy), ("torch", _note_torch_seed))
_undo = [lambda: setattr(os, "mkdir", _mkdir)]


def _torch_seed():
    torch = sys.modules.get("torch")
    return torch.initial_seed() if hasattr(torch, "initial_seed") else None


def note_prepared(is_watchable):
    """After robustrun.prepare(), which restores the global generators that it has seeded."""
    global _has_prepared, _is_watchable
    _has_prepared, _is_watchable = True, is_watchable
    del _seeded[:]


def serve(report):
    """Sends the report (fields) and forks a standby for each order. Returns in every standby: the
    path of its socket, and the changes of its environment. Never returns in the template."""
    import _socket

    for name, watch in _WATCHES:
        imports.cancel(name, watch)
    for undo in _undo:
        undo()
    control = _socket.socket(_socket.AF_UNIX, _socket.SOCK_SEQPACKET, 0, CONTROL)
    agent = os.getppid()
    prctl = _prctl()
    reason = _why_not_here(control) or why_not() if prctl else "the interpreter has no ctypes"
    if _has_prepared and reason:
        reason = reason.replace("an import", "robustrun.prepare()", 1)
    elif not _is_watchable:
        reason = "robustrun.prepare() needs modules in an archive, or too many to watch"
    if reason:
        report = report + [b"unforkable=" + os.fsencode(reason)]
    control.send(b"\0".join(report))
    while not reason:
        size = _socket.CMSG_SPACE(_PASSED * 4)
        order, ancillary, _, _ = control.recvmsg(_ORDER_BYTES, size, _socket.MSG_CMSG_CLOEXEC)
        if not order:
            break
        data = ancillary[0][2]
        passed = [int.from_bytes(data[i:i + 4], sys.byteorder) for i in range(0, len(data), 4)]
        between = os.fork()
        if between == 0:
            parent, (path, cgroup, changes) = _become_child(order, passed, agent)
            _settle(parent, prctl, cgroup, passed)
            control.close()
            return path, changes
        os.waitpid(between, 0)
        for descriptor in passed:
            os.close(descriptor)
        control.send(b"\1")
    os._exit(0)


def _why_not_here(control):
    """Standbys become children of the agent, which has to be this process's own parent: the shim
    looks at who made the socket."""
    import _socket

    maker = control.getsockopt(_socket.SOL_SOCKET, _socket.SO_PEERCRED, 12)  # struct ucred
    if int.from_bytes(maker[:4], sys.byteorder) != os.getppid():
        return "the interpreter is not a child of the agent"
    return None


def why_not():
    """Why this process must not be forked; None: it may. Libraries that stop their threads before a
    fork, as OpenBLAS does, have done so after this."""
    if len(os.listdir("/proc/self/task")) > 1:
        child = os.fork()
        if child == 0:
            os._exit(0)
        os.waitpid(child, 0)
        threads = len(os.listdir("/proc/self/task")) - 1
        if threads:
            return "an import has left %d thread%s running" % (threads, "s" * (threads > 1))
    try:
        os.waitid(os.P_ALL, 0, os.WEXITED | os.WNOHANG | os.WNOWAIT)
        return "an import has left a child process"
    except ChildProcessError:
        pass
    tempfile = sys.modules.get("tempfile")
    for folder in _made_folders:
        if (tempfile is not None and folder.startswith(tempfile.gettempdir() + os.sep)
                and os.path.isdir(folder)):
            return "an import has made %s, which the first fork to end would remove" % folder
    if _torch_seed() != _first_torch_seed:  # all interpreters begin with it; forks get their own
        return "an import has set torch's seed"
    if _seeded:
        return "an import has set the seed of " + _seeded[0]
    if _has_generators():
        return "an import holds a generator of numpy.random"
    for name in os.listdir("/proc/self/fd"):
        target = _target(int(name)) if int(name) > CONTROL else ""
        if target.startswith("/") and not target.startswith("/dev/"):
            return "an import has left %s open" % target
        if target.startswith("/dev/") and target[5:] not in ("null", "zero", "random", "urandom"):
            return "an import has opened " + target
        kind, _, name = target.partition(":")
        if kind in ("socket", "pipe"):
            return "an import has left a %s open" % kind
        if kind == "anon_inode":  # "anon_inode:[eventpoll]"
            return "an import has left an %s open" % name.strip("[]")
    with open("/proc/self/maps", encoding="utf-8", errors="surrogateescape") as maps:
        for line in maps:
            fields = line.split(None, 5)
            if "w" in fields[1] and "s" in fields[1]:
                return "an import shares memory that it can change"
    return None


def _has_generators():
    """Whether an import holds one besides numpy's global generator; its seed is unknown."""
    numpy_random = sys.modules.get("numpy.random")
    if numpy_random is None:
        return False
    was_imported = "gc" in sys.modules
    import gc

    if not was_imported:
        del sys.modules["gc"]
    kind, own = numpy_random.BitGenerator, numpy_random.mtrand._rand._bit_generator
    return any(issubclass(type(each), kind) and each is not own for each in gc.get_objects())


def _target(descriptor):
    try:
        return os.readlink("/proc/self/fd/%d" % descriptor)
    except OSError:
        return ""  # of the list that was read


def _prctl():
    """The C library's function, without a trace in sys.modules; None: there is no ctypes."""
    before = set(sys.modules)
    try:
        import ctypes

        return ctypes.CDLL(None).prctl
    except Exception:
        return None
    finally:
        for name in set(sys.modules) - before:
            del sys.modules[name]


def _become_child(order, passed, agent):
    """In the child of the template: returns only in the standby. The process between becomes the
    standby's shim, whose parent is to be the agent: its own parent ends, and the agent adopts
    it."""
    path, shim, cgroup, count, *rest = order.split(b"\0")[:-1]
    argv, changes = rest[:int(count)], rest[int(count):]
    try:
        if os.fork() != 0:
            os._exit(0)
        import time

        end = time.monotonic() + _ORPHANED_WITHIN_S
        while os.getppid() != agent:
            if time.monotonic() > end:
                os._exit(1)
            time.sleep(0.0005)
        os.setsid()
        own = os.getpid()
        child = os.fork()
        if child == 0:
            return own, (path, cgroup, changes)
        control, *streams = passed
        for stream, descriptor in enumerate(streams):
            os.dup2(descriptor, stream)
        os.dup2(control, CONTROL)
        os.execv(shim, [argv[0], b"--adopt=%d" % child] + argv[1:])
    except BaseException:
        os._exit(1)


def _settle(parent, prctl, cgroup, passed):
    """What the shim does between fork and exec of a worker (agent/shim/worker.h). Processors,
    memory policy and working directory are the template's own."""
    try:
        prctl(_PR_SET_PDEATHSIG, _SIGKILL, 0, 0, 0)
        if os.getppid() != parent:
            os._exit(1)
        os.setsid()
        if cgroup:
            try:
                with open(os.path.join(os.fsdecode(cgroup), "cgroup.procs"), "w") as members:
                    members.write("0")
            except OSError:
                pass  # a fresh worker goes on without, too
        printed = [os.pread(stream, os.fstat(stream).st_size, 0) for stream in _STREAMS]
        control, *streams = passed
        for stream, descriptor in enumerate(streams):
            os.dup2(descriptor, stream)
        for descriptor in passed:
            os.close(descriptor)
        for stream, text in zip(_STREAMS, printed):
            while text:
                text = text[os.write(stream, text):]
        _reseed()
    except BaseException:
        os._exit(1)


def _reseed():
    """Renews the generators that begin with another seed in every process. Python's own does it by
    itself after a fork; torch's of devices begin with the same seed everywhere."""
    for generator in _generators:
        generator.seed()
    numpy_random = sys.modules.get("numpy.random")
    if numpy_random is not None:
        numpy_random.seed()
    torch = sys.modules.get("torch")
    if torch is not None:
        torch.default_generator.seed()
