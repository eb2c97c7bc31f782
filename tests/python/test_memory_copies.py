"""Copies of a state in memory (_checkpoint/memory_copies.py): the real library and no agent."""

import ctypes
import os
import pathlib
import random
import sys
import threading

import pytest
from conftest import PACKAGE, ROOT

sys.path.insert(0, str(PACKAGE))
LIBRARY = pathlib.Path(os.environ.get("ROBUSTRUN_BUILD_DIR", ROOT / "build"))
LIBRARY = LIBRARY / "share" / "robustrun" / "librobustrun.so"
pytestmark = pytest.mark.skipif(not LIBRARY.exists(), reason="librobustrun.so is not built")

from robustrun._checkpoint import background, c_api, memory_copies  # noqa: E402

SIZES = (3_000_000, 0, 17, 70_000)


class State:
    """Buffers whose bytes depend on the step."""

    def __init__(self, step, sizes=SIZES):
        chance = random.Random(step)
        self.buffers = [ctypes.create_string_buffer(chance.randbytes(size), max(size, 1))
                        for size in sizes]
        self.sizes = sizes
        self.addresses = [ctypes.addressof(buffer) for buffer in self.buffers]

    @property
    def bytes(self):
        pairs = zip(self.buffers, self.sizes, strict=True)
        return [buffer.raw[:size] for buffer, size in pairs]


@pytest.fixture
def copies(tmp_path, monkeypatch):
    monkeypatch.setenv("ROBUSTRUN_LIBRARY", str(LIBRARY))
    monkeypatch.delenv("ROBUSTRUN_SOCKET", raising=False)
    engine = c_api.Engine([tmp_path], "run")
    made = memory_copies.Copies(engine, threading.Lock())
    yield made
    made.close()
    engine.close()


def structure(sizes=SIZES):
    return c_api.Structure(c_api.Shard(f"t{i}", "U8", 0, (size,), (0,), (size,), size)
                             for i, size in enumerate(sizes))


def stage(copies, step, state, sizes=SIZES):
    return copies.stage(step, ["w"], "w", structure(sizes), state.addresses)


def test_a_copy_is_the_state_at_its_step_whatever_happens_to_it_later(copies, tmp_path):
    state = State(1)
    saved = state.bytes
    handle = stage(copies, 1, state)
    for buffer in state.buffers:
        ctypes.memset(buffer, 0, len(buffer))
    copies.drain(handle)
    assert handle.wait(60) and handle.committed and handle.done()
    found = State(2)
    with c_api.Checkpoint([tmp_path]) as checkpoint:
        reads = [(i, 0, size, found.addresses[i]) for i, size in enumerate(SIZES)]
        checkpoint.read(reads)
        assert found.bytes == saved
        found = State(2)
        reads = [(i, 0, size, found.addresses[i]) for i, size in enumerate(SIZES)]
        assert copies.read(checkpoint, reads) == sum(SIZES)
        assert found.bytes == saved


def test_an_unreachable_agent_is_warned_of_once(copies, tmp_path, monkeypatch):
    monkeypatch.setenv("ROBUSTRUN_SOCKET", str(tmp_path / "missing"))
    monkeypatch.setattr(memory_copies, "_user_of_agents_memory", None)
    monkeypatch.setattr(memory_copies, "_has_warned", False)
    with pytest.warns(RuntimeWarning, match="will not outlive its process") as warned:
        for step in (1, 2, 3):
            sizes = tuple(step * size for size in SIZES)  # more memory every time
            stage(copies, step, State(step, sizes), sizes)
    assert len(warned) == 1 and not copies.shared


def test_a_damaged_or_other_copy_is_not_used_and_the_disk_is(copies, tmp_path):
    state = State(1)
    copies.drain(stage(copies, 1, state))
    copies.wait()
    for step in (2, 3):
        stage(copies, step, State(step))
    found = State(9)
    with c_api.Checkpoint([tmp_path]) as checkpoint:
        reads = [(i, 0, size, found.addresses[i]) for i, size in enumerate(SIZES)]
        assert copies.read(checkpoint, reads) == 0
        assert found.bytes == state.bytes


