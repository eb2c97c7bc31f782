"""A standby worker: what it imports in advance, what it receives, and that a script sees no
difference from a fresh start."""

import json
import os
import pathlib
import re
import socket
import subprocess
import sys
import time
import types

import pytest
from conftest import BOOT, PACKAGE, clean_environment

sys.path.insert(0, str(PACKAGE))
from robustrun._boot import standby as standby_module  # noqa: E402
from robustrun._progress import import_list  # noqa: E402

SITE = "/opt/env/lib/python3.11/site-packages"
ROOTS = ["/opt/env/lib/python3.11", SITE]


def module(name, origin, has_location=True, spec_name=None):
    made = types.ModuleType(name)
    made.__spec__ = types.SimpleNamespace(name=spec_name or name, origin=origin,
                                          has_location=has_location)
    return made


def choose(folder, *modules):
    return import_list.choose({made.__name__: made for made in modules}, folder, ROOTS)


def test_modules_of_the_interpreter_and_of_site_packages_are_chosen_in_order():
    assert choose(
        "/home/me/job",
        module("zlib", "built-in", False),
        module("torch", SITE + "/torch/__init__.py"),
        module("json", "/opt/env/lib/python3.11/json/__init__.py"),
        module("abc", "frozen", False),
    ) == ["zlib", "torch", "json", "abc"]


@pytest.mark.parametrize("made", [
    module("helper", "/home/me/job/helper.py"),
    module("editable", "/home/me/other/editable/__init__.py"),
    module("neighbour", "/opt/env/lib/python3.11x/neighbour.py"),
    module("space", None, False),
    module("os.path", "/opt/env/lib/python3.11/posixpath.py", spec_name="posixpath"),
    module("__main__", SITE + "/main.py"),
    module("robustrun._boot.run", SITE + "/robustrun/_boot/run.py"),
    module("two words", SITE + "/two.py"),
    module("odd", 7),
    types.ModuleType("made_by_hand"),
], ids=lambda made: made.__name__)
def test_nothing_else_is_chosen(made):
    assert choose("/home/me/job", made) == []


def test_an_environment_below_the_scripts_folder_is_not_user_code():
    torch = module("torch", SITE + "/torch/__init__.py")
    assert choose("/opt/env", torch, module("mine", "/opt/env/mine.py")) == ["torch"]
    assert choose("/opt/env/lib", torch) == ["torch"]


def test_a_script_within_site_packages_keeps_its_own_folder_to_itself():
    inner = module("pkg.helper", SITE + "/pkg/helper.py")
    assert choose(SITE + "/pkg", inner, module("torch", SITE + "/torch/__init__.py")) == ["torch"]


def test_nothing_is_imported_beforehand_where_the_order_of_imports_matters():
    torch = module("torch", SITE + "/torch/__init__.py")
    assert choose("/home/me/job", torch, module("gevent", SITE + "/gevent/__init__.py")) == []


class Standby:
    """boot.py as the agent starts it, and the agent's end of its socket."""

    def __init__(self, folder, script, listed, arguments=(), mode="script", **environment):
        self.folder = folder
        (folder / "list").write_text(listed)
        self.socket = socket.socket(socket.AF_UNIX)
        self.socket.bind(str(folder / "sock"))
        self.socket.listen()
        self.socket.settimeout(120)
        self.process = subprocess.Popen(
            [sys.executable, "-u", str(BOOT), mode, script, *arguments], cwd=folder,
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
            env=clean_environment(ROBUSTRUN_STANDBY_SOCKET=f"{folder}/sock:{folder}/list",
                                  **environment))

    def ready(self):
        """Field -> values of its first message."""
        self.peer, _ = self.socket.accept()
        self.peer.settimeout(120)
        size = int.from_bytes(self.peer.recv(4, socket.MSG_WAITALL), "little")
        head, *fields = self.peer.recv(size, socket.MSG_WAITALL).split(b"\0")
        assert head == b"ready 1"
        found = {}
        for field in fields:
            name, _, value = field.decode().partition("=")
            found.setdefault(name, []).append(value)
        return found

    def become(self, *changes):
        order = b"".join(change.encode() + b"\0" for change in changes)
        self.peer.sendall(len(order).to_bytes(4, "little") + order)
        return self.finish()

    def finish(self):
        out, err = self.process.communicate(timeout=180)
        return self.process.returncode, out.decode(), err.decode()

    def close(self):
        self.process.kill()
        self.process.communicate()
        self.socket.close()


