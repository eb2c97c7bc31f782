"""Private machines for tests: namespaces (network, pid, mount, host name) with an sshd as the first
process, on one bridge. Cables can be pulled, and machines can lose their power.

Takes root. Everything is unnamed and ends with the test's process.
"""

import contextlib
import os
import pathlib
import shlex
import signal
import subprocess
import sys

import pytest
from helpers.processes import is_alive, is_standby, program_of, read_environ, wait_for
from helpers.ssh_server import SSHD, Home, make_key, need_sshd, server_config

NET4, NET6 = "10.77.0", "fd00:77:"
HUB = 250

# Begins TLS from many addresses, over and over, and then is silent: each connection takes the place
# of an older one.
FLOOD = """
import collections, resource, socket, ssl, sys, time
context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
context.check_hostname = False
out = ssl.MemoryBIO()
try:
    context.wrap_bio(ssl.MemoryBIO(), out).do_handshake()
except ssl.SSLWantReadError:
    hello = out.read()
port, kept, number = int(sys.argv[1]), collections.deque(), 0
hard = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
while True:
    one = socket.socket()
    one.bind((f"127.7.{number // 250 % 250}.{1 + number % 250}", 0))
    one.setblocking(False)
    one.connect_ex(("127.0.0.1", port))
    try:
        one.send(hello)
    except OSError:
        pass
    kept.append(one)
    number += 1
    if len(kept) > 2500:
        kept.popleft().close()
    if number == 2500:
        print("flooded", flush=True)
    if number >= 2500:
        time.sleep(0.005)
"""


def address(number, six):
    return f"{NET6}:{number:x}" if six else f"{NET4}.{number}"


def need_root():
    if os.geteuid() != 0:
        pytest.skip("network namespaces take root")
    for tool in ("/usr/sbin/ip", "/usr/sbin/nft"):
        if not os.access(tool, os.X_OK):
            pytest.fail(f"no {tool}: scripts/install-deps.sh test installs it")


def run(*words):
    done = subprocess.run([str(word) for word in words], capture_output=True)
    assert done.returncode == 0, f"{words}: {done.stderr.decode()}"


def namespace(pid, kind):
    try:
        return os.readlink(f"/proc/{pid}/ns/{kind}")
    except OSError:
        return None


def parent_of(pid):
    """0 when it is gone."""
    with contextlib.suppress(OSError):
        return int(pathlib.Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[1])
    return 0


class Machine:
    def __init__(self, lab, number):
        self.lab, self.number, self.name = lab, number, f"h{number}"
        self.address = address(number, lab.six)
        self.cable = f"cable{number}"
        self.log = lab.folder / f"{self.name}.log"
        self.config = lab.folder / f"{self.name}.sshd_config"
        self.process = self.init = None

    def boot(self):
        """Power on: an empty /tmp/robustrun-UID and shared memory, and the network."""
        lab = self.lab
        self.config.write_text(server_config(
            lab.folder, lab.host_key, lab.home, lab.marker, ["Port 22", "AddressFamily any"],
        ))
        private = f"/tmp/robustrun-{os.geteuid()}"
        pathlib.Path(private).mkdir(mode=0o700, exist_ok=True)
        script = (
            f"hostname {self.name} && mount -t tmpfs -o mode=700 none {private} && "
            f"mount -t tmpfs none /dev/shm && exec {SSHD} -D -e -f {shlex.quote(str(self.config))}"
        )
        with open(self.log, "ab") as log:
            self.process = subprocess.Popen(
                ["unshare", "--net", "--pid", "--mount", "--uts", "--fork", "--kill-child",
                 "--mount-proc", "sh", "-c", script],
                stdin=subprocess.DEVNULL, stdout=log, stderr=log,
                env={"PATH": os.environ["PATH"]},
            )
        self.init = wait_for(self._find_init, what=f"the start of {self.name}")
        # The cable of a dead machine may still exist.
        subprocess.run([*lab.prefix, "ip", "link", "del", self.cable], capture_output=True)
        lab.within_hub("ip", "link", "add", self.cable, "type", "veth",
                       "peer", "name", "eth0", "address", f"02:00:00:00:00:{self.number:02x}",
                       "netns", self.init)
        lab.within_hub("ip", "link", "set", self.cable, "master", "bridge0", "up")
        self.within("ip", "link", "set", "lo", "up")
        lab.give_address(self.within, self.address)
        wait_for(self._serves, what=f"the sshd of {self.name}")
        return self

    def _find_init(self):
        if self.process.poll() is not None:
            raise AssertionError(f"{self.name} does not start: {self.log.read_text()}")
        path = pathlib.Path(f"/proc/{self.process.pid}/task/{self.process.pid}/children")
        for child in path.read_text().split():
            with contextlib.suppress(OSError):
                if pathlib.Path(f"/proc/{child}/comm").read_text().strip() == "sshd":
                    return int(child)
        return None

    def _serves(self):
        text = pathlib.Path(f"/proc/{self.init}/net/tcp").read_text()
        text += pathlib.Path(f"/proc/{self.init}/net/tcp6").read_text()
        return any(
            line.split()[1].endswith(":0016") and line.split()[3] == "0A"
            for line in text.splitlines() if ":0016" in line
        )

    def within(self, *words):
        run("nsenter", "-t", self.init, "-n", *words)

    def processes(self):
        """All processes of the machine but the first, by their outer pids."""
        home = namespace(self.init, "pid")
        return [
            int(entry.name) for entry in pathlib.Path("/proc").iterdir()
            if entry.name.isdigit() and int(entry.name) != self.init
            and home and namespace(entry.name, "pid") == home and is_alive(entry.name)
        ]

    def _with(self, word):
        found = []
        for pid in self.processes():
            with contextlib.suppress(OSError):
                if word in pathlib.Path(f"/proc/{pid}/cmdline").read_bytes().split(b"\0"):
                    found.append(pid)
        return found

    def workers(self, script="lockstep.py"):
        return [
            pid for pid in self._with(script.encode())
            if b"RANK=" in read_environ(pid) and b"robustrun-shim" not in program_of(pid)
            and not is_standby(pid)
        ]

    def agents(self):
        """Without a process's new fork, which looks like it until it runs another program."""
        found = self._with(b"--stdin-credential")
        return [pid for pid in found if parent_of(pid) not in found]

    def pull(self):
        """Pulls the cable: nothing gets in or out, and neither end is notified."""
        self.lab.within_hub("ip", "link", "set", self.cable, "down")

    def plug(self):
        self.lab.within_hub("ip", "link", "set", self.cable, "up")

    def drop(self, direction):
        """Drops all that leaves ("output") or reaches ("input") the machine."""
        self.within("nft", f"add table inet cut; add chain inet cut {direction} "
                           f"{{ type filter hook {direction} priority 0; policy drop; }}")

    def pass_all(self):
        self.within("nft", "delete table inet cut")

    def lose_power(self):
        """Cuts the power silently: the cable first, so that no last packet gets out."""
        self.pull()
        self.crash()

    def crash(self):
        """Kills all processes at once; the last packets of their sockets get out."""
        os.kill(self.init, signal.SIGKILL)
        self.process.wait(timeout=30)

    def shut_down(self):
        self.kill()
        if self.process:
            self.process.wait(timeout=30)

    def kill(self):
        if self.process and self.process.poll() is None:
            with contextlib.suppress(ProcessLookupError):
                os.kill(self.init, signal.SIGKILL)


