"""Another user of the machine: floods of every port, signals, reads and writes of a run's files,
names that are taken in /tmp, and files of that user in the folder of a run. Takes root, which acts
as both users."""

import contextlib
import dataclasses
import errno
import multiprocessing
import os
import pathlib
import shutil
import signal
import socket
import sys
import time

from helpers.jobs import lockstep, start_job
from hostile.floods import Flood, await_end, targets_of
from hostile.floods import Player as FloodPlayer
from hostile.place import FIRST_UID, UIDS, Place, as_user, dice, user_of

THEIR_CONNECTIONS = 2000
MANY_NAMES = 2000
BIT_OF_GARBAGE = 200
PORTS = ("supervisor", "metrics", "store", "agent", "bulk")
RUN = ("--standby=off", "--no-python", "/bin/echo", "here")
COMMANDS = ("report", "status", "logs", "stop", "resume", "rm", "diagnose", "attach", "ls",
            "inject", "update", "nodes")
CASES = [
    *(("flood", port, kind) for port in PORTS for kind in ("silent", "garbage", "closed")),
    *(("connect", name) for name in ("control", "worker socket")),
    *(("signal", name) for name in ("SIGTERM", "SIGKILL", "SIGSTOP", "SIGHUP")),
    *(("open", how) for how in ("read", "write", "process")),
    *(("squat", kind) for kind in ("folder", "open folder", "file", "fifo", "link", "own link",
                                   "dangling link", "many names")),
    *(("file", name, mode) for name in ("journal", "request", "lock")
      for mode in (0o600, 0o644)),
    ("file", "control", 0o600),
    *(("socket", kind, name) for kind in ("silent", "garbage", "closed")
      for name in ("status", "stop", "diagnose")),
    *(("folder", mode) for mode in (0o700, 0o755)),
]
COUNT = len(CASES)
REFUSALS = (errno.EPERM, errno.EACCES, errno.ESRCH, errno.ENOENT)  # or it is gone


class OtherUser:
    """A child of another user, which does one thing, sends what came of it, and then lives until
    the end of the block."""

    def __init__(self, uid, act):
        context = multiprocessing.get_context("fork")
        self.ours, theirs = context.Pipe()
        self.child = context.Process(target=self.live, args=(uid, act, theirs), daemon=True)

    def live(self, uid, act, theirs):
        os.setgroups([])
        os.setresgid(uid, uid, uid)
        os.setresuid(uid, uid, uid)
        held, result = act()
        theirs.send(result)
        with contextlib.suppress(EOFError):
            theirs.recv()
        del held

    def __enter__(self):
        self.child.start()
        if not self.ours.poll(60):
            raise TimeoutError("the other user's process does nothing")
        return self.ours.recv()

    def __exit__(self, *_):
        self.child.kill()
        self.child.join(30)


def their_uid(seed):
    return FIRST_UID + UIDS + seed % UIDS


def is_refused(act):
    """Whether the kernel refuses it."""
    try:
        act()
    except OSError as error:
        return error.errno in REFUSALS
    return False


def open_files(paths, how):
    """Of these the ones that the caller can open."""
    flags = os.O_RDONLY if how == "read" else os.O_RDWR
    return [str(path) for path in paths
            if not is_refused(lambda path=path: os.close(os.open(path, flags | os.O_NONBLOCK)))]


def answering(path, kind, draw):
    """A socket that accepts, and then is silent, sends garbage or hangs up."""
    listening = socket.socket(socket.AF_UNIX)
    listening.bind(str(path))
    os.chmod(path, 0o777)
    listening.listen(64)
    if kind == "silent":
        return listening
    while True:
        one, _ = listening.accept()
        with contextlib.suppress(OSError):
            if kind == "garbage":
                one.sendall(draw.randbytes(BIT_OF_GARBAGE))
        one.close()


