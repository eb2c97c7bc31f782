"""The template of standby workers: what is forked from it is as good as a fresh start, and what
cannot be forked is told with the reason. This process plays the agent; a script plays the shim."""

import array
import ctypes
import json
import os
import random
import re
import select
import socket
import subprocess
import sys

import pytest
from conftest import BOOT, clean_environment
from test_standby import FACTS

PR_SET_CHILD_SUBREAPER = 36
AS_THIRD = ("import os, sys\nnumber = int(sys.argv[1])\nos.dup2(number, 3)\nos.close(number)\n"
            "os.execv(sys.argv[2], sys.argv[2:])\n")
SHIM = """#!%s
import os, socket, sys
adopted = int(sys.argv[1].partition("=")[2])
control = socket.socket(fileno=3)
control.send(repr([os.getpid(), os.getppid(), adopted, sys.argv[2:]]).encode())
control.send(b"%%d" %% os.waitstatus_to_exitcode(os.waitpid(adopted, 0)[1]))
"""
PATIENCE_S = 120


class Forked:
    """A standby, and the ends that the agent has of it."""

    def __init__(self, folder, number, template, changes):
        self.listener = socket.socket(socket.AF_UNIX)
        path = str(folder / f"sock.{number}")
        self.listener.bind(path)
        self.listener.listen()
        self.listener.settimeout(PATIENCE_S)
        self.control, passed = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self.control.settimeout(PATIENCE_S)
        self.out, out = os.pipe()
        nothing = os.open(os.devnull, os.O_RDWR)
        shim = ["robustrun-shim", "--cgroup=none", "--", "program"]
        fields = [path, str(folder / "shim"), "", str(len(shim)), *shim, *changes]
        order = b"".join(field.encode() + b"\0" for field in fields)
        descriptors = array.array("i", [passed.fileno(), nothing, out, out])
        template.sendmsg([order], [(socket.SOL_SOCKET, socket.SCM_RIGHTS, descriptors)])
        assert template.recv(10) == b"\1"
        passed.close()
        os.close(out)
        os.close(nothing)
        self.shim, self.parent, self.pid, self.argv = eval(self.control.recv(1000))
        self.peer, _ = self.listener.accept()
        size = int.from_bytes(self.peer.recv(4, socket.MSG_WAITALL), "little")
        self.report = self.peer.recv(size, socket.MSG_WAITALL)

    def become(self, *changes):
        """Returns exit code and output."""
        order = b"".join(change.encode() + b"\0" for change in changes)
        self.peer.sendall(len(order).to_bytes(4, "little") + order)
        code = int(self.control.recv(10))
        os.waitpid(self.shim, 0)
        with open(self.out) as out:
            return code, out.read()


class Template:
    def __init__(self, folder, script, modules, calls, mode, environment):
        self.folder, self.forked = folder, 0
        lines = ["robustrun-modules 1", *(f"module {name}" for name in modules),
                 *(f"prepare {call}" for call in calls)]
        (folder / "list").write_text("".join(line + "\n" for line in lines))
        (folder / "shim").write_text(SHIM % sys.executable)
        (folder / "shim").chmod(0o700)
        self.socket, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self.socket.settimeout(PATIENCE_S)
        self.process = subprocess.Popen(
            [sys.executable, "-c", AS_THIRD, str(theirs.fileno()), sys.executable, "-u", str(BOOT),
             mode, script], cwd=folder, pass_fds=[theirs.fileno()],
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
            env=clean_environment(ROBUSTRUN_STANDBY_SOCKET=f":{folder}/list", **environment))
        theirs.close()

    def ready(self):
        head, *fields = self.socket.recv(1 << 18).split(b"\0")
        assert head == b"ready 1"
        return dict(field.decode().split("=", 1) for field in fields)

    def fork(self, *changes):
        self.forked += 1
        return Forked(self.folder, self.forked, self.socket, changes)

    def close(self):
        self.socket.close()
        out, _ = self.process.communicate(timeout=PATIENCE_S)
        assert out == b""
        assert self.process.returncode == 0


@pytest.fixture
def template(tmp_path):
    prctl = ctypes.CDLL(None).prctl
    prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
    made = []

    def start(script, *modules, calls=(), mode="script", **environment):
        made.append(Template(tmp_path, script, modules, calls, mode, environment))
        return made[-1]

    yield start
    for each in made:
        each.close()
    prctl(PR_SET_CHILD_SUBREAPER, 0, 0, 0, 0)


def library(folder, name, text):
    (folder / "site-packages").mkdir(exist_ok=True)
    (folder / "site-packages" / f"{name}.py").write_text(text)
    return {"PYTHONPATH": str(folder / "site-packages")}


