"""Systems of other distributions, each in a folder, with a user and an SSH server of its own.

What runs there has its own processes, and is ended with them: mounts and processes are in
namespaces.
"""

import os
import re
import shlex
import shutil
import socket
import subprocess

from helpers.jobs import descendants
from helpers.processes import HeldPort, is_alive, wait_for
from helpers.ssh_server import make_key, public_key
from install import packages

ARCHIVE = "http://deb.debian.org/debian"
USER, USER_ID = "ada", 1000
ENVIRONMENT = {"PATH": "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin",
               "LANG": "C.UTF-8", "DEBIAN_FRONTEND": "noninteractive"}


def run(*command, **options):
    done = subprocess.run([str(part) for part in command], capture_output=True, text=True,
                          timeout=1200, **options)
    assert done.returncode == 0, (command, done.stdout[-4000:], done.stderr[-4000:])
    return done.stdout


class Root:
    """A system of its own below `folder`, with /proc, /dev and our packages."""

    def __init__(self, folder, suite):
        self.folder = folder
        run("debootstrap", "--variant=minbase", "--include=python3-venv,openssh-server", suite,
            folder, ARCHIVE)
        (folder / "packages").mkdir()
        for path in (packages.wheel(), packages.tarball(), packages.debian_package()):
            shutil.copy(path, folder / "packages")
        (folder / "job").mkdir(mode=0o777)
        (folder / "job").chmod(0o777)
        (folder / "job" / "script.py").write_text(packages.SCRIPT)
        # "*": no password, and not a locked account either.
        self.run(f"useradd --uid {USER_ID} --create-home --shell /bin/bash --password '*' {USER}; "
                 "mkdir -p /run/sshd")
        self.home = folder / "home" / USER

    def command(self, argv, user="root", binds=None):
        """argv of a process that runs in the system. `binds`: folder there -> folder here."""
        mounts = "".join(
            f'mkdir -p "$0{there}"; mount --bind {shlex.quote(str(here))} "$0{there}"; '
            for there, here in (binds or {}).items())
        setup = ('mount -t proc proc "$0/proc"; mount --rbind /dev "$0/dev"; ' + mounts
                 + 'exec chroot --userspec="$1" --groups= "$0" /usr/bin/env -i "${@:2}"')
        home = "/root" if user == "root" else f"/home/{user}"
        variables = [f"{name}={value}" for name, value in {**ENVIRONMENT, "HOME": home}.items()]
        numbers = "0:0" if user == "root" else f"+{USER_ID}:+{USER_ID}"
        return ["unshare", "--mount", "--propagation=private", "--pid", "--fork",
                "--kill-child=KILL", "/bin/bash", "-ec", setup, str(self.folder), numbers,
                *variables, *argv]

    def attempt(self, script, user="root", binds=None):
        """Runs a shell script in the system, whatever comes of it."""
        return subprocess.run(self.command(["/bin/sh", "-ec", script], user, binds),
                              capture_output=True, text=True, timeout=600)

    def run(self, script, user="root", binds=None):
        done = self.attempt(script, user, binds)
        assert done.returncode == 0, (script, done.stdout[-4000:], done.stderr[-4000:])
        return done.stdout

    def expect_two_ranks(self, robustrun, path="$PATH"):
        out = self.run(f'PATH="{path}"; export PATH; cd /job; '
                       f"{robustrun} --nproc-per-node=2 script.py")
        assert out.count(" of 2 by ") == 2, out

    def python(self):
        """Version of the system's Python, as (3, 11)."""
        out = self.run("python3 -c 'import sys; print(*sys.version_info[:2])'")
        return tuple(map(int, out.split()))

    def libc(self):
        out = self.run("python3 -c 'import platform; print(platform.libc_ver()[1])'")
        return out.strip()

    def content(self):
        """The files of the folders that belong to the system or a user. Without what stays after a
        removal (docs/install.md): caches, and notes about runs. pip leaves an empty share/."""
        return {name for folder in ("usr", "opt", "srv", "root", "home")
                for path in (self.folder / folder).rglob("*")
                if (path.is_symlink() or not path.is_dir())
                and "__pycache__" not in (name := str(path.relative_to(self.folder)))
                and not re.search(r"/\.cache/|/\.local/state/robustrun/", name)}


class Servers:
    """An sshd for each of `roots`, at addresses of their own: h1, h2, ... of a user of `login`."""

    def __init__(self, folder, login, roots):
        host_key, key = folder / "host_key", folder / "key"
        make_key(host_key, "ed25519")
        make_key(key, "ed25519")
        self.held = HeldPort()
        pid = os.getpid()
        network = f"127.{1 + (pid >> 8) % 250}.{pid % 256}"
        self.processes, config, known = [], "", ""
        try:
            for number, root in enumerate(roots, 1):
                name, address = f"h{number}", f"{network}.{number}"
                self.give(root, "/job/host_key", host_key.read_text(), 0)
                self.give(root, f"/home/{USER}/.ssh/authorized_keys",
                          (folder / "key.pub").read_text(), USER_ID)
                self.boot(root, address)
                config += (f"Host {name}\n  HostName {address}\n  Port {self.held.number}\n"
                           f"  User {USER}\n")
                known += f"[{address}]:{self.held.number} {public_key(host_key)}\n"
            for name, text in (("id_ed25519", key.read_text()), ("config", config),
                               ("known_hosts", known)):
                self.give(login, f"/home/{USER}/.ssh/{name}", text, USER_ID)
        except BaseException:
            self.close()
            raise

    @staticmethod
    def give(root, name, text, owner):
        path = root.folder / name.lstrip("/")
        if not path.parent.exists():
            path.parent.mkdir(mode=0o700)
            os.chown(path.parent, owner, owner)
        path.write_text(text)
        path.chmod(0o600)
        os.chown(path, owner, owner)

    def boot(self, root, address):
        config, log = (root.folder / "job" / f"{kind}_{address}" for kind in ("sshd", "log"))
        config.write_text(f"ListenAddress {address}\nPort {self.held.number}\n"
                          "HostKey /job/host_key\nUsePAM no\nPasswordAuthentication no\n"
                          "PidFile none\nMaxStartups 512\nSubsystem sftp internal-sftp\n")
        with open(log, "wb") as file:
            process = subprocess.Popen(
                root.command(["/usr/sbin/sshd", "-D", "-e", "-f", f"/job/{config.name}"]),
                stdin=subprocess.DEVNULL, stdout=file, stderr=file)
        self.processes.append(process)

        def answers():
            assert process.poll() is None, log.read_text()
            try:
                with socket.create_connection((address, self.held.number), 5) as connection:
                    return connection.recv(16).startswith(b"SSH-2.0")
            except OSError:
                return False

        wait_for(answers, what=f"the sshd at {address}")

    def expect_empty(self):
        """Asserts that every sshd is soon alone again. Its namespace has no other process."""
        def left():
            return [pid for process in self.processes for pid in descendants(process.pid)
                    if is_alive(pid)]

        wait_for(lambda: len(left()) == len(self.processes), 20, "the end of everything there")

    def close(self):
        for process in self.processes:
            process.kill()  # its system ends with it
            process.wait(30)
        self.held.close()
