"""robustrun.checkpoint.save(local=...): disks of one machine, and the way to shared storage. In one
process, without an agent; machines that are lost: tests/e2e/checkpoint/test_local.py."""

import os
import pathlib
import shutil
import signal
import subprocess
import sys
import threading
import time
import warnings

import pytest
from conftest import PACKAGE, ROOT

torch = pytest.importorskip("torch")
sys.path.insert(0, str(PACKAGE))
LIBRARY = pathlib.Path(os.environ.get("ROBUSTRUN_BUILD_DIR", ROOT / "build"))
LIBRARY = LIBRARY / "share" / "robustrun" / "librobustrun.so"
pytestmark = pytest.mark.skipif(not LIBRARY.exists(), reason="librobustrun.so is not built")

from robustrun import checkpoint  # noqa: E402
from robustrun._checkpoint import c_api, local_disks, sessions, staged_saves  # noqa: E402

NEVER = 1  # bytes per second


@pytest.fixture
def shared(tmp_path, monkeypatch):
    monkeypatch.setenv("ROBUSTRUN_LIBRARY", str(LIBRARY))
    for name in ("ROBUSTRUN_SOCKET", "ROBUSTRUN_RUN_ID", "WORLD_SIZE", "RANK",
                 checkpoint.DIRECTORY_VARIABLE, checkpoint.RATE_VARIABLE, local_disks.VARIABLE):
        monkeypatch.delenv(name, raising=False)
    yield tmp_path / "shared"
    checkpoint._close()


@pytest.fixture
def disk(tmp_path):
    return tmp_path / "disk"


def state_of(step, size=100_000):
    made = torch.Generator().manual_seed(step)
    return {"weight": torch.randn(size, generator=made), "step": step}


def loaded(shared):
    """(step, whether each bit is right)"""
    state = {"weight": torch.zeros(100_000), "step": -1}
    step = checkpoint.load_latest(state, shared)
    right = state_of(step) if step is not None else {"weight": state["weight"], "step": -1}
    return step, torch.equal(state["weight"], right["weight"]) and state["step"] == right["step"]


def steps(shared, local=False):
    return sorted(found.step for found in c_api.catalogue([shared])
                  if found.state == "committed" and found.local == local)


def data_in(folder):
    return sorted(folder.rglob("*.safetensors"))


def test_a_drained_checkpoint_needs_no_local_disk(shared, disk):
    saved = checkpoint.save(state_of(1), 1, shared, local=disk)
    assert saved.committed and not saved.notes
    assert len(data_in(disk)) == 1
    checkpoint.wait()
    assert len(data_in(shared)) == 1 and steps(shared) == [1]
    assert data_in(shared)[0].read_bytes() == data_in(disk)[0].read_bytes()
    shutil.rmtree(disk)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert loaded(shared) == (1, True)


def test_every_nth_save_is_drained_beginning_with_the_first(shared, disk, monkeypatch):
    monkeypatch.setenv(local_disks.VARIABLE, str(disk))
    for step in range(7):
        checkpoint.save(state_of(step), step, shared, drain_every=3)
    checkpoint.wait()
    assert steps(shared) == [0, 3, 6] and steps(shared, local=True) == [1, 2, 4, 5]
    assert len(data_in(shared)) == 3 and len(data_in(disk)) == 7
    with pytest.raises(ValueError, match="drain_every"):
        checkpoint.save(state_of(8), 8, shared, drain_every=0)
    with pytest.raises(ValueError, match="parity"):
        checkpoint.save(state_of(8), 8, [shared, shared / "b"], parity=1)


def test_a_checkpoint_on_a_lost_disk_is_passed_over_unmarked(shared, disk):
    for step in range(3):
        checkpoint.save(state_of(step), step, shared, local=disk, drain_every=2)
        checkpoint.wait()
    checkpoint.save(state_of(3), 3, shared, local=disk, drain_every=2)
    assert loaded(shared) == (3, True)
    disk.rename(disk.with_name("elsewhere"))
    with pytest.warns(RuntimeWarning, match="is not visible here"):
        assert loaded(shared) == (2, True)
    assert not any(found.poisoned for found in c_api.catalogue([shared]))
    disk.with_name("elsewhere").rename(disk)
    assert loaded(shared) == (3, True)


