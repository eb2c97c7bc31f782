"""boot.py against the interpreter itself: same output, same traceback, same exit status."""

import os
import pathlib
import re
import resource
import signal
import subprocess
import sys
import zipfile

import pytest
from conftest import BOOT, clean_environment

SHOW_MAIN = """
import sys
print(sorted((k, repr(v)) for k, v in globals().items()))
print(sys.argv, sys.path, sys.flags, sys.meta_path, getattr(sys, 'orig_argv', None))
print(sys.modules['__main__'].__dict__ is globals(), __name__)
"""

# name -> source; each is run as `python -u case.py α 'b c' --nnodes=2` both ways.
SCRIPTS = {
    "main attributes": '"""Doc."""\nx: int = 1' + SHOW_MAIN,
    "main attributes without doc": SHOW_MAIN,
    "local import": "import neighbour; print(neighbour.__file__, neighbour.VALUE)",
    "future import stays the script's": "def f(x: int): pass\nprint(f.__annotations__)",
    "exit code": "import sys; sys.exit(7)",
    "exit none": "raise SystemExit",
    "exit text": "import sys; sys.exit('no good')",
    "exit odd object": "import sys; sys.exit([1, 2])",
    "exit big": "import sys; sys.exit(2**70)",
    "exception": "def f():\n    raise ValueError('bad')\ntry:\n    f()\n"
                 "except ValueError as e:\n    raise KeyError('worse') from e",
    "exception in deep call": "def f(n):\n    f(n - 1) if n else 1 / 0\nf(5)",
    "recursion error": "def f():\n    f()\ntry:\n    f()\nexcept RecursionError: print('deep')",
    "syntax error": "def f(:\n  pass",
    "syntax error at run time": "exec('def f(:')",
    "indentation error": "if True:\n  x = 1\n    y = 2",
    "null byte": "x = 1\0",
    "syntax warning": "x = 1 is 1\nprint(x)",
    "latin-1 with cookie": "# -*- coding: latin-1 -*-\nprint(ascii('\xe9'))",
    "not utf-8": b"x = '\xff'\n",
    "utf-8 bom": b"\xef\xbb\xbfprint('bom')\nraise ValueError",
    "carriage returns": b"x = 1\r\nif x:\r\n    raise ValueError\r\n",
    "empty": "",
    "keyboard interrupt": "raise KeyboardInterrupt",
    "interrupted by itself": "import os, signal, time\nos.kill(os.getpid(), signal.SIGINT)\n"
                             "time.sleep(20)",
    "killed": "import os, signal\nos.kill(os.getpid(), signal.SIGKILL)",
    "abort": "import os, resource\nresource.setrlimit(resource.RLIMIT_CORE, (0, 0))\nos.abort()",
    "os._exit": "import os; print('x'); os._exit(3)",
    "own excepthook": "import sys, traceback\n"
                      "def hook(t, v, tb):\n"
                      "    print('HOOK', t, v, traceback.format_tb(tb), v.__traceback__ is tb)\n"
                      "    print(sys.last_traceback is tb, sys.excepthook is hook)\n"
                      "sys.excepthook = hook\nimport atexit\n"
                      "atexit.register(lambda: print(sys.excepthook is hook))\n1 / 0",
    "excepthook that raises": "import sys\ndef hook(t, v, tb):\n    raise KeyError('again')\n"
                              "sys.excepthook = hook\n1 / 0",
    "excepthook that exits": "import sys\nsys.excepthook = lambda *a: sys.exit(9)\n1 / 0",
    "no excepthook": "import sys\ndel sys.excepthook\n1 / 0",
    "system exit keeps the hook": "import atexit, sys\nbefore = sys.excepthook\n"
                                  "atexit.register(lambda: print(sys.excepthook is before))\n"
                                  "sys.exit(1)",
    "globals alive at exit": "import atexit\nclass C: pass\nvalue = C()\n"
                             "atexit.register(lambda: print(value.__class__.__name__, __name__))",
    "pickling in atexit": "import atexit, pickle as p\nclass C:\n"
                          "    def __eq__(s, o): return True\n"
                          "atexit.register(lambda: print(p.loads(p.dumps(C())) == C()))",
    "pickling": "import pickle\nclass C: pass\nprint(type(pickle.loads(pickle.dumps(C()))) is C)",
    "inspect": "import inspect\nclass C:\n    pass\nprint(inspect.getsource(C), "
               "inspect.getmodule(C).__file__)",
    "threads outlive main": "import threading, time\n"
                            "def f():\n    time.sleep(.5); print('thread')\n    raise ValueError\n"
                            "threading.Thread(target=f, name='T').start()\nprint('main')",
    "late pool": "from concurrent.futures import ThreadPoolExecutor as P\np = P(1)\n"
                 "print(p.submit(sum, [1, 2]).result())",
    "spawn": "import multiprocessing as m\nclass C:\n    x = 5\ndef f(c): return c.x, __name__\n"
             "if __name__ == '__main__':\n"
             "    with m.get_context('spawn').Pool(1) as p: print(p.map(f, [C()]))",
    "forkserver": "import multiprocessing as m\n"
                  "class C:\n    x = 5\ndef f(c): return c.x, __name__\n"
                  "if __name__ == '__main__':\n"
                  "    with m.get_context('forkserver').Pool(1) as p: print(p.map(f, [C()]))",
    "spawn without guard": "import multiprocessing as m\ndef f(): pass\n"
                           "m.get_context('spawn').Process(target=f).start()",
    "annotations": "import typing\nx: int\nclass C:\n    y: 'C'\n"
                   "print(typing.get_type_hints(C))",
    "dataclass": "from dataclasses import dataclass\n"
                 "@dataclass\nclass C:\n    x: int = 3\nprint(C())",
    "unbuffered": "import sys\nprint(sys.stdout.line_buffering, sys.stdout.write_through)",
    "reload of main by name": "import sys\nimport __main__\nprint(__main__.__file__, "
                              "__main__ is sys.modules['__main__'])",
    "warning": "import warnings\nwarnings.warn('careful')\n"
               "warnings.warn('old', DeprecationWarning)",
    "exception group": "raise ExceptionGroup('several', [ValueError(1), KeyError(2)])",
    "closed stderr": "import sys\nsys.stderr = None\n1 / 0",
    "standard input": "import sys; print(repr(sys.stdin.read()))",
    "file descriptors at script start": "import os\nprint(len(os.listdir('/proc/self/fd')))",
    "subprocess": "import subprocess, sys\nprint(subprocess.check_output("
                  "[sys.executable, '-c', 'import sys; print(sys.argv)']))",
}

