"""The first load or save waits for the previous attempt's copies (_checkpoint/earlier_saves.py)."""

import sys
import threading
import warnings

import pytest
from conftest import PACKAGE
from fake_agent import HELLO

sys.path.insert(0, str(PACKAGE))
from robustrun._checkpoint import earlier_saves  # noqa: E402


@pytest.fixture(autouse=True)
def not_settled(monkeypatch):
    monkeypatch.setattr(earlier_saves, "_settled_in", None)


def test_the_agent_is_asked_once_by_each_process(serve):
    fake = serve(HELLO, {"type": "await_saves"})
    earlier_saves.settle()
    earlier_saves.settle()
    assert [each["type"] for each in fake.requests] == ["hello", "await_saves"]


def test_an_older_agent_is_not_waited_for(serve):
    serve(HELLO, {"type": "error", "message": "unknown type 'await_saves'"})
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        earlier_saves.settle()
        earlier_saves.settle()


def test_an_unreachable_agent_is_warned_of_once_and_nothing_fails(serve):
    with pytest.warns(RuntimeWarning, match="cannot ask the agent whether") as warned:
        earlier_saves.settle()
        earlier_saves.settle()
    assert len(warned) == 1


def test_without_an_agent_nothing_is_asked(monkeypatch):
    monkeypatch.delenv("ROBUSTRUN_SOCKET", raising=False)
    monkeypatch.setattr(earlier_saves, "Agent", None)
    earlier_saves.settle()


def test_a_concurrent_caller_waits_as_well(monkeypatch):
    asked, answer = [], threading.Event()

    class Waiting:
        def __init__(self, timeout_s):
            assert timeout_s > 50

        def __enter__(self):
            return self

        def __exit__(self, *_):
            pass

        def await_saves(self):
            asked.append(threading.get_ident())
            answer.wait(60)

    monkeypatch.setenv("ROBUSTRUN_SOCKET", "somewhere")
    monkeypatch.setattr(earlier_saves, "_settled_in", None)
    monkeypatch.setattr(earlier_saves, "Agent", Waiting)
    threads = [threading.Thread(target=earlier_saves.settle) for _ in range(2)]
    for thread in threads:
        thread.start()
    while len(asked) < 2:
        assert any(thread.is_alive() for thread in threads)
    answer.set()
    for thread in threads:
        thread.join(60)
    earlier_saves.settle()
    assert len(asked) == 2
