"""Errors of a tokenizing process are the caller's, whatever they are."""

import multiprocessing
import os
import signal
import sys
import threading
import time

import pytest
from conftest import PACKAGE

sys.path.insert(0, str(PACKAGE))
from robustrun._data import pool as pool_module  # noqa: E402
from robustrun._data.pool import LATE_TIMES, Killed, Pool, Recent, note  # noqa: E402

LATE_S = 0.1
LOADS_S = 0.6  # more than LATE_S, and a process may miss it by a look


def begin(works=True):
    if not works:
        raise ValueError("no tokenizer here")


def run(kind):
    if kind == "exit":
        sys.exit(0)
    if kind == "lock":
        return threading.Lock()
    if kind == "killed":
        os.kill(os.getpid(), signal.SIGKILL)
    if kind == "hangs":
        note("text", 7)
        time.sleep(3600)
    if kind == "stops":
        note("text", 7)
        os.kill(os.getpid(), signal.SIGSTOP)
    if kind == "loads, then hangs":
        note("text", 1)
        time.sleep(LOADS_S)
        note("text", 2)
        note("text", 7)
        time.sleep(3600)
    return kind


@pytest.fixture
def pool():
    one = Pool(1, begin, ())
    yield one
    one.end(is_killed=True)


@pytest.mark.parametrize("kind, error", [
    ("exit", "SystemExit: 0"), ("lock", "lock cannot be passed on from the process: ")])
def test_what_a_transform_does_is_named_and_the_process_goes_on(pool, kind, error):
    with pytest.raises(RuntimeError, match=error):
        pool.submit(run, kind).result(60)
    assert pool.submit(run, "well").result(60) == "well"


def test_a_process_that_is_killed_is_told_from_errors(pool):
    with pytest.raises(Killed):
        pool.submit(run, "killed").result(60)


def test_an_error_at_the_beginning_is_that_of_the_first_call():
    one = Pool(1, begin, (False,))
    try:
        with pytest.raises(ValueError, match="no tokenizer here"):
            one.submit(run, "well").result(60)
    finally:
        one.end(is_killed=True)


def test_a_process_that_hangs_is_killed_with_its_record_named_and_replaced():
    one = Pool(1, begin, (), replaces=True, late_s=0.1)
    try:
        with pytest.raises(Killed) as killed:
            one.submit(run, "hangs", kind="text").result(60)
        assert killed.value.record == 7 and killed.value.late_s > 0.1
        with pytest.raises(Killed) as killed:
            one.submit(run, "killed").result(60)
        assert killed.value.record == 0 and killed.value.late_s is None
        assert one.submit(run, "well").result(60) == "well"
    finally:
        one.end(is_killed=True)


def test_a_process_that_is_stopped_is_replaced_and_its_record_not_blamed(monkeypatch):
    monkeypatch.setattr(pool_module, "_STOPPED_LOOKS", 2)
    one = Pool(1, begin, (), replaces=True, late_s=LATE_S)
    try:
        with pytest.raises(Killed) as killed:
            one.submit(run, "stops", kind="text").result(60)
        assert killed.value.record == 0 and killed.value.late_s is None
        assert one.submit(run, "well").result(60) == "well"
    finally:
        one.end(is_killed=True)


def test_a_slow_first_record_neither_hangs_nor_hides_one_that_does(monkeypatch):
    monkeypatch.setattr(pool_module, "FIRST_TIMES", 100)  # of LATE_S: the machine may be busy
    one = Pool(1, begin, (), replaces=True, late_s=LATE_S)
    try:
        with pytest.raises(Killed) as killed:
            one.submit(run, "loads, then hangs", kind="text").result(60)
        assert killed.value.record == 7 and LATE_S < killed.value.late_s < LATE_TIMES * LOADS_S
    finally:
        one.end(is_killed=True)


def test_how_long_records_take_is_that_of_the_last_thousand():
    recent, usual = Recent(), []
    for duration_ns, records in ((60e9, 1), (1e6, 500), (2e9, 1000), (1e6, 991)):
        for _ in range(records):
            recent.add(duration_ns)
        usual.append(recent.usual_ns)
    assert usual == [1, 1e6, 2e9, 1e6]


def test_a_process_that_begins_while_the_pool_ends_ends_too(monkeypatch):
    one = Pool(1, begin, (), replaces=True)
    begins, goes_on = threading.Event(), threading.Event()
    start = multiprocessing.context.SpawnProcess.start

    def late_start(process):
        begins.set()
        goes_on.wait(60)
        start(process)

    monkeypatch.setattr(multiprocessing.context.SpawnProcess, "start", late_start)
    ended = one.submit(run, "killed")
    assert begins.wait(60)
    ending = threading.Thread(target=one.end, args=(True,))
    ending.start()
    threading.Timer(0.2, goes_on.set).start()  # end() does not wait for it if it is wrong
    ending.join(60)
    assert not ending.is_alive() and isinstance(ended.exception(60), Killed)
    assert not any(each.is_alive() for each in multiprocessing.active_children())
