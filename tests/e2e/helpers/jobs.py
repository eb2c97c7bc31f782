"""Jobs on several nodes: their journal, their processes by node, and ways to end them.

`Job` is a running robustrun whose output goes to files, so that a test can read it at any time. The
agent's process of each node comes from the journal (docs/formats/journal.md).
"""

import contextlib
import dataclasses
import os
import pathlib
import random
import signal
import struct
import subprocess

import pytest
from helpers.processes import (
    children_of,
    is_alive,
    is_standby,
    open_files_of,
    program_of,
    read_environ,
    wait_for,
)
from helpers.runner import Running

HEADER = 64
AGENT_JOINED, AGENT_LOST, WORKER_STARTED, DECISION, FINISH, GROUP_FORMED = 2, 3, 5, 64, 65, 66

# Heartbeats faster than the default: silent nodes are lost after two seconds.
QUICK = (
    "--heartbeat-interval=0.2", "--node-suspect-after=0.6", "--node-lost-after=2",
    "--orphan-grace=3",
)

# Ranks in lockstep, as with collectives: no rank does step n + 1 before all have done step n. A
# rank that loses a peer fails, as with gloo. Rank 0 keeps the current step in the file "step", and
# every attempt goes on from there; "steps" has a line for each step.
LOCKSTEP = r"""
import os, socket, sys, time
import robustrun
steps, pace = int(sys.argv[1]), float(sys.argv[2])
rank, world = int(os.environ["RANK"]), int(os.environ["WORLD_SIZE"])
attempt = int(os.environ["TORCHELASTIC_RESTART_COUNT"])
address = os.environ["MASTER_ADDR"]
family = socket.AF_INET6 if ":" in address else socket.AF_INET
port = "port.%s.%s" % (os.environ["MASTER_PORT"], os.environ["ROBUSTRUN_ATTEMPT"])  # a file

def take(sock, size):
    data = b""
    while len(data) < size:
        piece = sock.recv(size - len(data))
        if not piece:
            raise ConnectionError("a peer is gone")
        data += piece
    return data

def dial():
    end = time.monotonic() + 30
    while True:
        try:
            return socket.create_connection((address, int(open(port).read())))
        except (OSError, ValueError):
            if time.monotonic() > end:
                raise
            time.sleep(0.02)

if rank == 0:
    server = socket.create_server(("", 0), family=family, backlog=64)
    with open(port + ".new", "w") as file:
        file.write(str(server.getsockname()[1]))
    os.replace(port + ".new", port)
    first = int(open("step").read()) if os.path.exists("step") else 0
    peers = [server.accept()[0] for _ in range(world - 1)]
    for peer in peers:
        peer.sendall(first.to_bytes(8, "big"))
else:
    root = dial()
    first = int.from_bytes(take(root, 8), "big")
print(f"rank {rank} of {world} attempt {attempt} from {first}", flush=True)
for step in range(first + 1, steps + 1):
    time.sleep(pace)
    if rank == 0:
        for peer in peers:
            take(peer, 1)
        with open("step.new", "w") as file:
            file.write(str(step))
        os.replace("step.new", "step")
        with open("steps", "a") as file:
            file.write(f"{attempt} {step} {world}\n")
        for peer in peers:
            peer.sendall(b"x")
    else:
        root.sendall(b"x")
        take(root, 1)
    robustrun.step(step)
print(f"rank {rank} done", flush=True)
"""


def lockstep(runner, steps=10**9, pace=0.02):
    """The worker program and its arguments; without `steps` it runs until it is stopped."""
    runner.write("lockstep.py", LOCKSTEP)
    return ["lockstep.py", str(steps), str(pace)]


def varint(data, at):
    value = shift = 0
    while True:
        byte = data[at]
        at += 1
        value |= (byte & 0x7F) << shift
        shift += 7
        if byte < 0x80:
            return value, at


def fields(data):
    """A protobuf message as {number: [values]}; messages and strings stay bytes."""
    found = {}
    at = 0
    while at < len(data):
        tag, at = varint(data, at)
        kind = tag & 7
        if kind == 0:
            value, at = varint(data, at)
        elif kind == 1:
            value, at = data[at : at + 8], at + 8
        elif kind == 2:
            size, at = varint(data, at)
            value, at = data[at : at + size], at + size
        else:
            value, at = data[at : at + 4], at + 4
        found.setdefault(tag >> 3, []).append(value)
    return found


