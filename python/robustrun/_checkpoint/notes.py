"""Reports saves, commits and loads to the agent, for the report and for the choice at a restart.

    note("saved", attempt="step-000000001000/g7-3f9c", directories=["/data"], bytes=4096,
         blocking_ns=98_000_000, total_ns=2_000_000_000)

The fields are in docs/formats/worker-socket.md; `attempt`, the folder's name, stands for step,
generation and token. May be called from any thread and never raises; outside robustrun it does
nothing. A note costs about 20 microseconds. For commits and loads it waits for the agent's answer,
because the process may end right after them.
"""

import json
import os
import socket
import threading
import time

EVENTS = ("saved", "committed", "loaded")
_ANSWER_MAX_S = 0.25
_RETRY_AFTER_S = 10.0  # an agent that did not answer delays saves again only after this
_BACKLOG_BYTES = 1 << 20  # unread answers

_lock = threading.Lock()
_socket = None  # None: to be opened from _retry_at on; False: there is no agent
_retry_at = 0.0
_owner = 0  # pid of the process that opened it; a forked child is not the worker


def note(event, **fields):
    """`event`: "saved" (this rank's part is on disk), "committed" (by this rank) or "loaded"."""
    try:
        with _lock:
            connection = _connection()
            if connection:
                if "attempt" in fields:
                    fields.update(_named(fields.pop("attempt")))
                fields["type"] = "checkpoint"
                fields["event"] = event
                _say(connection, fields, event != "saved")
    except Exception:  # the checkpoint matters more than the report about it
        _forget()


def _named(attempt):
    step, name = attempt.rsplit("/", 1)
    generation, token = name[1:].split("-", 1)
    return {"step": int(step.rsplit("-", 1)[1]), "generation": int(generation), "token": token}


def _connection():
    global _socket, _retry_at, _owner
    if _socket is None and _owner in (0, os.getpid()) and time.monotonic() >= _retry_at:
        path = os.environ.get("ROBUSTRUN_SOCKET")
        _socket = False
        if path:
            connection = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
            connection.settimeout(_ANSWER_MAX_S)
            try:
                connection.connect(path)
            except (socket.timeout, BlockingIOError):  # its agent is busy
                _socket, _retry_at = None, time.monotonic() + _RETRY_AFTER_S
                raise
            _socket, _owner = connection, os.getpid()
    return _socket if _socket and _owner == os.getpid() else None


def _say(connection, fields, waits):
    body = json.dumps(fields).encode()
    connection.setblocking(False)
    try:
        connection.recv(_BACKLOG_BYTES)  # earlier answers
    except BlockingIOError:
        pass
    connection.settimeout(_ANSWER_MAX_S)
    connection.sendall(len(body).to_bytes(4, "little") + body)
    if waits:
        connection.recv(_BACKLOG_BYTES)


def _forget():
    """Closes the connection: a late answer must not count as that to a later note."""
    global _socket, _retry_at
    if _socket:
        _socket.close()
        _socket, _retry_at = None, time.monotonic() + _RETRY_AFTER_S
