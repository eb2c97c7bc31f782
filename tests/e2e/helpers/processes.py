"""Processes, as /proc shows them, and waiting for conditions about them."""

import contextlib
import os
import pathlib
import re
import socket
import subprocess
import time


def wait_for(condition, deadline_s=60.0, what="the condition"):
    """The condition's first true value; fails after the deadline, which is generous, because other
    tests use the processors too. Polls, because conditions are about other processes and files, but
    most of the time it sleeps: conditions look at all processes, or start some."""
    end = time.monotonic() + deadline_s
    while True:
        began = time.monotonic()
        value = condition()
        if value:
            return value
        now = time.monotonic()
        if now > end:
            raise AssertionError(f"{what} did not come true within {deadline_s} s")
        time.sleep(min(max(0.005, 4 * (now - began)), 0.1))


def read_environ(pid):
    try:
        return pathlib.Path(f"/proc/{pid}/environ").read_bytes()
    except OSError:
        return b""


def is_alive(pid):
    """Running, not a zombie that its parent has not reaped yet."""
    try:
        stat = pathlib.Path(f"/proc/{pid}/stat").read_text(errors="replace")
    except OSError:
        return False
    return stat.rpartition(")")[2].split()[0] not in ("Z", "X")


def command_of(pid):
    try:
        return pathlib.Path(f"/proc/{pid}/cmdline").read_bytes().split(b"\0")
    except OSError:
        return []


def program_of(pid):
    """Empty when the process has ended."""
    return b"".join(command_of(pid)[:1])


def children_of(pid):
    """Children of all threads of a process; empty when it has ended."""
    found = []
    with contextlib.suppress(OSError):
        for task in os.listdir(f"/proc/{pid}/task"):
            with contextlib.suppress(OSError):
                listed = pathlib.Path(f"/proc/{pid}/task/{task}/children").read_text()
                found += map(int, listed.split())
    return found


def end(process, seconds=30):
    """Ends a child process: SIGTERM, and SIGKILL after `seconds`. Returns its exit code."""
    if process.poll() is None:
        process.terminate()
    try:
        return process.wait(seconds)
    except subprocess.TimeoutExpired:
        process.kill()
        return process.wait(seconds)


def open_files_of(pid):
    """The targets of a process's descriptors, without those that it closes meanwhile."""
    found = []
    with contextlib.suppress(OSError):
        for entry in os.listdir(f"/proc/{pid}/fd"):
            with contextlib.suppress(OSError):
                found.append(os.readlink(f"/proc/{pid}/fd/{entry}"))
    return found


class HeldPort:
    """A TCP port that the kernel gives no other process until close(). It is bound here but not
    listened on, so a server that sets SO_REUSEADDR can take it."""

    def __init__(self, address=""):
        self._socket = socket.socket()
        self._socket.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        self._socket.bind((address, 0))
        self.number = self._socket.getsockname()[1]

    def close(self):
        self._socket.close()


def is_standby(pid):
    """Whether a process is an interpreter that has not become a worker: without progress record."""
    if b"ROBUSTRUN_STANDBY_SOCKET=" not in read_environ(pid):
        return False
    try:
        return ".record" not in pathlib.Path(f"/proc/{pid}/maps").read_text(errors="replace")
    except OSError:
        return False


def sleeps_on_a_socket(pid):
    with contextlib.suppress(OSError):
        return pathlib.Path(f"/proc/{pid}/syscall").read_text().split()[0] == "45"  # recvfrom
    return False


def is_waiting_standby(pid):
    """Whether a standby worker has imported torch and sleeps on its socket."""
    try:
        maps = pathlib.Path(f"/proc/{pid}/maps").read_text(errors="replace")
    except OSError:
        return False
    return "libtorch_cpu" in maps and sleeps_on_a_socket(pid)


def free_memory():
    """Bytes that processes on this machine can still get."""
    text = pathlib.Path("/proc/meminfo").read_text()
    return int(re.search(r"^MemAvailable: +(\d+) kB", text, re.MULTILINE)[1]) << 10
