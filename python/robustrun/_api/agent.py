"""Client of the worker's control socket (docs/formats/worker-socket.md)."""

import array
import json
import os
import socket

from .calls import StopRequest

VERSION = 1
MESSAGE_BYTES_MAX = 64 << 10


class Refused(OSError):
    """The agent is there and says no, and why."""


class Agent:
    """One connection to this worker's agent. Raises OSError when there is none, or it is gone.

    For what the shared record cannot say; robustrun.stop_requested() needs no connection.
    """

    def __init__(self, path=None, timeout_s=5.0):
        path = path or os.environ.get("ROBUSTRUN_SOCKET")
        if not path:
            raise OSError("cannot reach the agent: no ROBUSTRUN_SOCKET; not under robustrun?")
        self._socket = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self._passed = []
        try:
            self._socket.settimeout(timeout_s)
            self._socket.connect(path)
            self.about = self.request("hello", version=VERSION)
        except BaseException:
            self._socket.close()
            raise

    def request(self, type, **fields):
        """Sends one message and returns the reply, a dictionary."""
        fields["type"] = type
        body = json.dumps(fields).encode()
        self._socket.sendall(len(body).to_bytes(4, "little") + body)
        size = int.from_bytes(self._read_first() + self._read(3), "little")
        if size > MESSAGE_BYTES_MAX:
            raise OSError("cannot understand the agent: a reply of %d bytes" % size)
        reply = json.loads(self._read(size))
        if reply.get("type") == "error":
            raise Refused("the agent refused %r: %s" % (type, reply.get("message")))
        return reply

    def stop_reason(self):
        """None, or a StopRequest."""
        reply = self.request("stop_reason")
        if reply["reason"] == "none":
            return None
        return StopRequest(reply["reason"], reply["deadline_ns"])

    def memory(self, wanted):
        """A memfd of at least so many bytes, which outlives this process; with 0, the one that this
        rank was given before. -1: there is none. OSError: the node has too little."""
        reply = self.request("memory", bytes=wanted)
        if not reply["bytes"] or not self._passed:
            return -1
        return self._passed.pop()

    def await_saves(self):
        """Returns when nothing of attempts before is being saved any more, within 50 s."""
        self.request("await_saves")

    def ping(self):
        self.request("ping")

    def close(self):
        self._socket.close()
        while self._passed:
            os.close(self._passed.pop())

    def __enter__(self):
        return self

    def __exit__(self, *exception):
        self.close()

    def _read_first(self):
        """One byte, and the descriptors that came with it."""
        room = socket.CMSG_SPACE(array.array("i").itemsize)
        data, passed, _, _ = self._socket.recvmsg(1, room, socket.MSG_CMSG_CLOEXEC)
        for level, kind, content in passed:
            if level == socket.SOL_SOCKET and kind == socket.SCM_RIGHTS:
                descriptors = array.array("i")
                descriptors.frombytes(content[:len(content) // 4 * 4])
                self._passed += descriptors
        if not data:
            raise OSError("the agent closed the connection")
        return data

    def _read(self, size):
        data = b""
        while len(data) < size:
            more = self._socket.recv(size - len(data))
            if not more:
                raise OSError("the agent closed the connection")
            data += more
        return data
