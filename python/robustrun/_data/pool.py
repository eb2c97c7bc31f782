"""Processes that tokenize, each with a pipe of its own.

So one that is killed in the middle of a result holds up no other: in a queue that all write to, as
in concurrent.futures, it would leave half a result and a lock that is never released.

A process notes in shared memory which record it works on, so that one that is killed, or hangs,
can be told from the record at fault.
"""

import bisect
import collections
import concurrent.futures
import multiprocessing
import queue
import threading
from time import monotonic_ns

LATE_TIMES = 20  # the 99th percentile of the records before
FIRST_TIMES = 10  # the limit of others: the first record of a process, which may load something
_LOOK_EVERY_S = 0.5
_STOPPED_LOOKS = 60  # after which a process that is stopped (SIGSTOP) is killed
_RECENT = 1000  # records from which the percentile is
_RECORD, _SINCE_NS, _USUAL_NS = range(3)  # of the shared words; record 0: none


class Killed(Exception):
    """A process ended although it should not. `record`: which it worked on, 0 if on none. `late_s`:
    how long it had worked on it, if it was ended because it took too long."""

    def __init__(self, record=0, late_s=None):
        super().__init__(record)
        self.record, self.late_s = record, late_s


class Recent:
    """How long the records of a kind take, by the last ones."""

    def __init__(self):
        self.usual_ns = 0  # 99th percentile; 0: there was no record yet
        self._all = collections.deque()
        self._ascending = []

    def add(self, duration_ns):
        if self.usual_ns == 0:
            self.usual_ns = 1  # the first one stands apart
            return
        self._all.append(duration_ns)
        bisect.insort(self._ascending, duration_ns)
        if len(self._all) > _RECENT:
            del self._ascending[bisect.bisect_left(self._ascending, self._all.popleft())]
        self.usual_ns = max(1, self._ascending[len(self._ascending) * 99 // 100])


class _Notes:
    """What a process does, in its own memory."""

    def __init__(self):
        self.words = None
        self.recent = {}  # by kind


_notes = _Notes()


def note(kind, record):
    """In a process of a pool: it begins with this record (0: with none) of a kind of records that
    take about equally long."""
    words, now = _notes.words, monotonic_ns()
    if words is None:
        return
    recent = _notes.recent.setdefault(kind, Recent())
    if words[_RECORD]:
        recent.add(now - words[_SINCE_NS])
    words[_USUAL_NS] = recent.usual_ns
    words[_SINCE_NS] = now
    words[_RECORD] = record


def _is_stopped(pid):
    try:
        with open("/proc/%d/stat" % pid) as file:
            return file.read().rpartition(")")[2].split()[0] in "Tt"
    except OSError:
        return False


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
        words[_USUAL_NS] = 0  # of another kind
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
        self.usual_ns = {}  # kind → of its records of late, also of the process before
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
    process whose record takes longer, and longer than LATE_TIMES its last records did, is killed;
    its first record may take FIRST_TIMES as long. None: none is. `replaces`: one that was killed is
    replaced."""

    def __init__(self, count, begin, arguments, replaces=False, late_s=None):
        context = multiprocessing.get_context("spawn")
        self._replaces, self._late_s = replaces, late_s
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
        late_s, stopped = None, 0  # looks
        try:
            process.connection.send((function, given))
            while late_s is None and not process.connection.poll(_LOOK_EVERY_S):
                # By looks: clocks go on while a job is suspended.
                stopped = stopped + 1 if _is_stopped(process.process.pid) else 0
                if self._replaces and stopped == _STOPPED_LOOKS:
                    process.kill()  # it is no fault of its record
                late_s = None if stopped else self._late_by(process, kind)
            if late_s is not None:
                process.kill()
                process.process.join()
            is_result, value = process.connection.recv()
            self._keep_usual(process, kind)
        except (EOFError, OSError):
            record = 0 if stopped else process.words[_RECORD]
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
        limit_s = self._late_s if self._keep_usual(process, kind) else FIRST_TIMES * self._late_s
        usual_ns = max((each.usual_ns.get(kind, 0) for each in self._all), default=0)
        taken = (monotonic_ns() - process.words[_SINCE_NS]) / 1e9
        return taken if taken > max(limit_s, LATE_TIMES * usual_ns / 1e9) else None

    @staticmethod
    def _keep_usual(process, kind):
        """Whether the process has done a record of this kind."""
        usual_ns = process.words[_USUAL_NS]
        if usual_ns:
            process.usual_ns[kind] = usual_ns
        return usual_ns > 0

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
