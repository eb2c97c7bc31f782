"""Client of the worker's control socket (docs/formats/worker-socket.md)."""

import json
import os
import socket

from ._api import StopRequest

VERSION = 1
MESSAGE_BYTES_MAX = 64 << 10


class Agent:
    """One connection to this worker's agent. Raises OSError when there is none, or it is gone.

    For what the shared record cannot say; robustrun.stop_requested() needs no connection.
    """

    def __init__(self, path=None, timeout_s=5.0):
        path = path or os.environ.get("ROBUSTRUN_SOCKET")
        if not path:
            raise OSError("cannot reach the agent: no ROBUSTRUN_SOCKET; not under robustrun?")
        self._socket = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
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
        size = int.from_bytes(self._read(4), "little")
        if size > MESSAGE_BYTES_MAX:
            raise OSError("cannot understand the agent: a reply of %d bytes" % size)
        reply = json.loads(self._read(size))
        if reply.get("type") == "error":
            raise OSError("the agent refused %r: %s" % (type, reply.get("message")))
        return reply

    def stop_reason(self):
        """None, or a StopRequest."""
        reply = self.request("stop_reason")
        if reply["reason"] == "none":
            return None
        return StopRequest(reply["reason"], reply["deadline_ns"])

    def ping(self):
        self.request("ping")

    def close(self):
        self._socket.close()

    def __enter__(self):
        return self

    def __exit__(self, *exception):
        self.close()

    def _read(self, size):
        data = b""
        while len(data) < size:
            more = self._socket.recv(size - len(data))
            if not more:
                raise OSError("the agent closed the connection")
            data += more
        return data
