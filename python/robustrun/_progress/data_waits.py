"""Records how long the script waits for training data, and for what, and how many records of it are
skipped (tracer/progress_record.h)."""

from time import monotonic_ns

from . import progress


class waiting:  # noqa: N801 (a context manager; contextlib would be one more import)
    """The script waits for its next batch. `source`: bytes; from where it comes, if that is known
    beforehand. A batch that ends with an exception is not counted as received, and none is if
    `batches` is 0."""

    __slots__ = ("_record", "_began", "_batches")

    def __init__(self, source=b"", batches=1):
        self._batches = batches
        self._record = record = progress.current()  # None in a forked child
        if record is not None:
            _tell(record, source, b"")

    def __enter__(self):
        if self._record is not None:
            self._began = self._record.words[progress.DATA_WAITING_SINCE_NS] = monotonic_ns()
        return self

    def place(self, source, path):
        """Names the file that is being read, while the wait lasts. Both are bytes."""
        if self._record is not None:
            _tell(self._record, source, path)

    def __exit__(self, kind, *exception):
        if self._record is not None and self._record is progress.current():  # not in a child
            words = self._record.words
            words[progress.DATA_WAITING_SINCE_NS] = 0
            words[progress.DATA_WAITED_NS] += monotonic_ns() - self._began
            if kind is None:
                words[progress.DATA_BATCHES] += self._batches


def skips(number):
    """The training skips so many records: for status and report."""
    record = progress.current()
    if record is not None:
        record.words[progress.DATA_SKIPPED] = number


def _tell(record, source, path):
    if record.data_place == (source, path):
        return
    words = record.words
    locked = words[progress.DATA_SEQUENCE] | 1
    words[progress.DATA_SEQUENCE] = locked
    _put(words, progress.DATA_SOURCE, source[: progress.DATA_SOURCE_BYTES],
         progress.DATA_SOURCE_BYTES)
    _put(words, progress.DATA_PATH, path[-progress.DATA_PATH_BYTES:], progress.DATA_PATH_BYTES)
    words[progress.DATA_SEQUENCE] = locked + 1
    record.data_place = source, path


def _put(words, first, text, size):
    text = text.ljust(size, b"\0")
    for i in range(size // 8):
        words[first + i] = int.from_bytes(text[8 * i: 8 * i + 8], "little")
