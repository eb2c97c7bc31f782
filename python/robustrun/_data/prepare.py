"""`robustrun data prepare`: tokenizes the sources of a specification that are text, once.

    python -m robustrun._data.prepare FILE [--processes N] [--part I/N]

Each input file becomes a data set in Megatron-LM's format below the specification's `cache`, which
robustrun.data.loader reads (docs/data.md). A file that is there is not made again, so a call that
was ended goes on with the file at which it was.

One process reads, and several tokenize; they get batches of a file and return them in its order, so
sample i of a source is its record i. The process that reads tokenizes one record in 1,000 again, to
see that a transform gives the same tokens each time.

With prepare = "training" in the specification it makes the pieces that a training would make
(pieces.py), of all files.
"""

import argparse
import collections
import concurrent.futures
import contextlib
import ctypes
import hashlib
import os
import signal
import sys
import time

from . import c_api, text_files
from .piece_maker import PieceMaker
from .pool import Killed, Pool
from .spec import DataError, is_while_training, read
from .token_writer import TokenWriter, remove_abandoned
from .tokenizing import Recipe
from .tokens_ahead import LATE_S

_BATCHES_PER_PROCESS = 4  # that wait or are worked on
_NEWS_EVERY_S = {True: 0.5, False: 30.0}  # on a terminal, in a log
_PR_SET_PDEATHSIG = 1  # linux/prctl.h
_recipes = None  # of a process that tokenizes: by the source's number


class _File:
    """An input file that is to be tokenized."""

    def __init__(self, source, path, prefix, stamp):
        self.source, self.path, self.prefix = source, path, prefix
        self.stamp = stamp  # of the transform's code that was imported
        self.bytes = os.path.getsize(path)


def _begin(recipes, parent):
    global _recipes
    _recipes = recipes
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the process that reads ends the others
    ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)
    if os.getppid() != parent:
        os._exit(1)


def _tokenize(source, path, first, batch):
    return _recipes[source].tokens_of(path, first, batch)


class _Here:
    """An executor of one process: this one."""

    def __init__(self, recipes):
        self._recipes = recipes

    def submit(self, _, source, path, first, batch):
        done = concurrent.futures.Future()
        done.set_result(self._recipes[source].tokens_of(path, first, batch))
        return done


@contextlib.contextmanager
def _executor(processes, recipes):
    if processes == 1:
        yield _Here(recipes)
        return
    pool = Pool(processes, _begin, (recipes, os.getpid()))
    is_done = False
    try:
        yield pool
        is_done = True
    finally:
        pool.end(is_killed=not is_done)  # a transform may hang


class _News:
    """What is printed on the way, to stderr."""

    def __init__(self, files):
        self._files, self._bytes = len(files), sum(file.bytes for file in files)
        self._terminal = sys.stderr.isatty()
        self._began = time.monotonic()
        self._next = self._began + _NEWS_EVERY_S[self._terminal]
        self._done_files, self._done_bytes = 0, 0
        self._shown = False

    def tell(self, source, tokens):
        now = time.monotonic()
        if now < self._next:
            return
        self._next = now + _NEWS_EVERY_S[self._terminal]
        line = "%s: %d of %d files, %s tokens of the present one" % (
            source, self._done_files, self._files, _amount(tokens))
        if self._done_bytes and self._bytes:
            left = (now - self._began) / self._done_bytes * (self._bytes - self._done_bytes)
            line += ", about %s left" % _duration(left)
        print("\r\033[K" + line if self._terminal else "robustrun: " + line,
              end="" if self._terminal else "\n", file=sys.stderr, flush=True)
        self._shown = self._terminal

    def file_done(self, file):
        self._done_files += 1
        self._done_bytes += file.bytes

    def clear(self):
        if self._shown:
            print("\r\033[K", end="", file=sys.stderr, flush=True)


def _amount(number):
    for unit, size in (("G", 1e9), ("M", 1e6), ("k", 1e4)):
        if number >= size:
            return "%.1f %s" % (number / (1e3 if unit == "k" else size), unit)
    return str(number)


