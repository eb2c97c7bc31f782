"""The agent takes orders of one attempt at a time, from any supervisor: here one built from
docs/formats/wire.md and protoc."""

import re
import shutil
import socket
import struct
import subprocess

import pytest
from helpers.processes import wait_for
from helpers.runner import BINARY, MARKER, ROOT

KINDS = {"Welcome": 1, "ReservePort": 2, "StartWorkers": 4, "StopWorkers": 7, "Dismiss": 15}
REPORTS = {3: "PortReserved", 5: "WorkerStarted", 11: "WorkersGone", 16: "Bye"}
WORKER = "slots { rank: 0 local_rank: 0 out: DISCARD err: DISCARD } group_world_size: 1 " \
         "world_size: 1 master_addr: '127.0.0.1' master_port: 29400"

pytestmark = pytest.mark.skipif(not shutil.which("protoc"), reason="there is no protoc")


def protoc(way, message, data):
    return subprocess.run(
        ["protoc", f"--proto_path={ROOT / 'docs/formats'}", f"--{way}=robustrun.{message}",
         "robustrun.proto"], input=data, stdout=subprocess.PIPE, check=True).stdout


class Supervisor:
    """A supervisor of one agent, over a socket pair."""

    def __init__(self, runner):
        self.line, theirs = socket.socketpair()
        self.line.settimeout(20)
        self.process = subprocess.Popen(
            ["bash", "-c", f'exec "$0" agent 3<&{theirs.fileno()}', BINARY],
            pass_fds=[theirs.fileno()], env=runner.environment)
        theirs.close()
        self.data = b""
        self.say("Welcome", "protocol: 1 generation: 1 heartbeat_interval: 1000000000 "
                 "workers { mode: EXECUTABLE program: '/bin/sleep' arguments: '1000' "
                 f"environment: '{MARKER}={runner.marker}' environment: 'PATH=/usr/bin:/bin' "
                 f"run_id: 'orders' working_directory: '{runner.folder}' }}")

    def say(self, message, text):
        payload = protoc("encode", message, text.encode())
        self.line.sendall(struct.pack("<IBBH", len(payload), KINDS[message], 0, 0) + payload)

    def start(self, attempt, ordered_by):
        self.say("StartWorkers", f"attempt: {attempt} ordered_by: {ordered_by} {WORKER}")

    def stop(self, attempt):
        self.say("StopWorkers", f"attempt: {attempt} signal: 15 grace: 5000000000")

    def heard(self):
        """The next relevant report, with its numbers."""
        while True:
            kind, payload = self._frame()
            if kind in REPORTS:
                text = protoc("decode", REPORTS[kind], payload).decode()
                return REPORTS[kind], {name: int(value) for name, value in
                                       re.findall(r"^(attempt|ordered_by): (\d+)", text, re.M)}

    def nothing(self, mark):
        """Asserts that earlier orders were not answered."""
        self.say("ReservePort", f"attempt: {mark}")
        assert self.heard() == ("PortReserved", {"attempt": mark})

    def _frame(self):
        while len(self.data) < 8 or len(self.data) < 8 + struct.unpack_from("<I", self.data)[0]:
            more = self.line.recv(65536)
            assert more, "the agent hung up"
            self.data += more
        size, kind = struct.unpack_from("<IB", self.data)
        payload, self.data = self.data[8:8 + size], self.data[8 + size:]
        return kind, payload

    def dismiss(self):
        self.say("Dismiss", "")
        while self.heard()[0] != "Bye":
            pass
        self.line.close()
        assert wait_for(lambda: self.process.poll() is not None, what="the agent's end")


@pytest.fixture
def supervisor(robustrun):
    made = Supervisor(robustrun)
    yield made
    made.process.kill()
    made.process.wait()
    robustrun.expect_nothing_left()


def test_orders_of_another_supervisor_wait_for_the_end_of_living_workers(supervisor):
    supervisor.start(attempt=3, ordered_by=1)
    assert supervisor.heard() == ("WorkerStarted", {"attempt": 3, "ordered_by": 1})
    # While these live, the agent must not report for any attempt that nothing lives.
    for attempt in (2, 5):
        supervisor.stop(attempt)
    supervisor.start(attempt=2, ordered_by=2)
    supervisor.nothing(mark=90)
    supervisor.stop(3)
    assert supervisor.heard() == ("WorkersGone", {"attempt": 3})
    supervisor.stop(5)
    assert supervisor.heard() == ("WorkersGone", {"attempt": 5})
    # Attempts of the later supervisor follow, with any number; those of the earlier one do not.
    supervisor.start(attempt=2, ordered_by=2)
    assert supervisor.heard() == ("WorkerStarted", {"attempt": 2, "ordered_by": 2})
    supervisor.stop(2)
    assert supervisor.heard() == ("WorkersGone", {"attempt": 2})
    supervisor.start(attempt=9, ordered_by=1)
    supervisor.nothing(mark=91)
    supervisor.dismiss()


def test_orders_of_an_older_supervisor_carry_no_incarnation(supervisor):
    supervisor.start(attempt=0, ordered_by=0)
    assert supervisor.heard() == ("WorkerStarted", {})  # zeros are omitted
    supervisor.stop(0)
    assert supervisor.heard() == ("WorkersGone", {})
    supervisor.start(attempt=1, ordered_by=2)
    assert supervisor.heard() == ("WorkerStarted", {"attempt": 1, "ordered_by": 2})
    supervisor.stop(1)
    assert supervisor.heard() == ("WorkersGone", {"attempt": 1})
    supervisor.start(attempt=2, ordered_by=0)
    assert supervisor.heard() == ("WorkerStarted", {"attempt": 2})
    supervisor.dismiss()
