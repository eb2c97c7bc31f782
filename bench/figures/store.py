"""The store through which ranks find each other: the agent's, against torch's own, which torchrun
uses. Processor time of the server for each request, and how long raw clients of torch's protocol
take for the same rounds of set, wait, get and add."""

import resource
import select
import socket
import struct
import time

from harness import (
    PYTHON,
    ROBUSTRUN,
    Figure,
    Quick,
    Scratch,
    in_turns,
    median_ratio,
    start,
    wait_for,
)

from figures.footprint import children, cpu_seconds

CLIENTS = (2, 64, 1024)
REQUESTS = 200_000  # of each reading, about
ROUNDS = 20
DESCRIPTORS = 200  # besides the clients'
QUICK_REQUESTS = 20_000
QUICK = Quick(50, "2 rounds of 20,000 requests by 64 clients", rounds=2)

SERVED = """
import os, time
open("port.new", "w").write(os.environ["MASTER_PORT"])
os.rename("port.new", "port")
time.sleep(600)
"""
TORCHS = """
import datetime, os, time
from torch.distributed import TCPStore
store = TCPStore("127.0.0.1", 0, 1, True, wait_for_workers=False)
open("port.new", "w").write(str(store.port))
os.rename("port.new", "port")
time.sleep(600)
"""


def text(data):
    return struct.pack("<Q", len(data)) + data


class Client:
    """A client of torch's protocol (docs of agent/store/store_request.h), with one round at a time:
    it sets its key, waits for the next client's, gets it and counts."""

    def __init__(self, port, number, clients):
        self.socket = socket.create_connection(("127.0.0.1", port))
        self.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.socket.sendall(b"\x00" + struct.pack("<I", 0x3C85F7CE) + b"\x0d" + b"ping")
        assert self.take(4) == b"ping"
        self.socket.setblocking(False)
        self.number, self.next = number, (number + 1) % clients
        self.wanted = 0

    def take(self, size):
        got = b""
        while len(got) < size:
            got += self.socket.recv(size - len(got))
        return got

    def begin(self, round_number):
        mine = b"/key/%d/%d" % (round_number, self.number)
        other = b"/key/%d/%d" % (round_number, self.next)
        value = b"address of rank %8d" % self.number
        self.socket.send(b"\x01" + text(mine) + text(value)
                         + b"\x06" + struct.pack("<Q", 1) + text(other))
        # Asked once the wait is over, as torch's client does.
        self.then = b"\x03" + text(other) + b"\x04" + text(b"/count") + struct.pack("<q", 1)
        self.wanted = 1

    def on_bytes(self):
        """Whether the round is over."""
        self.wanted -= len(self.socket.recv(4096))
        if self.wanted == 0 and self.then:
            self.socket.send(self.then)
            self.then, self.wanted = b"", 8 + 24 + 8
            return False
        return self.wanted == 0


def rounds_of(clients, rounds):
    poller = select.epoll()
    by_descriptor = {client.socket.fileno(): client for client in clients}
    for descriptor in by_descriptor:
        poller.register(descriptor, select.EPOLLIN)
    for number in range(rounds):
        left = len(clients)
        for client in clients:
            client.begin(number)
        while left:
            for descriptor, _ in poller.poll(60):
                left -= by_descriptor[descriptor].on_bytes()
    poller.close()


def reading(command, clients, requests, of_agent):
    """Microseconds of processor time for each request, and seconds for all of them."""
    with Scratch() as folder:
        (folder / "served.py").write_text(SERVED)
        (folder / "torchs.py").write_text(TORCHS)
        process = start(command, folder)
        wait_for(lambda: (folder / "port").exists(), "the store", 120)
        port = int((folder / "port").read_text())
        server = next(iter(children(process.pid))) if of_agent else process.pid
        rounds = max(1, requests // (4 * clients))
        peers = [Client(port, number, clients) for number in range(clients)]
        time.sleep(1)
        before, began = cpu_seconds(server), time.monotonic()
        rounds_of(peers, rounds)
        wall, used = time.monotonic() - began, cpu_seconds(server) - before
        for peer in peers:
            peer.socket.close()
        process.terminate()
        process.wait(60)
        return used * 1e6 / (4 * clients * rounds), wall


def measure(quick):
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    requests = QUICK_REQUESTS if quick else REQUESTS
    for clients in (64,) if quick else CLIENTS:
        if clients + DESCRIPTORS > hard:
            print(f"  {clients} clients: left out, this machine allows {hard} open files")
            continue
        ours, peer = in_turns(
            QUICK.rounds if quick else ROUNDS,
            lambda count=clients: reading([ROBUSTRUN, "--nproc-per-node=1", "served.py"], count,
                                          requests, True),
            lambda count=clients: reading([PYTHON, "torchs.py"], count, requests, False))
        used, theirs = [one[0] for one in ours], [one[0] for one in peer]
        wall, their_wall = [one[1] for one in ours], [one[1] for one in peer]
        yield Figure(f"processor time for a request, {clients} clients", "µs", used, theirs,
                     "at most 1/2", median_ratio(used, theirs) <= 1 / 2)
        yield Figure(f"the same requests, {clients} clients", "s", wall, their_wall, "at most 1",
                     median_ratio(wall, their_wall) <= 1)
    resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
