"""torch's Flight Recorder can be asked from outside, and the program does not notice."""

import json
import os
import re
import signal
import socket
import sys
import threading
import time

import pytest
from conftest import PACKAGE

torch = pytest.importorskip("torch")
sys.path.insert(0, str(PACKAGE))
from robustrun._diagnose import flight  # noqa: E402

pytestmark = pytest.mark.skipif(
    not hasattr(torch._C._distributed_c10d, "_dump_fr_trace_json"), reason="torch before 2.8")
REQUEST = (b"POST /handler/fr_trace_json HTTP/1.1\r\nHost: worker\r\nConnection: close\r\n"
           b"Content-Length: 0\r\n\r\n")


def ask(path, query=b""):
    with socket.socket(socket.AF_UNIX) as client:
        client.settimeout(60)
        client.connect(str(path))
        client.sendall(REQUEST.replace(b" HTTP", query + b" HTTP"))
        answer = b""
        while more := client.recv(1 << 20):
            answer += more
    head, body = answer.split(b"\r\n\r\n", 1)
    assert b" 200 " in head.splitlines()[0]
    return json.loads(body)


def test_collectives_are_reported_even_while_the_gil_is_held(ranks):
    job = ranks("for _ in range(3): dist.all_reduce(torch.ones(4))\n"
                "import ctypes\n"
                "print('locked')\n"
                "ctypes.PyDLL(None).sleep(1000)\n")
    job.wait_for("locked")
    for path in job.sockets:
        # torch's own thread marks an operation as done with a delay.
        end = time.monotonic() + 60
        entries = ask(path)["entries"]
        while not all(e["retired"] for e in entries):
            assert time.monotonic() < end, entries
            time.sleep(0.05)
            entries = ask(path)["entries"]
        assert [(e["collective_seq_id"], e["profiling_name"]) for e in entries] == [
            (n, "gloo:all_reduce") for n in (1, 2, 3)]
        assert {tuple(e["process_group"]) for e in entries} == {("0", "default_pg")}


def test_a_recorder_asked_for_by_name_is_that_one_or_gloos(ranks):
    """agent/evidence/flight_source.cpp takes an answer of gloo's for "this torch has only one"."""
    job = ranks("dist.all_reduce(torch.ones(4))\npause('done')\n", size=1)
    job.wait_for("done")
    answer = ask(job.sockets[0], b"?backend=nccl2")
    knows_names = "backend" in (torch._C._distributed_c10d._dump_fr_trace_json.__doc__ or "")
    names = [e["profiling_name"] for e in answer.get("entries", [])]
    assert names == ([] if knows_names else ["gloo:all_reduce"])
    job.go_on()
    job.finish()


def test_only_the_last_operations_are_kept(ranks):
    job = ranks("for _ in range(600): dist.all_reduce(torch.ones(1))\npause('done')\n", size=1)
    job.wait_for("done")
    entries = ask(job.sockets[0])["entries"]
    assert [e["collective_seq_id"] for e in entries] == list(range(89, 601))
    job.go_on()
    job.finish()


@pytest.mark.parametrize("name", [
    "TORCH_FR_BUFFER_SIZE",
    pytest.param("TORCH_NCCL_TRACE_BUFFER_SIZE", marks=pytest.mark.nightly)])
def test_the_users_own_number_of_entries_stays(ranks, name):
    job = ranks("import os\n"
                "for _ in range(9): dist.all_reduce(torch.ones(1))\n"
                "pause(str(sorted(n for n in os.environ if 'BUFFER_SIZE' in n)))\n",
                size=1, **{name: "7"})
    job.wait_for(str([name]))
    assert len(ask(job.sockets[0])["entries"]) == 7
    job.go_on()
    job.finish()


INSIDE = """
import os, threading
def seen():
    files = [os.readlink("/proc/self/fd/" + n) for n in os.listdir("/proc/self/fd")
             if os.path.exists("/proc/self/fd/" + n)]
    return [f for f in files if f == os.devnull or f.endswith(".fr")]
os.write(2, b"a line\\n")
print(threading.active_count(), len(threading.enumerate()), seen())
"""


def test_the_program_sees_neither_lines_nor_threads_nor_descriptors(ranks):
    assert ranks(INSIDE).finish() == [(0, "1 1 []\n", "a line\n")] * 2


def test_no_file_of_the_programs_is_kept_open(ranks):
    job = ranks("import os\n"
                "os.dup2(os.open('/dev/null', os.O_RDWR), 1)\n"
                "os.dup2(1, 2)\n"
                "input()\n", size=1)
    process = job.processes[0]
    assert (process.stdout.read(), process.stderr.read()) == ("", "")  # their ends
    assert process.poll() is None
    job.go_on()
    assert process.wait(60) == 0


def blocked_by_servers(pid):
    """Masks of blocked signals of the worker server's threads."""
    masks = []
    for task in os.listdir("/proc/%d/task" % pid):
        try:
            with open("/proc/%d/task/%s/status" % (pid, task)) as file:
                status = file.read()
        except OSError:
            continue  # it has ended
        if "pt_workerserver" in status.splitlines()[0]:
            masks.append(int(re.search(r"SigBlk:\s*(\w+)", status).group(1), 16))
    return masks


