"""A fake agent at the other end of a worker's socket."""

import json
import socket
import threading


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
