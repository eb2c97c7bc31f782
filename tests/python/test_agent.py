"""robustrun.Agent speaks docs/formats/worker-socket.md."""

import json
import os
import socket
import sys
import threading

import pytest
from conftest import PACKAGE

sys.path.insert(0, str(PACKAGE))
import robustrun  # noqa: E402


class FakeAgent:
    """Answers each message with the next of `replies` (bytes are sent as they are)."""

    def __init__(self, path, replies):
        self.requests = []
        self._listener = socket.socket(socket.AF_UNIX)
        self._listener.bind(str(path))
        self._listener.listen()
        self._thread = threading.Thread(target=self._serve, args=(replies,))
        self._thread.start()

    def _serve(self, replies):
        peer, _ = self._listener.accept()
        with peer, peer.makefile("rb") as stream:
            for reply in replies:
                size = int.from_bytes(stream.read(4), "little")
                self.requests.append(json.loads(stream.read(size)))
                if isinstance(reply, dict):
                    body = json.dumps(reply).encode()
                    reply = len(body).to_bytes(4, "little") + body
                peer.sendall(reply)

    def close(self):
        self._thread.join(10)
        self._listener.close()


HELLO = {"type": "hello", "version": 1, "run_id": "r", "rank": 3, "attempt": 2}


@pytest.fixture
def serve(tmp_path, monkeypatch):
    path = tmp_path / "socket"
    monkeypatch.setenv("ROBUSTRUN_SOCKET", str(path))
    started = []

    def start(*replies):
        started.append(FakeAgent(path, replies))
        return started[0]

    yield start
    for agent in started:
        agent.close()


def test_hello_tells_who_we_are(serve):
    fake = serve(HELLO, {"type": "ping"})
    with robustrun.Agent() as agent:
        agent.ping()
        assert agent.about["rank"] == 3 and agent.about["attempt"] == 2
    assert fake.requests == [{"type": "hello", "version": 1}, {"type": "ping"}]


def test_stop_reason_is_none_or_says_why(serve):
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
    monkeypatch.setenv("ROBUSTRUN_SOCKET", str(tmp_path / "nobody"))
    with pytest.raises(OSError):
        robustrun.Agent()
    assert os.environ.get("ROBUSTRUN_RECORD") is None
    assert robustrun.stop_requested() is None
