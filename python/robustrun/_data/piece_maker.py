"""Makes pieces of text (pieces.py) with a pool of processes.

A record that fails twice, kills its process twice or hangs twice is an error, or is skipped if its
source has max_skips: first this is written down in the cache, then the piece is made without it. If
another machine has made the piece meanwhile, that one counts, and no record is skipped.
"""

import collections
import ctypes
import os
import queue
import signal
import sys

from . import pieces
from .pool import Killed, Pool, note
from .spec import DataError
from .token_writer import remove_abandoned
from .tokenizing import Recipe

_KILLED_IN_A_ROW = 20  # without a piece
_PR_SET_PDEATHSIG = 1  # linux/prctl.h
_recipes = None  # of a process that tokenizes: by the source's number


def _begin(recipes, parent):
    global _recipes
    _recipes = recipes
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the process that started this one ends it
    os.nice(10)  # the training goes first
    ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)
    if os.getppid() != parent:
        os._exit(1)


def _count(text):
    text.count()


def _stamp(recipe, text):
    status = os.stat(text.path)
    return [*recipe.stamp(), (status.st_size, status.st_mtime_ns)]


def _make(text, number, skipped, one_by_one, stamp):
    """(temporary name of the piece, samples, tokens, records to tokenize again, [(number, error)])
    """
    first, batch = text.batch(number)
    tokens, lengths, picked, failed = _recipes[text.source].tokens_of_piece(
        text.path, first, batch, skipped, lambda record: note(text.source, record), one_by_one)
    if len(lengths) != text.records_of(number):
        raise DataError("%s has changed since its records were counted" % text.path)
    # The folder's name is that of what was there when this began.
    if _stamp(_recipes[text.source], text) != stamp:
        raise DataError("%s, its tokenizer or its transform has changed since the training began"
                        % text.path)
    partial = pieces.write(text.piece(number), pieces.piece_bytes(
        tokens, lengths, {*skipped, *(record for record, _ in failed)}))
    return partial, len(lengths), len(tokens), picked, failed


def _again(text, picked):
    recipe = _recipes[text.source]
    for number, value, unit, first in picked:
        note(text.source, number)
        recipe.again(text.path, number, value, unit, first)


class _Task:
    """A piece that is being made."""

    def __init__(self, text, number):
        self.text, self.number = text, number
        self.one_by_one = False
        self.deaths = collections.Counter()  # by record: of processes that worked on it
        self.made = None  # once it is only compared
        self.skipped = set()  # records that it is made without
        self.noted = set()  # records that this task has noted as such that cannot be used