class Lab:
    """Machines h1, h2, … and the hub, where the user's shell runs with a home that knows them."""

    def __init__(self, folder, marker, six=False):
        need_root()
        need_sshd()
        folder.mkdir()
        pathlib.Path("/run/sshd").mkdir(mode=0o755, exist_ok=True)
        self.folder, self.marker, self.six = folder, marker, six
        self.home = Home(folder / "home")
        self.host_key = folder / "host_key"
        make_key(self.host_key, "ed25519")
        self.machines = {}
        self.former_hubs = []
        self.floods = []
        self.hub = subprocess.Popen(
            ["unshare", "--net", "sleep", "infinity"], stdin=subprocess.DEVNULL
        )
        wait_for(self._hub_is_apart, what="the hub's namespace")
        self.within_hub("ip", "link", "add", "bridge0", "type", "bridge")
        self.within_hub("ip", "link", "set", "bridge0", "up")
        self.within_hub("ip", "link", "set", "lo", "up")
        self.within_hub("ip", "link", "add", "cable", "type", "veth", "peer", "name", "eth0")
        self.within_hub("ip", "link", "set", "cable", "master", "bridge0", "up")
        self.give_address(self.within_hub, address(HUB, six))

    def _hub_is_apart(self):
        own = namespace(os.getpid(), "net")
        return namespace(self.hub.pid, "net") not in (None, own)

    def __getitem__(self, name):
        return self.machines[name]

    def within_hub(self, *words):
        run("nsenter", "-t", self.hub.pid, "-n", *words)

    def give_address(self, within, number):
        if self.six:
            within("ip", "addr", "add", f"{number}/64", "dev", "eth0", "nodad")
        else:
            within("ip", "addr", "add", f"{number}/24", "dev", "eth0")
        within("ip", "link", "set", "eth0", "up")

    @property
    def prefix(self):
        """The prefix of commands that run in the hub."""
        return ("nsenter", "-t", str(self.hub.pid), "-n")

    def move_hub(self, cut=True):
        """Moves the user to another machine: from now on `prefix` leads there. `cut` removes the
        hub's own address. Folders are shared."""
        before = self.hub
        if cut:
            self.within_hub("ip", "link", "set", "cable", "down")
        other = subprocess.Popen(
            ["unshare", "--net", "sleep", "infinity"], stdin=subprocess.DEVNULL
        )
        self.former_hubs.append(before)
        wait_for(lambda: namespace(other.pid, "net") not in (None, namespace(os.getpid(), "net")),
                 what="the other hub's namespace")
        run("nsenter", "-t", before.pid, "-n", "ip", "link", "add", "moved", "type", "veth",
            "peer", "name", "eth0", "netns", other.pid)
        run("nsenter", "-t", before.pid, "-n", "ip", "link", "set", "moved", "master", "bridge0",
            "up")
        self.hub = other
        self.within_hub("ip", "link", "set", "lo", "up")
        self.give_address(self.within_hub, address(HUB + 1, self.six))

    def flood(self, port):
        """Keeps this port of the hub full of strangers' connections from now on."""
        self.floods.append(subprocess.Popen(
            [*self.prefix, sys.executable, "-c", FLOOD, str(port)], stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE, text=True))
        assert self.floods[-1].stdout.readline() == "flooded\n"

    def add(self, count):
        for _ in range(count):
            machine = Machine(self, len(self.machines) + 1)
            self.home.add(machine.name, machine.address, 22)
            self.home.trust(machine.address, 22, self.host_key)
            self.machines[machine.name] = machine.boot()
        return self

    def close(self):
        for process in self.floods:
            process.kill()
            process.communicate()
        for machine in self.machines.values():
            machine.kill()  # all at once, as each end takes a while
        for machine in self.machines.values():
            machine.shut_down()
        for hub in [self.hub, *self.former_hubs]:
            hub.kill()
            hub.wait(timeout=30)
