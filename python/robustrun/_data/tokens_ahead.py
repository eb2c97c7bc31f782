"""A rank's side of text that is tokenized while the training runs.

Of the ranks of a machine one has the process that tokenizes (ahead.py): the one with the lock. The
others wait for the pieces; if the one ends, another takes the lock. If the process stands still, it
is replaced, or another rank has one, by a second lock: two that tokenize do no harm.
"""

import contextlib
import errno
import fcntl
import hashlib
import json
import os
import select
import stat
import struct
import subprocess
import sys
import tempfile
import time

from .._progress import data_waits
from . import c_api, pieces
from .skips import Skips
from .spec import DataError

LATE_S = 30  # a record that takes longer, and longer than many before, hangs
_LOOK_EVERY_S = 0.2
_NEED_AGAIN_S = 1.0
_END_S = 5
_STARTS_MAX = 5  # without a batch
STILL_LOOKS = 150  # for which the process has shown no life; without the lock twice as many
_START_LOOKS = 450  # more, for its start
_owned = {}  # lock → process that has it: a process's own locks do not keep it out
_PROGRAM = ("import sys; sys.path[:0] = [%r]; from robustrun._data.ahead import main; "
            "sys.exit(main())")


def _number(name, default):
    text = os.environ.get(name, "")
    return int(text) if text.isdecimal() else default


