"""Runs the user's program in the real __main__, exactly as the interpreter itself would.

Called only by boot.py. What cannot be done exactly here (a script that does not compile, is
missing, or is byte code) is left to plain Python by exec, which gives the right error messages.
"""

import atexit
import os
import sys

from .._progress import progress

_HIGH_DESCRIPTOR = 200
_OUR_FRAMES = 2  # below the user's first frame: boot.py and run()


def run(write_no_bytecode):
    # Registered before all other exit handlers, so it runs last, when threads have been joined.
    atexit.register(progress.mark_end, progress.SCRIPT_FINISHED_AT_NS)
    mode, program = sys.argv[1:3]
    fresh_start = [_first_word(), "-u"] + sys.argv
    namespace = _clean_main(mode)
    if "ROBUSTRUN_STANDBY_SOCKET" in os.environ:
        _stand_by(write_no_bytecode, fresh_start, mode, program)
    _observe()
    sys.dont_write_bytecode = write_no_bytecode
    if mode == "module":
        start, arguments = _prepare_module(program, namespace)
    else:
        start, arguments = _prepare_script(program, namespace)
    progress.mark_user_code()
    try:
        start(*arguments)
        progress.mark_end(progress.SCRIPT_RETURNED_AT_NS)
    except SystemExit as end:
        if end.code:
            _leave_last_words()
        else:
            progress.mark_end(progress.SCRIPT_RETURNED_AT_NS)
        last_save = sys.modules.get("robustrun._checkpoint.last_save")
        if last_save is not None:
            last_save.leave(end)
        raise
    except BaseException:
        _leave_last_words()
        _hide_our_frames()
        raise


def _leave_last_words():
    """Leaves the collectives that a failing program called last: they may explain other
    failures."""
    flight = sys.modules.get("robustrun._diagnose.flight")
    if flight is not None:
        flight.leave_last_words()


def _stand_by(write_no_bytecode, fresh_start, mode, program):
    """Waits as a standby worker until this process becomes a worker."""
    from . import standby

    sys.dont_write_bytecode = write_no_bytecode
    standby.wait(fresh_start, mode, program, _safe_path())
    sys.dont_write_bytecode = False


def _observe():
    """Installs the record, stack dumps, fault injection, step counter and so on. Each may fail
    without affecting the others."""
    for attach in (progress.attach, _watch_files, _add_sites, _register_stack_dump,
                   _listen_for_faults, _count_steps, _watch_collectives, _watch_stages,
                   _choose_store, _continue_trackers):
        try:
            attach()
        except Exception:
            pass  # the program matters more than our view of it


def _watch_files():
    """Records the files that the start reads, if the agent asks for it by a file."""
    record = os.environ.get("ROBUSTRUN_RECORD")
    wanted = record and progress.beside(record, ".files")
    if wanted and os.path.exists(wanted):
        from .._progress import hot_files

        hot_files.install(wanted, progress.beside(record, ""))


def _add_sites():
    """Processes .pth files, which some packages need and Python ignores in PYTHONPATH folders."""
    folders = os.environ.get("ROBUSTRUN_SITE")
    if folders:
        import site

        for folder in folders.split(os.pathsep):
            site.addsitedir(folder)


def _register_stack_dump():
    number = int(os.environ.get("ROBUSTRUN_STACK_SIGNAL") or 0)
    if number:
        import faulthandler

        # Pass a descriptor: sys.stderr may be replaced or closed by the time of the dump.
        faulthandler.register(number, file=_stack_file(), all_threads=True, chain=False)


def _stack_file():
    """The descriptor for stack dumps: a file beside the record; without a record, stderr."""
    record = os.environ.get("ROBUSTRUN_RECORD")
    if not record:
        return 2
    import fcntl

    flags = os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC
    try:
        fd = os.open(progress.beside(record, ".stack"), flags, 0o600)
    except OSError:
        return 2
    try:
        # Use a high number: a program that closes inherited descriptors and opens its own files
        # gets low numbers, and must not find stacks in these files.
        high = fcntl.fcntl(fd, fcntl.F_DUPFD_CLOEXEC, _HIGH_DESCRIPTOR)
    except OSError:
        return fd  # _HIGH_DESCRIPTOR is beyond the limit of open files
    os.close(fd)
    return high


def _listen_for_faults():
    """Installs the signal handler for `robustrun inject` and for lists of imported modules."""
    order, worker = os.environ.get("ROBUSTRUN_RECORD"), os.getpid()
    if not order:
        return
    import _signal  # importing signal would take a millisecond

    # An import within the handler could break one that it interrupts: until Python 3.12 the import
    # system keeps one entry per thread for the lock that it waits for (gh-106176).
    from .._progress import import_list

    def on_signal(number, frame):
        if os.getpid() != worker:
            return
        import_list.write_if_wanted(progress.beside(order, ".modules"))
        if os.path.exists(order + ".fault"):
            from . import faults

            faults.obey(order + ".fault")

    number = _signal.SIGRTMIN + 9
    if os.environ.get("ROBUSTRUN_STACK_SIGNAL") != str(number):
        _signal.signal(number, on_signal)


