"""Our ChildFailedError block against the one of the installed torch, byte for byte."""

import json
import os
import pathlib
import socket
import subprocess

import pytest

errors = pytest.importorskip("torch.distributed.elastic.multiprocessing.errors")

ROOT = pathlib.Path(__file__).resolve().parents[2]
HELPER = pathlib.Path(os.environ.get("ROBUSTRUN_BUILD_DIR", ROOT / "build"),
                      "test-helpers", "child_failed_block")
ERROR_CLASS = "torch.distributed.elastic.multiprocessing.errors.ChildFailedError: "
NOON = 1785585600
CALLSTACK = ('Traceback (most recent call last):\n  File "train.py", line 3, in <module>\n'
             '    main()\nRuntimeError: bööm\n')


class Worker:
    """One failed worker; `content` is its error file."""

    def __init__(self, rank, exitcode, time=NOON, content=None):
        self.rank, self.exitcode, self.time, self.content = rank, exitcode, time, content
        self.pid = 4000 + rank
        self.error_file = ""

    def write(self, folder):
        if self.content is not None:
            self.error_file = str(folder / f"{self.rank}.json")
            pathlib.Path(self.error_file).write_text(json.dumps(self.content))

    def torch_failure(self):
        failure = errors.ProcessFailure(local_rank=self.rank - 1, pid=self.pid,
                                        exitcode=self.exitcode, error_file=self.error_file)
        failure.timestamp = self.time
        return failure

    def arguments(self):
        message, callstack = (self.content or {}).get("message", ""), ""
        if isinstance(message, dict):
            callstack = message["extraInfo"].get("py_callstack", "")
            message = message["message"]
        return [str(self.rank), str(self.pid), str(self.exitcode), str(self.time),
                self.error_file, message, callstack]


def exception(time=NOON, message="RuntimeError: bööm", callstack=CALLSTACK):
    return {"message": {"message": message,
                        "extraInfo": {"py_callstack": callstack, "timestamp": str(time)}}}


def ours(program, workers):
    arguments = [argument for worker in workers for argument in worker.arguments()]
    return subprocess.run([HELPER, program, socket.getfqdn(), *arguments], check=True,
                          stdout=subprocess.PIPE, timeout=120).stdout.decode()


def theirs(program, workers):
    failures = {worker.rank: worker.torch_failure() for worker in workers}
    return f"{ERROR_CLASS}{errors.ChildFailedError(program, failures).format_msg()}\n"


CASES = {
    "exit code": [Worker(1, 1)],
    "exit code 255": [Worker(1, 255)],
    "SIGKILL": [Worker(3, -9)],
    "unnamed real-time signal": [Worker(1, -40)],
    "exception": [Worker(1, 1, content=exception())],
    "exception of a worker that then crashed": [Worker(1, -11, content=exception())],
    "plain message": [Worker(1, 1, content={"message": "two\nlines", "timestamp": str(NOON)})],
    "two failures": [Worker(1, 1, NOON + 1), Worker(2, -15, NOON)],
    "two at the same time": [Worker(1, 1), Worker(2, 2)],
    "three, the middle one first": [Worker(1, -6, NOON + 2), Worker(2, 1, NOON, exception(NOON)),
                                    Worker(3, 1, NOON + 1, exception(NOON + 1))],
    "a summer and a winter day": [Worker(1, 1, NOON), Worker(2, 1, NOON + 180 * 86400)],
}


@pytest.mark.parametrize("name", CASES)
@pytest.mark.parametrize("program", ["train.py", "dir with spaces/" + "x" * 80 + ".py", "ä.py"])
def test_block_is_torchs(name, program, tmp_path):
    workers = CASES[name]
    for worker in workers:
        worker.write(tmp_path)
    assert ours(program, workers) == theirs(program, workers)


@pytest.mark.parametrize("zone", ["Europe/Berlin", "America/New_York", "UTC"])
def test_times_are_local(zone, tmp_path, monkeypatch):
    import time
    monkeypatch.setenv("TZ", zone)
    time.tzset()
    try:
        workers = [Worker(1, 1, NOON), Worker(2, 1, NOON + 180 * 86400)]
        assert ours("train.py", workers) == theirs("train.py", workers)
    finally:
        monkeypatch.undo()
        time.tzset()


@pytest.mark.parametrize("signal", [*range(1, 32), 34, 35, 64])
def test_every_signal_has_pythons_name(signal):
    workers = [Worker(1, -signal)]
    assert ours("train.py", workers) == theirs("train.py", workers)


@pytest.mark.parametrize("content", [exception(), {"message": "plain", "timestamp": str(NOON)}])
def test_nested_error_file_is_what_record_writes(content, tmp_path, monkeypatch):
    worker = Worker(1, 7, content=content)
    worker.write(tmp_path)
    monkeypatch.setenv("TORCHELASTIC_ERROR_FILE", str(tmp_path / "own.json"))
    errors.ErrorHandler().dump_error_file(worker.error_file, worker.exitcode)
    expected = json.loads((tmp_path / "own.json").read_text())
    assert json.loads(ours("--nested:train.py", [worker])) == expected