def test_a_damaged_local_file_is_read_from_shared_storage_where_it_is(shared, disk):
    checkpoint.save(state_of(1), 1, shared, local=disk)
    checkpoint.wait()
    with open(data_in(disk)[0], "r+b") as file:
        file.seek(50_000)
        file.write(b"damaged")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert loaded(shared) == (1, True)
    assert not c_api.catalogue([shared])[0].poisoned


def test_the_rate_limits_a_drain_and_no_save(shared, disk):
    big = state_of(1, 4_000_000)  # 16 MB, two chunks
    checkpoint.save(big, 1, shared, local=disk)
    began = time.monotonic()
    checkpoint.wait()
    wanted = max(1.0, 3 * (time.monotonic() - began))
    began = time.monotonic()
    checkpoint.save(big, 2, shared, local=disk, drain_rate=16_000_000 / wanted)
    checkpoint.wait()
    assert time.monotonic() - began >= 0.95 * wanted
    checkpoint.save(big, 3, shared, local=disk, drain_rate=NEVER)
    assert steps(shared, local=True) == [3]


def test_a_save_that_is_to_be_drained_waits_for_the_drain_before_it(shared, disk):
    checkpoint.save(state_of(1), 1, shared, local=disk, drain_every=2, drain_rate=NEVER)
    checkpoint.save(state_of(2), 2, shared, local=disk, drain_every=2)  # not due: it does not
    left = threading.Event()

    def third():
        checkpoint.save(state_of(3), 3, shared, local=disk, drain_every=2)
        left.set()

    thread = threading.Thread(target=third)
    thread.start()
    while 3 not in steps(shared, local=True):  # it is committed before it waits
        time.sleep(0.01)
    assert not left.wait(0.3) and steps(shared) == []
    checkpoint._savers[(str(shared),)].drains.hurry()
    thread.join(60)
    checkpoint.wait()
    assert left.is_set() and steps(shared) == [1, 3] and steps(shared, local=True) == [2]


@pytest.mark.parametrize("how", ["blocking=True", "blocking=False"])
def test_a_process_that_is_killed_in_a_drain_loses_nothing(shared, disk, how):
    script = f"""
import os, signal, sys, torch
sys.path.insert(0, {str(pathlib.Path(__file__).parent)!r})
from robustrun import checkpoint
from robustrun._checkpoint import c_api
from test_local_disks import state_of
for step in (1, 2):
    checkpoint.save(state_of(step), step, {str(shared)!r}, local={str(disk)!r}, drain_every=2,
                    drain_rate=1, {how})
saver, = checkpoint._savers.values()
if saver.copies is not None:
    saver.copies.settle()
assert len(saver.drains._running) == 1
os.kill(os.getpid(), signal.SIGKILL)
"""
    done = subprocess.run([sys.executable, "-c", script], timeout=60, env={
        **os.environ, "PYTHONPATH": str(PACKAGE)})
    assert done.returncode == -signal.SIGKILL
    assert steps(shared, local=True) == [1, 2]
    assert loaded(shared) == (2, True)
    checkpoint.save(state_of(3), 3, shared, local=disk)
    checkpoint.wait()
    shutil.rmtree(disk)
    assert loaded(shared) == (3, True)


def test_the_end_of_a_process_lifts_the_limit_of_a_drain(shared, disk):
    script = f"""
import sys
sys.path.insert(0, {str(pathlib.Path(__file__).parent)!r})
from robustrun import checkpoint
from test_local_disks import state_of
checkpoint.save(state_of(1), 1, {str(shared)!r}, local={str(disk)!r}, drain_rate=1,
                blocking=len(sys.argv) > 1)
"""
    for arguments in ([], ["blocking"]):
        subprocess.run([sys.executable, "-c", script, *arguments], check=True, timeout=60,
                       env={**os.environ, "PYTHONPATH": str(PACKAGE)})
        assert steps(shared) == [1] * (1 + len(arguments))