def _count_steps():
    if progress.current() is not None:
        from .._progress import steps

        steps.install()


def _watch_stages():
    if progress.current() is not None:
        from .._progress import stages

        stages.install()


def _choose_store():
    if os.environ.get("TORCHELASTIC_USE_AGENT_STORE") == "True":
        from .._progress import imports
        from . import store

        imports.after_import("torch.distributed.rendezvous", store.leave_if_unknown)


def _continue_trackers():
    state = os.environ.get("ROBUSTRUN_TRACKER_STATE")
    if state:
        from .._trackers import hooks

        hooks.install(state)


def _watch_collectives():
    record = progress.current()
    wanted = os.environ.get("ROBUSTRUN_FLIGHT_SOCKET")
    if wanted and record is not None and record.has_communicators:
        from .._progress import imports

        imports.after_import("torch.distributed.distributed_c10d", _watch_groups)


def _watch_groups(c10d):
    """Records process groups. Their progress comes from torch's Flight Recorder; if torch has none,
    from the interposer."""
    from .._diagnose import flight, groups

    at_first_group = None
    if flight.prepare():
        at_first_group = flight.start
    elif os.environ.get("ROBUSTRUN_TRACE_DISPATCHER") == "1":
        from .._diagnose import interposer

        at_first_group = interposer.install
    groups.watch(c10d, at_first_group)


def _clean_main(mode):
    """Undoes what boot.py left in __main__ and in sys; returns the dictionary of __main__."""
    namespace = sys.modules["__main__"].__dict__
    for name in [name for name in namespace if not name.startswith("__")]:
        del namespace[name]
    del sys.path[0]  # boot.py's own entry, then Python's for boot.py
    if not _safe_path():
        del sys.path[0]
    if hasattr(sys, "orig_argv"):  # 3.10
        where = len(sys.orig_argv) - len(sys.argv)
        module = ["-m"] if mode == "module" else []
        sys.orig_argv[where : where + 2] = module
    del sys.argv[:2]
    return namespace


def _safe_path():
    return getattr(sys.flags, "safe_path", bool(sys.flags.isolated))  # 3.11, -P


def _prepare_module(module, namespace):
    import runpy

    for name in ("__file__", "__cached__"):
        namespace.pop(name, None)
    sys.argv[0] = "-m"  # until runpy has found the file, as with `python -m`
    if not _safe_path():
        try:
            sys.path.insert(0, os.getcwd())
        except OSError:
            pass  # a deleted working directory: Python leaves it out too
    return runpy._run_module_as_main, (module,)


def _prepare_script(script, namespace):
    try:
        path = _absolute(script)
        if _is_container(path):
            import runpy

            sys.path.insert(0, path)
            return runpy._run_module_as_main, ("__main__", False)
        with open(script, "rb") as file:
            source = file.read()
        code = compile(source, path, "exec", dont_inherit=True)
    except Exception:
        _become_plain_python()
    if not _safe_path():
        sys.path.insert(0, os.path.dirname(os.path.realpath(script)))
    namespace["__file__"] = path
    namespace["__loader__"] = type(namespace["__loader__"])("__main__", path)
    return exec, (code, namespace)


def _absolute(script):
    """The script's __file__: from 3.9 on joined to the working directory, not normalised."""
    if sys.version_info < (3, 9) or script.startswith("/"):
        return script
    return os.getcwd() + "/" + script


def _is_container(path):
    """Whether an import hook accepts the path: a folder or archive with a __main__.py."""
    for hook in sys.path_hooks:
        try:
            hook(path)
            return True
        except ImportError:
            pass
    return False


def _become_plain_python():
    os.execv(sys.executable, [_first_word(), "-u"] + sys.argv)


def _first_word():
    return getattr(sys, "orig_argv", [sys.executable])[0]


def _hide_our_frames():
    """Passes the current sys.excepthook the traceback that plain Python would show."""
    theirs = getattr(sys, "excepthook", _missing_hook)

    def excepthook(kind, error, trace):
        sys.excepthook = theirs
        for _ in range(_OUR_FRAMES):
            trace = trace and trace.tb_next
        error.__traceback__ = sys.last_traceback = trace
        try:
            theirs(kind, error, trace)
        except SystemExit:
            raise
        except BaseException as failure:
            _report_broken_hook(failure, error)

    sys.excepthook = excepthook


def _missing_hook(kind, error, trace):
    sys.stderr.write("sys.excepthook is missing\n")
    sys.__excepthook__(kind, error, trace)


def _report_broken_hook(failure, error):
    """Prints what the interpreter prints if sys.excepthook itself raises, without our frame."""
    sys.stderr.write("Error in sys.excepthook:\n")
    trace = failure.__traceback__.tb_next
    sys.__excepthook__(type(failure), failure.with_traceback(trace), trace)
    sys.stderr.write("\nOriginal exception was:\n")
    sys.__excepthook__(type(error), error, error.__traceback__)
