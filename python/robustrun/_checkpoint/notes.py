"""Tells the agent what was saved, committed and loaded: for the report, and for a restart's choice.

    note("saved", attempt="step-000000001000/g7-3f9c", directories=["/data"], bytes=4096,
         blocking_ns=98_000_000, total_ns=2_000_000_000)

Fields: docs/formats/worker-socket.md; `attempt`, the folder's name, stands for step, generation and
token. Never fails, from any thread; nothing happens outside
robustrun. A note costs about 20 microseconds; of a commit and a load the agent's answer is waited
for, because the process may end right behind it.
"""

import json
import os
import socket
import threading

EVENTS = ("saved", "committed", "loaded")
_ANSWER_MAX_S = 0.25
_BACKLOG_BYTES = 1 << 20  # answers that nobody has read

_lock = threading.Lock()
_socket = None  # False: there is no agent
_owner = 0  # the process that has opened it; a forked child is not the worker


def note(event, **fields):
    """`event`: saved (this rank's part is on disk), committed (by whoever did it), loaded."""
    try:
        with _lock:
            connection = _connection()
            if connection:
                if "attempt" in fields:
                    fields.update(_named(fields.pop("attempt")))
                fields["type"] = "checkpoint"
                fields["event"] = event
                _say(connection, fields, event != "saved")
    except Exception:  # a checkpoint is worth more than what is known of it
        _forget()


def _named(attempt):
    step, name = attempt.rsplit("/", 1)
    generation, token = name[1:].split("-", 1)
    return {"step": int(step.rsplit("-", 1)[1]), "generation": int(generation), "token": token}


def _connection():
    global _socket, _owner
    if _socket is None:
        path = os.environ.get("ROBUSTRUN_SOCKET")
        _socket = False
        if path:
            connection = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
            connection.settimeout(_ANSWER_MAX_S)
            connection.connect(path)
            _socket, _owner = connection, os.getpid()
    return _socket if _socket and _owner == os.getpid() else None


def _say(connection, fields, waits):
    body = json.dumps(fields).encode()
    connection.setblocking(False)
    try:
        connection.recv(_BACKLOG_BYTES)  # what was answered before
    except BlockingIOError:
        pass
    connection.settimeout(_ANSWER_MAX_S)
    connection.sendall(len(body).to_bytes(4, "little") + body)
    if waits:
        connection.recv(_BACKLOG_BYTES)


def _forget():
    global _socket
    if _socket:
        _socket.close()
    _socket = False