@pytest.fixture
def standby(tmp_path):
    made = []

    def start(script, *modules, variables=(), same=(), **more):
        lines = ["robustrun-modules 1", *(f"module {name}" for name in modules),
                 *(f"variable {name}" for name in variables), *(f"same {each}" for each in same)]
        made.append(Standby(tmp_path, script, "\n".join(lines) + "\n", **more))
        return made[-1]

    yield start
    for each in made:
        each.close()


FACTS = """
import json, os, signal, sys
print(json.dumps({
    "argv": sys.argv, "orig_argv": sys.orig_argv, "path": sys.path, "flags": str(sys.flags),
    "main": sorted((k, repr(v)) for k, v in globals().items() if k not in
                   ("json", "os", "signal", "sys")),
    "same": sys.modules["__main__"].__dict__ is globals(), "cwd": os.getcwd(),
    "environment": list(os.environ.items()), "bytecode": sys.dont_write_bytecode,
    "meta_path": str(sys.meta_path), "stdin": os.readlink("/proc/self/fd/0"),
    "files": sorted(os.listdir("/proc/self/fd")),
    "signals": [str(signal.getsignal(n)) for n in range(1, 65) if n not in (32, 33)],
    "blocked": str(signal.pthread_sigmask(signal.SIG_BLOCK, [])),
    "streams": [(s.encoding, s.line_buffering, s.write_through, s.seekable())
                for s in (sys.stdout, sys.stderr)],
}))
"""


def test_the_script_sees_what_it_would_see_after_a_fresh_start(standby, tmp_path):
    (tmp_path / "job.py").write_text(FACTS)
    command = [sys.executable, "-u", str(BOOT), "script", "job.py", "α", "b c"]
    fresh = subprocess.run(command, cwd=tmp_path, stdin=subprocess.DEVNULL, capture_output=True,
                           check=True, env=clean_environment(RANK="3", B="x", C="1"))
    waiting = standby("job.py", "decimal", "json", "signal", arguments=["α", "b c"], RANK="1",
                      B="x", GONE="y", C="0")
    waiting.ready()
    code, out, err = waiting.become("RANK=3", "GONE", "C=1")
    assert (code, err) == (0, "")
    ours, theirs = (json.loads(re.sub(" at 0x[0-9a-f]+", "", text))
                    for text in (out, fresh.stdout.decode()))
    ours["environment"] = dict(ours["environment"])
    theirs["environment"] = dict(theirs["environment"])
    assert ours == theirs


def test_modules_are_there_before_the_order_and_a_missing_one_does_no_harm(standby, tmp_path):
    (tmp_path / "job.py").write_text("import sys; print('decimal' in sys.modules)\n"
                                     "import no_such_module\n")
    waiting = standby("job.py", "no_such_module", "decimal")
    ready = waiting.ready()
    assert int(ready["memory_kb"][0]) > 1000 and "refusal" not in ready
    code, out, err = waiting.become()
    assert (code, out) == (1, "True\n")
    assert "No module named 'no_such_module'" in err


def test_the_script_is_read_when_it_is_to_run(standby, tmp_path):
    (tmp_path / "job.py").write_text("print('old')")
    waiting = standby("job.py")
    waiting.ready()
    (tmp_path / "job.py").write_text("print('new')")
    assert waiting.become() == (0, "new\n", "")


def test_a_module_of_the_users_of_the_same_name_wins(standby, tmp_path):
    (tmp_path / "job.py").write_text("import decimal; print(decimal.__file__)")
    waiting = standby("job.py", "decimal")
    waiting.ready()
    (tmp_path / "decimal.py").write_text("")  # after it was imported from elsewhere
    assert waiting.become() == (0, f"{tmp_path}/decimal.py\n", "")


def test_what_imports_read_and_where_they_came_from_is_reported(standby, tmp_path):
    libraries = tmp_path / "site-packages"
    libraries.mkdir()
    (libraries / "reader.py").write_text(
        "import os\nos.getenv('RANK'), 'A' in os.environ, os.environb.get(b'B')\n"
        "os.environ.setdefault('SET_BY_IMPORT', '1')\n")
    (tmp_path / "job.py").write_text("import os; print(os.environ['SET_BY_IMPORT'])")
    waiting = standby("job.py", "reader", variables=["SET_BY_IMPORT", "UNREAD"],
                      PYTHONPATH=str(libraries))
    ready = waiting.ready()
    assert {"RANK", "A", "B"} <= set(ready["read"]) and "UNREAD" not in ready["read"]
    paths = [stamp.split(" ", 2)[2] for stamp in ready["stamp"]]
    assert {str(tmp_path / "job.py"), str(libraries), sys.executable} <= set(paths)
    for stamp in ready["stamp"]:
        inode, modified, path = stamp.split(" ", 2)
        found = os.stat(path)
        assert (int(inode), int(modified)) == (found.st_ino, found.st_mtime_ns)
    assert "refusal" not in ready
    assert waiting.become() == (0, "1\n", "")


