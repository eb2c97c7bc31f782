"""FIFOs, endless files and other things in the place of every file that is read or written by name:
the ones that a user names, and robustrun's own."""

import os
import pathlib
import shutil
import socket

from hostile.base_runs import PlayerOfRuns
from hostile.place import GREEDY, LITTLE_MEMORY, dice, is_greedy

COUNT = 480
SPARSE_BYTES = 1 << 40
GARBAGE_BYTES = 1 << 20
# A pipe as an input is given up after 10 s, a host without sshd is tried again.
PLAN = ("plan", "--nproc-per-node=1", "--hosts=a,b")
SIM = ("sim", "--nodes=4", "--seeds=1", "--days=1", "--compare=none")
JOIN = ("--nnodes=2", "--rdzv-backend=c10d", "--rdzv-endpoint=127.0.0.1:1", "--rdzv-id=x",
        "--rdzv-conf=join_timeout=3")
NEVER = ("fifo", "endless", "directory", "socket", "loop", "missing")  # cannot be a sound input
INPUTS = {
    "--config": ("-c", "FILE", "end.py"),
    "--hostfile": ("plan", "--nproc-per-node=1", "--hostfile", "FILE"),
    "--faults": ("--faults", "FILE", "end.py"),
    "--policy": ("--policy", "FILE", "end.py"),
    "--topology": (*PLAN, "--topology", "FILE"),
    "--accelerate-config": ("--accelerate-config", "FILE", "end.py"),
    "--log-formats": ("--log-formats", "FILE", "--line-metrics=auto", "end.py"),
    "--secret-file": (*JOIN, "--secret-file", "FILE", "end.py"),
    "--image": ("--image", "FILE", "--max-restarts=0", "end.py"),
    "policy --policy": ("policy", "--policy", "FILE"),
    "diagnose --from": ("diagnose", "--from", "FILE"),
    "data plan": ("data", "plan", "FILE"),
    "sim --failures": (*SIM, "--failures", "FILE"),
    "sim --policy": (*SIM, "--policy", "FILE"),
    "sim --from-journal": (*SIM, "--from-journal", "FILE"),
    "report RUN": ("report", "FILE"),
    "resume RUN": ("resume", "FILE"),
    "ssh -F": ("check", "--hosts=127.0.0.1:1", "--ssh-timeout=5", "--ssh-command=ssh -F FILE"),
}
# Read, copied or taken for a folder; some kinds are sound there, so the code is not judged.
LENIENT = {
    "--deps": ("--deps", "FILE", "--max-restarts=0", "end.py"),
    "--stage": ("--stage", "FILE", "--max-restarts=0", "end.py"),
    "--sync-code": ("--sync-code", "FILE", "--max-restarts=0", "end.py"),
    "script": ("--max-restarts=0", "FILE"),
    "--cache-dir": ("--cache-dir", "FILE", "end.py"),
    "--node-history": ("--node-history", "FILE", "end.py"),
    "--run-dir": ("--run-dir", "FILE", "end.py"),
    "--log-dir": ("--log-dir", "FILE", "end.py"),
    "nodes --node-history": ("nodes", "--node-history", "FILE"),
    "cache ls": ("cache", "ls", "--cache-dir", "FILE"),
    "ckpt ls": ("ckpt", "ls", "FILE"),
    "status RUN": ("status", "FILE"),
}
OUTPUTS = {
    "--summary-json": ("--summary-json", "FILE", "end.py"),
    "--summary-junit": ("--summary-junit", "FILE", "end.py"),
    "--metrics-file": ("--metrics-file", "FILE", "end.py"),
    "--events": ("--events", "FILE", "end.py"),
    "plan --html": (*PLAN, "--html", "FILE"),
    "plan --svg": (*PLAN, "--svg", "FILE"),
    "report --html": ("report", "robustrun-runs/done", "--html", "FILE"),
    "report --trace": ("report", "robustrun-runs/done", "--trace", "FILE"),
    "sim --svg": (*SIM, "--svg", "FILE"),
}
INPUT_KINDS = (*NEVER, "sparse", "empty", "garbage")
OUTPUT_KINDS = ("fifo", "full", "directory", "socket", "loop", "empty")
OWN_KINDS = ("fifo", "endless", "directory", "socket", "loop", "sparse", "empty", "garbage")
# What would fill a disk or the memory of any program that is asked for it.
UNFIT = {("--stage", "sparse"), ("script", "sparse"), ("script", "endless"), ("script", "fifo")}
RUN_COMMANDS = (("report",), ("status",), ("logs",), ("stop",), ("resume",), ("update", "--list"),
                ("rm",), ("nodes", "--run"), ("diagnose",), ("attach",),
                (*SIM, "--from-journal"))
