"""Floods of connections at every port and socket of a run on two nodes. The run goes on meanwhile,
an agent that dies is back soon, and the run ends when it is asked to."""

import contextlib
import dataclasses
import errno
import pathlib
import resource
import signal
import socket
import time

from helpers.jobs import kill_at_once, lockstep, start_job
from helpers.processes import open_files_of, read_environ
from hostile.place import Place, dice

TCP_CONNECTIONS = 3000
UNIX_CONNECTIONS = 500
SOON_S = 30   # for new steps, and for an agent that was killed to be back
TARGETS = ("supervisor", "metrics", "store", "agent", "bulk", "control", "worker socket")
KINDS = ("silent", "garbage", "half a handshake", "oversized", "closed")
CASES = [(target, kind) for kind in KINDS for target in TARGETS]
COUNT = len(CASES)
# The beginning of a TLS record of 512 bytes with a ClientHello that never ends.
HALF = b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03"
OVERSIZED = b"\xff\xff\xff\x7f" + b"x" * (16 << 10)  # the beginning of a frame of 2 GiB


def inodes_of(pid):
    return {file[len("socket:["):-1] for file in open_files_of(pid) if file.startswith("socket:[")}


def listening_tcp(pid):
    inodes, ports = inodes_of(pid), set()
    for name in ("tcp", "tcp6"):
        for line in pathlib.Path(f"/proc/{pid}/net/{name}").read_text().splitlines()[1:]:
            words = line.split()
            if words[3] == "0A" and words[9] in inodes:
                ports.add(int(words[1].rpartition(":")[2], 16))
    return ports


def variable(pid, name):
    for entry in read_environ(pid).split(b"\0"):
        if entry.startswith(name.encode() + b"="):
            return entry.split(b"=", 1)[1].decode()
    return ""


def targets_of(place, job):
    """The endpoints of the run by name: TCP ports and paths of sockets."""
    agents, workers = list(job.agents().values()), job.workers_of()
    store = int(variable(workers[0], "MASTER_PORT") or 0)
    bulk = {int(record.text(5).rpartition(":")[2] or 0) for record in job.records(2)}
    of_agents = set().union(*map(listening_tcp, agents))
    own = listening_tcp(job.pid)
    metrics = {int(line.rsplit(":", 1)[1].split("/")[0]) for line in job.err().splitlines()
               if "metrics at http" in line}
    control = {(job.run / "control").read_text().splitlines()[0]}
    of_workers = {variable(pid, "ROBUSTRUN_SOCKET") for pid in workers} - {""}
    found = {"supervisor": own - metrics, "metrics": own & metrics, "store": {store} & of_agents,
             "agent": of_agents - bulk - {store}, "bulk": of_agents & bulk, "control": control,
             "worker socket": of_workers}
    return {name: sorted(places) for name, places in found.items()}


class Flood:
    """Connections that stay open until close(). TCP ones come from many addresses of loopback, or
    from that of the agents."""

    def __init__(self, kind, draw, spread=True):
        self.kind, self.draw, self.spread, self.held = kind, draw, spread, []

    def add(self, place):
        count = TCP_CONNECTIONS if isinstance(place, int) else UNIX_CONNECTIONS
        return sum(self.connect(place) for _ in range(count))

    def connect(self, place):
        """Whether it was accepted, or waits to be."""
        one = socket.socket(socket.AF_INET if isinstance(place, int) else socket.AF_UNIX)
        one.setblocking(False)
        try:
            if isinstance(place, int):
                if self.spread:
                    self.bind(one)
                code = one.connect_ex(("127.0.0.1", place))
            else:
                code = one.connect_ex(place)
        except OSError as error:
            code = error.errno
        if code not in (0, errno.EINPROGRESS):
            one.close()
            return False
        self.speak(one)
        return True

    def bind(self, one):
        host = ".".join(str(self.draw.randrange(1, 255)) for _ in range(3))
        with contextlib.suppress(OSError):
            one.bind((f"127.{host}", 0))

    def speak(self, one):
        said = {"silent": b"", "closed": b"", "half a handshake": HALF,
                "garbage": self.draw.randbytes(200),
                "oversized": OVERSIZED}[self.kind]
        with contextlib.suppress(OSError):
            one.send(said)
        if self.kind == "closed":
            one.close()
        else:
            self.held.append(one)

    def close(self):
        for one in self.held:
            one.close()


class Player:
    def __enter__(self):
        self.limit = resource.getrlimit(resource.RLIMIT_NOFILE)
        resource.setrlimit(resource.RLIMIT_NOFILE, (self.limit[1], self.limit[1]))
        return self

    def __exit__(self, *_):
        resource.setrlimit(resource.RLIMIT_NOFILE, self.limit)

    def play(self, seed):
        target, kind = CASES[(seed - 1) % len(CASES)]
        draw = dice("floods", seed)
        with Place() as place:
            # With the limit that this process had, as from a shell.
            usual = ["prlimit", "--nofile={}:{}".format(*self.limit)]
            job = start_job(place.runner, "--launcher=processes", "--nnodes=2",
                            "--nproc-per-node=1", "--standby=off", "--metrics-port=0",
                            "--shutdown-timeout=5s", *lockstep(place.runner), prefix=usual)
            job.moves(world=2)
            found = targets_of(place, job)[target]
            flood, began = Flood(kind, draw), time.monotonic()
            try:
                count = sum(map(flood.add, found))
                wrong = self.goes_on(job, target) if found else "the run has no such socket"
                asked = time.monotonic()
                job.process.send_signal(signal.SIGTERM)
                ended = await_end(place, job, asked)
            finally:
                flood.close()
            text = f"{count} connections, {kind}, at {len(found)} of {target}"
            # Lost workers of the lockstep script end with a traceback.
            ended = dataclasses.replace(ended, seconds=ended.seconds + asked - began)
            return place.line(text, ended, wanted=wrong, may_trace=True)

    def goes_on(self, job, target):
        """What is wrong with the run during the flood; empty: nothing."""
        try:
            job.moves(SOON_S, world=2)
            if target == "supervisor":
                kill_at_once([job.agents()[job.group()[1]]])
                job.wait(lambda: job.attempt() == 1, "the agent that was killed", SOON_S)
                job.moves(SOON_S, world=2)
        except AssertionError as error:
            return f"during the flood: {str(error)[:300]}"
        return "" if target == "supervisor" or job.attempt() == 0 else "the run was restarted"


def await_end(place, job, began):
    """As Place.await_end, for a job with files of its own."""
    for name, path in (("out", job.out_path), ("err", job.err_path)):
        (place.folder / name).unlink(missing_ok=True)
        (place.folder / name).symlink_to(path)
    ended = place.await_end(job, began)
    for name in ("out", "err"):
        (place.folder / name).unlink()
    return ended

