"""robustrun.checkpoint.save(blocking=False) and every_step, in one process without an agent."""

import ctypes
import os
import pathlib
import subprocess
import sys
import threading
import time

import pytest
from conftest import PACKAGE, ROOT

torch = pytest.importorskip("torch")
sys.path.insert(0, str(PACKAGE))
LIBRARY = pathlib.Path(os.environ.get("ROBUSTRUN_BUILD_DIR", ROOT / "build"))
LIBRARY = LIBRARY / "share" / "robustrun" / "librobustrun.so"
pytestmark = pytest.mark.skipif(not LIBRARY.exists(), reason="librobustrun.so is not built")

from robustrun import checkpoint  # noqa: E402
from robustrun._checkpoint import c_api, staged_saves  # noqa: E402


@pytest.fixture
def places(tmp_path, monkeypatch):
    monkeypatch.setenv("ROBUSTRUN_LIBRARY", str(LIBRARY))
    for name in ("ROBUSTRUN_SOCKET", "ROBUSTRUN_RUN_ID", "WORLD_SIZE", "RANK"):
        monkeypatch.delenv(name, raising=False)
    yield tmp_path / "saves"
    checkpoint._close()


def steps_on_disk(places):
    return sorted(found.step for found in c_api.catalogue([places])
                  if found.state == "committed")


def test_what_is_saved_is_the_state_at_the_call(places):
    state = {"weight": torch.arange(100_000.0), "epoch": 3}
    handle = checkpoint.save(state, 7, directories=places, blocking=False)
    state["weight"].zero_()
    state["epoch"] = 4
    assert handle.wait(60) and handle.committed
    found = {"weight": torch.zeros(100_000), "epoch": 0}
    assert checkpoint.load_latest(found, directories=places) == 7
    assert torch.equal(found["weight"], torch.arange(100_000.0)) and found["epoch"] == 3
    assert checkpoint.last_load().step == 7


def test_every_step_is_in_memory_and_some_are_on_disk(places):
    for step in range(8):
        state = {"weight": torch.full((1000,), float(step))}
        checkpoint.save(state, step, directories=places, every_step=True, disk_every=3)
    checkpoint.wait()
    assert steps_on_disk(places) == [2, 5]


@pytest.mark.parametrize("name", ["disk_every", "drain_every"])
def test_an_interval_below_1_is_refused_by_its_name(name):
    for bad in (0, -1):
        with pytest.raises(ValueError, match=name):
            checkpoint.SaveOptions(every_step=True, **{name: bad})


def test_saves_that_wait_and_saves_that_do_not_come_in_the_order_of_their_calls(places):
    for step in range(6):
        state = {"weight": torch.full((1000,), float(step))}
        checkpoint.save(state, step, directories=places, blocking=step % 2 == 0)
    checkpoint.wait()
    assert steps_on_disk(places) == list(range(6))
    assert c_api.catalogue([places])[0].step == 5


def test_a_background_error_is_raised_by_the_next_save(places):
    state = {"weight": torch.zeros(1000)}
    checkpoint.save(state, 1, directories=places)
    run = checkpoint._savers[(str(places),)].engine.run
    c_api.Engine([places], run, 1).close()  # a later attempt takes over
    handle = checkpoint.save(state, 2, directories=places, blocking=False)
    assert handle._over.wait(60) and not handle.committed
    with pytest.raises(checkpoint.Conflict):
        checkpoint.save(state, 3, directories=places, blocking=False)
    assert steps_on_disk(places) == [1]


def test_old_checkpoints_go_in_the_background(places):
    for step in range(5):
        state = {"weight": torch.full((1000,), float(step))}
        handle = checkpoint.save(state, step, directories=places, blocking=False, keep=2)
        assert handle.wait(60)
    assert len(steps_on_disk(places)) == 2 and steps_on_disk(places)[-1] == 4


def test_a_tensor_that_changes_while_it_is_copied_is_refused_by_name(places):
    changing = torch.zeros(16_000_000)
    state = {"still": torch.zeros(10), "changing": changing}
    stop = threading.Event()

    def change():
        value = 0
        while not stop.is_set():
            value = (value + 1) % 256
            ctypes.memset(changing.data_ptr(), value, changing.nbytes)

    thread = threading.Thread(target=change)
    thread.start()
    try:
        with pytest.raises(checkpoint.ChangedWhileSaved, match="changing"):
            for step in range(100):
                checkpoint.save(state, step, directories=places, every_step=True)
    finally:
        stop.set()
        thread.join()


