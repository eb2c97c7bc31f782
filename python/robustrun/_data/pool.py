"""Processes that tokenize, each with a pipe of its own.

So one that is killed in the middle of a result holds up no other: in a queue that all write to, as
in concurrent.futures, it would leave half a result and a lock that is never released.
"""

import concurrent.futures
import multiprocessing
import queue


class Killed(Exception):
    """A process ended although it should not."""


def _serve(connection, begin, arguments):
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
        try:
            connection.send(answer)
        except Exception as error:  # what cannot be pickled
            connection.send((False, RuntimeError("%s cannot be passed on from the process: %s"
                                                 % (type(answer[1]).__name__, error))))


class Pool:
    """`count` processes, in which begin(*arguments) was called. end() must be called."""

    def __init__(self, count, begin, arguments):
        context = multiprocessing.get_context("spawn")
        self._all = []
        self._idle = queue.SimpleQueue()  # connections
        # One thread waits for each process.
        self._threads = concurrent.futures.ThreadPoolExecutor(count)
        try:
            for _ in range(count):
                here, there = context.Pipe()
                with there:
                    process = context.Process(target=_serve, args=(there, begin, arguments))
                    process.start()
                self._all.append((process, here))
                self._idle.put(here)
        except BaseException:
            self.end(is_killed=True)
            raise

    def submit(self, function, *given):
        """A future of function(*given); Killed if its process was."""
        return self._threads.submit(self._call, function, given)

    def _call(self, function, given):
        connection = self._idle.get()
        try:
            connection.send((function, given))
            is_result, value = connection.recv()
        except (EOFError, OSError):
            raise Killed from None
        finally:
            self._idle.put(connection)
        if is_result:
            return value
        raise value

    def end(self, is_killed):
        """Ends the processes: in the middle of their work, or when all of it is done."""
        if is_killed:
            for process, _ in self._all:
                process.kill()
        self._threads.shutdown()
        for process, connection in self._all:
            connection.close()
            process.join()