def test_signals_reach_the_main_thread(ranks):
    job = ranks("import signal, threading\n"
                "def on(number, frame): print(threading.get_ident() == threading.main_thread()"
                ".ident); sys.exit(5)\n"
                "signal.signal(signal.SIGUSR1, on)\n"
                "print('ready')\nsignal.pause()\n", size=1)
    job.wait_for("ready")
    pid = job.processes[0].pid
    end = time.monotonic() + 30
    while not (masks := blocked_by_servers(pid)) and time.monotonic() < end:
        time.sleep(0.01)  # its threads have no name yet
    assert masks and all(mask >> (signal.SIGUSR1 - 1) & 1 for mask in masks)
    os.kill(pid, signal.SIGUSR1)
    assert job.finish() == [(5, "True\n", "")]


ENDS = {  # how a program ends -> its exit code
    "pass": 0,
    "sys.exit(7)": 7,
    "import os; os._exit(9)": 9,
    "raise SystemExit": 0,
    "dist.destroy_process_group()": 0,
    "import os; os.kill(os.getpid(), 9)": -9,
    # Destroy the group: a late gloo thread would end the process (test_faults.py).
    "import atexit; atexit.register(lambda: (dist.all_reduce(torch.ones(1)),"
    " dist.destroy_process_group()))": 0,
    # A child of fork, as far as it comes to our part of an exit (torch's own hangs there).
    "if not os.fork():\n    import atexit; atexit._run_exitfuncs(); os._exit(3)\n"
    "sys.exit(os.WEXITSTATUS(os.wait()[1]))": 3,
}


@pytest.mark.parametrize("end", [
    end if number % 2 else pytest.param(end, marks=pytest.mark.nightly)
    for number, end in enumerate(ENDS)])
def test_the_end_is_clean_while_requests_are_under_way(ranks, end):
    job = ranks("for _ in range(512): dist.all_reduce(torch.ones(1))\n"
                "pause('ready')\n" + end + "\n", size=1)
    job.wait_for("ready")
    stop, answers = threading.Event(), []

    def keep_asking():
        while not stop.is_set():
            try:
                answers.append(len(ask(job.sockets[0])["entries"]))
            except (OSError, ValueError, IndexError):
                pass  # it is ending

    threads = [threading.Thread(target=keep_asking) for _ in range(3)]
    for thread in threads:
        thread.start()
    try:
        while not answers:
            stop.wait(0.001)
        job.go_on()
        (code, out, error), = job.finish()
    finally:
        stop.set()
        for thread in threads:
            thread.join()
    assert (code, out) == (ENDS[end], "") and "WorkerServer" not in error
    assert error == ""
    assert set(answers) == {512}
    if code >= 0 and "_exit" not in end:
        assert not job.sockets[0].exists()


def test_a_script_that_makes_no_group_has_no_server(tmp_path, boot, record):
    (tmp_path / "t.py").write_text("import torch, os\nprint(os.path.exists(%r))\n"
                                   % str(tmp_path / "fr"))
    env = record.environment(ROBUSTRUN_FLIGHT_SOCKET=str(tmp_path / "fr"))
    assert boot("script", "t.py", env=env).stdout == b"False\n"


@pytest.mark.parametrize("path", [
    "/nonexistent/place.fr",
    *(pytest.param(each, marks=pytest.mark.nightly) for each in ("", "/tmp/" + "x" * 103))])
def test_a_socket_that_cannot_be_changes_nothing(ranks, path):
    # Destroy the group: a late gloo thread would end the process (test_faults.py).
    job = ranks("dist.all_reduce(torch.ones(1)); print('ran'); dist.destroy_process_group()\n",
                size=1, ROBUSTRUN_FLIGHT_SOCKET=path)
    assert job.finish() == [(0, "ran\n", "")]


@pytest.mark.parametrize("answer", [b"", b"HTTP"])
def test_a_server_that_does_not_serve_is_not_stopped(tmp_path, monkeypatch, answer):
    class Server:
        stopped = False

        def shutdown(self):
            self.stopped = True

    server, path = Server(), tmp_path / "fr"
    monkeypatch.setattr(flight, "_kept", [server])
    monkeypatch.setattr(flight, "EXIT_SECONDS_MAX", 0.02)
    with socket.socket(socket.AF_UNIX) as listening:
        listening.bind(str(path))
        listening.listen()
        if answer:
            monkeypatch.setattr(flight, "EXIT_SECONDS_MAX", 60)
            client = threading.Thread(target=flight._end, args=(str(path),))
            client.start()
            connection, _ = listening.accept()
            with connection:
                connection.sendall(answer)
                client.join()
        else:
            with pytest.raises(TimeoutError):
                flight._end(str(path))
    assert server.stopped == bool(answer) and not path.exists()


def test_a_kernel_that_refuses_a_table_of_its_own_means_no_server():
    class Library:
        calls = []

        def syscall(self, *arguments):
            self.calls.append(arguments)
            return -1

        def unshare(self, flags):
            self.calls.append(flags)
            return -1

    assert flight._leave_the_table(Library()) is False
    assert Library.calls == [(436, 3, 0xFFFFFFFF, 2), 0x400]