def test_before_a_stop_every_save_is_drained_and_without_a_limit(shared, disk, monkeypatch):
    for step in (1, 2):
        checkpoint.save(state_of(step), step, shared, local=disk, drain_every=9, drain_rate=NEVER)
    assert steps(shared) == [] and steps(shared, local=True) == [1, 2]
    monkeypatch.setattr(staged_saves, "stop_requested", lambda: "preempt")
    checkpoint.save(state_of(3), 3, shared, local=disk, drain_every=9, drain_rate=NEVER)
    checkpoint.wait()
    assert steps(shared) == [1, 3] and steps(shared, local=True) == [2]


@pytest.mark.parametrize("lost", ["missing", "later"])
def test_without_the_local_disk_data_goes_to_shared_storage_at_once(shared, disk, tmp_path, lost):
    if lost == "missing":
        disk = tmp_path / "no" / "parent"
    else:
        checkpoint.save(state_of(0), 0, shared, local=disk)
        checkpoint.wait()
        shutil.rmtree(disk)
    with pytest.warns(RuntimeWarning, match="not on local disks, but on shared storage"):
        saved = checkpoint.save(state_of(1), 1, shared, local=disk)
    assert saved.committed and not disk.exists()
    checkpoint.wait()
    assert 1 in steps(shared) and loaded(shared) == (1, True)


def test_what_is_copied_to_memory_goes_over_the_local_disk(shared, disk):
    for step in range(12):
        checkpoint.save(state_of(step), step, shared, local=disk, every_step=True, disk_every=3,
                        drain_every=2)
    checkpoint.wait()  # 2, 5, 8 and 11 are written, 2 and 8 drained
    assert steps(shared) == [2, 8] and steps(shared, local=True) == [5, 11]
    shutil.rmtree(disk)
    with pytest.warns(RuntimeWarning, match="is not visible here"):
        assert loaded(shared) == (8, True)


def test_retention_never_counts_what_is_on_local_disks(shared, disk):
    for step in range(8):
        checkpoint.save(state_of(step), step, shared, local=disk, drain_every=3, keep=1)
        checkpoint.wait()
    assert steps(shared) == [6] and steps(shared, local=True) == [7]
    assert len(data_in(shared)) == 1 and len(data_in(disk)) == 2
    for step in range(8, 10):
        checkpoint.save(state_of(step), step, shared, local=disk, drain_every=3, keep=1)
        checkpoint.wait()
    assert steps(shared) == [9] and steps(shared, local=True) == []
    shutil.rmtree(disk)
    assert loaded(shared) == (9, True)


def test_saves_with_and_without_local_disks_come_in_the_order_of_their_calls(shared, disk):
    for step in range(6):
        checkpoint.save(state_of(step), step, shared, local=disk if step % 2 else None)
    checkpoint.wait()
    assert steps(shared) == list(range(6))
    assert c_api.catalogue([shared])[0].step == 5
    assert len(data_in(disk)) == 3


def test_a_drain_error_is_raised_by_the_next_save(shared, disk):
    drain = checkpoint.save(state_of(1), 1, shared, local=disk, drain_rate=NEVER)
    assert drain.committed
    with open(data_in(disk)[0], "r+b") as file:
        file.seek(300_000)
        file.write(b"damaged")
    drains = checkpoint._savers[(str(shared),)].drains
    drains.hurry()
    while drains._running:
        time.sleep(0.01)
    drains.relax()
    try:
        with pytest.raises(checkpoint.Corrupt, match="damaged"):
            checkpoint.save(state_of(2), 2, shared, local=disk)
    finally:
        checkpoint.save(state_of(2), 2, shared, local=disk)
    checkpoint.wait()
    assert steps(shared) == [2] and loaded(shared) == (2, True)


# Under robustrun, whose agent is not needed here: a load takes the directories over.
def attempt_of(number):
    return {"ROBUSTRUN_RUN_ID": "run-local", "ROBUSTRUN_ATTEMPT": str(number)}


@pytest.fixture
def second_attempt(monkeypatch):
    for name, value in attempt_of(1).items():
        monkeypatch.setenv(name, value)
    monkeypatch.setattr(sessions, "_session", None)


