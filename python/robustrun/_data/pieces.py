"""Text that is tokenized while the training runs: its files in the cache.

For an input file they lie in a folder of its own, whose name has a hash of all that the tokens
depend on:

- records: how many records the input file has, and where those of each piece begin (JSON);
- 0, 1, 2, …: pieces (loader/index/pieces.h), each with the tokens of 1,024 records, and the numbers
  of those that it skips;
- skip-N: record N (line or row, from 1) cannot be used, so pieces are made without it; the text is
  the error.

Each appears whole, under a temporary name first, and is never changed: of two processes that make
the same file, the first one counts. So every reader, on every machine, gets the same.
"""

import array
import bisect
import contextlib
import hashlib
import json
import os
import struct
import sys

from . import c_api, text_files
from .spec import DataError
from .token_writer import INT32, UINT16, megatron_index, plain_bytes, synced
from .tokenizing import Recipe

RECORDS = 1024  # of a piece: loader/index/pieces.h
_SKIP = "skip-"
_AT_ONCE = 4096  # samples whose order is computed in one call
_INDEX_HEAD, _INDEX_OF_RECORD = 34, 20  # bytes of a piece's index: token_writer.megatron_index


class Text:
    """An input file. `source`: number of its source."""

    def __init__(self, source, path, folder, file_format, column):
        self.source, self.path, self.folder = source, path, folder
        self._format, self._column = file_format, column
        self._plain = file_format == "jsonl" and not path.endswith((".gz", ".zst"))
        self.records = None  # is_known() finds it
        self.digest = None  # of the places of the records
        self._lines = None  # with which pieces begin, and the end: of JSON lines

    def __getstate__(self):
        return dict(self.__dict__, _lines=None)  # processes that tokenize do not need it

    @property
    def unit(self):
        """What its records are called."""
        return "line" if self._format == "jsonl" else "row"

    def piece(self, number):
        return os.path.join(self.folder, str(number))

    def is_known(self):
        """Whether its records have been counted."""
        if self.records is None:
            found = self._found()
            if found is None:
                return False
            self.records = found["records"]
            self.digest = hashlib.sha256(json.dumps(found).encode()).digest()
        return True

    def _found(self):
        path = os.path.join(self.folder, "records")
        try:
            with open(path, "rb") as file:
                return json.load(file)
        except FileNotFoundError:
            return None
        except ValueError as error:
            raise DataError("cannot use %s: %s; remove it, and it is made again"
                            % (path, error)) from None

    @property
    def pieces(self):
        return (self.records + RECORDS - 1) // RECORDS

    def count(self):
        """Counts the records, and writes down where pieces begin."""
        if self.is_known():
            return
        os.makedirs(self.folder, exist_ok=True)
        if self._format == "jsonl":
            found = self._line_starts()
        else:
            found = {"records": text_files.rows(self.path, self._format),
                     "bytes": os.path.getsize(self.path)}
        _publish(os.path.join(self.folder, "records"), json.dumps(found).encode())

    def _line_starts(self):
        """For each piece and the end: [offset in bytes, number of the line]."""
        records, offset, starts = 0, 0, []
        line = 1
        for line, batch in text_files.batches(self.path, "jsonl", ""):
            for text in batch.split(b"\n"):
                if text.strip():
                    if records % RECORDS == 0:
                        starts.append([offset, line])
                    records += 1
                offset += len(text) + 1
                line += 1
            if batch.endswith(b"\n"):  # split() gives an empty rest
                offset, line = offset - 1, line - 1
        return {"records": records, "starts": [*starts, [offset, line]]}

    def batch(self, number):
        """(number of the first line or row, batch) of a piece, as text_files.batches() has them."""
        if self._format != "jsonl":
            first = number * RECORDS + 1
            rows = []
            for begin, batch in text_files.batches(self.path, self._format, self._column, first):
                rows += batch[max(0, first - begin):max(0, first + RECORDS - begin)]
                if begin + len(batch) >= first + RECORDS:
                    break
            return first, rows
        (begin, first), (end, behind) = self._found()["starts"][number:number + 2]
        if self._plain:
            with open(self.path, "rb") as file:
                file.seek(begin)
                return first, file.read(end - begin)
        parts = []
        for line, batch in text_files.batches(self.path, "jsonl", ""):
            lines = batch.count(b"\n")
            if line + lines < first:
                continue
            texts = batch.split(b"\n")
            parts += texts[max(0, first - line):max(0, behind - line)]
            if line + lines >= behind:
                break
            if parts and not parts[-1]:
                parts.pop()  # the rest after the batch's last line end
        return first, b"\n".join(parts)

    def records_of(self, number):
        """How many records a piece has."""
        return min(RECORDS, self.records - number * RECORDS)

    def skipped(self):
        """{number of the line or row: error}"""
        found, names = {}, []
        with contextlib.suppress(FileNotFoundError):
            names = os.listdir(self.folder)
        for name in names:
            if name.startswith(_SKIP) and name[len(_SKIP):].isdecimal():
                # One may be removed meanwhile (piece_maker.py).
                with contextlib.suppress(FileNotFoundError), \
                        open(os.path.join(self.folder, name)) as file:
                    found[int(name[len(_SKIP):])] = file.read()
        return found

    def skip_path(self, number):
        return os.path.join(self.folder, _SKIP + str(number))

    def piece_with(self, record):
        """Number of the piece with a record (line or row); None if there is no such record."""
        if self._format != "jsonl":
            return (record - 1) // RECORDS if 1 <= record <= self.records else None
        if self._lines is None:
            self._lines = array.array("Q", (line for _, line in self._found()["starts"]))
        lines = self._lines
        return bisect.bisect_right(lines, record) - 1 if lines[0] <= record < lines[-1] else None

    def skips_of(self, number):
        """The records that a piece skips; None if it is not there."""
        try:
            with open(self.piece(number), "rb") as file:
                count = self.records_of(number)
                file.seek(_INDEX_HEAD - 17)
                width = {UINT16: 2, INT32: 4}[file.read(1)[0]]
                file.seek(_INDEX_HEAD + 4 * (count - 1))
                length, = struct.unpack("<i", file.read(4))
                file.seek(_INDEX_HEAD + 12 * count - 8)
                offset, = struct.unpack("<q", file.read(8))
                file.seek(_INDEX_HEAD + 8 + _INDEX_OF_RECORD * count + offset + length * width)
                numbers = array.array("Q", file.read())
        except FileNotFoundError:
            return None
        except (KeyError, IndexError, ValueError, OSError, struct.error) as error:
            raise DataError("cannot use %s: %s; remove it, and it is made again"
                            % (self.piece(number), error)) from None
        if sys.byteorder == "big":
            numbers.byteswap()
        return list(numbers)

    def skip(self, number, error):
        _publish(self.skip_path(number), error.encode())
        folder = os.open(self.folder, os.O_RDONLY)
        try:
            os.fsync(folder)  # before there is a piece without this record
        finally:
            os.close(folder)


