"""A private sshd on many loopback addresses, with keys made here and no rc files."""

import getpass
import os
import pathlib
import shutil
import socket
import subprocess
import sys

from harness import start, wait_for

SERVER = """\
HostKey {folder}/host_key
AuthorizedKeysFile {folder}/user_key.pub
PidFile none
UsePAM no
StrictModes no
PermitRootLogin yes
MaxStartups 512
PasswordAuthentication no
KbdInteractiveAuthentication no
AllowUsers {user}@127.0.0.0/8
UseDNS no
PrintMotd no
Subsystem sftp internal-sftp
SetEnv HOME={folder}/home
"""
CLIENT = """\
Host *
IdentityFile {folder}/user_key
IdentitiesOnly yes
IdentityAgent none
UserKnownHostsFile {folder}/known_hosts
GlobalKnownHostsFile /dev/null
StrictHostKeyChecking yes
Port {port}
User {user}
"""


def tool(name):
    found = shutil.which(name, path=os.environ.get("PATH", "") + ":/usr/sbin:/sbin")
    if found is None:
        sys.exit(f"{name} is missing: scripts/install-deps.sh bench")
    return found


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


class LoopbackHosts:
    """`count` addresses that sshd serves, and client configurations for them.

    One server for all; with `apart` one for each, which stands for a machine that can be killed.
    """

    def __init__(self, folder, count, apart=False):
        self.folder = pathlib.Path(folder)
        self.names = f"127.0.1.[1-{count}]"
        # 0.0.0.0 includes all loopback addresses; sshd takes a list of at most 16.
        self.listen = [f"127.0.1.{n}" for n in range(1, count + 1)] if apart else ["0.0.0.0"]
        self.port = free_port()
        self.servers = []

    def __enter__(self):
        for key in ("host_key", "user_key"):
            subprocess.run([tool("ssh-keygen"), "-q", "-t", "ed25519", "-N", "", "-C", key,
                            "-f", self.folder / key], check=True)
        (self.folder / "home").mkdir()
        (self.folder / "known_hosts").write_text(
            f"[127.0.1.*]:{self.port} " + (self.folder / "host_key.pub").read_text())
        (self.folder / "sshd_config").write_text(self.filled_in(SERVER))
        if os.geteuid() == 0:
            os.makedirs("/run/sshd", exist_ok=True)  # Debian makes it when its service starts
        for address in self.listen:
            self.servers.append(self.start_server(address))
        return self

    def start_server(self, address):
        log = self.folder / f"sshd.{address}.log"
        server = start([tool("sshd"), "-D", "-e", "-f", self.folder / "sshd_config",
                        "-o", f"ListenAddress={address}:{self.port}"], self.folder, output=log.name)
        wait_for(lambda: "listening on" in log.read_text(), f"sshd on {address}")
        return server

    def __exit__(self, *_):
        for server in self.servers:
            server.terminate()
            server.wait(10)

    def path(self, key_exchange=""):
        """A PATH on which `ssh` knows these hosts; without a key exchange, its default."""
        folder = self.folder / f"bin.{key_exchange or 'default'}"
        if not folder.exists():
            folder.mkdir()
            forced = f"KexAlgorithms {key_exchange}\n" if key_exchange else ""
            (folder / "config").write_text(self.filled_in(CLIENT) + forced)
            # Tools read ~/.ssh/config, which is the user's; only ssh -F names another one.
            (folder / "ssh").write_text(
                f'#!/bin/sh\nexec {tool("ssh")} -F {folder}/config "$@"\n')
            (folder / "ssh").chmod(0o700)
        return f"{folder}:{os.environ['PATH']}"

    def filled_in(self, template):
        return template.format(folder=self.folder, port=self.port, user=getpass.getuser())

    def children(self):
        """The processes of open sessions."""
        return [int(pid) for server in self.servers
                for task in pathlib.Path(f"/proc/{server.pid}/task").glob("*/children")
                for pid in task.read_text().split()]

    def cpu_seconds(self):
        """CPU seconds of the servers, their ended sessions and the commands of these."""
        ticks = 0
        for server in self.servers:
            stat = pathlib.Path(f"/proc/{server.pid}/stat").read_text().rsplit(")", 1)[1].split()
            ticks += sum(int(field) for field in stat[11:15])
        return ticks / os.sysconf("SC_CLK_TCK")