ADDRESS = re.compile(rb"0x[0-9a-f]{6,}")
CHILD = re.compile(rb"(SpawnProcess-\d+|pid=\d+|\[\d+\])")


def same(left, right):
    def visible(done):
        hide = [CHILD.sub(b"#", ADDRESS.sub(b"0x", text)) for text in (done.stdout, done.stderr)]
        return (done.returncode, *hide)

    assert visible(left) == visible(right)


@pytest.fixture
def plain(tmp_path):
    def run(*args, env=None):
        return subprocess.run([sys.executable, "-u", *args], cwd=tmp_path, timeout=300,
                              env=env or clean_environment(), stdin=subprocess.DEVNULL,
                              capture_output=True)

    return run


def write(path, source):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(source if isinstance(source, bytes) else source.encode("latin-1"))


@pytest.mark.parametrize("name", SCRIPTS)
def test_a_script_cannot_tell_the_difference(name, tmp_path, boot, plain):
    write(tmp_path / "case.py", SCRIPTS[name])
    write(tmp_path / "neighbour.py", "VALUE = 1")
    arguments = ["α", "b c", "--nnodes=2", "", "--"]
    same(plain("case.py", *arguments), boot("script", "case.py", *arguments))


@pytest.mark.parametrize("name", SCRIPTS)
def test_a_module_cannot_tell_the_difference(name, tmp_path, boot, plain):
    write(tmp_path / "case.py", SCRIPTS[name])
    write(tmp_path / "neighbour.py", "VALUE = 1")
    same(plain("-m", "case", "-x"), boot("module", "case", "-x"))


@pytest.mark.parametrize("where", ["./case.py", "sub/case.py", "sub/../case.py", ".//case.py",
                                   "link.py", "sub/link.py", "far.py", "ABSOLUTE"])
def test_paths_of_the_script_are_as_pythons(where, tmp_path, boot, plain):
    write(tmp_path / "case.py", SHOW_MAIN + "1 / 0")
    write(tmp_path / "sub" / "case.py", SHOW_MAIN + "1 / 0")
    (tmp_path / "link.py").symlink_to("case.py")
    (tmp_path / "sub" / "link.py").symlink_to("../case.py")
    (tmp_path / "far.py").symlink_to(tmp_path / "sub" / "link.py")
    script = str(tmp_path / "case.py") if where == "ABSOLUTE" else where
    same(plain(script), boot("script", script))


@pytest.mark.parametrize("script", ["missing.py", "unreadable/x.py", "sub", "empty_folder",
                                    "case.zip", "case.pyc", "package", "-c"])
