"""Injected faults inside the interpreter: the effect of an order beside the record."""

import json
import os
import signal
import subprocess
import sys
import time

import pytest
from conftest import BOOT, NEEDS_TORCH

NUMBER = signal.SIGRTMIN + 9
# Another thread keeps reading the clock; the largest gap shows how long the GIL was held.
TICKER = """
import threading, time
last, gap, running = time.monotonic(), 0.0, True
def tick():
    global last, gap
    while running:
        now = time.monotonic()
        gap, last = max(gap, now - last), now
        time.sleep(0.001)
thread = threading.Thread(target=tick); thread.start()
print("ready", flush=True)
input()
running = False; thread.join(); print(gap)
"""


def wait_for(condition, deadline_s=60):
    end = time.monotonic() + deadline_s
    while not condition():
        assert time.monotonic() < end
        time.sleep(0.005)


class Worker:
    """A script under boot.py that has printed "ready"."""

    def __init__(self, tmp_path, record, script):
        (tmp_path / "case.py").write_text(script)
        self.order_file = record.path.with_name("record.fault")
        self.refused_file = record.path.with_name("record.fault.refused")
        self.process = subprocess.Popen(
            [sys.executable, "-u", str(BOOT), "script", "case.py"], cwd=tmp_path,
            env=record.environment(), stdin=subprocess.PIPE, stdout=subprocess.PIPE,
            stderr=subprocess.PIPE, text=True)
        assert self.process.stdout.readline() == "ready\n"

    def order(self, text):
        if not isinstance(text, str):
            text = json.dumps(text)
        self.order_file.write_text(text)
        os.kill(self.process.pid, NUMBER)

    def fault(self, kind, seconds=0.0):
        self.order({"version": 1, "kind": kind, "seconds": seconds})
        self.expect(lambda: not self.order_file.exists())

    def expect(self, condition):
        """Waits for what the signal brings about."""
        try:
            wait_for(condition, 5)
        except AssertionError:
            # A signal that arrives right before input() sleeps is handled when input() returns.
            os.kill(self.process.pid, NUMBER)
            wait_for(condition)

    def finish(self, text="\n"):
        out, error = self.process.communicate(text, timeout=180)
        return out.strip(), error, self.process.returncode


@pytest.fixture
def worker(tmp_path, record):
    started = []

    def start(script):
        started.append(Worker(tmp_path, record, script))
        return started[-1]

    yield start
    for one in started:
        one.process.kill()
        one.process.communicate()


def test_an_exception_rises_in_the_main_thread(worker):
    one = worker("import time\nprint('ready')\nwhile True: time.sleep(60)")
    one.fault("exception")
    out, error, code = one.finish()
    assert code == 1
    assert error.splitlines()[-1] == "RuntimeError: injected by robustrun inject"
    assert "case.py" in error


def test_the_gil_is_held_for_its_time(worker):
    one = worker(TICKER)
    one.fault("gil-lock", 0.6)
    out, error, code = one.finish()
    assert code == 0, error
    assert 0.6 <= float(out) < 15


@pytest.mark.parametrize("kind", ["collective-sleep", "data-stall"])
def test_without_torch_the_order_is_refused(worker, kind):
    one = worker("print('ready'); input(); print('end')")
    one.fault(kind, 1)
    one.expect(one.refused_file.exists)
    assert one.finish() == ("end", "", 0)


@pytest.mark.parametrize("text", ["", "[]", "7", "{", "{}", '{"version":1,"kind":"exception"}',
                                  '{"version":1,"kind":["x"],"seconds":1}',
                                  '{"version":1,"kind":"exception","seconds":"soon"}', "\xff" * 9])
def test_nonsense_as_an_order_changes_nothing(worker, text):
    one = worker("print('ready'); input(); print('end')")
    one.order(text)
    assert one.finish() == ("end", "", 0)


@pytest.mark.parametrize("order", [{"version": 2, "kind": "exception", "seconds": 0},
                                   {"version": 1, "kind": "bogus", "seconds": 0}])
def test_an_order_of_another_version_or_kind_is_refused(worker, order):
    one = worker("print('ready'); input(); print('end')")
    one.order(order)
    one.expect(one.refused_file.exists)
    assert one.finish() == ("end", "", 0)


def test_a_signal_without_an_order_changes_nothing(worker):
    one = worker("print('ready'); input(); print('end')")
    os.kill(one.process.pid, NUMBER)
    assert one.finish() == ("end", "", 0)


def test_a_forked_child_leaves_the_order_alone(worker):
    one = worker("import os, signal, time\nchild = os.fork()\n"
                 "if not child:\n    print('ready'); time.sleep(60); os._exit(0)\n"
                 "os.waitpid(child, 0)")
    child = int(next(open(f"/proc/{one.process.pid}/task/{one.process.pid}/children")).split()[0])
    one.order_file.write_text('{"version": 1, "kind": "exception", "seconds": 0}')
    os.kill(child, NUMBER)
    os.kill(child, signal.SIGTERM)
    out, error, code = one.finish()
    assert (code, error) == (0, "") and one.order_file.exists()


def test_the_signal_of_stack_dumps_is_not_taken_over(tmp_path, record, boot):
    (tmp_path / "case.py").write_text(
        "import signal\nprint(repr(signal.getsignal(signal.SIGRTMIN + 9)))\n")
    env = record.environment(ROBUSTRUN_STACK_SIGNAL=str(int(NUMBER)))
    assert boot("script", "case.py", env=env).stdout.startswith((b"0", b"<Handlers.SIG_DFL"))
    assert b"function" in boot("script", "case.py", env=record.environment()).stdout


DATA = """
import time, torch
from torch.utils.data import DataLoader, TensorDataset
loader = DataLoader(TensorDataset(torch.arange(8)), batch_size=2)
batches = iter(loader); next(batches)
print("ready", flush=True); input()
def timed():
    begin = time.monotonic(); next(batches); return time.monotonic() - begin
print(timed(), timed())
"""

# gloo's threads run until the last reference to their group is gone. One that is late, and lets go
# of the last operation when the interpreter has ended, takes the process down (pytorch#190489).
# So nothing keeps the group beyond destroy_process_group: not the model, and not the functions of
# torch.distributed.nn, which DDP imports and whose defaults are the group that there is by then.
COLLECTIVE = """
import time, torch, torch.distributed as dist
import torch.distributed.nn
dist.init_process_group("gloo", init_method="file:///proc/self/cwd/store", rank=0, world_size=1)
USE
call()
print("ready", flush=True); input()
def timed():
    begin = time.monotonic(); call(); return time.monotonic() - begin
print(timed(), timed())
del call
dist.destroy_process_group()
"""
USES = {
    "all_reduce": "tensor = torch.ones(1)\nfrom torch.distributed import all_reduce\n"
                  "call = lambda: all_reduce(tensor)",
    "ddp": "def trains(model): return lambda: model(torch.ones(1, 2)).sum().backward()\n"
           "call = trains(torch.nn.parallel.DistributedDataParallel(torch.nn.Linear(2, 1)))",
}


@pytest.mark.parametrize("case", ["data", *USES])
@NEEDS_TORCH
def test_exactly_the_next_batch_or_collective_is_late(worker, case):
    one = worker(DATA if case == "data" else COLLECTIVE.replace("USE", USES[case]))
    one.fault("data-stall" if case == "data" else "collective-sleep", 3.0)
    out, error, code = one.finish()
    assert code == 0, error
    first, second = map(float, out.split())
    assert 3.0 <= first < 30 and second < 2.7