@dataclasses.dataclass
class Record:
    kind: int
    node: int
    generation: int
    body: dict

    def number(self, field):
        return self.body.get(field, [0])[0]

    def text(self, field):
        return self.body.get(field, [b""])[0].decode(errors="replace")


def read_journal(path):
    """Every whole record of a journal that may still be written."""
    try:
        data = pathlib.Path(path).read_bytes()
    except OSError:
        return []
    records = []
    at = HEADER
    while at + 16 <= len(data):
        size, kind, _ = struct.unpack_from("<IIQ", data, at)
        if at + 16 + size + 8 > len(data):
            break
        message = fields(data[at + 16 : at + 16 + size])
        node = message.get(2, [0])[0]
        generation = message.get(3, [0])[0]
        # A generation may be a message of its own or a plain number.
        records.append(Record(kind, node, generation, fields(message.get(4, [b""])[0])))
        at += 16 + size + 8
    return records


def descendants(pid):
    return [each for child in children_of(pid) for each in (child, *descendants(child))]


def kill_at_once(pids, how=signal.SIGKILL):
    """Kills processes at once: all are stopped first, so that none reacts to another's death."""
    for signum in (signal.SIGSTOP, how):
        for pid in pids:
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signum)


def listening_ports(pid):
    """TCP ports on which this process listens, in its own network namespace."""
    inodes = {file.removeprefix("socket:[").removesuffix("]") for file in open_files_of(pid)}
    ports = set()
    for name in ("tcp", "tcp6"):
        for line in pathlib.Path(f"/proc/{pid}/net/{name}").read_text().splitlines()[1:]:
            words = line.split()
            if words[3] == "0A" and words[9] in inodes:
                ports.add(int(words[1].rpartition(":")[2], 16))
    return sorted(ports)


class Job(Running):
    """A running robustrun over several nodes."""

    def __init__(self, runner, process, run, out, err):
        super().__init__(runner, process)
        self.run, self.out_path, self.err_path = run, out, err

    def out(self):
        return self.out_path.read_text(errors="replace")

    def err(self):
        return self.err_path.read_text(errors="replace")

    def records(self, *kinds):
        return [r for r in read_journal(self.run / "journal") if r.kind in kinds]

    def decisions(self):
        return [record.text(3) for record in self.records(DECISION)]

    def agents(self):
        """Node to the pid of its agent, for the connected ones."""
        there = {}
        for record in self.records(AGENT_JOINED, AGENT_LOST):
            if record.kind == AGENT_JOINED:
                there[record.node] = record.number(1)
            else:
                there.pop(record.node, None)
        return there

    def joins(self):
        return len(self.records(AGENT_JOINED))

    def losses(self):
        return [(record.node, record.text(1)) for record in self.records(AGENT_LOST)]

    def group(self):
        """Node numbers in rank order."""
        formed = self.records(GROUP_FORMED)
        return [member(m)[0] for m in formed[-1].body.get(2, [])] if formed else []

    def group_names(self):
        formed = self.records(GROUP_FORMED)
        return [member(m)[1] for m in formed[-1].body.get(2, [])] if formed else []

    def groups_formed(self):
        return len(self.records(GROUP_FORMED))

    def spares(self):
        return [node for node in self.agents() if node not in self.group()]

    def node_processes(self, node):
        """The agent's pid and everything below it."""
        agent = self.agents()[node]
        return [agent, *descendants(agent)]

    def node_workers(self, node):
        """Processes below the shims of this node: workers and their children."""
        # Helpers of a check (versions, GPUs) have no rank.
        return [
            p for p in self.node_processes(node)[1:]
            if b"robustrun-shim" not in program_of(p) and b"RANK=" in read_environ(p)
            and not is_standby(p)
        ]

    def workers_of(self, *nodes):
        return [pid for node in nodes or self.group() for pid in self.node_workers(node)]

    def attempt(self):
        started = self.records(WORKER_STARTED)
        return max((record.number(1) for record in started), default=-1)

    def started(self, count, attempt=None):
        """Waits until `count` workers of an attempt (default: any newest) run; returns the
        attempt's number."""

        def seen():
            now = self.attempt() if attempt is None else attempt
            ranks = {
                r.number(2) for r in self.records(WORKER_STARTED) if r.number(1) == now
            }
            return len(ranks) == count and (now + 1)

        return self.wait(seen, f"{count} started workers") - 1

    def lines(self):
        """The lockstep job's steps so far: (attempt, step, world size)."""
        path = self.runner.folder / "steps"
        text = path.read_text() if path.exists() else ""
        whole = text[: text.rfind("\n") + 1].splitlines()
        return [tuple(map(int, line.split())) for line in whole if line.count(" ") == 2]

    def moves(self, deadline_s=90, more=3, world=None):
        """Waits until the job has done `more` steps (in a group of `world` ranks)."""
        before = len(self.lines())

        def moved():
            fresh = self.lines()[before:]
            return len([f for f in fresh if world is None or f[2] == world]) >= more

        self.wait(moved, f"{more} more steps", deadline_s)

    def says(self, text, deadline_s=60):
        """Waits for words in robustrun's own output."""
        self.wait(lambda: text in self.err(), f"the words {text!r}", deadline_s)

    def wait(self, condition, what, deadline_s=60):
        """As wait_for, but fails at once when the run has ended, and shows its output."""

        def checked():
            value = condition()
            if not value and self.process.poll() is not None:
                value = condition()
                if not value:
                    raise AssertionError(
                        f"robustrun ended with {self.process.returncode} before {what}:\n"
                        f"{self.err()[-4000:]}"
                    )
            return value

        try:
            return wait_for(checked, deadline_s, what)
        except AssertionError as error:
            raise AssertionError(f"{error}\n{self.err()[-4000:]}") from None

    def finish(self, timeout=180):
        code = self.end(timeout)
        return Ended(code, self.out(), self.err())

    def end(self, timeout=180):
        try:
            return self.process.wait(timeout)
        except subprocess.TimeoutExpired as error:
            shown = self.runner.run("status", str(self.run), timeout=20)
            raise AssertionError(
                f"{error}\n{self.err()[-4000:]}\nits status, now:\n{shown.text}{shown.errors}\n"
                f"the last lines of its workers:\n{self.out()[-1000:]}"
            ) from None

    def stop(self, timeout=180):
        if self.process.poll() is None:
            self.process.terminate()
        return self.finish(timeout)