def first_attempt_dies(shared, disk, steps, drain_every):
    """Killed by SIGKILL in the middle of the first drain."""
    script = f"""
import os, pathlib, signal, sys, time
sys.path.insert(0, {str(pathlib.Path(__file__).parent)!r})
from robustrun import checkpoint
from test_local_disks import halves, state_of
for step in {steps}:
    checkpoint.save(state_of(step), step, {str(shared)!r}, local={str(disk)!r},
                    drain_every={drain_every}, drain_rate=1)
while not halves(pathlib.Path({str(shared)!r})):
    time.sleep(0.01)
os.kill(os.getpid(), signal.SIGKILL)
"""
    done = subprocess.run([sys.executable, "-c", script], timeout=60, env={
        **os.environ, **attempt_of(0), "PYTHONPATH": str(PACKAGE)})
    assert done.returncode == -signal.SIGKILL
    assert halves(shared) and not data_in(shared)


def halves(folder):
    return sorted(folder.rglob("*.drain-g*"))


@pytest.mark.parametrize("saved", [[1], [1, 2, 3]], ids=["due", "newer"])
def test_what_a_killed_process_was_draining_the_next_attempt_drains(shared, disk, second_attempt,
                                                                     saved):
    first_attempt_dies(shared, disk, saved, drain_every=9)
    assert loaded(shared) == (saved[-1], True)
    checkpoint.wait()
    assert not halves(shared) and len(data_in(shared)) == 1
    assert steps(shared) == saved[-1:] and steps(shared, local=True) == saved[:-1]
    shutil.rmtree(disk)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert loaded(shared) == (saved[-1], True)


def test_saves_continue_while_an_earlier_attempt_is_drained(shared, disk, second_attempt):
    first_attempt_dies(shared, disk, [1, 2], drain_every=9)
    state = state_of(0)
    assert checkpoint.load_latest(state, shared, drain_rate=NEVER) == 2
    drains = checkpoint._savers[(str(shared),)].drains
    assert len(drains._running) == 1 and steps(shared) == []
    left = threading.Event()

    def third():
        checkpoint.save(state_of(3), 3, shared, local=disk, drain_every=2, keep=1)
        left.set()

    thread = threading.Thread(target=third)
    thread.start()
    while 3 not in steps(shared, local=True):  # it is committed before it waits
        time.sleep(0.01)
    assert not left.wait(0.3)
    drains.hurry()
    thread.join(60)
    checkpoint.wait()
    assert left.is_set() and steps(shared) == [3] and steps(shared, local=True) == []
    assert len(data_in(shared)) == len(data_in(disk)) == 1


def test_a_load_drains_only_what_needs_it(shared, disk, second_attempt,
                                                         monkeypatch):
    first_attempt_dies(shared, disk, [1], drain_every=9)
    state = state_of(0)
    assert checkpoint.load_latest(state, shared, read_only=True) == 1
    assert not checkpoint._savers and halves(shared)  # reading changes nothing
    assert loaded(shared) == (1, True)
    for step in (2, 3):
        checkpoint.save(state_of(step), step, shared, local=disk, drain_every=9)
    assert loaded(shared) == (3, True)  # of this attempt: it is not due
    checkpoint.wait()
    assert steps(shared) == [1, 2] and steps(shared, local=True) == [3]


def test_a_failed_drain_for_an_earlier_attempt_stops_no_save(shared, disk, second_attempt):
    first_attempt_dies(shared, disk, [1], drain_every=9)
    state = state_of(0)
    assert checkpoint.load_latest(state, shared, drain_rate=NEVER) == 1
    drains = checkpoint._savers[(str(shared),)].drains
    with open(data_in(disk)[0], "r+b") as file:
        file.seek(300_000)
        file.write(b"damaged")
    drains.hurry()
    drains.settle()
    drains.relax()
    with pytest.warns(RuntimeWarning, match="the rest of .* was not drained: .*damaged"):
        checkpoint.save(state_of(2), 2, shared, local=disk)
    checkpoint.wait()
    assert steps(shared) == [2] and loaded(shared) == (2, True) and not halves(shared)
