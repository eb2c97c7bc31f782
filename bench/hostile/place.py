"""A folder in which hostile inputs are played, and the verdict on how each of them ends.

An input passes if robustrun ends within a bound, does not crash, says in a line why it failed,
leaves no process behind, and if the next start in the same folder is clean.
"""

import contextlib
import dataclasses
import os
import pathlib
import random
import shutil
import signal
import subprocess
import tempfile
import time

from harness import BIN, PYTHON, ROBUSTRUN, ROOT
from helpers.processes import command_of
from helpers.runner import Runner

BOUND_S = 60       # far above what any input takes, far below for ever
NEXT_START_S = 60
GONE_S = 20        # until no process is left
OUTPUT_MAX = 64 << 20
TEXT_MAX = 1 << 20  # of the end of the output
REFUSAL_LINES_MAX = 4   # of exit code 2
USAGE = 2
PASSED, NOT_LOADED = "passed", "could not be loaded"
GREEDY = "takes all memory"
SAID_MAX = 2000
FENCED_PROCESSES = 200
# The prefix of a command that must not read an endless file into memory.
LITTLE_MEMORY = ("prlimit", f"--as={4 << 30}:{4 << 30}")
# Words of a crash, in whichever process; a worker's traceback counts unless the worker is to fail.
CRASHES = ("terminate called", "assertion `", "Sanitizer", "stack smashing", "free(): ",
           "malloc(): ", "corrupted size", "double free")
TRACEBACK = "Traceback (most recent call last)"
CRASH_SIGNALS = (signal.SIGSEGV, signal.SIGABRT, signal.SIGBUS, signal.SIGILL, signal.SIGFPE)


@dataclasses.dataclass
class Ended:
    """How a command ended: `code` is None if it had to be killed."""

    code: int | None
    seconds: float
    out: str
    err: str
    why: str = ""    # it had to be killed

    @property
    def lines(self):
        return sum(bool(line.strip()) for line in self.err.splitlines())


class Place:
    """A folder of its own with short paths, for sockets too. Its processes are found by a mark in
    their environment; close() ends them."""

    def __init__(self):
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="rr-hostile-"))
        self.runner = Runner(self.folder)
        self.runner.environment |= {
            "PYTHON_EXEC": PYTHON, "HOME": str(self.folder), "XDG_RUNTIME_DIR": str(self.folder)}
        self.runner.write("end.py", "print('here')\n")

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()

    def close(self):
        self.runner.close()
        shutil.rmtree(self.folder, ignore_errors=True)

    def start(self, *words, prefix=(), **options):
        """Starts robustrun; its output goes to the files out and err. `prefix`: a program that
        becomes robustrun (prlimit)."""
        program, *rest = map(str, (*prefix, ROBUSTRUN, *words))
        with open(self.folder / "out", "wb") as out, open(self.folder / "err", "wb") as err:
            return self.runner.start(*rest, argv0=program, stdout=out, stderr=err, **options)

    def await_end(self, running, began, bound_s=BOUND_S):
        """Waits for its end; kills it and all that it started if that does not come."""
        process, why = running.process, ""
        while process.poll() is None and not why:
            if time.monotonic() > began + bound_s:
                why = f"hung: not over after {bound_s} s"
            elif self.size("out") + self.size("err") > OUTPUT_MAX:
                why = "its output has no end"
            time.sleep(0.01)
        seconds = time.monotonic() - began
        if why:
            process.kill()
            self.kill_left()
        code = process.wait(30)
        return Ended(None if why else code, seconds, self.text("out"), self.text("err"), why)

    def run(self, *words, bound_s=BOUND_S, **options):
        began = time.monotonic()
        return self.await_end(self.start(*words, **options), began, bound_s)

    def give_to(self, uid):
        """Changes the owner of everything in the folder. Only root can."""
        if os.geteuid() != 0:
            return
        for path in (self.folder, *self.folder.rglob("*")):
            os.lchown(path, uid, uid)

    def size(self, name):
        return (self.folder / name).stat().st_size

    def text(self, name):
        with open(self.folder / name, "rb") as file:
            file.seek(max(0, self.size(name) - TEXT_MAX))
            return file.read(TEXT_MAX).decode(errors="replace")

    def left(self, within_s=GONE_S):
        """The processes that are left after that time, by command."""
        until = time.monotonic() + within_s
        while True:
            pids = self.runner.marked()
            if not pids or time.monotonic() > until:
                return [b" ".join(command_of(pid)).decode(errors="replace")[:80] for pid in pids]
            time.sleep(0.02)

    def kill_left(self):
        for pid in self.runner.marked():
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)

    def line(self, text, ended, *, wanted="", by_us=(), may_trace=False, strays=False,
             loaded=True, before_next=None):
        """One line of results for an input. `wanted`: what is wrong although it ended well;
        `by_us`: signals that the input itself sends; `may_trace`: its workers fail; `strays`: what
        it leaves may live until the next start; `loaded`: the program could begin, so that its end
        is its own; `before_next` removes the hostile thing."""
        verdict = (judged(ended, by_us, may_trace) if loaded else ended.why) or wanted
        left = [] if strays else self.left()
        if left:
            verdict = verdict or f"left behind: {left}"
            self.kill_left()
        if before_next:
            before_next()
        verdict = verdict or self.next_start()
        self.runner.started.clear()
        line = {"input": text, "seconds": round(ended.seconds, 3), "code": ended.code,
                "lines": ended.lines, "verdict": verdict or (PASSED if loaded else NOT_LOADED)}
        return line if not verdict else line | {"said": self.without_paths(said_by(ended))}

    def next_start(self):
        """What is wrong with the next run in this folder; empty if it is clean."""
        ended = self.run("--standby=off", "end.py", bound_s=NEXT_START_S)
        left = self.left()
        self.kill_left()
        if ended.code == 0 and "here" in ended.out and not left:
            return ""
        what = f"left behind: {left}" if left else said_by(ended)
        return self.without_paths(f"the next start ends with {ended.code}: {what}")

    def without_paths(self, text):
        for path, name in ((self.folder, "FOLDER"), (BIN, "BIN"), (PYTHON, "PYTHON"),
                           (ROOT, "ROOT")):
            text = text.replace(str(path), name)
        return text


