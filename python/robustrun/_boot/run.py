"""Runs the user's program in the real __main__, exactly as the interpreter itself would.

Called by boot.py alone. What cannot be done exactly here (a script that does not compile, is
missing, or is byte code) is left to plain Python by exec: its error messages are the right ones.
"""

import atexit
import os
import sys

from .._record import progress

_HIGH_DESCRIPTOR = 200
_OUR_FRAMES = 2  # below the user's first: boot.py and run()


def run(write_no_bytecode):
    # Before all other exit handlers, so that it runs after them, when threads have been joined.
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
    """What a failing program called last, of its collectives: others fail because of it."""
    flight = sys.modules.get("robustrun._record.flight")
    if flight is not None:
        flight.leave_last_words()


def _stand_by(write_no_bytecode, fresh_start, mode, program):
    """Until this is to be a worker."""
    from . import standby

    sys.dont_write_bytecode = write_no_bytecode
    standby.wait(fresh_start, mode, program, _safe_path())
    sys.dont_write_bytecode = False


def _observe():
    """Hangs up record, stack dump, drills, step counter and so on; each may fail alone."""
    for attach in (progress.attach, _watch_files, _add_sites, _register_stack_dump,
                   _listen_for_faults, _count_steps, _watch_collectives, _watch_stages):
        try:
            attach()
        except Exception:
            pass  # the program matters more than our view of it


def _watch_files():
    """Of a start whose files are to be known: the agent says so by a file."""
    record = os.environ.get("ROBUSTRUN_RECORD")
    wanted = record and progress.beside(record, ".files")
    if wanted and os.path.exists(wanted):
        from .._record import hot_files

        hot_files.install(wanted, progress.beside(record, ""))


def _add_sites():
    """Of folders on PYTHONPATH Python reads no .pth files, which some packages need."""
    folders = os.environ.get("ROBUSTRUN_SITE")
    if folders:
        import site

        for folder in folders.split(os.pathsep):
            site.addsitedir(folder)


def _register_stack_dump():
    number = int(os.environ.get("ROBUSTRUN_STACK_SIGNAL") or 0)
    if number:
        import faulthandler

        # By descriptor: sys.stderr may be replaced or closed by the time of the dump.
        faulthandler.register(number, file=_stack_file(), all_threads=True, chain=False)


def _stack_file():
    """Where the agent looks for stacks: beside the record. Without one, stderr."""
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
        # A program that closes all it inherited and opens files of its own must not find the
        # stacks in them: those get low numbers.
        high = fcntl.fcntl(fd, fcntl.F_DUPFD_CLOEXEC, _HIGH_DESCRIPTOR)
    except OSError:
        return fd  # beyond the limit of open files
    os.close(fd)
    return high


def _listen_for_faults():
    """For `robustrun inject` and for standby workers: one handler that hardly anybody calls."""
    order, worker = os.environ.get("ROBUSTRUN_RECORD"), os.getpid()
    if not order:
        return
    import _signal  # signal itself would cost a millisecond

    def on_signal(number, frame):
        if os.getpid() != worker:
            return
        from .._record import import_list

        import_list.write_if_wanted(progress.beside(order, ".modules"))
        if os.path.exists(order + ".fault"):
            from . import faults

            faults.obey(order + ".fault")

    number = _signal.SIGRTMIN + 9
    if os.environ.get("ROBUSTRUN_STACK_SIGNAL") != str(number):
        _signal.signal(number, on_signal)


def _count_steps():
    if progress.current() is not None:
        from .._record import steps

        steps.install()


def _watch_stages():
    if progress.current() is not None:
        from .._record import stages

        stages.install()


def _watch_collectives():
    record = progress.current()
    wanted = os.environ.get("ROBUSTRUN_FLIGHT_SOCKET")
    if wanted and record is not None and record.has_communicators:
        from .._record import imports

        imports.after_import("torch.distributed.distributed_c10d", _watch_groups)


def _watch_groups(c10d):
    """How far each group is, torch's Flight Recorder knows; where there is none, ours counts."""
    from .._record import flight, groups

    at_first_group = None
    if flight.prepare():
        at_first_group = flight.start
    elif os.environ.get("ROBUSTRUN_TRACE_DISPATCHER") == "1":
        from .._record import interposer

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
    sys.argv[0] = "-m"  # until runpy has found the file, as with the real -m
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
    """__file__ of a script: joined to the working directory but not normalised, from 3.9 on."""
    if sys.version_info < (3, 9) or script.startswith("/"):
        return script
    return os.getcwd() + "/" + script


def _is_container(path):
    """A folder or an archive with a __main__.py: whatever an import hook accepts."""
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
    """Lets sys.excepthook, whoever's it is, see the traceback that plain Python would show."""
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
    """What the interpreter prints when sys.excepthook itself raises, without our frame."""
    sys.stderr.write("Error in sys.excepthook:\n")
    trace = failure.__traceback__.tb_next
    sys.__excepthook__(type(failure), failure.with_traceback(trace), trace)
    sys.stderr.write("\nOriginal exception was:\n")
    sys.__excepthook__(type(error), error, error.__traceback__)