def piece_bytes(tokens, lengths, skipped=()):
    """A piece: an index, the tokens, and the numbers of the records that it skips."""
    kind = "i" if tokens and max(tokens) > 0xffff else "H"
    index = megatron_index(lengths, kind)
    return (b"".join(index) + plain_bytes(array.array(kind, tokens))
            + plain_bytes(array.array("Q", sorted(skipped))))


def write(path, contents):
    """Under a temporary name, which is returned."""
    partial = "%s.part-%s" % (path, os.urandom(8).hex())
    try:
        with open(partial, "xb") as file:
            file.write(contents)
            synced(file)
    except BaseException:
        remove(partial)
        raise
    return partial


def publish(partial, path):
    """Gives a file its name, unless there is one of this name. Returns whether it did."""
    is_first = True
    try:
        os.link(partial, path)
    except FileExistsError:
        is_first = False
    except OSError:  # a file system without hard links
        if not os.path.exists(path):
            os.rename(partial, path)
            return True
        is_first = False
    remove(partial)
    return is_first


def _publish(path, contents):
    publish(write(path, contents), path)


def remove(path):
    with contextlib.suppress(FileNotFoundError):
        os.remove(path)


class Places:
    """Which piece has a sample. `texts`: the files of a source, whose records are known."""

    def __init__(self, values, number, texts):
        self._values, self._number, self.texts = values, number, texts
        self._firsts, self.samples = [], 0
        self._numbers = {id(text): number for number, text in enumerate(texts)}
        for text in texts:
            self._firsts.append(self.samples)
            self.samples += text.records

    def piece_of(self, sample):
        at = bisect.bisect_right(self._firsts, sample) - 1
        return self.texts[at], (sample - self._firsts[at]) // RECORDS

    def number_of(self, text):
        return self._numbers[id(text)]

    def samples_of(self, text, number):
        """Of a piece."""
        first = self._firsts[self.number_of(text)] + number * RECORDS
        return range(first, first + text.records_of(number))

    def order(self, begin, end):
        """The samples at positions `begin` to `end` - 1, in parts."""
        for at in range(begin, end, _AT_ONCE):
            yield c_api.order(self._values, self._number, self.samples, at,
                              min(_AT_ONCE, end - at))

    def was_drawn(self, text, number, position):
        """Whether a sample of a piece comes before `position`. Takes 0.1 us for each before."""
        if position >= self.samples:
            return True
        wanted = set(self.samples_of(text, number))
        return any(not wanted.isdisjoint(part) for part in self.order(0, position))


def texts_of(values, folder):
    """{number of a source: its input files}"""
    found = {}
    for number, source in enumerate(values["source"]):
        if source["format"] == "megatron":
            continue
        recipe = Recipe(source, folder)
        stamp = recipe.code_stamp()[:8]
        found[number] = [Text(number, path, "%s.pieces%s" % (tokens, stamp and "-" + stamp),
                              source["format"], recipe.column)
                         for path, tokens, _ in c_api.inputs(values, folder, number)]
    return found


def fingerprint(values, folder, texts):
    """Of a source's records, and of what makes their tokens. `texts`: of the source; all known."""
    source = values["source"][texts[0].source]
    recipe = Recipe(source, folder)
    hashed = hashlib.sha256(json.dumps([recipe.code_stamp(), source.get("end")]).encode())
    tokenizer = os.path.join(folder, recipe.tokenizer)
    if os.path.isdir(tokenizer):
        tokenizer = os.path.join(tokenizer, "tokenizer.json")
    if recipe.tokenizer and os.path.isfile(tokenizer):
        with open(tokenizer, "rb") as file:
            hashed.update(file.read())
    for text in texts:
        hashed.update(text.digest)
    return int.from_bytes(hashed.digest()[:8], "little")


def require(values, folder):
    """texts_of(), for a reader that makes nothing: DataError if records are not counted yet."""
    texts = texts_of(values, folder)
    for number, of_source in texts.items():
        for text in of_source:
            if not text.is_known():
                raise DataError("source %s: %s has not been tokenized yet, or has changed since; "
                                "run `robustrun data prepare`"
                                % (values["source"][number]["name"], text.path))
    return texts