ITERATES = {
    "items": "ours = [v for k, v in os.environ.items() if k.startswith('ITERATES_')]",
    "copy": "def child(env): pass\nchild(os.environ.copy())",
    "dict": "n = len(dict(os.environ))",
    "stars": "n = len({**os.environ})",
    "or": "n = len(os.environ | {})",
    "values": "n = sum(map(len, os.environ.values()))",
    "bytes": "n = len(dict(os.environb))",
    "loop": "n = [os.environ[k] for k in os.environ if k[:1] == 'R']",
    "equal": "n = os.environ == {}",
}


@pytest.mark.parametrize("way", ITERATES)
def test_going_through_all_variables_is_not_reading_them(standby, tmp_path, way):
    libraries = tmp_path / "site-packages"
    libraries.mkdir()
    (libraries / "iterates.py").write_text(f"import os\n{ITERATES[way]}\n")
    (libraries / "reads.py").write_text("import os\nport = os.environ.get('MASTER_PORT')\n")
    (tmp_path / "job.py").write_text("")
    waiting = standby("job.py", "iterates", RANK="1", MASTER_PORT="2", PYTHONPATH=str(libraries))
    assert not {"RANK", "MASTER_PORT"} & set(waiting.ready().get("read", []))
    (tmp_path / "sock").unlink()
    both = standby("job.py", "iterates", "reads", RANK="1", MASTER_PORT="2",
                   PYTHONPATH=str(libraries))
    assert {"RANK", "MASTER_PORT"} & set(both.ready()["read"]) == {"MASTER_PORT"}


KEEPS = {
    "dictionary": "env = dict(os.environ)",
    "some of it": "env = {k: v for k, v in os.environ.items() if k[0] == 'R'}",
    "all of it": "env = {k: v for k, v in os.environ.items()}",
    "nested": "settings = {'child': {'env': {**os.environ}}}",
    "in a list": "commands = [('run', [dict(os.environ)])]",
    "class": "class Child:\n    env = os.environ.copy()",
    "object": "class Child:\n    def __init__(self): self.env = os.environ.copy()\nchild = Child()",
    "slot": "class Child:\n    __slots__ = ['env']\nchild = Child()\nchild.env = dict(os.environ)",
    "default": "def child(env=dict(os.environ)): pass",
    "closure": "def made():\n    env = dict(os.environ)\n    return lambda: env\nchild = made()",
    "partial": "import functools, subprocess\n"
               "run = functools.partial(subprocess.run, env=os.environ | {'A': 'B'})",
    "ordered": "import collections\nenv = collections.OrderedDict(os.environ)",
    "read only": "import types\nenv = types.MappingProxyType(dict(os.environ))",
    "pairs": "env = list(os.environ.items())",
    "lines": "env = ['%s=%s' % pair for pair in os.environ.items()]",
}


@pytest.mark.parametrize("way", KEEPS)
def test_a_copy_of_the_variables_that_a_module_keeps_was_read(standby, tmp_path, way):
    libraries = tmp_path / "site-packages"
    libraries.mkdir()
    (libraries / "keeps.py").write_text(f"import os\n{KEEPS[way]}\n")
    (tmp_path / "job.py").write_text("")
    waiting = standby("job.py", "keeps", RANK="0", WORLD_SIZE="1", PYTHONPATH=str(libraries))
    assert "RANK" in waiting.ready()["read"]


@pytest.mark.parametrize("default", ["env = {'MASTER_PORT': '29500'}", "env = [('RANK', '0')]",
                                     "env = ['WORLD_SIZE=1']", "env = {'RANK': '0', 'A': 'b'}",
                                     "env = [{'RANK': '0'}, {'WORLD_SIZE': '1'}]",
                                     "a = [('RANK', '0')]\nb = [('WORLD_SIZE', '1')]"])
