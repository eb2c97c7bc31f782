"""Private OpenSSH servers for tests: one per host name h1, h2, …, each on a loopback address, and a
home folder in which `ssh h1` works. The machine's own ssh is neither used nor changed.

A host's sshd can be killed with all its sessions and their processes, as when a machine dies, and
restarted.
"""

import contextlib
import os
import pathlib
import pwd
import shlex
import shutil
import signal
import socket
import subprocess

import pytest
from helpers.jobs import descendants, kill_at_once
from helpers.processes import HeldPort, is_alive, wait_for
from helpers.runner import MARKER

SSHD = "/usr/sbin/sshd"
BANNER = b"SSH-2.0"
NEEDS_ROOT = pytest.mark.skipif(os.geteuid() != 0, reason="a file system of its own takes root")


def need_sshd():
    if not os.access(SSHD, os.X_OK):
        pytest.fail("no sshd: scripts/install-deps.sh test installs openssh-server")


def make_key(path, kind):
    subprocess.run(
        ["ssh-keygen", "-q", "-t", kind, "-N", "", "-C", "test", "-f", path], check=True
    )


def public_key(path):
    """Type and base64, in the format of known_hosts."""
    return " ".join(pathlib.Path(f"{path}.pub").read_text().split()[:2])


class Home:
    """A user's home folder with an ssh configuration; `ssh` on PATH uses it."""

    def __init__(self, folder):
        self.folder = folder
        self.ssh = folder / ".ssh"
        self.ssh.mkdir(parents=True, mode=0o700)
        self.known_hosts = self.ssh / "known_hosts"
        self.known_hosts.touch()
        self.config = self.ssh / "config"
        self.key = self.ssh / "id_ed25519"
        make_key(self.key, "ed25519")
        # OpenSSH takes the home folder from the passwd file and not from HOME.
        self.client = folder / "bin" / "ssh"
        self.client.parent.mkdir()
        self.client.write_text(
            f'#!/bin/sh\nexec {shutil.which("ssh")} -F {self.config} "$@"\n'
        )
        self.client.chmod(0o755)
        self.rows = []

    def environment(self):
        return {
            "HOME": str(self.folder),
            "PATH": f"{self.client.parent}:{os.environ['PATH']}",
        }

    def add(self, name, address, port, *more):
        """One Host entry of the configuration."""
        self.rows.append(
            f"Host {name}\n  HostName {address}\n  Port {port}\n"
            + "".join(f"  {line}\n" for line in more)
        )
        self.config.write_text(
            "\n".join(self.rows)
            + f"\nHost *\n  User {pwd.getpwuid(os.geteuid()).pw_name}\n"
            f"  IdentityFile {self.key}\n  IdentitiesOnly yes\n"
            f"  UserKnownHostsFile {self.known_hosts}\n  GlobalKnownHostsFile /dev/null\n"
        )

    def trust(self, address, port, host_key):
        name = address if port == 22 else f"[{address}]:{port}"
        with open(self.known_hosts, "a") as file:
            file.write(f"{name} {public_key(host_key)}\n")

    def forget(self):
        self.known_hosts.write_text("")


def server_config(folder, host_key, home, marker, listen, options=(), environment=None):
    """The text of an sshd_config; `listen`: its ListenAddress and Port lines."""
    return "\n".join([
        *listen,
        f"HostKey {host_key}",
        f"AuthorizedKeysFile {home.key}.pub",
        "PidFile none",
        "StrictModes no",
        "UsePAM no",
        "PermitRootLogin yes",
        "PasswordAuthentication no",
        "KbdInteractiveAuthentication no",
        "PrintMotd no",
        "MaxSessions 100",
        "Subsystem sftp internal-sftp",
        # So that the test finds what its sessions leave behind.
        "SetEnv " + " ".join(
            f'{name}="{value}"' for name, value in {MARKER: marker, **(environment or {})}.items()
        ),
        *(options or ["MaxStartups 512"]),
        "",
    ])


