"""robustrun.Agent speaks docs/formats/worker-socket.md."""

import os
import sys

import pytest
from conftest import PACKAGE
from fake_agent import HELLO

sys.path.insert(0, str(PACKAGE))
import robustrun  # noqa: E402


def test_hello_identifies_the_worker(serve):
    fake = serve(HELLO, {"type": "ping"})
    with robustrun.Agent() as agent:
        agent.ping()
        assert agent.about["rank"] == 3 and agent.about["attempt"] == 2
    assert fake.requests == [{"type": "hello", "version": 1}, {"type": "ping"}]


def test_stop_reason_is_none_or_a_stop_request(serve):
    none = {"type": "stop_reason", "reason": "none", "deadline_ns": 0}
    serve(HELLO, none, dict(none, reason="preempt", deadline_ns=1), dict(none, reason="stop"))
    with robustrun.Agent() as agent:
        assert agent.stop_reason() is None
        request = agent.stop_reason()
        assert (request.reason, request.seconds_left) == ("preempt", 0.0)
        assert agent.stop_reason().seconds_left is None


@pytest.mark.parametrize("reply, words", [
    ({"type": "error", "message": "unknown type 'x'"}, "unknown type"),
    (b"", "closed the connection"),
    (b"\x05\0\0\0{", "closed the connection"),
    (b"\xff\xff\xff\xff", "4294967295 bytes"),
])
def test_a_bad_reply_is_an_oserror(serve, reply, words):
    serve(HELLO, reply)
    with robustrun.Agent() as agent, pytest.raises(OSError, match=words):
        agent.request("x")


def test_without_an_agent_there_is_an_oserror(monkeypatch, tmp_path):
    monkeypatch.delenv("ROBUSTRUN_SOCKET", raising=False)
    with pytest.raises(OSError, match="ROBUSTRUN_SOCKET"):
        robustrun.Agent()
    monkeypatch.setenv("ROBUSTRUN_SOCKET", str(tmp_path / "missing"))
    with pytest.raises(OSError):
        robustrun.Agent()
    assert os.environ.get("ROBUSTRUN_RECORD") is None
    assert robustrun.stop_requested() is None