def test_a_library_s_default_that_is_a_variables_value_is_no_copy(standby, tmp_path, default):
    libraries = tmp_path / "site-packages"
    libraries.mkdir()
    (libraries / "keeps.py").write_text(f"import os\nlist(os.environ.items())\n{default}\n")
    (tmp_path / "job.py").write_text("")
    waiting = standby("job.py", "keeps", PYTHONPATH=str(libraries), **FIRST_RANK)
    assert not FIRST_RANK.keys() & set(waiting.ready().get("read", []))


FIRST_RANK = {"RANK": "0", "LOCAL_RANK": "0", "WORLD_SIZE": "1", "MASTER_ADDR": "127.0.0.1",
              "MASTER_PORT": "29500"}
SOME_RANK = {"RANK": "13", "LOCAL_RANK": "5", "WORLD_SIZE": "16", "MASTER_PORT": "31243"}


@pytest.mark.parametrize("of_rank", [FIRST_RANK, SOME_RANK], ids=["first rank", "some rank"])
@pytest.mark.parametrize("library, reads", [
    ("torch", set()), ("transformers", set()), ("accelerate", set()),
    ("lightning", {"RANK", "LOCAL_RANK"}),  # by their names
])
def test_large_libraries_keep_no_copy_of_the_variables(standby, tmp_path, library, reads, of_rank):
    pytest.importorskip(library)
    (tmp_path / "job.py").write_text("")
    waiting = standby("job.py", library, **of_rank)
    read = set(waiting.ready().get("read", []))
    assert read  # they do read some variables
    assert of_rank.keys() & read <= reads


def test_a_script_may_set_what_is_only_gone_through(standby, tmp_path):
    libraries = tmp_path / "site-packages"
    (libraries / "bars").mkdir(parents=True)
    (libraries / "bars" / "__init__.py").write_text("")
    (libraries / "bars" / "options.py").write_text(
        "import os\nours = {k for k, v in os.environ.items() if k.startswith('BARS_')}\n")
    (tmp_path / "job.py").write_text("")
    waiting = standby("job.py", "bars.options", variables=["COLOUR"], PYTHONPATH=str(libraries))
    assert "refusal" not in waiting.ready()
    (tmp_path / "sock").unlink()
    # Variables named after the package count as read.
    waiting = standby("job.py", "bars.options", variables=["BARS_OFF"], PYTHONPATH=str(libraries))
    assert waiting.ready()["refusal"] == ["the script sets BARS_OFF, which takes effect only "
                                          "before imports"]


@pytest.mark.parametrize("name", ["COLOUR", "OMP_NUM_THREADS"])
def test_a_variable_that_the_script_sets_before_its_imports_forbids_them(standby, tmp_path, name):
    libraries = tmp_path / "site-packages"
    libraries.mkdir()
    (libraries / "reader.py").write_text("import os\nos.environ.get('COLOUR')\n")
    (tmp_path / "job.py").write_text("")
    waiting = standby("job.py", "reader", variables=[name], PYTHONPATH=str(libraries))
    assert waiting.ready()["refusal"] == [f"the script sets {name}, which takes effect only "
                                          "before imports"]


def may_return():
    """Whether this process may raise its priority again after it has lowered it."""
    own = os.getpriority(os.PRIO_PROCESS, 0)
    probe = f"import os; os.setpriority(0, 0, {own + 1}); os.setpriority(0, 0, {own})"
    return subprocess.run([sys.executable, "-c", probe], capture_output=True).returncode == 0


def test_imports_give_way_to_the_training_and_the_script_has_its_priority_back(standby, tmp_path):
    libraries = tmp_path / "site-packages"
    libraries.mkdir()
    (libraries / "nice.py").write_text(
        "import os, threading\nat_import = os.getpriority(os.PRIO_PROCESS, 0)\n"
        "threading.Thread(target=threading.Event().wait, daemon=True).start()\n")
    (tmp_path / "job.py").write_text(
        "import os, nice\n"
        "print(nice.at_import, *{os.getpriority(os.PRIO_PROCESS, int(t))\n"
        "                        for t in os.listdir('/proc/self/task')})\n")
    waiting = standby("job.py", "nice", PYTHONPATH=str(libraries))
    waiting.ready()
    own = os.getpriority(os.PRIO_PROCESS, 0)
    code, out, err = waiting.become()
    assert (code, err) == (0, "")
    assert out == f"{max(own, 19) if may_return() else own} {own}\n"