def _duration(seconds):
    if seconds < 90:
        return "%d s" % seconds
    return "%d min" % round(seconds / 60) if seconds < 5400 else "%.1f h" % (seconds / 3600)


def _code_stamp(recipe):
    """A hash of the file that holds the transform: its tokens are made again if it changes."""
    path = getattr(recipe.module(), "__file__", None) if recipe.transform else None
    if not path:
        return None
    with open(path, "rb") as file:
        return hashlib.sha256(file.read()).hexdigest()


def _is_made_by(prefix, stamp):
    try:
        with open(prefix + ".made-by") as file:
            return file.read() == stamp
    except OSError:
        return False


def _missing(values, folder, recipes, part):
    """The files of this part that have to be tokenized, and how many are there."""
    files, there, known = [], 0, set()
    for number in recipes:
        stamp = _code_stamp(recipes[number])
        inputs = c_api.inputs(values, folder, number)
        for path, prefix, is_prepared in inputs[part[0] - 1::part[1]]:
            if prefix in known:
                continue
            known.add(prefix)
            if is_prepared and (stamp is None or _is_made_by(prefix, stamp)):
                there += 1
            else:
                files.append(_File(number, path, prefix, stamp))
    return files, there


def _batches(files, values, recipes, submit):
    """(file, future) of each batch, then (file, None), in order."""
    for file in files:
        source = values["source"][file.source]
        column = recipes[file.source].column
        for first, batch in text_files.batches(file.path, source["format"], column):
            yield file, submit(_tokenize, file.source, file.path, first, batch)
        yield file, None


def _write(files, values, recipes, processes):
    """Tokenizes and writes all files. Returns samples and tokens of each source, by number."""
    made = {number: [0, 0] for number in recipes}
    news = _News(files)
    with _executor(processes, recipes) as pool:
        waiting = collections.deque()
        batches = _batches(files, values, recipes, pool.submit)
        writer = None
        try:
            while True:
                room = processes * _BATCHES_PER_PROCESS if processes > 1 else 1
                while len(waiting) < room:
                    following = next(batches, None)
                    if following is None:
                        break
                    waiting.append(following)
                if not waiting:
                    return made
                file, future = waiting.popleft()
                if writer is None:
                    writer = TokenWriter(file.prefix)
                    writer.open()
                if future is not None:
                    tokens, lengths, picked = future.result()
                    recipes[file.source].compare(file.path, tokens, lengths, picked)
                    _add(writer, tokens, lengths)
                    news.tell(values["source"][file.source]["name"], writer.tokens)
                    continue
                _finish(writer, file)
                made[file.source][0] += writer.samples
                made[file.source][1] += writer.tokens
                writer = None
                news.file_done(file)
        finally:
            news.clear()
            if writer:
                writer.__exit__()
            for _, future in waiting:
                if future is not None:
                    future.cancel()


def _add(writer, tokens, lengths):
    try:
        writer.add(tokens, lengths)
    except OSError as error:  # it has no file name
        raise OSError(error.errno, error.strerror, writer.prefix + ".bin") from None


def _finish(writer, file):
    with contextlib.suppress(FileNotFoundError):
        os.remove(file.prefix + ".made-by")  # of the tokens that are replaced
    writer.finish()
    writer.__exit__()
    if file.stamp is not None:  # last: a set without it is made again
        with open(file.prefix + ".made-by", "w") as out:
            out.write(file.stamp)