class Host:
    """One sshd and all that its sessions start."""

    def __init__(self, farm, name, address):
        self.farm, self.name, self.address = farm, name, address
        self.config = farm.folder / f"{name}.sshd_config"
        self.log = farm.folder / f"{name}.log"
        self.process = None
        self.environment = {}

    def restart_with(self, environment):
        """Restarts the sshd; its sessions also have these variables."""
        self.die()
        self.environment = environment
        return self.boot()

    def boot(self):
        farm = self.farm
        self.config.write_text(server_config(
            farm.folder, farm.host_key, farm.home, farm.marker,
            [f"ListenAddress {self.address}", f"Port {farm.port}"], farm.options,
            self.environment,
        ))
        with open(self.log, "ab") as log:
            self.process = subprocess.Popen(
                [SSHD, "-D", "-e", "-f", self.config], stdin=subprocess.DEVNULL,
                stdout=log, stderr=log, env={"PATH": os.environ["PATH"]},
            )
        wait_for(self.answers, what=f"the sshd of {self.name}")
        return self

    def restart_under(self, *around, first=""):
        """Restarts the sshd under another command, after some shell commands."""
        self.die()
        script = f"{first}exec {SSHD} -D -e -f {shlex.quote(str(self.config))}"
        with open(self.log, "ab") as log:
            self.process = subprocess.Popen(
                [*around, "sh", "-c", script], stdin=subprocess.DEVNULL, stdout=log, stderr=log,
                env={"PATH": os.environ["PATH"]},
            )
        wait_for(self.answers, what=f"the sshd of {self.name}")

    def hide(self, *folders, over=None):
        """Restarts the sshd in a mount namespace where these folders are empty, and each key of
        `over` is its value. Takes root."""
        mounts = [f"mount -t tmpfs none {shlex.quote(str(folder))} && " for folder in folders]
        mounts += [f"mount --bind {shlex.quote(str(other))} {shlex.quote(str(path))} && "
                   for path, other in (over or {}).items()]
        self.restart_under("unshare", "--mount", first="".join(mounts))

    def answers(self):
        if self.process.poll() is not None:
            raise AssertionError(f"sshd of {self.name} ended: {self.log.read_text()}")
        try:
            with socket.create_connection((self.address, self.farm.port), 5) as connection:
                return connection.recv(16).startswith(BANNER)
        except OSError:
            return False

    def processes(self):
        """The sshd, its sessions and everything below them."""
        return [self.process.pid, *descendants(self.process.pid)]

    def strays(self):
        """Processes that came through this host and have lost their parents since."""
        needle = f" {self.address} {self.farm.port}".encode()
        found = []
        for entry in pathlib.Path("/proc").iterdir():
            with contextlib.suppress(OSError):
                if not entry.name.isdigit():
                    continue
                for word in (entry / "environ").read_bytes().split(b"\0"):
                    if word.startswith(b"SSH_CONNECTION=") and word.endswith(needle):
                        found.append(int(entry.name))
        return found

    def die(self):
        """Kills the machine: sshd, sessions, agents and workers at once."""
        pids = self.processes()
        for stray in self.strays():
            pids += [stray, *descendants(stray)]
        pids = list(dict.fromkeys(pids))
        kill_at_once(pids, how=signal.SIGSTOP)
        # The listener first: on a busy machine it could still accept a reconnection.
        self.process.kill()
        self.process.wait(timeout=30)
        kill_at_once(pids)

    def hang_up(self):
        """Ends the sessions alone, without a signal to their processes. Returns the pids."""
        sessions = []
        for pid in descendants(self.process.pid):
            with contextlib.suppress(OSError):
                if pathlib.Path(f"/proc/{pid}/comm").read_text().startswith("sshd"):
                    sessions.append(pid)
        kill_at_once(sessions)
        return sessions

    def shut_down(self):
        if self.process and self.process.poll() is None:
            for pid in reversed(self.processes()):
                with contextlib.suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGKILL)
            self.process.wait(timeout=30)


class Farm:
    """Hosts h1, h2, … on loopback."""

    def __init__(self, folder, marker, host_key="ed25519", options=()):
        need_sshd()
        folder.mkdir()
        self.folder, self.marker, self.options = folder, marker, list(options)
        self.home = Home(folder / "home")
        self.host_key = folder / "host_key"
        make_key(self.host_key, host_key)
        self.hosts = {}
        if os.geteuid() == 0:
            pathlib.Path("/run/sshd").mkdir(mode=0o755, exist_ok=True)
        # Addresses and port are this process's own, so that tests can run side by side.
        pid = os.getpid()
        self.network = f"127.{1 + (pid >> 8) % 250}.{pid % 256}"
        self.held = HeldPort()
        self.port = self.held.number

    def __getitem__(self, name):
        return self.hosts[name]

    def add(self, count):
        """Starts `count` more hosts, each known by a Host entry."""
        for _ in range(count):
            number = len(self.hosts) + 1
            host = Host(self, f"h{number}", f"{self.network}.{number}")
            self.home.add(host.name, host.address, self.port)
            self.home.trust(host.address, self.port, self.host_key)
            self.hosts[host.name] = host.boot()
        return self

    def expect_empty(self, within_s=20.0):
        """Asserts that no agent and no worker is left on any host."""
        def left():
            return [pid for host in self.hosts.values() for pid in host.strays() if is_alive(pid)]

        wait_for(lambda: not left(), within_s, "the end of everything on the hosts")

    def close(self):
        for host in self.hosts.values():
            host.shut_down()
        self.held.close()