class PieceMaker:
    """end() must be called. finished() and others raise DataError: a record cannot be used, or no
    process can tokenize. `may_skip(text, number)`: DataError if no record of this piece may be
    skipped."""

    def __init__(self, values, folder, processes, may_skip=lambda text, number: None, late_s=None):
        self._values, self._may_skip = values, may_skip
        self._recipes = {number: Recipe(source, folder) for number, source
                         in enumerate(values["source"]) if source["format"] != "megatron"}
        self.texts = pieces.texts_of(values, folder)
        self._stamps = {text.path: _stamp(self._recipes[number], text)
                        for number, texts in self.texts.items() for text in texts}
        self._events = queue.SimpleQueue()  # (task or text, future), and whatever is put()
        self._working = {}  # (folder, number of the piece) → its task
        self._killed = 0
        self._cleaned = set()  # folders
        self._pool = Pool(processes, _begin, (self._recipes, os.getpid()), replaces=True,
                          late_s=late_s)
        self.put = self._events.put  # wakes the caller of next_event()

    @property
    def busy(self):
        """Pieces that are being made."""
        return len(self._working)

    def _submit(self, event, function, *given):
        text = getattr(event, "text", event)
        future = self._pool.submit(function, *given, kind=text.source)
        future.add_done_callback(lambda done: self._events.put((event, done)))

    def count(self, text):
        """Counts the records of a text; next_event() returns the text."""
        self._submit(text, _count, text)

    def make(self, text, number):
        """Makes a piece, unless it is there or being made; next_event() returns (text, number)."""
        if (text.folder, number) in self._working or os.path.exists(text.piece(number)):
            return
        if text.folder not in self._cleaned:
            self._cleaned.add(text.folder)
            remove_abandoned(text.folder)
        self._begin(self._working.setdefault((text.folder, number), _Task(text, number)))

    def _begin(self, task):
        if task.made:
            self._submit(task, _again, task.text, task.made[3])
        else:
            task.skipped = self._skipped_in(task)
            self._submit(task, _make, task.text, task.number, task.skipped, task.one_by_one,
                         self._stamps[task.text.path])

    @staticmethod
    def _skipped_in(task):
        return {record for record in task.text.skipped()
                if task.text.piece_with(record) == task.number}

    def next_event(self, within_s):
        """The text or (text, number, samples, tokens) that is done; what was put(); or None."""
        try:
            event = self._events.get(timeout=within_s)
        except queue.Empty:
            return None
        if not (isinstance(event, tuple) and isinstance(event[0], (_Task, pieces.Text))):
            return event
        what, future = event
        if isinstance(what, pieces.Text):
            try:
                future.result()
            except Killed:
                self._count_killed(what)
                self.count(what)
                return None
            return what
        return self._finished(what, future)

    def _finished(self, task, future):
        try:
            result = future.result()
        except Killed as killed:
            self._was_killed(task, killed)
            return None
        if not task.made:
            task.made = result
            failed = result[4]
            if failed:
                try:
                    for number, error in failed:
                        self._skip(task, number, error)
                except DataError:
                    pieces.remove(result[0])
                    raise
            if result[3]:
                self._begin(task)  # most likely in another process
                return None
        self._killed = 0
        text, (partial, samples, tokens, _, failed) = task.text, task.made
        if self._skipped_in(task) - task.skipped - {number for number, _ in failed}:
            pieces.remove(partial)  # a rank has loaded a state that skips more
            task.made = None
            self._begin(task)
            return None
        if not pieces.publish(partial, text.piece(task.number)):
            there = text.skips_of(task.number)
            for record in task.noted.difference(there or ()):  # used by the one that is there
                pieces.remove(text.skip_path(record))
        del self._working[text.folder, task.number]
        return text, task.number, samples, tokens

    def _was_killed(self, task, killed):
        self._count_killed(task.text)
        if self._is_there(task):
            if task.made:
                pieces.remove(task.made[0])
            del self._working[task.text.folder, task.number]
            return
        if killed.record and not (task.one_by_one or self._is_alone(task.text)):
            task.one_by_one = True  # next time it is known which record it is
        elif killed.record:
            task.deaths[killed.record] += 1
            if task.deaths[killed.record] == 2:
                self._skip(task, killed.record, "%s, %s %d: %s %s" % (
                    task.text.path, task.text.unit, killed.record,
                    self._recipes[task.text.source].maker,
                    "killed its process twice" if killed.late_s is None
                    else "took longer than %d s twice" % killed.late_s))
                self._killed = 0
                if task.made:  # with this record, which may not be used now
                    pieces.remove(task.made[0])
                    task.made = None
        self._begin(task)

    def _is_alone(self, text):
        """Whether a process notes each record."""
        return not self._recipes[text.source].tokenizer

    def _count_killed(self, text):
        self._killed += 1
        if self._killed == _KILLED_IN_A_ROW:
            raise DataError("source %s: %d processes in a row that tokenized %s were killed, "
                            "perhaps for lack of memory"
                            % (self._name(text), self._killed, text.path))

    def _name(self, text):
        return self._values["source"][text.source]["name"]

    @staticmethod
    def _is_there(task):
        """Whether another machine was faster."""
        return os.path.exists(task.text.piece(task.number))

    def _skip(self, task, number, error):
        text = task.text
        if self._is_there(task):
            return
        most = self._values["source"][text.source].get("max_skips", 0)
        if most == 0:
            raise DataError(error)
        try:
            self._may_skip(text, task.number)
        except DataError as why:
            raise DataError("%s; %s" % (error, why)) from None
        if number not in text.skipped():
            before = sum(len(each.skipped()) for each in self.texts[text.source])
            if before >= most:
                raise DataError("%s; source %s may skip %d record%s (max_skips), and has"
                                % (error, self._name(text), most, "s" * (most != 1)))
            text.skip(number, error)
            task.noted.add(number)
        print("robustrun: skipped for good: %s" % error, file=sys.stderr, flush=True)

    def end(self):
        self._pool.end(is_killed=True)
        for task in self._working.values():
            if task.made:
                pieces.remove(task.made[0])
