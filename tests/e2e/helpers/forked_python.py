"""An interpreter that has imported torch once and forks for each script that a test runs.

A fork is like `python SCRIPT`, `python -m MODULE` or `python -c PROGRAM` in a new session, without
the processor time of `import torch`. Only torch and the standard library are imported already: each
fork imports robustrun from its own PYTHONPATH. Workers of robustrun are never such forks.

`executable` is a program for PYTHON_EXEC: it runs a fork with its own output and exit code.

    forked_python.py SOCKET      the interpreter; it ends when its standard input does
"""

import atexit
import contextlib
import functools
import importlib
import json
import os
import runpy
import select
import signal
import socket
import struct
import subprocess
import sys
import tempfile
import threading
import traceback
import types

# Older versions of torch lack some of them.
MODULES = (
    "numpy", "torch", "torch._dynamo", "torch.distributed.nn", "torch.distributed.checkpoint",
    "torch.distributed.checkpoint.state_dict", "torch.distributed.fsdp", "torch.distributed.run",
    "torch.distributed.tensor", "torch.distributed._tensor", "safetensors.torch",
)
CLIENT = """#!{python} -IS
import sys
sys.path.insert(0, {folder!r})
import forked_python
sys.exit(forked_python.call({socket!r}, sys.argv[1:]))
"""


def receive(connection, size):
    data = b""
    while len(data) < size:
        piece = connection.recv(size - len(data))
        if not piece:
            raise EOFError
        data += piece
    return data


class Fork:
    """A script that runs or has ended."""

    def __init__(self, path, words, environment, folder, out, err, isolated=False):
        self.returncode = None
        self._connection = socket.socket(socket.AF_UNIX)
        self._connection.connect(path)
        request = json.dumps({"words": list(map(os.fspath, words)), "environment": environment,
                              "folder": os.fspath(folder), "isolated": isolated}).encode()
        socket.send_fds(self._connection, [struct.pack("<I", len(request))], [out, err])
        self._connection.sendall(request)
        self.pid = struct.unpack("<i", receive(self._connection, 4))[0]

    def wait(self, timeout=None):
        """Its exit code, as in Popen."""
        if self.returncode is None:
            self._connection.settimeout(timeout)
            try:
                self.returncode = struct.unpack("<i", receive(self._connection, 4))[0]
            except TimeoutError:
                raise subprocess.TimeoutExpired("a fork", timeout) from None
            self._connection.close()
        return self.returncode

    def poll(self):
        if self.returncode is None and select.select([self._connection], [], [], 0)[0]:
            self.wait()
        return self.returncode

    def send_signal(self, number):
        if self.poll() is None:
            with contextlib.suppress(ProcessLookupError):
                os.kill(self.pid, number)

    def close(self):
        """Kills it and all processes of its session."""
        self._connection.close()


class ForkedPython:
    def __init__(self, python):
        self._folder = tempfile.TemporaryDirectory(prefix="rr-forked-")
        self._socket = os.path.join(self._folder.name, "socket")
        self.executable = os.path.join(self._folder.name, "python")
        with open(self.executable, "w") as file:
            file.write(CLIENT.format(python=python, folder=os.path.dirname(__file__),
                                     socket=self._socket))
        os.chmod(self.executable, 0o755)
        self._process = subprocess.Popen(
            [python, "-I", __file__, self._socket], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
            env={**os.environ, "OMP_NUM_THREADS": "1"}, start_new_session=True)
        if self._process.stdout.readline() != b"ready\n":
            raise RuntimeError("the interpreter that forks did not start")
        atexit.register(self._close)

    def _close(self):
        self._process.stdin.close()
        self._process.wait(60)
        self._folder.cleanup()

    def start(self, words, environment, out, err, folder=".", isolated=False):
        return Fork(self._socket, words, environment, os.path.abspath(folder), out.fileno(),
                    err.fileno(), isolated)

    def run(self, words, environment, folder=".", timeout=600, isolated=False):
        """As subprocess.run with its output as text; isolated: as `python -I -W ignore`."""
        with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err:
            fork = self.start(words, environment, out, err, folder, isolated)
            try:
                code = fork.wait(timeout)
            finally:
                fork.close()
            texts = []
            for file in (out, err):
                file.seek(0)
                texts.append(file.read().decode(errors="replace"))
        return subprocess.CompletedProcess(words, code, *texts)