def test_other_kinds_of_scripts_run_as_under_python(script, tmp_path, boot, plain):
    write(tmp_path / "sub" / "__main__.py", "from other import X\nprint(X)\n" + SHOW_MAIN + "1/0")
    write(tmp_path / "sub" / "other.py", "X = 5")
    write(tmp_path / "package" / "__init__.py", "")
    (tmp_path / "empty_folder").mkdir()
    with zipfile.ZipFile(tmp_path / "case.zip", "w") as archive:
        archive.writestr("__main__.py", SHOW_MAIN + "1/0")
    import py_compile

    write(tmp_path / "compiled.py", SHOW_MAIN)
    py_compile.compile(tmp_path / "compiled.py", tmp_path / "case.pyc")
    same(plain(script, "print(1)"), boot("script", script, "print(1)"))


@pytest.mark.parametrize("module", ["package", "package.inner", "package.broken", "package.nope",
                                    "nope", "json.tool", "bare", "namespace.leaf"])
def test_modules_are_as_pythons(module, tmp_path, boot, plain):
    show = "print(__package__, __spec__.name)\n" + SHOW_MAIN
    write(tmp_path / "package" / "__init__.py",
          "import sys\nprint(sys.argv, hasattr(sys.modules['__main__'], '__file__'))")
    write(tmp_path / "package" / "__main__.py", "from . import inner\nprint('main')\n" + show)
    write(tmp_path / "package" / "inner.py", "from .data import X\n" + show)
    write(tmp_path / "package" / "data.py", "X = 1")
    write(tmp_path / "package" / "broken.py", "import not_there")
    write(tmp_path / "bare" / "__init__.py", "")
    write(tmp_path / "namespace" / "leaf.py", show)
    same(plain("-m", module, "-m", "x"), boot("module", module, "-m", "x"))


def test_arguments_that_are_not_utf8_arrive(tmp_path, boot, plain):
    write(tmp_path / "case.py", "import os, sys; print([os.fsencode(a) for a in sys.argv[1:]])")
    env = clean_environment(LC_ALL="C.UTF-8")
    same(plain("case.py", b"\xff\xfe", "é", env=env),
         boot("script", "case.py", b"\xff\xfe", "é", env=env))


@pytest.mark.parametrize("setting", [{"PYTHONSAFEPATH": "1"}, {"PYTHONOPTIMIZE": "1"},
                                     {"PYTHONPATH": "/nowhere:/else"}, {"PYTHONWARNINGS": "error"},
                                     {"PYTHONIOENCODING": "latin-1"}, {"PYTHONFAULTHANDLER": "1"}])
def test_pythons_own_settings_hold(setting, tmp_path, boot, plain):
    write(tmp_path / "case.py", SHOW_MAIN + "assert False, 'é'")
    env = clean_environment(**setting)
    same(plain("case.py", env=env), boot("script", "case.py", env=env))
    same(plain("-m", "case", env=env), boot("module", "case", env=env))


def test_a_deleted_working_directory_is_as_pythons(tmp_path):
    write(tmp_path / "case.py", "import sys; print(sys.path[0], __file__)")

    def run(*args):
        gone = tmp_path / "gone"
        gone.mkdir()
        command = ["sh", "-c", 'rmdir "$PWD"; exec "$@"', "sh", sys.executable, "-u", *args]
        return subprocess.run(command, cwd=gone, env=clean_environment(), capture_output=True)

    script = str(tmp_path / "case.py")
    same(run(script), run(str(BOOT), "script", script))
    same(run("-m", "nope"), run(str(BOOT), "module", "nope"))


def test_run_path_runs_in_the_real_main_too(tmp_path, boot):
    write(tmp_path / "case.py", "import pickle, neighbour\nclass C: pass\n"
                                "print(type(pickle.loads(pickle.dumps(C()))) is C)")
    write(tmp_path / "neighbour.py", "")
    assert boot("path", "case.py").stdout == b"True\n"


def test_without_the_package_plain_python_runs(tmp_path, plain):
    write(tmp_path / "case.py", SHOW_MAIN)
    lonely = tmp_path / "elsewhere" / "robustrun" / "boot.py"
    write(lonely, BOOT.read_bytes())
    same(plain("case.py", "a"), plain(str(lonely), "script", "case.py", "a"))
    same(plain("-m", "case", "a"), plain(str(lonely), "module", "case", "a"))


def test_the_stack_signal_dumps_all_threads_and_the_script_continues(tmp_path):
    number = signal.SIGRTMIN + 5
    write(tmp_path / "case.py", "def waiting_here():\n    print('ready'); input(); print('end')\n"
                                "waiting_here()")
    env = clean_environment(ROBUSTRUN_STACK_SIGNAL=str(number))
    command = [sys.executable, "-u", str(BOOT), "script", "case.py"]
    process = subprocess.Popen(command, cwd=tmp_path, env=env, stdin=subprocess.PIPE,
                               stdout=subprocess.PIPE, stderr=subprocess.PIPE, bufsize=0)
    try:
        assert process.stdout.readline() == b"ready\n"
        status = pathlib.Path("/proc/%d/status" % process.pid).read_text()
        caught = int(re.search(r"SigCgt:\s*(\w+)", status).group(1), 16)
        assert caught >> (number - 1) & 1
        os.kill(process.pid, number)
        head = process.stderr.readline()
        assert b"most recent call first" in head
        out, error = process.communicate(b"\n", timeout=120)
        assert b"waiting_here" in error and out == b"end\n" and process.returncode == 0
    finally:
        process.kill()
        process.wait()


