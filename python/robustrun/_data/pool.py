"""Processes that tokenize, each with a pipe of its own.

So one that is killed in the middle of a result holds up no other: in a queue that all write to, as
in concurrent.futures, it would leave half a result and a lock that is never released.

A process notes in shared memory which record it works on, so that one that is killed, or hangs,
can be told from the record at fault.
"""

import bisect
import concurrent.futures
import multiprocessing
import queue
import threading
from time import monotonic_ns

LATE_TIMES = 20  # the 99th percentile of the records before
_LOOK_EVERY_S = 0.5
_DURATIONS_MAX = 2000
_RECORD, _SINCE_NS, _USUAL_NS = range(3)  # of the shared words; record 0: none


class Killed(Exception):
    """A process ended although it should not. `record`: which it worked on, 0 if on none. `late_s`:
    how long it had worked on it, if it was ended because it took too long."""

    def __init__(self, record=0, late_s=None):
        super().__init__(record)
        self.record, self.late_s = record, late_s


class _Notes:
    """What a process does, in its own memory."""

    def __init__(self):
        self.words = None
        self.durations = {}  # kind → of its records, ascending


_notes = _Notes()


def note(kind, record):
    """In a process of a pool: it begins with this record (0: with none) of a kind of records that
    take about equally long."""
    words, now = _notes.words, monotonic_ns()
    if words is None:
        return
    durations = _notes.durations.setdefault(kind, [])
    if words[_RECORD]:
        bisect.insort(durations, now - words[_SINCE_NS])
        if len(durations) > _DURATIONS_MAX:
            del durations[::2]
    words[_USUAL_NS] = durations[len(durations) * 99 // 100] if durations else 0
    words[_SINCE_NS] = now
    words[_RECORD] = record


def _serve(connection, words, begin, arguments):
    _notes.words = words
    trouble = None
    try:
        begin(*arguments)
    except BaseException as error:
        trouble = error  # the first answer
    while True:
        try:
            function, given = connection.recv()
        except EOFError:
            return
        try:
            if trouble:
                raise trouble
            answer = True, function(*given)
        except Exception as error:
            answer = False, error
        except BaseException as error:  # SystemExit of a transform
            answer = False, RuntimeError("%s: %s" % (type(error).__name__, error))
        words[_RECORD] = 0
        try:
            connection.send(answer)
        except Exception as error:  # what cannot be pickled
            connection.send((False, RuntimeError("%s cannot be passed on from the process: %s"
                                                 % (type(answer[1]).__name__, error))))


class _Process:
    def __init__(self, context, begin, arguments):
        self._given = context, begin, arguments
        self.start()

    def start(self):
        context, begin, arguments = self._given
        self.words = context.RawArray("q", 3)
        self.connection, there = context.Pipe()
        with there:
            self.process = context.Process(target=_serve,
                                           args=(there, self.words, begin, arguments))
            self.process.start()

    def kill(self):
        if self.process.pid is not None:  # it could be started
            self.process.kill()

    def close(self):
        self.connection.close()
        if self.process.pid is not None:
            self.process.join()


class Pool:
    """`count` processes, in which begin(*arguments) was called. end() must be called. `late_s`: a
    process whose record takes longer, and longer than LATE_TIMES records before did, is killed;
    None: none is. `replaces`: one that was killed is replaced."""

    def __init__(self, count, begin, arguments, replaces=False, late_s=None):
        context = multiprocessing.get_context("spawn")
        self._replaces, self._late_s = replaces, late_s
        self._usual_ns = {}  # kind → of processes that have ended
        self._ending = False
        self._changing = threading.Lock()  # a process is replaced, or all are ended
        self._all = []
        self._idle = queue.SimpleQueue()
        # One thread waits for each process.
        self._threads = concurrent.futures.ThreadPoolExecutor(count)
        try:
            for _ in range(count):
                self._all.append(_Process(context, begin, arguments))
                self._idle.put(self._all[-1])
        except BaseException:
            self.end(is_killed=True)
            raise

    def submit(self, function, *given, kind=None):
        """A future of function(*given); Killed if its process was. `kind`: of its records."""
        return self._threads.submit(self._call, function, given, kind)

    def _call(self, function, given, kind):
        process = self._idle.get()
        late_s = None
        try:
            process.connection.send((function, given))
            while late_s is None and not process.connection.poll(_LOOK_EVERY_S):
                late_s = self._late_by(process, kind)
            if late_s is not None:
                process.kill()
                process.process.join()
            is_result, value = process.connection.recv()
        except (EOFError, OSError):
            record = process.words[_RECORD]
            with self._changing:
                if self._replaces and not self._ending:
                    process.kill()  # it may have closed its pipe only
                    process.close()
                    process.start()
            raise Killed(record, late_s) from None
        finally:
            self._idle.put(process)
        if is_result:
            return value
        raise value

    def _late_by(self, process, kind):
        """How long a process has been with its record, if that is too long."""
        if self._late_s is None or not process.words[_RECORD]:
            return None
        usual = max(self._usual_ns.get(kind, 0), process.words[_USUAL_NS])
        self._usual_ns[kind] = usual
        taken = (monotonic_ns() - process.words[_SINCE_NS]) / 1e9
        return taken if taken > max(self._late_s, LATE_TIMES * usual / 1e9) else None

    def end(self, is_killed):
        """Ends the processes: in the middle of their work, or when all of it is done."""
        with self._changing:
            self._ending = True
            if is_killed:
                for process in self._all:
                    process.kill()
        self._threads.shutdown()
        for process in self._all:
            process.close()
