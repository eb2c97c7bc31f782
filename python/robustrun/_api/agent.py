"""Client of the worker's control socket (docs/formats/worker-socket.md)."""

import array
import json
import os
import socket

from .calls import StopRequest

VERSION = 1
MESSAGE_BYTES_MAX = 64 << 10


class Refused(OSError):
    """The agent refused the request; the message says why."""


class Agent:
    """A connection to this worker's agent, for use in a with statement.

    Only for requests that the shared record cannot answer: robustrun.stop_requested() needs no
    connection. `path`: the agent's socket, by default that in ROBUSTRUN_SOCKET. `timeout_s`: limit
    for connecting and for each reply, in seconds. `about`: the agent's reply to the greeting, a
    dict.

    Raises OSError if there is no agent or the connection breaks, and Refused, which is an OSError,
    if the agent declines a request.
    """

    def __init__(self, path=None, timeout_s=5.0):
        path = path or os.environ.get("ROBUSTRUN_SOCKET")
        if not path:
            raise OSError("cannot reach the agent: not under robustrun (no ROBUSTRUN_SOCKET)")
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
        """Sends a message of type `type` with `fields` and returns the reply, a dict."""
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
        """The pending StopRequest, or None if no stop was requested."""
        reply = self.request("stop_reason")
        if reply["reason"] == "none":
            return None
        return StopRequest(reply["reason"], reply["deadline_ns"])

    def memory(self, wanted):
        """Returns a memfd that the agent keeps beyond the end of this process.

        `wanted`: its minimum size in bytes; 0 asks for the one that this rank was given before. The
        caller owns the descriptor. Returns -1 if the agent has none for this rank. Raises Refused
        if the node has too little memory.
        """
        reply = self.request("memory", bytes=wanted)
        if not reply["bytes"] or not self._passed:
            return -1
        return self._passed.pop()

    def await_saves(self):
        """Waits, at most 50 s, until no copy of an earlier attempt is being saved any more."""
        self.request("await_saves")

    def own_store(self):
        """Closes the agent's store: from now on rank 0's worker serves one instead."""
        self.request("own_store")

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
        """Reads one byte and collects the file descriptors sent with it."""
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
