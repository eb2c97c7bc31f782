"""Foreign connections to the control port. The job goes on, agents can reconnect, and refusals are
counted and reported."""

import base64
import contextlib
import os
import random
import signal
import socket
import ssl
import struct
import subprocess
import time

import pytest
from helpers.jobs import kill_at_once, listening_ports, lockstep, rounds
from helpers.runner import BINARY


@pytest.fixture
def job(nodes):
    running = nodes("--nnodes=2", "--spares=1", *lockstep(nodes.runner))
    running.moves(world=2)
    yield running
    if running.process.poll() is None:
        assert running.stop().code == 128 + signal.SIGTERM
        nodes.runner.expect_nothing_left()


@pytest.fixture
def port(job):
    (found,) = listening_ports(job.pid)
    return found


def expect_unharmed(job):
    """Asserts that the job goes on and that an agent can reconnect."""
    job.moves(world=2)
    assert (job.attempt(), job.losses()) == (0, [])
    kill_at_once([job.agents()[job.group()[1]]])
    job.wait(lambda: job.attempt() == 1, "the next attempt")
    job.moves(world=2)


def is_closed(connection, within_s=60):
    connection.settimeout(within_s)
    try:
        while connection.recv(4096):
            pass
    except (ConnectionError, ssl.SSLError):
        pass
    return True


