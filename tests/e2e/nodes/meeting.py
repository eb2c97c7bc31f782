"""torchrun's way of starting: the same command on every node, by hand. Here on one machine."""

import contextlib
import random
import socket

from helpers.jobs import start_job
from helpers.processes import wait_for

SECRET = "sixteen or more bytes that people share\n"


def free_port(count=1):
    """The first of `count` adjacent free ports, which the kernel gives to no other process."""
    while True:
        first = random.randrange(20000, 32000)
        with contextlib.ExitStack() as taken:
            try:
                for port in range(first, first + count):
                    taken.enter_context(socket.socket()).bind(("127.0.0.1", port))
            except OSError:
                continue
            return first


class Meeting:
    """Starts the same command several times, as users would on several machines."""

    def __init__(self, runner):
        self.runner = runner
        self.port = free_port(2)
        self.secret = runner.write("secret", SECRET)
        self.secret.chmod(0o600)
        self.jobs = []

    def join(self, *arguments, secret=True, nnodes="3", rdzv_id="together", **options):
        words = [
            f"--nnodes={nnodes}", "--rdzv-backend=c10d", f"--rdzv-endpoint=localhost:{self.port}",
            f"--rdzv-id={rdzv_id}",
        ]
        if secret:
            words.append(f"--secret-file={self.secret}")
        name = f"member{len(self.jobs)}"
        self.jobs.append(start_job(self.runner, *words, *arguments, run=name, **options))
        return self.jobs[-1]

    def leader(self):
        """The command that hosts the supervisor: the one with the journal."""
        def find():
            found = [job for job in self.jobs if (job.run / "journal").exists()]
            return found[0] if found else None

        return wait_for(find, what="a leader")