class Player(FloodPlayer):
    def __enter__(self):
        if os.geteuid() != 0:
            sys.exit("only root can act as another user")
        if not shutil.which("setpriv"):
            sys.exit("no setpriv: install util-linux")
        return super().__enter__()

    def play(self, seed):
        what, *details = CASES[(seed - 1) % len(CASES)]
        draw, uid = dice("other user", seed), their_uid(seed)
        with Place() as place:
            os.chmod(place.folder, 0o755)
            play = {"flood": self.flood, "connect": self.knock, "signal": self.send,
                    "open": self.look, "squat": self.squat, "file": self.of_file,
                    "socket": self.of_socket, "folder": self.of_folder}[what]
            return play(place, draw, uid, seed, *details)

    # About a run that is going on

    def live(self, place, text, act):
        """Plays `act` on a run on two nodes; it returns what is wrong, now or later."""
        usual = ["prlimit", "--nofile={}:{}".format(*self.limit)]
        job = start_job(place.runner, "--launcher=processes", "--nnodes=2",
                        "--nproc-per-node=1", "--standby=off", "--metrics-port=0",
                        "--shutdown-timeout=5s", *lockstep(place.runner), prefix=usual)
        job.moves(world=2)
        began = time.monotonic()
        wrong = act(job)
        asked = time.monotonic()
        job.process.send_signal(signal.SIGTERM)
        ended = await_end(place, job, asked)
        ended = dataclasses.replace(ended, seconds=ended.seconds + asked - began)
        return place.line(text, ended, wanted=wrong, may_trace=True)

    def flood(self, place, draw, uid, _, port, kind):
        spread = draw.random() < 0.5

        def act(job):
            found = targets_of(place, job)[port]

            def connect():
                flood = Flood(kind, draw, spread)
                count = sum(flood.connect(each) for each in found
                            for _ in range(THEIR_CONNECTIONS))
                return flood, count

            with OtherUser(uid, connect) as count:
                return self.goes_on(job, port) if count else "no connection was made"

        where = "many addresses" if spread else "the agents' address"
        return self.live(place, f"a flood of the {port}'s port, {kind}, from {where}", act)

    def knock(self, place, _draw, uid, _, name):
        def act(job):
            found = targets_of(place, job)[name]

            def connect():
                codes = []
                for path in found:
                    one = socket.socket(socket.AF_UNIX)
                    codes.append(one.connect_ex(path))
                return None, codes

            with OtherUser(uid, connect) as codes:
                good = codes and all(code in (errno.EACCES, errno.EPERM) for code in codes)
                return self.goes_on(job, "") if good else f"connecting gives {codes}"

        return self.live(place, f"connecting to the {name}", act)

    def send(self, place, _draw, uid, _, name):
        def act(job):
            pids = place.runner.marked()
            number = signal.Signals[name]

            def send():
                return None, [pid for pid in pids
                              if not is_refused(lambda pid=pid: os.kill(pid, number))]

            with OtherUser(uid, send) as sent:
                if sent or not pids:
                    return f"{len(sent)} of {len(pids)} processes took it"
                return self.goes_on(job, "")

        return self.live(place, f"{name} to every process", act)

    def look(self, place, _draw, uid, _, how):
        def act(job):
            files = [path for path in job.run.rglob("*") if path.is_file()]
            if how == "process":
                files = [pathlib.Path(f"/proc/{pid}/{name}") for pid in place.runner.marked()
                         for name in ("environ", "mem", "maps")]
            with OtherUser(uid, lambda: (None, open_files(files, how))) as opened:
                if opened or not files:
                    return f"opened {opened[:3]} of {len(files)} files"
                return self.goes_on(job, "")

        text = {"read": "reading the files of a run", "write": "writing the files of a run",
                "process": "reading environment and memory"}[how]
        return self.live(place, text, act)

    # About commands of a user without the rights of root

    def squat(self, place, _draw, uid, seed, kind):
        ours = user_of(seed)
        path = pathlib.Path(f"/tmp/robustrun-{ours}")
        bait = place.folder / "bait"
        bait.mkdir(mode=0o700)
        place.give_to(ours)
        if kind == "link":
            os.chown(bait, uid, uid)

        def take():
            if kind in ("folder", "open folder", "many names"):
                path.mkdir(mode=0o700)
                path.chmod(0o777 if kind == "open folder" else 0o700)
            elif kind == "file":
                path.touch()
            elif kind == "fifo":
                os.mkfifo(path)
            else:
                path.symlink_to(bait / "gone" if kind == "dangling link" else bait)
            for number in range(MANY_NAMES if kind == "many names" else 0):
                pathlib.Path(f"{path}-{number:06}").mkdir()
            return None, True

        try:
            with OtherUser(uid, take):
                ended = place.run(*RUN, prefix=as_user(ours), env={"XDG_RUNTIME_DIR": ""})
            wrong = "" if ended.code == 0 and "here" in ended.out else "the run failed"
            if any(bait.iterdir()) or (path.is_dir() and any(path.iterdir())):
                wrong = wrong or "it used a folder of the other user's choice"
        finally:
            remove(path)
        return place.line(f"its name in /tmp is taken: {kind}", ended, wanted=wrong,
                          before_next=lambda: place.give_to(os.getuid()))

    def of_a_run(self, place, name, seed, text, change):
        """Plays a command on a finished run that `change` has changed."""
        ours = user_of(seed)
        place.give_to(ours)
        run = place.folder / "robustrun-runs" / "done"
        made = place.run("--run-dir", run, *RUN, prefix=as_user(ours))
        assert made.code == 0, made.err
        words = {"ls": ["ls"], "inject": ["inject", run, "kill", "--rank=0"],
                 "update": ["update", "--list", run], "nodes": ["nodes", "--run", run]}
        with change(run):
            ended = place.run(*words.get(name, [name, run]), prefix=as_user(ours))
        return place.line(f"{name}, {text}", ended,
                          before_next=lambda: place.give_to(os.getuid()))

    def of_file(self, place, draw, uid, seed, name, mode):
        @contextlib.contextmanager
        def change(run):
            path = run / name
            path.touch()
            os.chmod(path, mode)
            os.chown(path, uid, uid)
            yield

        return self.of_a_run(place, draw.choice(COMMANDS), seed,
                             f"{name} of another user, {mode:o}", change)

    def of_socket(self, place, draw, uid, seed, kind, name):
        theirs = place.folder / "theirs"
        theirs.mkdir()

        @contextlib.contextmanager
        def change(run):
            os.chown(theirs, uid, uid)
            theirs.chmod(0o755)
            path = theirs / "socket"
            (run / "control").write_text(f"{path}\nhost {socket.gethostname()}\npid 1\n")
            os.chown(run / "control", uid, uid)
            (run / "control").chmod(0o644)
            child = multiprocessing.get_context("fork").Process(
                target=self.answer, args=(uid, path, kind, draw), daemon=True)
            child.start()
            try:
                until = time.monotonic() + 60
                while not path.exists() and time.monotonic() < until:
                    time.sleep(0.01)
                yield
            finally:
                child.kill()
                child.join(30)

        return self.of_a_run(place, name, seed, f"a control socket of another user, {kind}",
                             change)

    def answer(self, uid, path, kind, draw):
        os.setgroups([])
        os.setresgid(uid, uid, uid)
        os.setresuid(uid, uid, uid)
        held = answering(path, kind, draw)
        signal.pause()
        del held

    def of_folder(self, place, draw, uid, seed, mode):
        @contextlib.contextmanager
        def change(run):
            for path in (run, *run.rglob("*")):
                os.chown(path, uid, uid)
            run.chmod(mode)
            yield

        return self.of_a_run(place, draw.choice(COMMANDS), seed,
                             f"the run of another user, {mode:o}", change)


def remove(path):
    """What lies there under this name and those that begin so, with a folder that a run made."""
    for each in (path, *path.parent.glob(f"{path.name}-*")):
        if each.is_dir() and not each.is_symlink():
            shutil.rmtree(each)
        else:
            each.unlink(missing_ok=True)