@functools.cache
def forked_python(python=sys.executable):
    return ForkedPython(os.fspath(python))


def call(path, words):
    """What `executable` does: the exit code of a fork that has this process's output."""
    fork = Fork(path, words, dict(os.environ), os.getcwd(), 1, 2)
    code = fork.wait()
    if code < 0:
        signal.signal(-code, signal.SIG_DFL) if -code != signal.SIGKILL else None
        os.kill(os.getpid(), -code)
    return code


# In the interpreter.


def run_words(words, environment, isolated):
    """As the command line of Python."""
    while words[0] == "-u":
        words = words[1:]
    with_folder = not isolated and not environment.get("PYTHONSAFEPATH")
    sys.path[:0] = [each for each in environment.get("PYTHONPATH", "").split(":") if each]
    if words[0] == "-m":
        if with_folder:
            sys.path.insert(0, os.getcwd())
        sys.argv = words[1:]
        runpy.run_module(words[1], run_name="__main__", alter_sys=True)
    elif words[0] == "-c":
        if with_folder:
            sys.path.insert(0, "")
        sys.argv = ["-c", *words[2:]]
        main = sys.modules["__main__"] = types.ModuleType("__main__")
        exec(compile(words[1], "<string>", "exec"), main.__dict__)
    else:
        sys.path.insert(0, os.path.dirname(os.path.realpath(words[0])))
        sys.argv = words
        runpy.run_path(words[0], run_name="__main__")


def exit_code_of(error):
    if isinstance(error, SystemExit):
        if error.code is None or isinstance(error.code, int):
            return (error.code or 0) & 0xFF
        print(error.code, file=sys.stderr)
        return 1
    traceback.print_exception(type(error), error, error.__traceback__)
    return 1


def become(request, descriptors):
    """The script's process."""
    code = 1
    try:
        os.setsid()
        for number, descriptor in enumerate([os.open(os.devnull, os.O_RDONLY), *descriptors]):
            os.dup2(descriptor, number)
            os.close(descriptor)
        os.chdir(request["folder"])
        os.environ.clear()
        os.environ.update(request["environment"])
        if request["isolated"]:
            import warnings

            warnings.simplefilter("ignore")
        try:
            run_words(request["words"], request["environment"], request["isolated"])
            code = 0
        except BaseException as error:
            code = exit_code_of(error)
        threading._shutdown()
        atexit._run_exitfuncs()
    except BaseException:
        traceback.print_exc()
    finally:
        with contextlib.suppress(OSError):
            sys.stdout.flush()
            sys.stderr.flush()
        os._exit(code)


def handle(connection):
    """One request, in a process of its own. A client that hangs up ends its script."""
    head, descriptors, _, _ = socket.recv_fds(connection, 4, 2)
    request = json.loads(receive(connection, struct.unpack("<I", head)[0]))
    pid = os.fork()
    if pid == 0:
        connection.close()
        become(request, descriptors)
    for each in descriptors:
        os.close(each)
    connection.sendall(struct.pack("<i", pid))
    child = os.pidfd_open(pid)
    if connection in select.select([connection, child], [], [])[0]:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(pid, signal.SIGKILL)
    status = os.waitpid(pid, 0)[1]
    with contextlib.suppress(OSError):
        connection.sendall(struct.pack("<i", os.waitstatus_to_exitcode(status)))


def serve(path):
    for name in MODULES:
        with contextlib.suppress(ImportError):
            importlib.import_module(name)
    listener = socket.socket(socket.AF_UNIX)
    listener.bind(path)
    listener.listen(64)
    print("ready", flush=True)
    os.dup2(2, 1)
    while True:
        ready = select.select([listener, sys.stdin], [], [], 1)[0]
        with contextlib.suppress(ChildProcessError):
            while os.waitpid(-1, os.WNOHANG)[0]:
                pass
        if sys.stdin in ready:
            break
        if listener in ready:
            connection = listener.accept()[0]
            if os.fork() == 0:
                listener.close()
                try:
                    handle(connection)
                except BaseException:
                    traceback.print_exc()
                finally:
                    os._exit(0)
            connection.close()
    # Processor time of all children counts as this process's.
    with contextlib.suppress(ChildProcessError):
        while True:
            os.waitpid(-1, 0)


if __name__ == "__main__":
    serve(sys.argv[1])