def stranger(port):
    """TLS 1.3 by a client that does not belong to the job."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname = False
    context.verify_mode = ssl.CERT_NONE
    context.minimum_version = ssl.TLSVersion.TLSv1_3
    return context.wrap_socket(socket.create_connection(("127.0.0.1", port), 60))


def frame(kind, payload, size=None, flags=0):
    return struct.pack("<IBBH", len(payload) if size is None else size, kind, flags, 0) + payload


@rounds(3)
def test_garbage_closes_that_connection_and_nothing_else(job, port, seed):
    draw = random.Random(seed)
    pieces = [
        draw.randbytes(draw.randrange(1, 4096)),
        b"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n",
        b"SSH-2.0-OpenSSH_9.2\r\n",
        b"\x16\x03\x01\xff\xff" + draw.randbytes(2000),  # almost a TLS record
        b"\x00" * 100_000,
        frame(1, b"", size=2**32 - 1),
    ]
    for piece in pieces:
        with socket.create_connection(("127.0.0.1", port), 60) as connection:
            with contextlib.suppress(OSError):  # closed before everything was sent
                connection.sendall(piece)
                connection.shutdown(socket.SHUT_WR)
            assert is_closed(connection)
    expect_unharmed(job)


@pytest.mark.parametrize(
    "said",
    [
        frame(1, b"", size=2**32 - 1),
        frame(1, b"x" * 70_000),
        frame(255, b"x"),
        frame(1, b"\xff" * 64),
        b"".join(frame(1, b"x" * 1000, flags=1) for _ in range(1000)),
        b"",
    ],
    ids=["oversized", "large", "unknown kind", "no message", "endless", "nothing"],
)
def test_a_stranger_with_tls_is_refused(job, port, said):
    try:
        connection = stranger(port)
    except (ssl.SSLError, ConnectionError):
        connection = None  # refused in the handshake: just as good
    if connection:
        with connection, contextlib.suppress(ssl.SSLError, ConnectionError):
            connection.sendall(said)
            if not said:
                connection.unwrap()
            assert is_closed(connection)
    job.moves(world=2)
    assert (job.attempt(), job.losses()) == (0, [])


def test_old_tls_is_refused(job, port):
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname = False
    context.verify_mode = ssl.CERT_NONE
    context.maximum_version = ssl.TLSVersion.TLSv1_2
    with socket.create_connection(("127.0.0.1", port), 60) as plain:
        with pytest.raises((ssl.SSLError, ConnectionError)):
            context.wrap_socket(plain)
    job.moves(world=2)


def test_hundreds_of_silent_connections_do_not_keep_agents_out_for_long(job, port):
    """More connections than may shake hands at once are closed in time for an agent to connect."""
    silent = []
    try:
        for _ in range(300):
            connection = socket.create_connection(("127.0.0.1", port), 60)
            silent.append(connection)
        expect_unharmed(job)
        for connection in silent[:250]:
            assert is_closed(connection)
    finally:
        for connection in silent:
            connection.close()


def test_running_out_of_descriptors_ends_nothing(nodes):
    """A supervisor with few descriptors, and a client that takes them all for a while."""
    import resource

    job = nodes(
        "--nnodes=2", "--spares=1", *lockstep(nodes.runner),
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_NOFILE, (64, 64)),
    )
    job.moves(world=2)
    (port,) = listening_ports(job.pid)
    silent = []
    for _ in range(150):
        silent.append(socket.create_connection(("127.0.0.1", port), 60))
    for _ in range(5):
        job.moves(world=2)
    assert (job.attempt(), job.losses()) == (0, [])
    assert len(os.listdir(f"/proc/{job.pid}/fd")) <= 64
    for connection in silent:
        connection.close()
    expect_unharmed(job)
    # Accepting without descriptors must not turn into a busy loop.
    ticks = sum(map(int, open(f"/proc/{job.pid}/stat").read().rpartition(")")[2].split()[11:13]))
    assert ticks / os.sysconf("SC_CLK_TCK") < 5
    job.stop()
    nodes.runner.expect_nothing_left()


def protobuf(number, value):
    """One field; integers and bytes."""
    def varint(n):
        out = b""
        while True:
            out += bytes([n & 0x7F | (0x80 if n > 0x7F else 0)])
            n >>= 7
            if not n:
                return out

    if isinstance(value, int):
        return varint(number << 3) + varint(value)
    return varint(number << 3 | 2) + varint(len(value)) + value


def credential(run_id, port, token=b"t" * 32, node=0, generation=1, fingerprint=b""):
    """A credential (wire/tls/credential.h) of an agent of another job."""
    body = protobuf(1, 1) + protobuf(2, run_id) + protobuf(3, node) + protobuf(4, generation)
    body += protobuf(5, token) + protobuf(6, fingerprint)
    body += protobuf(7, f"127.0.0.1:{port}".encode())
    return b"robustrun-credential-1 " + base64.b64encode(body) + b"\n"


@pytest.mark.parametrize(
    "what", [{}, {"node": 2}, {"node": 77}, {"generation": 99}, {"fingerprint": b"f" * 32}]
)
def test_an_agent_of_another_job_is_refused(nodes, job, port, what):
    for run_id in (job.run.name.encode(), b"another"):
        agent = subprocess.run(
            [BINARY, "agent", "--stdin-credential"], input=credential(run_id, port, **what),
            capture_output=True, timeout=60, env=nodes.runner.environment,
        )
        assert agent.returncode == 1
        assert agent.stderr.startswith(b"robustrun agent: ") and agent.stderr.count(b"\n") <= 2
    expect_unharmed(job)


def test_two_jobs_side_by_side_do_not_meet(nodes, job):
    runner = nodes.runner
    (runner.folder / "other").mkdir()
    (runner.folder / "other" / "t.py").write_text("import os; print(os.environ['RANK'])\n")
    second = nodes("--nnodes=2", "t.py", run="second", cwd=runner.folder / "other")
    assert sorted(second.finish().text.split()) == ["0", "1"]
    job.moves(world=2)
    assert (job.attempt(), job.losses()) == (0, [])


def test_a_used_credential_is_refused(nodes):
    """A copy of an agent's standard input does not admit another agent."""
    runner = nodes.runner
    # Replaces the agents' program: runs it, and keeps a copy of the line that it reads.
    job = nodes("--nnodes=2", *lockstep(runner))
    job.moves(world=2)
    agent = job.agents()[job.group()[1]]
    (port,) = listening_ports(job.pid)
    assert os.readlink(f"/proc/{agent}/exe") == str(BINARY.resolve())
    # A torn or an empty line is an error at once.
    for line in (b"", b"\n", b"robustrun-credential-1 !!!\n", credential(b"x", port)[:40] + b"\n"):
        done = subprocess.run(
            [BINARY, "agent", "--stdin-credential"], input=line, capture_output=True, timeout=60,
            env=runner.environment,
        )
        assert done.returncode == 1 and b"credential" in done.stderr
    job.moves(world=2)
    job.stop()


def test_refusals_are_reported_without_flooding(job, port):
    for _ in range(60):
        with contextlib.suppress(ssl.SSLError, ConnectionError), stranger(port) as connection:
            connection.sendall(frame(1, b"\xff" * 8))
            is_closed(connection)
    job.moves(world=2)
    lines = [line for line in job.err().splitlines() if "127.0.0.1" in line]
    assert 0 < len(lines) <= 20, "\n".join(lines)


def test_the_port_is_closed_after_the_run(nodes):
    job = nodes("--nnodes=2", *lockstep(nodes.runner, 10))
    job.moves(world=2)
    (port,) = listening_ports(job.pid)
    assert job.finish().code == 0
    end = time.monotonic() + 20
    while time.monotonic() < end:
        try:
            socket.create_connection(("127.0.0.1", port), 1).close()
        except ConnectionRefusedError:
            return
    raise AssertionError("the port still accepts connections")
