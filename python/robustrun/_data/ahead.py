"""The process that tokenizes ahead of a training: one per machine, started by tokens_ahead.py.

Its stdin has lines of JSON: first what it is to do, then again and again `positions`, the samples
of each source that the training has used, and `need`, a sample that the rank waits for; other ranks
have files for this. From the positions follows which pieces are needed next, and in which order
(loader/plan/order.h): it makes those of the present window of blocks and of the next one. Where
records may be skipped it begins with `begins`, or a need: before that the rank may load a state,
which says what is skipped. An error is a line of JSON on its stdout; then it ends, as it does when
stdin ends.

Machines that share the cache share the work: each has a file in the cache that it touches, and a
piece belongs to one of those whose file is fresh. A piece that a rank has waited for too long is
made by this machine whatever it belongs to.
"""

import collections
import contextlib
import glob
import hashlib
import json
import os
import signal
import sys
import threading
import time

from . import pieces
from .piece_maker import PieceMaker
from .pieces import RECORDS, Places, remove
from .spec import DataError

_REACH_MAX = 64  # times the usual reach
_TOUCH_EVERY_S = 5  # more often at first
_FRESH_S = 30
_GONE_S = 3600
_TAKE_OVER_AFTER_S = 30
_SHARED_WITHIN_S = 60
_ALIVE_EVERY_S = 1


class _Source:
    """Which pieces of a source come next. Tells each once, until another order begins."""

    def __init__(self, values, number, texts):
        self.name = values["source"][number]["name"]
        self._places = Places(values, number, texts)
        # The present window and the next one; more if ranks need more for a step.
        self._reach = 2 * values["shuffle"]["window"] * max(values["shuffle"]["block"], RECORDS)
        self.reach = self._reach
        self.position = self._upto = 0  # samples
        self._told = set()
        self.coming = collections.deque()  # (position, text, number)

    def has_told(self, text, number):
        return (text.path, number) in self._told

    def piece_of(self, sample):
        return self._places.piece_of(sample)

    def was_drawn(self, text, number):
        return self._places.was_drawn(text, number, self.position)

    def move(self, position):
        if position < self.position or position > self._upto:  # a state was loaded
            self._told.clear()
            self.coming.clear()
            self._upto = position
        if position != self.position:
            self.reach = self._reach
        self.position = position

    def reach_further(self):
        """A step is larger than what is within reach."""
        self.reach = min(2 * self.reach, _REACH_MAX * self._reach)

    def look_ahead(self):
        """Adds to `coming` what is within reach."""
        end = min(self.position + self.reach, self.position + self._places.samples)
        for part in self._places.order(self._upto, end):
            for at, sample in enumerate(part, self._upto):
                text, number = self.piece_of(sample)
                if (text.path, number) not in self._told:
                    self._told.add((text.path, number))
                    self.coming.append((at, text, number))
            self._upto += len(part)


def _share(points, step):
    """About how often the mixture draws from a source at a step."""
    return next((weight for at, weight in reversed(points) if at <= step), points[0][1])


class _Machines:
    """The machines that make pieces for one training in the same cache."""

    def __init__(self, cache, job, machine, machines):
        self._own, self.count = machine, machines
        self._path = os.path.join(cache, ".machine-%s-" % job)
        self._next, self._every_s = 0, 0.5
        self._fresh = self._told = [machine]

    @staticmethod
    def remove_gone(cache):
        """Files of machines that have not been heard of for long: nothing counts them. One that
        goes on makes its file again, so clocks that differ do no harm."""
        for path in glob.glob(os.path.join(glob.escape(cache), ".machine-*")):
            with contextlib.suppress(OSError):
                if time.time() - os.stat(path).st_mtime > _GONE_S:
                    os.remove(path)

    def touch(self):
        """Returns whether other machines are there than at the call before."""
        now = time.monotonic()
        if self.count > 1 and now >= self._next:
            self._next = now + self._every_s
            self._every_s = min(2 * self._every_s, _TOUCH_EVERY_S)
            self._look()
        changed, self._told = self._fresh != self._told, self._fresh
        return changed

    def _look(self):
        own = self._path + str(self._own)
        with open(own, "w"):
            os.utime(own)
        here, fresh = os.stat(own).st_mtime, []  # by the clock of the file system
        for machine in range(self.count):
            with contextlib.suppress(OSError):
                if here - os.stat(self._path + str(machine)).st_mtime < _FRESH_S:
                    fresh.append(machine)
        self._fresh = fresh

    def leave(self):
        remove(self._path + str(self._own))

    def is_own(self, name):
        return self._owner(self._fresh, name) == self._own

    def counts(self, name):
        """Whether this machine is the first to count the records of a text."""
        return self._owner(range(self.count), name) == self._own

    @staticmethod
    def _owner(machines, name):
        return max(machines, key=lambda machine: hashlib.sha256(
            b"%d %s" % (machine, os.fsencode(name))).digest())

    def check_shared(self):
        """DataError unless all machines share the cache. Waits for those that have just started."""
        end = time.monotonic() + _SHARED_WITHIN_S
        while len(self._fresh) < self.count and time.monotonic() < end:
            time.sleep(0.5)
            self._look()
        if len(self._fresh) < self.count:
            raise DataError("it can only be skipped (max_skips) if all %d machines share one "
                            "cache: this one shares it with %d"
                            % (self.count, len(self._fresh) - 1))