def test_imports_that_take_long_get_more_of_the_processors(tmp_path):
    probe = ("import sys; sys.path.insert(0, %r)\n"
             "import os\nfrom robustrun._boot import standby\n"
             "standby._LATER_S = 0\n"
             "own, nice = os.getpriority(0, 0), lambda: os.getpriority(0, 0)\n"
             "with standby._LowPriority() as _:\n"
             "    before = nice(); import colorsys; later = nice(); import decimal\n"
             "    print(before > own, later, nice() == later)\n"
             "print(nice() == own, any('Priority' in repr(each) for each in sys.meta_path))\n"
             % str(PACKAGE))
    out = subprocess.run([sys.executable, "-c", probe], capture_output=True, text=True)
    own = os.getpriority(os.PRIO_PROCESS, 0)
    later = max(own, 10) if may_return() else own
    assert out.stdout == f"{may_return()} {later} True\nTrue False\n", out.stderr


def test_a_session_of_a_run_under_nice_has_its_share_of_the_processors_back():
    probe = ("import sys; sys.path.insert(0, %r)\n"
             "import os\nfrom robustrun._boot import standby\n"
             "def session(): return int(open('/proc/self/autogroup').read().split()[-1])\n"
             "before = session()\n"
             "with standby._LowPriority(): print(session())\n"
             "print(session() == before == 0)\n" % str(PACKAGE))
    if not os.path.exists("/proc/self/autogroup"):
        pytest.skip("this kernel has no autogroups")
    out = subprocess.run(["nice", "-n", "5", sys.executable, "-c", probe], capture_output=True,
                         text=True, start_new_session=True)
    assert out.stdout == f"{19 if may_return() else 0}\nTrue\n", out.stderr


def test_without_a_way_back_the_priority_is_left_alone(standby, tmp_path):
    if os.getuid() != 0:
        pytest.skip("needs another user to be")
    probe = ("import sys; sys.path.insert(0, %r)\n"
             "import os, resource\nfrom robustrun._boot import standby\n"
             "resource.setrlimit(resource.RLIMIT_NICE, (0, 0))\n"
             "os.setgid(65534); os.setuid(65534)\n"
             "with standby._LowPriority(): print(os.getpriority(os.PRIO_PROCESS, 0))\n"
             % str(PACKAGE))
    out = subprocess.run([sys.executable, "-c", probe], capture_output=True, text=True)
    assert out.stdout == f"{os.getpriority(os.PRIO_PROCESS, 0)}\n", out.stderr


def test_a_standby_whose_agent_is_gone_ends(standby, tmp_path):
    (tmp_path / "job.py").write_text("print('never')")
    waiting = standby("job.py")
    waiting.ready()
    waiting.peer.close()
    assert waiting.finish() == (0, "", "")


def test_a_module_is_run_as_the_main_one(standby, tmp_path):
    (tmp_path / "pkg").mkdir()
    (tmp_path / "pkg" / "__init__.py").write_text("")
    (tmp_path / "pkg" / "__main__.py").write_text("import sys; print(__spec__.name, sys.argv[1:])")
    waiting = standby("pkg", "decimal", mode="module", arguments=["x"])
    waiting.ready()
    assert waiting.become() == (0, "pkg.__main__ ['x']\n", "")


def test_a_list_is_written_once_and_only_where_one_is_wanted(tmp_path):
    wanted = tmp_path / "0.0.modules"
    program = ("import os, sys, decimal; sys.path.insert(0, %r)\n"
               "from robustrun._progress import import_list\n"
               "os.environ['NEW'] = '1'; os.environ['SAME'] = 'x'; del os.environ['HOME']\n"
               "print(import_list.write_if_wanted(%r), import_list.write_if_wanted(%r))"
               % (str(PACKAGE), str(wanted), str(wanted)))

    def run():
        return subprocess.run([sys.executable, "-c", program], cwd=tmp_path, capture_output=True,
                              text=True, check=True, env=clean_environment(SAME="x", HOME="/"))

    assert run().stdout == "False False\n" and not wanted.exists()
    wanted.touch()
    assert run().stdout == "True False\n"
    modules, variables, same, calls, files = import_list.read(wanted)
    assert calls == [] and files == []
    assert "decimal" in modules and "robustrun._progress.import_list" not in modules
    assert {"NEW", "HOME"} <= set(variables) and "SAME" not in variables
    assert not pathlib.Path(f"{wanted}.part").exists()