STACKS = """
import os, signal, subprocess, sys
number = int(os.environ["ROBUSTRUN_STACK_SIGNAL"])
subprocess.check_call(["true"], close_fds=False)
def here(): os.kill(os.getpid(), number)
here()
first = os.open("/dev/null", os.O_RDONLY)
sys.exit(first > 10)
"""


def test_with_a_record_the_stacks_go_into_a_file_beside_it(tmp_path, boot, record):
    write(tmp_path / "case.py", STACKS)
    record.path = record.path.rename(tmp_path / "3.0.record")
    stacks = tmp_path / "3.0.stack"
    stacks.write_text("earlier\n")
    env = record.environment(ROBUSTRUN_STACK_SIGNAL=str(signal.SIGRTMIN + 5))
    done = boot("script", "case.py", env=env)
    assert (done.returncode, done.stderr) == (0, b"")
    first, second, *rest = stacks.read_text().splitlines()
    assert first == "earlier" and "most recent call first" in second
    assert any('case.py", line 5 in here' in line for line in rest)


def test_the_file_of_stacks_is_private_and_far_from_the_scripts_own(tmp_path, boot, record):
    write(tmp_path / "case.py", "import os\n"
                                "print([(n, os.get_inheritable(int(n)))"
                                " for n in os.listdir('/proc/self/fd')"
                                " if os.path.realpath('/proc/self/fd/' + n).endswith('.stack')])\n")
    env = record.environment(ROBUSTRUN_STACK_SIGNAL=str(signal.SIGRTMIN + 5))
    assert boot("script", "case.py", env=env).stdout == b"[('200', False)]\n"
    assert (tmp_path / "record.stack").stat().st_mode & 0o777 == 0o600


def test_a_file_of_stacks_that_cannot_be_made_leaves_stderr(tmp_path, boot, record):
    write(tmp_path / "case.py", STACKS)
    os.symlink(tmp_path / "elsewhere", tmp_path / "record.stack")
    env = record.environment(ROBUSTRUN_STACK_SIGNAL=str(signal.SIGRTMIN + 5))
    done = boot("script", "case.py", env=env)
    assert done.returncode == 0 and b"in here" in done.stderr
    assert not (tmp_path / "elsewhere").exists()


# Sends the boot signal while the import system notes which lock this thread waits for.
INTERRUPTED = """
import os, signal, sys
sent = []
def trace(frame, event, argument):
    if "importlib" not in frame.f_code.co_filename:
        return None
    if frame.f_code.co_name == "acquire" and event == "line" and "tid" in frame.f_locals:
        if not sent and frame.f_lineno > frame.f_code.co_firstlineno + 7:
            sent.append(1)
            os.kill(os.getpid(), signal.SIGRTMIN + 9)
    return trace
sys.settrace(trace)
import xml.dom.minidom
sys.settrace(None)
print(sent)
"""


def test_the_boot_signal_may_come_within_an_import(tmp_path, boot, record):
    write(tmp_path / "case.py", INTERRUPTED)
    done = boot("script", "case.py", env=record.environment())
    assert (done.stdout, done.stderr) == (b"[1]\n", b"")


def test_booting_costs_less_than_half_of_the_start_of_python(tmp_path, record):
    """Processor time, least of many runs: the machine may be busy, which makes both slower. Byte
    code is cached. What it costs is a figure (bench/run startup)."""
    write(tmp_path / "case.py", "pass")
    env = record.environment(ROBUSTRUN_STACK_SIGNAL=str(signal.SIGRTMIN + 5),
                             PYTHONPYCACHEPREFIX=str(tmp_path / "cache"))
    del env["PYTHONDONTWRITEBYTECODE"]

    def used():
        usage = resource.getrusage(resource.RUSAGE_CHILDREN)
        return usage.ru_utime + usage.ru_stime

    def cost(*args):
        before = used()
        subprocess.run([sys.executable, "-u", *args], cwd=tmp_path, env=env, check=True)
        return used() - before

    plain, booted = [], []
    for _ in range(150):
        plain.append(cost("case.py"))
        booted.append(cost(str(BOOT), "script", "case.py"))
        if len(plain) >= 10 and min(booted) < 1.5 * min(plain):
            return
    raise AssertionError(f"{min(booted)} s of a processor, and {min(plain)} s without")