class Ahead:
    """Makes the pieces that a training needs next."""

    def __init__(self, task):
        self._values = values = task["values"]
        folder, cache = task["folder"], os.path.join(task["folder"], values["cache"])
        os.makedirs(cache, exist_ok=True)
        self._folder = folder
        _Machines.remove_gone(cache)
        self._machines = _Machines(cache, task["job"], task["machine"], task["machines"])
        if [text.folder for texts in pieces.texts_of(values, folder).values()
                for text in texts] != task["folders"]:
            raise DataError("a text, its tokenizer or its transform has changed since the training "
                            "began: start it again")
        self._maker = PieceMaker(values, folder, task["processes"], self._check_skip,
                                 task["late_s"])
        self.put = self._maker.put
        self._processes = task["processes"]
        self._sources = {}
        self._begins = not task["may_skip"]
        self._step = 0
        self._others = []  # pieces of other machines
        self._needs = {}  # name of a file, "": of stdin → (text, number, time)
        self._need_files = glob.escape(task["needs"]) + "*"
        self._positions = [0] * len(values["source"])
        self._parent = os.getppid()

    def count_records(self):
        texts = [text for of_source in self._maker.texts.values() for text in of_source]
        texts = [text for text in texts if not text.is_known()]
        # The others' last: they may have counted them until then.
        for text in sorted(texts, key=lambda text: not self._machines.counts(text.folder)):
            self._maker.count(text)
        early = []
        while not all(text.is_known() for text in texts):
            self._check_parent()
            event = self._maker.next_event(1)
            if isinstance(event, dict):
                self._check_end(event)
                early.append(event)
        self._sources = {number: _Source(self._values, number, texts)
                         for number, texts in self._maker.texts.items()}
        for event in early:
            self._take(event)

    def run(self):
        while True:
            self._check_parent()
            if self._machines.touch():
                for source, *piece in self._others:
                    source.coming.append(piece)
                self._others = []
            self._others = [each for each in self._others
                            if each[1] + each[0].reach > each[0].position]
            self._look_at_needs()
            if self._begins:
                self._begin_pieces()
            self._take(self._maker.next_event(1))

    def _take(self, event):
        if not isinstance(event, dict):
            return
        self._check_end(event)
        if "positions" in event:
            self._positions, self._step = event["positions"], event["step"]
            for number, source in self._sources.items():
                source.move(self._positions[number])
        if event.get("need"):
            self._take_need("", *event["need"])
        self._begins = self._begins or event.get("begins", False)

    def _check_skip(self, text, number):
        """DataError unless a record of this piece may be skipped now."""
        self._machines.check_shared()
        if self._sources[text.source].was_drawn(text, number):
            raise DataError("this training has used it, so it cannot be skipped any more")

    @staticmethod
    def _check_end(event):
        if "end" in event:
            sys.exit(0)

    def _check_parent(self):
        if os.getppid() != self._parent:
            sys.exit(0)

    def _take_need(self, name, number, sample):
        source = self._sources[number]
        source.look_ahead()
        piece = source.piece_of(sample)
        # Another rank may have loaded its state before this one's, whose positions count here.
        self._begins = self._begins or not name
        if self._needs.get(name, ())[:2] != piece:
            self._needs[name] = (*piece, time.monotonic())
            if not source.has_told(*piece):
                source.reach_further()

    def _look_at_needs(self):
        for path in glob.glob(self._need_files):
            with contextlib.suppress(FileNotFoundError):
                with open(path) as file:
                    self._take_need(path, *json.load(file))
                os.remove(path)
        for name, (text, number, since) in list(self._needs.items()):
            is_late = time.monotonic() - since > _TAKE_OVER_AFTER_S
            if os.path.exists(text.piece(number)):
                del self._needs[name]
            elif is_late or self._machines.is_own(text.piece(number)):
                self._maker.make(text, number)

    def _begin_pieces(self):
        for source in self._sources.values():
            source.look_ahead()
        while self._maker.busy <= self._processes:
            nearest = min((source for source in self._sources.values() if source.coming),
                          key=self._distance, default=None)
            if nearest is None:
                return
            position, text, number = nearest.coming.popleft()
            if self._machines.is_own(text.piece(number)):
                self._maker.make(text, number)
            elif not os.path.exists(text.piece(number)):
                self._others.append((nearest, position, text, number))

    def _distance(self, source):
        points = self._values["mixture"][source.name]
        return (source.coming[0][0] - source.position) / max(_share(points, self._step), 1)

    def end(self):
        self._maker.end()
        self._machines.leave()


def _live(path):
    """Shows the ranks that this process does not stand still."""
    while True:
        with contextlib.suppress(OSError), open(path, "a"):
            os.utime(path)
        time.sleep(_ALIVE_EVERY_S)


def _listen(events):
    for line in sys.stdin:
        events(json.loads(line))
    events({"end": True})


def main():
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # of the terminal: the rank decides
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)  # what a transform prints
    ahead = None
    try:
        task = json.loads(sys.stdin.readline())
        threading.Thread(target=_live, args=(task["alive"],), daemon=True).start()
        ahead = Ahead(task)
        threading.Thread(target=_listen, args=(ahead.put,), daemon=True).start()
        ahead.count_records()
        ahead.run()
    except Exception as error:
        text = str(error) if isinstance(error, DataError) else "cannot tokenize: %r" % error
        print(json.dumps({"error": text}), file=answers, flush=True)
        return 2
    finally:
        if ahead:
            ahead.end()


if __name__ == "__main__":
    sys.exit(main())