def written(tmp_path, program, rank="0"):
    """The list of a program whose own modules are in `tmp_path`."""
    (tmp_path / "job.py").write_text(program)
    earlier = time.time() - 10
    for path in tmp_path.rglob("*.py"):
        os.utime(path, (earlier, earlier))
    wanted = tmp_path / "0.0.modules"
    wanted.write_text("")
    subprocess.run([sys.executable, "-c",
                    "import sys; sys.path[:0] = [%r, %r]; sys.modules['__main__'].__file__ = %r\n"
                    "from robustrun._progress import import_list\n"
                    "exec(open('job.py').read())\n"
                    "assert import_list.write_if_wanted(%r)"
                    % (str(PACKAGE), str(tmp_path), str(tmp_path / "job.py"), str(wanted))],
                   cwd=tmp_path, check=True, env=clean_environment(LOCAL_RANK=rank))
    return wanted


def test_the_files_of_a_program_are_in_its_list(tmp_path):
    (tmp_path / "own").mkdir()
    (tmp_path / "own" / "__init__.py").write_text("VALUE = 1\n")
    (tmp_path / "helper.py").write_text("import own\n")
    files = import_list.read(written(tmp_path, "import helper, decimal"))[4]
    assert [each.split(" ", 1)[1] for each in files] == ["helper.py", "own/__init__.py"]
    assert standby_module._changed_since(files, str(tmp_path)) is None
    (tmp_path / "own" / "__init__.py").write_text("VALUE = 2\n")
    told = standby_module._changed_since(files, str(tmp_path))
    assert told.startswith("own/__init__.py has changed since the run")
    assert "helper.py" in standby_module._changed_since(files, "/nowhere")
    assert standby_module._changed_since(["x y"], str(tmp_path)).startswith("y has changed")


SPECIAL = ("import importlib.util as u\n"
           "spec = u.spec_from_file_location('own', %r)\n"
           "sys.modules['own'] = u.module_from_spec(spec)\n")
EDITED = ("import helper, time, os\n"
          "os.utime('helper.py', (time.time() + 60,) * 2)\n")


@pytest.mark.parametrize("name, content, program", [
    ("large.py", "#" * (5 << 20), SPECIAL),
    ("two\nlines.py", "", SPECIAL),
    ("helper.py", "", EDITED),
])
def test_a_program_whose_files_cannot_be_compared_keeps_no_list(tmp_path, name, content, program):
    (tmp_path / name).write_text(content)
    program = program % str(tmp_path / name) if "%r" in program else program
    lines = written(tmp_path, program).read_text().splitlines()
    assert "keep no" in lines and not any(line.startswith("file ") for line in lines)


def test_only_the_first_rank_of_a_node_lists_the_files(tmp_path):
    (tmp_path / "helper.py").write_text("")
    lines = written(tmp_path, "import helper", rank="1").read_text().splitlines()
    assert not any(line.startswith(("file ", "keep ")) for line in lines)


def test_what_a_compiler_has_written_elsewhere_is_no_file_of_the_program(tmp_path):
    (tmp_path / "cache").mkdir()
    (tmp_path / "cache" / "kernel.py").write_text("")
    own = tmp_path / "own"
    own.mkdir()
    modules = {"kernel": types.ModuleType("kernel")}
    modules["kernel"].__file__ = str(tmp_path / "cache" / "kernel.py")
    assert import_list.own_files(modules, str(own), ROOTS) == []
    assert import_list.own_files(modules, str(tmp_path), ROOTS) == [modules["kernel"].__file__]


def test_a_list_of_another_script_or_other_packages_is_not_imported(standby, tmp_path):
    (tmp_path / "job.py").write_text("pass\n")
    here = import_list.conditions(str(tmp_path / "job.py"))
    assert [each.split(" ")[0] for each in here] == ["interpreter", "script", "packages"]
    assert "differs" not in standby("job.py", "decimal", same=here).ready()
    other = tmp_path / "other.py"
    other.write_text("pass \n")
    (tmp_path / "sock").unlink()
    ready = standby("job.py", "decimal", same=import_list.conditions(str(other))).ready()
    told, = ready["differs"]
    assert told == "the script is not that of the workers that wrote the list of imports"
    (tmp_path / "sock").unlink()
    ready = standby("job.py", "decimal", same=[here[0], "packages 1"]).ready()
    assert ready["differs"][0].startswith("the installed packages are not those")