CKPT_COMMANDS = ("ls", "inspect", "verify", "repair", "prune --keep=1", "pin --step=2")
OTHER_COMMANDS = (("--standby=off", "end.py"), ("--prefetch=on", "end.py"), ("ls",), ("nodes",),
                  ("report",), ("cache", "ls"), ("cache", "verify"), ("cache", "gc"))


def named():
    """The options and arguments that name a file, each with each kind."""
    found = [(name, words, kind, True) for name, words in INPUTS.items() for kind in INPUT_KINDS]
    found += [(name, words, kind, False) for name, words in LENIENT.items()
              for kind in INPUT_KINDS]
    found += [(name, words, kind, False) for name, words in OUTPUTS.items()
              for kind in OUTPUT_KINDS]
    return [each for each in found if (each[0], each[2]) not in UNFIT]


def put(path, kind, draw):
    """Puts the thing there; returns what has to stay open for it."""
    if path.is_dir() and not path.is_symlink():
        shutil.rmtree(path)
    path.unlink(missing_ok=True)
    if kind == "fifo":
        os.mkfifo(path)
    elif kind in ("endless", "full"):
        path.symlink_to("/dev/zero" if kind == "endless" else "/dev/full")
    elif kind == "directory":
        path.mkdir()
        (path / "within").write_text("x\n")
    elif kind == "loop":
        path.symlink_to(path.name)
    elif kind == "socket":
        listening = socket.socket(socket.AF_UNIX)
        before = os.getcwd()  # a socket's path has 107 bytes at most
        os.chdir(path.parent)
        try:
            listening.bind(path.name)
        finally:
            os.chdir(before)
        listening.listen()
        return listening
    elif kind != "missing":
        path.touch(mode=0o600)
        if kind == "sparse":
            os.truncate(path, SPARSE_BYTES)
        elif kind == "garbage":
            path.write_bytes(draw.randbytes(GARBAGE_BYTES))
    return None


class Player(PlayerOfRuns):
    def play(self, seed):
        """The first seeds take each option with each kind, later ones draw among own files."""
        self.place.restore()  # the input before may have failed halfway
        draw, options = dice("files", seed), named()
        if seed <= len(options):
            return self.of_user(*options[seed - 1], draw)
        return self.own(draw)

    def of_user(self, name, words, kind, is_input, draw):
        path = self.place.folder / "hostile"
        held = put(path, kind, draw)
        words = [str(word).replace("FILE", path.name) for word in words]
        ended = self.place.run(*words, prefix=LITTLE_MEMORY)
        wanted = "accepted" if is_input and kind in NEVER and ended.code == 0 else ""
        wanted = GREEDY if is_greedy(ended) else wanted
        return self.place.line(f"{name}: {kind}", ended, wanted=wanted, may_trace=name == "script",
                               before_next=lambda: self.remove(path, held))

    def own(self, draw):
        places = draw.choice((("robustrun-runs",), ("robustrun-runs",), ("a", "b"),
                              ("cache", "state", "robustrun")))
        file = draw.choice(self.place.files(*places) or self.place.files("robustrun-runs"))
        kind, path = draw.choice(OWN_KINDS), self.place.folder / file
        words = self.command(file, draw)
        held = put(path, kind, draw)
        ended = self.place.run(*words, prefix=LITTLE_MEMORY)
        text = f"{' '.join(map(str, words))}, {file}: {kind}"
        return self.place.line(text, ended, wanted=GREEDY if is_greedy(ended) else "",
                               before_next=lambda: self.restore(held))

    def command(self, file, draw):
        where = file.parts[0]
        if where == "robustrun-runs":
            command = draw.choice(RUN_COMMANDS)
            return (*command, pathlib.Path(*file.parts[:2]))
        if where in ("a", "b"):
            name, *options = draw.choice(CKPT_COMMANDS).split()
            return ("ckpt", name, "a", "b", *options)
        return draw.choice(OTHER_COMMANDS)

    def remove(self, path, held):
        if held:
            held.close()
        if path.is_dir() and not path.is_symlink():
            shutil.rmtree(path)
        path.unlink(missing_ok=True)

    def restore(self, held):
        if held:
            held.close()
        self.place.restore()
