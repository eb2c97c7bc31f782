"""note() speaks docs/formats/worker-socket.md and never fails; on_stop() names one step for all."""

import socket
import sys
import threading

import pytest
from conftest import PACKAGE
from fake_agent import FakeAgent

sys.path.insert(0, str(PACKAGE))
from robustrun._checkpoint import last_save, notes  # noqa: E402
from robustrun._progress import progress  # noqa: E402


@pytest.fixture(autouse=True)
def forgotten(monkeypatch):
    monkeypatch.setattr(notes, "_socket", None)
    monkeypatch.setattr(notes, "_retry_at", 0.0)
    monkeypatch.delenv("ROBUSTRUN_SOCKET", raising=False)
    yield
    notes._forget()


def test_notes_go_to_the_agent_one_by_one(tmp_path, monkeypatch):
    agent = FakeAgent(tmp_path / "s", [{"type": "checkpoint"}] * 3)
    monkeypatch.setenv("ROBUSTRUN_SOCKET", str(tmp_path / "s"))
    notes.note("saved", step=7, bytes=4, directories=["/data"])
    notes.note("committed", attempt="step-000000000007/g2-3f")
    notes.note("loaded", step=7, source="disk")
    agent.close()
    assert [(r["type"], r["event"], r["step"]) for r in agent.requests] == [
        ("checkpoint", "saved", 7), ("checkpoint", "committed", 7), ("checkpoint", "loaded", 7)]
    assert agent.requests[0]["directories"] == ["/data"]
    assert (agent.requests[1]["generation"], agent.requests[1]["token"]) == (2, "3f")


def test_without_an_agent_nothing_happens(tmp_path, monkeypatch):
    notes.note("saved", step=1)
    assert notes._socket is False
    monkeypatch.setattr(notes, "_socket", None)
    monkeypatch.setenv("ROBUSTRUN_SOCKET", str(tmp_path / "missing"))
    notes.note("saved", step=1)
    notes.note("saved", step=object())


def test_an_agent_that_leaves_or_does_not_answer_does_no_harm(tmp_path, monkeypatch):
    agent = FakeAgent(tmp_path / "s", [b""])
    monkeypatch.setenv("ROBUSTRUN_SOCKET", str(tmp_path / "s"))
    notes.note("loaded", step=1)  # no answer comes
    agent.close()
    monkeypatch.setattr(notes, "_RETRY_AFTER_S", 0.0)
    notes.note("saved", step=2)
    notes.note("saved", step=3)
    assert notes._socket is False


def test_an_agent_that_is_late_once_gets_later_notes(tmp_path, monkeypatch):
    monkeypatch.setenv("ROBUSTRUN_SOCKET", str(tmp_path / "s"))
    monkeypatch.setattr(notes, "_ANSWER_MAX_S", 0.01)
    with socket.socket(socket.AF_UNIX) as silent:
        silent.bind(str(tmp_path / "s"))
        silent.listen()
        notes.note("committed", step=1)
    (tmp_path / "s").unlink()
    agent = FakeAgent(tmp_path / "s", [{"type": "checkpoint"}])
    notes.note("committed", step=2)  # too early to ask again
    monkeypatch.setattr(notes, "_ANSWER_MAX_S", 10.0)
    monkeypatch.setattr(notes, "_retry_at", 0.0)
    notes.note("committed", step=3)
    agent.close()
    assert [request["step"] for request in agent.requests] == [3]


class Store:
    """Like torch's store, shared by the ranks, which are threads here."""

    def __init__(self):
        self.values, self.lock = {}, threading.Lock()

    def set(self, key, value):
        with self.lock:
            self.values[key] = value.encode()

    def get(self, key):
        with self.lock:
            return self.values[key]

    def add(self, key, count):
        with self.lock:
            self.values[key] = self.values.get(key, 0) + count
            return self.values[key]


class Rank:
    """One rank's instance of the module, of which a process normally has one."""

    def __init__(self, store, rank, world):
        self.store, self.rank, self.world, self.step, self.named = store, rank, world, 0, None
        self.spoke = False

    def boundary(self, monkeypatch):
        """Whether the rank would save now."""
        self.step += 1
        with monkeypatch.context() as patch:
            patch.setattr(last_save, "_named", self.named)
            patch.setattr(last_save, "_store", self.store if self.spoke else None)
            if not self.spoke:
                self.speak(patch)
            decided = last_save._step_of_all(self.step, self.world)
            self.named = last_save._named
        return decided and self.step >= self.named

    def speak(self, patch):
        import types

        c10d = types.SimpleNamespace(_get_default_store=lambda: self.store)
        fake = types.SimpleNamespace(PrefixStore=lambda prefix, store: store,
                                     distributed_c10d=c10d, get_rank=lambda: self.rank)
        patch.setitem(sys.modules, "torch.distributed", fake)
        self.spoke = True


@pytest.mark.parametrize("seen", [(3, 3, 3), (3, 4, 3), (4, 3, 3), (3, 9, 4), (9, 3, 3)])
def test_ranks_in_step_save_after_the_same_step_whenever_they_see_the_stop(seen, monkeypatch):
    """No rank is more than one step ahead; each sees the stop from its own step on."""
    for order in (range(3), reversed(range(3))):
        store, saved = Store(), {}
        ranks = [Rank(store, rank, 3) for rank in range(3)]
        order = list(order)
        for _ in range(20):
            for number in order:
                one = ranks[number]
                if one.step + 1 < seen[number]:
                    one.step += 1
                elif one.boundary(monkeypatch):
                    saved.setdefault(number, one.step)
            if len(saved) == 3:
                break
        assert set(saved.values()) == {max(seen) + 1} and len(saved) == 3


def test_on_stop_does_nothing_outside_robustrun(monkeypatch):
    monkeypatch.setattr(progress, "_current", None)
    last_save.on_stop(lambda stop: None)
    assert progress.boundary is None
    with pytest.raises(TypeError):
        last_save.on_stop(7)