def test_standbys_are_children_of_their_shims_which_are_the_agents(template, tmp_path):
    (tmp_path / "job.py").write_text(
        "import os, sys; print('decimal' in sys.modules, os.getppid(), os.getsid(0) == os.getpid(),"
        " os.environ['RANK'], os.environ['LOCAL_RANK'], len(os.listdir('/proc/self/task')))")
    made = template("job.py", "decimal", RANK="0", LOCAL_RANK="0")
    assert "unforkable" not in made.ready()
    first, second = made.fork(), made.fork("LOCAL_RANK=1", "RANK=1")
    for each in (first, second):
        assert each.parent == os.getpid()
        assert each.argv == ["--cgroup=none", "--", "program"]
        assert each.report.startswith(b"ready 1\0memory_kb=")
    assert second.become("RANK=7") == (0, f"True {second.shim} True 7 1 1\n")
    assert first.become() == (0, f"True {first.shim} True 0 0 1\n")


def test_a_forked_standby_dies_with_its_shim(template, tmp_path):
    (tmp_path / "job.py").write_text("")
    made = template("job.py")
    made.ready()
    forked = made.fork()
    end = os.pidfd_open(forked.pid)
    os.kill(forked.shim, 9)
    assert select.select([end], [], [], PATIENCE_S)[0]
    os.waitpid(forked.shim, 0)
    os.waitpid(forked.pid, 0)


def test_the_script_sees_what_it_would_see_after_a_fresh_start(template, tmp_path):
    (tmp_path / "job.py").write_text(FACTS)
    fresh = subprocess.run([sys.executable, "-u", str(BOOT), "script", "job.py"], cwd=tmp_path,
                           stdin=subprocess.DEVNULL, capture_output=True, check=True,
                           env=clean_environment(RANK="3"))
    made = template("job.py", "decimal", "json", "signal", RANK="1", GONE="y")
    made.ready()
    code, out = made.fork("GONE").become("RANK=3")
    assert code == 0
    ours, theirs = (json.loads(re.sub(" at 0x[0-9a-f]+", "", text))
                    for text in (out, fresh.stdout.decode()))
    ours["environment"], theirs["environment"] = map(dict, (ours["environment"],
                                                            theirs["environment"]))
    assert ours == theirs


def test_random_numbers_differ_between_standbys(template, tmp_path):
    (tmp_path / "job.py").write_text("import random; print(random.random())")
    made = template("job.py", "random")
    made.ready()
    assert made.fork().become() != made.fork().become()


def test_generators_of_imports_get_seeds_of_their_own_unless_they_have_a_fixed_one(template,
                                                                                  tmp_path):
    (tmp_path / "job.py").write_text("import lib; print(lib.own.random(), lib.fixed.random())")
    made = template("job.py", "lib", **library(tmp_path, "lib", (
        "import random\nown, fixed = random.Random(), random.Random()\nfixed.seed(5)\n")))
    assert "unforkable" not in made.ready()
    (first, same), (second, as_well) = (made.fork().become()[1].split() for _ in range(2))
    assert first != second
    assert same == as_well == str(random.Random(5).random())


def test_classes_of_imports_may_hold_mkdir(template, tmp_path):
    """As pathlib's do until Python 3.10."""
    (tmp_path / "job.py").write_text("import lib; lib.Maker().mkdir('made')")
    made = template("job.py", "lib", **library(
        tmp_path, "lib", "import os\nclass Maker:\n    mkdir = os.mkdir\n"))
    assert "unforkable" not in made.ready()
    assert made.fork().become() == (0, "")
    assert (tmp_path / "made").is_dir()


def test_what_imports_print_every_standby_prints(template, tmp_path):
    (tmp_path / "job.py").write_text("print('job')")
    made = template("job.py", "loud", **library(tmp_path, "loud", "print('welcome')"))
    made.ready()
    assert made.fork().become() == made.fork().become() == (0, "welcome\njob\n")


UNFORKABLE = {
    "import threading\nthreading.Thread(target=threading.Event().wait, daemon=True).start()":
        "an import has left 1 thread running",
    "import os\nos.fork() or os._exit(0)":  # not reaped
        "an import has left a child process",
    "import socket\nends = socket.socketpair()": "an import has left a socket open",
    "import os\nends = os.pipe()": "an import has left a pipe open",
    "import select\npoll = select.epoll()": "an import has left an eventpoll open",
    "device = open('/dev/full', 'wb')": "an import has opened /dev/full",
    "import mmap\nshared = mmap.mmap(-1, 4096)": "an import shares memory that it can change",
    "import random\nrandom.seed(1)": "an import has set the seed of random",
    "import numpy\nnumpy.random.seed(1)": "an import has set the seed of numpy.random",
    "import numpy\nheld = numpy.random.default_rng()":
        "an import holds a generator of numpy.random",
}


@pytest.mark.parametrize("text", UNFORKABLE, ids=UNFORKABLE.values())
def test_what_a_fork_would_share_or_lose_is_told(template, tmp_path, text):
    (tmp_path / "job.py").write_text("")
    made = template("job.py", "leaves", **library(tmp_path, "leaves", text))
    assert made.ready()["unforkable"] == UNFORKABLE[text]