def test_only_memory_is_written_until_a_copy_is_drained(copies, tmp_path):
    for step in range(5):
        handle = stage(copies, step, State(step))
    assert not list(tmp_path.glob("step-*"))
    copies.drain(handle)
    copies.wait()
    assert [found.step for found in c_api.catalogue([tmp_path])] == [4]


def test_a_background_error_is_raised_once_by_the_next_save(copies, tmp_path):
    handle = stage(copies, 1, State(1))
    # A later attempt of the run has begun meanwhile.
    c_api.Engine([tmp_path], "run", 1).close()
    copies.drain(handle)
    while not handle.done():
        handle._over.wait(60)
    with pytest.raises(c_api.Conflict):
        stage(copies, 2, State(2))
    stage(copies, 2, State(2))


def test_a_background_error_is_warned_of_once_if_the_process_ends_first(copies, tmp_path):
    handle = stage(copies, 23, State(1))
    c_api.Engine([tmp_path], "run", 1).close()
    copies.drain(handle)
    with pytest.warns(RuntimeWarning, match="the save of step 23 failed") as warned:
        background._finish()  # as robustrun.dcp, which closes nothing
        background._finish()
        copies.close()
    # Other tests may have left jobs of their own.
    assert ["step 23" in str(each.message) for each in warned].count(True) == 1


def test_a_copy_that_is_discarded_is_not_found_again(copies, tmp_path):
    copies.drain(stage(copies, 1, State(1)))
    copies.wait()
    handle = stage(copies, 2, State(2))
    copies.discard(handle)
    copies.drain(handle)
    with pytest.raises(c_api.NotFound):
        handle.wait(60)
    assert [found.step for found in c_api.catalogue([tmp_path])] == [1]


def test_a_growing_state_gets_more_memory(copies):
    stage(copies, 1, State(1))
    sizes = (30_000_000, 5)
    handle = stage(copies, 2, State(2, sizes), sizes)
    copies.drain(handle)
    assert handle.wait(60)


def test_two_copies_on_their_way_make_the_next_one_wait(copies):
    copies.lock.acquire()
    handles = [stage(copies, step, State(step)) for step in (1, 2)]
    for handle in handles:
        copies.drain(handle)
    entered, left = threading.Event(), threading.Event()

    def third():
        entered.set()
        stage(copies, 3, State(3))
        left.set()

    thread = threading.Thread(target=third)
    thread.start()
    assert entered.wait(60)
    assert not left.wait(0.2)
    assert not any(handle.done() for handle in handles)
    copies.lock.release()
    thread.join(60)
    assert left.is_set() and any(handle.done() for handle in handles)
    copies.wait()


class LastComesFirst:
    """A lock that the last requester gets first."""

    def __init__(self):
        self.changed, self.waiting, self.is_held = threading.Condition(), [], True

    def __enter__(self):
        mine = object()
        with self.changed:
            self.waiting.append(mine)
            self.changed.notify_all()
            self.changed.wait_for(lambda: not self.is_held and self.waiting[-1] is mine, 60)
            self.waiting.remove(mine)
            self.is_held = True

    def __exit__(self, *_):
        with self.changed:
            self.is_held = False
            self.changed.notify_all()


def test_copies_are_written_in_the_order_in_which_they_were_made(copies, tmp_path):
    copies.lock = LastComesFirst()
    for step in (1, 2):
        copies.drain(stage(copies, step, State(step)))
    with copies.lock.changed:  # as far as they come
        copies.lock.changed.wait_for(lambda: len(copies.lock.waiting) == 2, 0.5)
    copies.lock.__exit__()
    copies.wait()
    with c_api.Checkpoint([tmp_path]) as newest:
        assert newest.step == 2


def test_the_time_that_callers_waited_is_counted(copies):
    stage(copies, 1, State(1))
    first = copies.blocked_s
    stage(copies, 2, State(2))
    assert 0 < first < copies.blocked_s and copies.last_blocked_s < copies.blocked_s