def _prepare_pieces(path, values, folder, processes, part):
    began = time.monotonic()
    processes = processes or len(os.sched_getaffinity(0))
    os.makedirs(os.path.join(folder, values["cache"]), exist_ok=True)
    maker = PieceMaker(values, folder, processes, late_s=LATE_S)
    made = {number: [0, 0, 0] for number in maker.texts}
    try:
        texts = [text for of_source in maker.texts.values()
                 for text in of_source[part[0] - 1::part[1]]]
        for text in texts:
            if not text.is_known():
                maker.count(text)
        while not all(text.is_known() for text in texts):
            maker.next_event(1)
        left = ((text, number) for text in texts for number in range(text.pieces))
        while True:
            while maker.busy <= processes and (following := next(left, None)):
                maker.make(*following)
            if not maker.busy:
                break
            done = maker.next_event(1)
            if isinstance(done, tuple):  # else a count that another process was faster with
                text, _, samples, tokens = done
                made[text.source] = [a + b for a, b in
                                     zip(made[text.source], (samples, tokens, 1))]
    finally:
        maker.end()
    for number, (samples, tokens, count) in made.items():
        if count:
            print("%s: %d samples with %s tokens in %d piece%s"
                  % (values["source"][number]["name"], samples, _amount(tokens), count,
                     "s" * (count != 1)))
    count = sum(each[2] for each in made.values())
    there = sum(text.pieces for text in texts) - count
    before = ", %d %s there before" % (there, "was" if there == 1 else "were") if there else ""
    print("%s: %d piece%s tokenized in %s%s" % (path, count, "s" * (count != 1),
                                                _duration(time.monotonic() - began), before))


def prepare(path, processes, part):
    """Prints what was done. `processes`: None for as many as help. `part`: (1, 4) is the first of
    four parts of each source's files."""
    began = time.monotonic()
    values, folder = read(path)
    if is_while_training(values):
        _prepare_pieces(path, values, folder, processes, part)
        return
    recipes = {number: Recipe(source, folder) for number, source in enumerate(values["source"])
               if source["format"] != "megatron"}
    if not recipes:
        print("%s: all sources have tokens; there is nothing to prepare" % path)
        return
    files, there = _missing(values, folder, recipes, part)
    for number in {file.source for file in files}:
        recipes[number].open()  # an error is reported once, and before anything is done
    cache = os.path.join(folder, values["cache"])
    os.makedirs(cache, exist_ok=True)
    remove_abandoned(cache)
    if processes is None:  # starting one takes longer than a megabyte
        processes = min(len(os.sched_getaffinity(0)),
                        max(1, sum(file.bytes for file in files) >> 20))
    made = _write(files, values, recipes, processes)
    for number, (samples, tokens) in made.items():
        count = sum(file.source == number for file in files)
        if count:
            print("%s: %d samples with %s tokens from %d file%s"
                  % (recipes[number].name, samples, _amount(tokens), count, "s" * (count != 1)))
    before = ", %d %s there before" % (there, "was" if there == 1 else "were") if there else ""
    print("%s: %d file%s tokenized in %s%s"
          % (path, len(files), "s" * (len(files) != 1), _duration(time.monotonic() - began),
             before))


def _part(text):
    number, _, count = text.partition("/")  # checked by the command line
    return int(number), int(count)


def _end(number, _):
    """Ends this process by way of its finally clauses, which remove unfinished files."""
    signal.signal(number, signal.SIG_IGN)
    sys.exit(128 + number)


def main():
    parser = argparse.ArgumentParser(prog="robustrun data prepare")
    parser.add_argument("file")
    parser.add_argument("--processes", type=int)
    parser.add_argument("--part", type=_part, default=(1, 1))
    given = parser.parse_args()
    for number in (signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, _end)
    try:
        prepare(given.file, given.processes, given.part)
    except DataError as error:
        print("robustrun: %s" % error, file=sys.stderr)
        return 2
    except Killed:
        print("robustrun: a process that tokenized was killed, perhaps for lack of memory; what is "
              "finished is kept. Try fewer --processes", file=sys.stderr)
        return 1
    except OSError as error:
        print("robustrun: cannot prepare %s: %s" % (given.file, error), file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        print("robustrun: interrupted; files that are finished are kept", file=sys.stderr)
        return 130
    return 0


if __name__ == "__main__":
    sys.exit(main())