def timed(work):
    began = time.monotonic()
    work()
    return time.monotonic() - began


def test_a_rate_limits_background_writes_only(places, monkeypatch):
    state = {"weight": torch.ones(6_000_000)}  # 24 MB
    checkpoint.save(state, 1, directories=places, blocking=False).wait()  # takes memory
    free = timed(lambda: checkpoint.save(state, 2, directories=places, blocking=False).wait())
    wanted = max(1.0, 3 * free)
    rate = 24_000_000 / wanted
    handles = []
    copying = timed(lambda: handles.append(
        checkpoint.save(state, 3, directories=places, blocking=False, drain_rate=rate)))
    assert copying + timed(handles[0].wait) >= 0.95 * wanted
    monkeypatch.setenv(checkpoint.RATE_VARIABLE, str(rate))
    assert timed(lambda: checkpoint.save(state, 4, directories=places,
                                         blocking=False).wait()) >= 0.95 * wanted
    assert steps_on_disk(places) == [1, 2, 3, 4]
    assert checkpoint.load_latest({"weight": torch.zeros(6_000_000)}, directories=places) == 4
    for bad in (-1, "fast", float("inf")):
        with pytest.raises(ValueError, match="not a number of bytes per second"):
            checkpoint.save(state, 5, directories=places, blocking=False, drain_rate=bad)


def test_the_time_of_a_commit_is_noted_unless_its_writes_are_slowed_down(places, monkeypatch):
    told = []
    monkeypatch.setattr(staged_saves, "note", lambda event, **what: told.append((event, what)))
    state = {"weight": torch.ones(1_000_000)}
    for step, rate in ((1, None), (2, 1e12)):
        checkpoint.save(state, step, directories=places, blocking=False, drain_rate=rate)
        checkpoint.wait()
    copied = [what["blocking_ns"] for event, what in told if event == "saved"]
    free, limited = [what.get("total_ns") for event, what in told if event == "committed"]
    assert free > copied[0] and limited is None


def test_a_blocking_save_lifts_the_limit_of_earlier_writes(places):
    state = {"weight": torch.ones(1_000_000)}
    slow = checkpoint.save(state, 1, directories=places, blocking=False, drain_rate=1)  # 46 days
    slower = checkpoint.save(state, 2, directories=places, blocking=False, drain_rate=1)
    assert not slow.wait(0.2) and not slower.done()
    assert checkpoint.save(state, 3, directories=places).committed
    assert slow.committed and slower.committed
    assert steps_on_disk(places) == [1, 2, 3]
    assert checkpoint.load_latest(state, directories=places) == 3


def test_the_end_of_the_process_lifts_the_limit_of_background_writes(places):
    script = """
import sys, torch
from robustrun import checkpoint
handle = checkpoint.save({"weight": torch.ones(1000)}, 1, directories=sys.argv[1], blocking=False,
                         drain_rate=1)
assert not handle.wait(0.2)
"""
    subprocess.run([sys.executable, "-c", script, str(places)], check=True, timeout=200,
                   env={**os.environ, "PYTHONPATH": str(PACKAGE)})
    assert steps_on_disk(places) == [1]


@pytest.mark.parametrize("is_seen", [False, True])
def test_the_end_of_the_process_tells_of_a_failed_save_once(places, is_seen):
    script = """
import sys, torch
from robustrun import checkpoint
from robustrun._checkpoint import c_api
state = {"weight": torch.ones(1000)}
checkpoint.save(state, 1, directories=sys.argv[1])
(saver,) = checkpoint._savers.values()
c_api.Engine([sys.argv[1]], saver.engine.run, 1).close()  # a later attempt takes over
handle = checkpoint.save(state, 23, directories=sys.argv[1], blocking=False)
if sys.argv[2] == "True":
    try: handle.wait()
    except checkpoint.Conflict: pass
"""
    done = subprocess.run([sys.executable, "-c", script, str(places), str(is_seen)], check=True,
                          timeout=200, env={**os.environ, "PYTHONPATH": str(PACKAGE)},
                          capture_output=True, text=True)
    assert done.stderr.count("RuntimeWarning: the save of step 23 failed: ") == (not is_seen)