def judged(ended, by_us=(), may_trace=False):
    """What is wrong with an end; empty if nothing is."""
    text = ended.out + ended.err
    found = [words for words in CRASHES if words in text]
    if not may_trace and TRACEBACK in text:
        found.append(TRACEBACK)
    if ended.why:
        return ended.why
    if found:
        return f"crashed: {found[0]}"
    if ended.code < 0 and -ended.code not in by_us:
        return f"crashed: {signal.Signals(-ended.code).name}"
    if ended.code - 128 in CRASH_SIGNALS:
        return f"crashed: exit code {ended.code}"
    if ended.code > 0 and not text.strip():
        return "failed without a line"
    if ended.code == USAGE and ended.lines > REFUSAL_LINES_MAX:
        return f"refused with {ended.lines} lines"
    return ""


def said_by(ended):
    return (ended.err or ended.out)[-SAID_MAX:]


def dice(family, seed):
    """Two families of one seed draw different numbers."""
    return random.Random(f"{family} {seed}")


# Users of which no process runs: the kernel counts processes by user, and root has no limit.
FIRST_UID, UIDS = 70_000, 5_000


def user_of(seed):
    return FIRST_UID + seed % UIDS if os.geteuid() == 0 else os.getuid()


def as_user(uid):
    """The prefix of a command of that user."""
    if os.geteuid() != 0:
        return []
    return ["setpriv", f"--reuid={uid}", f"--regid={uid}", "--clear-groups"]


def processes_now():
    """Threads of this user, which count as processes."""
    listed = subprocess.run(["ps", "-L", "-U", str(os.getuid()), "-o", "lwp="],
                            capture_output=True, text=True, check=True)
    return len(listed.stdout.split())


def fenced(uid):
    """The prefix of a command that reads wrong numbers: a user that owns nothing else, with few
    processes and little memory, so that a wrong belief harms no other program."""
    few = FENCED_PROCESSES + (0 if os.geteuid() == 0 else processes_now())
    return [*as_user(uid), *LITTLE_MEMORY, f"--nproc={few}:{few}"]


def is_greedy(ended):
    """Whether a command with little memory wanted more."""
    return "out of memory" in ended.err