class _Place:
    """Where this process is in its job. `folders`: those of the texts."""

    def __init__(self, values, folder, folders):
        ranks = _number("LOCAL_WORLD_SIZE", 1)
        self.machine = _number("GROUP_RANK", 0)
        self.machines = max(_number("GROUP_WORLD_SIZE", _number("WORLD_SIZE", 1) // max(ranks, 1)),
                            self.machine + 1)
        cpus = len(os.sched_getaffinity(0)) - ranks
        self.processes = values.get("resources", {}).get("cpus") or max(1, cpus)
        names = ("ROBUSTRUN_RUN_ID", "TORCHELASTIC_RUN_ID", "MASTER_ADDR", "MASTER_PORT")
        job = [os.environ.get(name, "") for name in names[:1]]
        if not job[0]:
            job = [os.environ.get(name, "") for name in names[1:]]
        if not any(job):
            job = [os.getpid()]
        text = json.dumps([job, folder, values, folders], sort_keys=True).encode()
        self.job = hashlib.sha256(text).hexdigest()[:16]
        self.folder = os.fsdecode(c_api.shared_folder())
        if not self.folder:  # outside robustrun
            self.folder = os.path.join(tempfile.gettempdir(), "robustrun-%d" % os.getuid())
            os.makedirs(self.folder, mode=0o700, exist_ok=True)
            found = os.lstat(self.folder)
            if found.st_uid != os.getuid() or not stat.S_ISDIR(found.st_mode):
                raise DataError("%s is not a folder of this user" % self.folder)
        self.prefix = os.path.join(self.folder, "data-ahead-%s" % self.job)
        self.lock, self.second = self.prefix + ".lock", self.prefix + ".second"
        self.alive = self.prefix + ".alive"


class TokensAhead:
    """The text of one loader."""

    def __init__(self, values, folder):
        self._values, self._folder = values, folder
        self._texts = pieces.texts_of(values, folder)
        self._folders = [text.folder for texts in self._texts.values() for text in texts]
        self._place = _Place(values, folder, self._folders)
        self._pid = os.getpid()
        self._lock = None  # file: this rank has the process, or should
        self._second = None  # file: this rank has one, as the first stands still
        self._process = None
        self._starts = 0
        self._looked = 0
        self._alive = False  # time of the last sign of life; False: not looked at
        self._still = -_START_LOOKS  # looks since then
        self._at = {"positions": [0] * len(values["source"]), "step": 0}
        self._begins = False
        self._need, self._needed = None, 0

    def wait_for_records(self, place):
        """What c_api.Feed needs, once the records of all files have been counted. Calls
        place(source, path) with a file that is awaited."""
        for number, texts in self._texts.items():
            name = self._values["source"][number]["name"].encode()
            for text in texts:
                while not text.is_known():
                    place(name, os.fsencode(text.path))
                    self.look()
                    time.sleep(_LOOK_EVERY_S / 4)
        self.skips = Skips(self._values, self._texts)
        return {number: (texts, pieces.fingerprint(self._values, self._folder, texts))
                for number, texts in self._texts.items()}

    def begin(self):
        """No state is loaded from now on, or it has been: pieces may be made."""
        if not self._begins:
            self._begins = True
            self._send({"begins": True})

    def move(self, cursor):
        """The training is there: it has received batches up to this cursor."""
        self._starts = 0
        self._need = None
        self.skips_at(cursor)
        if self._at["step"] != cursor["step"] or self._at["positions"] != cursor["positions"]:
            self._at = {"positions": cursor["positions"], "step": cursor["step"]}
            self._send(self._at)

    def skips_at(self, cursor):
        """The records that the training has skipped up to this cursor, as a state has them."""
        self.skips.move(cursor)
        data_waits.skips(self.skips.count())
        return self.skips.value()

    def need(self, source, sample):
        """A rank waits for this sample. Called again and again; `source` is its name."""
        self.look()
        numbers = [each["name"].encode() for each in self._values["source"]]
        need = [numbers.index(source), sample]
        is_new = need != self._need
        if not is_new and time.monotonic() - self._needed < _NEED_AGAIN_S:
            return
        self._need, self._needed = need, time.monotonic()
        if self._process is not None:
            self._send({"need": need})
        elif not is_new:  # the process of another rank does not seem to know it
            partial = "%s.part-%d" % (self._place.prefix, os.getpid())
            with open(partial, "w") as file:
                json.dump(need, file)
            os.replace(partial, "%s.need-%d-%d" % (self._place.prefix, os.getpid(), id(self)))

    def look(self):
        """Sees to it that a process tokenizes on this machine. DataError if that found an error."""
        if self._pid != os.getpid():  # forked: its parent has them
            self._pid, self._process = os.getpid(), None
            self._lock = self._second = None
        if time.monotonic() - self._looked < _LOOK_EVERY_S:
            return
        self._looked = time.monotonic()
        stands_still = self._stands_still()
        if self._process is not None and self._process.poll() is None:
            if not stands_still:
                return
            print("robustrun: process %d, which tokenizes, stands still and is replaced"
                  % self._process.pid, file=sys.stderr, flush=True)
            self._process.kill()
            self._process.wait()
        if self._process is not None:
            self._hear_last()
        if self._lock is None:
            self._lock = self._taken(self._place.lock)
        if self._lock is None:
            if not stands_still:
                return
            self._second = self._second or self._taken(self._place.second)
            if self._second is None:
                return
            print("robustrun: the process that tokenizes for process %s, which has the lock %s, "
                  "stands still; this rank has one of its own" % (self._holder(), self._place.lock),
                  file=sys.stderr, flush=True)
        if self._starts == _STARTS_MAX:
            raise DataError("the process that tokenizes has been killed %d times in a row, perhaps "
                            "for lack of memory" % self._starts)
        self._starts += 1
        self._start()

    def _stands_still(self):
        """Whether the process that tokenizes on this machine has shown no life for long, by this
        rank's looks: clocks go on while a job is suspended."""
        try:
            alive = os.stat(self._place.alive).st_mtime_ns
        except OSError:
            alive = None
        if alive != self._alive:
            if self._alive is not False:
                self._still = 0
            self._alive = alive
        self._still += 1
        if self._still < STILL_LOOKS * (2 if self._lock is None else 1):
            return False
        self._still = 0
        return True

    def _holder(self):
        """Pid of the process that has the lock, or what is known of it."""
        if _owned.get(self._place.lock) == os.getpid():
            return str(os.getpid())  # which would give it back by closing the file
        try:
            with open(self._place.lock) as file:
                found = fcntl.fcntl(file, fcntl.F_GETLK, struct.pack("@hhqqi4x", fcntl.F_WRLCK,
                                                                     os.SEEK_SET, 0, 0, 0))
        except OSError:
            return "?"
        return str(struct.unpack("@hhqqi4x", found)[4] or "?")

    @staticmethod
    def _taken(path):
        """The file of a lock; None: another process, or another loader of this one, has it."""
        if _owned.get(path) == os.getpid():
            return None
        file = open(path, "a")
        try:
            # Not flock(): a child that was forked would hold it, too.
            fcntl.lockf(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as error:
            if error.errno in (errno.EACCES, errno.EAGAIN):
                file.close()
                return None
            # A file system without locks: two that tokenize do no harm.
        _owned[path] = os.getpid()
        return file

    def _unlock(self):
        if self._lock is not None:
            pieces.remove(self._place.alive)
        for lock in self._lock, self._second:
            if lock is not None:
                _owned.pop(lock.name, None)
                pieces.remove(lock.name)  # two that tokenize do no harm
                lock.close()
        self._lock = self._second = None

    def _start(self):
        package = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
        self._still = -_START_LOOKS
        if self._lock is not None:
            pieces.remove(self._place.alive)  # of an earlier one
        self._process = subprocess.Popen(
            [sys.executable, "-c", _PROGRAM % package], stdin=subprocess.PIPE,
            stdout=subprocess.PIPE, text=True)
        place = self._place
        task = {"values": self._values, "folder": self._folder, "folders": self._folders,
                "job": place.job,
                "machine": place.machine, "machines": place.machines,
                "processes": place.processes, "needs": place.prefix + ".need-",
                "alive": place.alive,
                "late_s": LATE_S,
                "may_skip": any("max_skips" in each for each in self._values["source"])}
        self._send(task)
        self._send(dict(self._at, need=self._need, begins=self._begins))

    def _send(self, value):
        if self._process is None or self._pid != os.getpid():
            return
        # A thread of it reads what comes, so it stands still if the pipe is full. look() starts
        # another one, which gets all of this; also if it has ended.
        with contextlib.suppress(OSError):
            if select.select([], [self._process.stdin], [], 0)[1]:
                print(json.dumps(value), file=self._process.stdin, flush=True)
            else:
                self._process.kill()

    def _hear_last(self):
        """DataError if the process ended with one."""
        process, self._process = self._process, None
        with process.stdout:
            told = process.stdout.readline()
        with contextlib.suppress(OSError):  # what could not be sent
            process.stdin.close()
        if told:
            self._unlock()
            raise DataError(json.loads(told)["error"])

    def close(self):
        """Ends the process."""
        if self._pid != os.getpid():
            return
        process, self._process = self._process, None
        if process is not None:
            with contextlib.suppress(OSError):
                # A child of this process may have the pipe open, too.
                print(json.dumps({"end": True}), file=process.stdin, flush=True)
                process.stdin.close()
            try:
                process.wait(_END_S)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()
            process.stdout.close()
        self._unlock()

    def __del__(self):
        with contextlib.suppress(Exception):  # the interpreter may be ending
            self.close()
