"""SSH start of 64 hosts until all agents are connected, against pdsh and clush with /bin/true.

One sshd on 64 loopback addresses, keys of its own, equal fan-out. Ours: from the start of robustrun
until the supervisor has journaled the last agent's hello, which is more than a login (TLS,
enrolment). Theirs: the whole command. Preflight is off: it has a figure of its own.
"""

import statistics
import time

import journal
from harness import (
    ROBUSTRUN,
    Figure,
    Quick,
    Scratch,
    call,
    clean_environment,
    in_turns,
    median_ratio,
    wait_for,
)
from sshd import LoopbackHosts, tool

HOSTS = 64
OUR_KEY_EXCHANGE = "curve25519-sha256"  # libssh2's first choice
RATIO_MAX = 0.8
ROUNDS = 5
QUICK = Quick(30, "2 rounds instead of 5", rounds=2)


class Readings:
    """Milliseconds of each command, and the CPU time of sshd and of its sessions."""

    def __init__(self, hosts):
        self.hosts = hosts
        self.cpu_ms = {}

    def take(self, name, run):
        before = self.hosts.cpu_seconds()
        milliseconds = run()
        # The kernel counts the CPU time of sessions that have ended.
        wait_for(lambda: not self.hosts.children(), f"the end of the SSH sessions of {name}")
        self.cpu_ms.setdefault(name, []).append((self.hosts.cpu_seconds() - before) * 1e3)
        return milliseconds


def run_ms(command, path, folder=None):
    start = time.monotonic_ns()
    call(command, folder, clean_environment(PATH=path), check=True)
    return start, (time.monotonic_ns() - start) / 1e6


def ours_ms(hosts, path):
    with Scratch() as folder:
        start, _ = run_ms(
            [ROBUSTRUN, "--hosts", hosts.names, "--ssh-transport", "libssh2", "--ssh-fanout",
             str(HOSTS), "--run-dir", folder / "run", "--preflight=off", "--no-python",
             "--nproc-per-node", "1", "/bin/true"], path, folder)
        joined = journal.read(folder / "run" / "journal").of("AgentJoined")
        assert len({record.node for record in joined}) == HOSTS, "not all agents connected"
        return (max(record.at for record in joined) - start) / 1e6


def pdsh_ms(hosts, path):
    return run_ms([tool("pdsh"), "-R", "ssh", "-f", str(HOSTS), "-w", hosts.names, "/bin/true"],
                  path)[1]


def clush_ms(hosts, path):
    return run_ms([tool("clush"), "-f", str(HOSTS), "-w", hosts.names, "/bin/true"], path)[1]


def compare(hosts, rounds, key_exchange):
    theirs, own = hosts.path(key_exchange), hosts.path()
    readings = Readings(hosts)
    ours, pdsh, clush = in_turns(
        rounds,
        lambda: readings.take("robustrun", lambda: ours_ms(hosts, own)),
        lambda: readings.take("pdsh", lambda: pdsh_ms(hosts, theirs)),
        lambda: readings.take("clush", lambda: clush_ms(hosts, theirs)))
    return ours, {"pdsh": pdsh, "clush": clush}, readings.cpu_ms


def measure(quick):
    with Scratch() as folder, LoopbackHosts(folder, HOSTS) as hosts:
        for key_exchange, limit in (("", RATIO_MAX), (OUR_KEY_EXCHANGE, 1)):
            ours, peers, cpu = compare(hosts, QUICK.rounds if quick else ROUNDS, key_exchange)
            for name, peer in peers.items():
                title = ", ".join(filter(None, (f"{HOSTS} hosts", name, key_exchange)))
                yield Figure(
                    title, "ms", ours, peer, "never slower" if limit == 1 else f"at most {limit}",
                    median_ratio(ours, peer) <= limit,
                    f"CPU of sshd {statistics.median(cpu[name]):.4g} ms; "
                    f"with our agents {statistics.median(cpu['robustrun']):.4g} ms")