@dataclasses.dataclass
class Ended:
    code: int
    text: str
    errors: str


def member(data):
    message = fields(data)
    return message.get(1, [0])[0], message.get(2, [b""])[0].decode()


def start_job(runner, *arguments, run=None, cwd=None, prefix=(), **options):
    """Starts robustrun with its output in files. `run`: name of the run directory; `prefix`: a
    program that becomes robustrun (nsenter)."""
    count = len(list(runner.folder.glob("*.err")))
    name = run or f"run{count}"
    plain = name.replace("/", "-")
    out, err = runner.folder / f"{plain}.out", runner.folder / f"{plain}.err"
    directory = runner.folder / name
    words = [*prefix, runner.binary, "--run-dir", directory, *arguments]
    program, *rest = map(str, words)
    with open(out, "wb") as out_file, open(err, "wb") as err_file:
        running = runner.start(
            *rest, argv0=program, stdout=out_file, stderr=err_file, cwd=cwd or runner.folder,
            **options,
        )
    return Job(runner, running.process, directory, out, err)


def strike_processes(job, victim):
    """Pids of a worker, an agent, a node, or all agents of the group, for a test to kill."""
    first = job.group()[0]
    return {
        "worker": lambda: job.node_workers(first),
        "agent": lambda: [job.agents()[first]],
        "node": lambda: job.node_processes(first),
        "all agents": lambda: [job.agents()[node] for node in job.group()],
    }[victim]()


def wait_until_gone(pids, within_s, what="the processes"):
    wait_for(lambda: not any(map(is_alive, pids)), within_s, f"the end of {what}")


def rounds(of_ci):
    """Seeds of a campaign: a few in ci, ROBUSTRUN_TEST_ROUNDS of them at night. A failed test's
    name shows its seed; ROBUSTRUN_TEST_SEED=n begins there."""
    first = int(os.environ.get("ROBUSTRUN_TEST_SEED", "1"))
    count = int(os.environ.get("ROBUSTRUN_TEST_ROUNDS", of_ci))
    seeds = range(first, first + count)
    return pytest.mark.parametrize("seed", seeds, ids=[f"seed{seed}" for seed in seeds])


def dice(seed, name):
    """Two campaigns of one seed draw different numbers."""
    return random.Random(f"{name} {seed}")
