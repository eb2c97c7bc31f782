"""Writes tokens in Megatron-LM's format (loader/index/megatron.h): PREFIX.bin, then PREFIX.idx.

Both appear only when they are complete, PREFIX.idx last.
"""

import array
import contextlib
import os
import struct
import sys
import time

UINT16, INT32 = 8, 4  # codes of Megatron-LM's DType
_ABANDONED_AFTER_S = 86400


def remove_abandoned(folder):
    """Unfinished files of calls that were killed."""
    now = time.time()
    for name in os.listdir(folder):
        path = os.path.join(folder, name)
        with contextlib.suppress(OSError):
            if ".part-" in name and now - os.stat(path).st_mtime > _ABANDONED_AFTER_S:
                os.remove(path)


class TokenWriter:
    """A context: leaves nothing behind unless finish() was called. open() makes the first file: a
    signal within it finds the object that removes the file."""

    def __init__(self, prefix):
        self.prefix = prefix
        mark = os.urandom(8).hex()  # another call may write the same set
        self._names = ["%s.%s.part-%s" % (prefix, kind, mark) for kind in ("bin", "idx")]
        self._tokens = None
        self._kind = "H"  # until a token is too large for it
        self._lengths = array.array("i")
        self.tokens = 0

    def open(self):
        self._tokens = open(self._names[0], "xb")

    @property
    def samples(self):
        return len(self._lengths)

    def add(self, tokens, lengths):
        """Two array("i"): the tokens of some samples, and how many each has."""
        if self._kind == "H" and tokens and max(tokens) > 0xffff:
            self._widen()
        out = tokens if self._kind == "i" else array.array("H", tokens)
        _write(self._tokens, out)
        self._lengths.extend(lengths)
        self.tokens += len(tokens)

    def _widen(self):
        self._tokens.close()
        wide = self._names[0] + "-wide"
        try:
            with open(self._names[0], "rb") as file, open(wide, "wb") as to:
                while True:
                    part = array.array("H")
                    part.frombytes(file.read(1 << 20))
                    if not part:
                        break
                    if sys.byteorder == "big":
                        part.byteswap()
                    _write(to, array.array("i", part))
            os.replace(wide, self._names[0])
        except BaseException:
            _remove(wide)
            raise
        self._tokens = open(self._names[0], "ab")
        self._kind = "i"

    def finish(self):
        with open(self._names[1], "wb") as index:
            for part in megatron_index(self._lengths, self._kind):
                index.write(part)
            synced(index)
        synced(self._tokens)
        self._tokens.close()
        _remove(self.prefix + ".idx")  # of other tokens
        os.replace(self._names[0], self.prefix + ".bin")
        os.replace(self._names[1], self.prefix + ".idx")

    def __enter__(self):
        self.open()
        return self

    def __exit__(self, *exception):
        if self._tokens is not None:
            with contextlib.suppress(OSError):  # what could not be written before
                self._tokens.close()
        for name in self._names:
            _remove(name)


def megatron_index(lengths, kind):
    """The index in parts. `lengths`: array("i"); `kind`: "H" or "i", of the tokens' array."""
    count, width = len(lengths), 4 if kind == "i" else 2
    offsets, end = array.array("q"), 0
    for length in lengths:
        offsets.append(end)
        end += length * width
    code = INT32 if kind == "i" else UINT16
    yield b"MMIDIDX\0\0" + struct.pack("<QBQQ", 1, code, count, count + 1)
    for numbers in (lengths, offsets, array.array("q", range(count + 1))):
        yield plain_bytes(numbers)


def plain_bytes(numbers):
    if sys.byteorder == "big":
        numbers = numbers[:]
        numbers.byteswap()
    return numbers.tobytes()


def _write(file, numbers):
    file.write(plain_bytes(numbers))


def synced(file):
    file.flush()
    os.fsync(file.fileno())


def _remove(name):
    with contextlib.suppress(FileNotFoundError):
        os.remove(name)
