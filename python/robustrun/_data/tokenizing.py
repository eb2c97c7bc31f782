"""Records of text files → tokens: what a process that tokenizes does.

A batch is part of one file, in its order: bytes of whole JSON lines, or a list of records that were
read from columns. Its result is as long as its number of records.
"""

import array
import contextlib
import copy
import hashlib
import importlib
import importlib.machinery
import json
import os
import sys

from .spec import DataError

_COMPARED_EVERY = 1000  # records
_AT_ONCE = 100  # records that a tokenizer gets in one call, of a piece


class Recipe:
    """How the records of one source become tokens. `source`: a normalized [[source]]; `folder`: of
    relative paths, and where the transform's module is looked for first."""

    def __init__(self, source, folder):
        self.name = source["name"]
        self.tokenizer, self.transform = source.get("tokenizer", ""), source.get("transform", "")
        self.column = source.get("column", "") or ("text" if self.tokenizer else "")
        self.end = source.get("end")
        self.maker = self.transform or self.tokenizer or self.column  # of the tokens
        self._folder = folder
        self._tokens_of = None  # in this process: list of values → list of sequences of tokens
        self._until_picked = 0  # records of this process that come before the next one to compare
        if not (self.column or self.transform):
            raise DataError("source %s has neither tokenizer nor transform: name the column that "
                            "has lists of tokens" % self.name)

    def __getstate__(self):
        return dict(self.__dict__, _tokens_of=None)

    def open(self):
        """Loads the tokenizer or imports the transform, once per process."""
        if self._tokens_of is None:
            self._tokens_of = self._opened()

    def _opened(self):
        if self.tokenizer:
            return self._tokenizer()
        if not self.transform:
            return list
        function = self._function()
        return lambda values: [function(value) for value in values]

    def _tokenizer(self):
        os.environ["TOKENIZERS_PARALLELISM"] = "false"  # there is a process for each processor
        path = os.path.join(self._folder, self.tokenizer)
        try:
            if self.tokenizer.endswith(".json") or os.path.isfile(path):
                os.stat(path)
                from tokenizers import Tokenizer

                made = Tokenizer.from_file(path)
                made.no_truncation()
                made.no_padding()
                return lambda texts: [each.ids for each in made.encode_batch(texts)]
            from transformers import AutoTokenizer

            named = AutoTokenizer.from_pretrained(
                path if os.path.isdir(path) else self.tokenizer)
            # A text may be longer than the model's context: it is split later.
            return lambda texts: named(texts, verbose=False)["input_ids"]
        except ImportError as error:
            raise DataError("source %s needs the package %s: install it into the environment of %s"
                            % (self.name, error.name, sys.executable)) from None
        except Exception as error:
            raise DataError("source %s: cannot open the tokenizer %s: %s"
                            % (self.name, self.tokenizer, _line(error))) from None

    def module(self):
        """The imported module of the transform."""
        name = self.transform.partition(":")[0]
        if self._folder not in sys.path:
            sys.path.insert(0, self._folder)
        try:
            module = importlib.import_module(name)
        except Exception as error:
            raise DataError("source %s: cannot import the module %s of its transform: %s"
                            % (self.name, name, _line(error))) from None
        own = os.path.join(self._folder, name.partition(".")[0] + ".py")
        if os.path.isfile(own) and getattr(module, "__file__", own) != own and "." not in name:
            raise DataError("source %s: another module has the name of %s; rename the file"
                            % (self.name, own))
        return module

    def code_stamp(self):
        """A hash of the file that holds the transform, without importing it; "" if there is none.
        """
        try:
            with open(self._code_file(), "rb") as file:
                return hashlib.sha256(file.read()).hexdigest()
        except Exception:  # without a file; or it cannot be imported
            return ""

    def _code_file(self):
        """The file that holds the transform. Whether a module of its name is imported already does
        not matter: the processes that tokenize import it anew."""
        name = self.transform.partition(":")[0]
        places = [self._folder, *sys.path]
        for part in name.split("."):
            found = importlib.machinery.PathFinder.find_spec(part, places)
            places = found.submodule_search_locations
        return found.origin

    def stamp(self):
        """Differs if the transform's file or the tokenizer's was changed or replaced."""
        found = []
        for path in (os.path.join(self._folder, self.tokenizer) if self.tokenizer else "",
                     self._code_file() if self.transform else ""):
            try:
                status = os.stat(path)
                found.append((status.st_size, status.st_mtime_ns, status.st_ino))
            except OSError:  # a tokenizer that transformers knows by name
                found.append(None)
        return found

    def _function(self):
        module, name = self.module(), self.transform.partition(":")[2]
        function = getattr(module, name, None)
        if not callable(function):
            raise DataError("source %s: the module %s has no function %s"
                            % (self.name, module.__name__, name))
        return function

    def tokens_of(self, path, first, batch):
        """(tokens as array("i"), number of tokens of each record as array("i"), records for
        compare()) of a batch of `path`. `first`: number of its first line or row, from 1."""
        self.open()
        unit = "line" if isinstance(batch, bytes) else "row"
        values, numbers = [], []
        records = _lines(path, first, batch) if unit == "line" else enumerate(batch, first)
        for number, record in records:
            numbers.append(number)
            values.append(self._value(record, path, unit, number) if unit == "line" else record)
        picked = self._picked(values, numbers, unit)
        tokens, lengths = array.array("i"), array.array("i")
        for number, sequence in zip(numbers, self._sequences(values, numbers, path, unit)):
            of_record = self._plain_tokens(sequence, path, unit, number)
            tokens.extend(of_record)
            lengths.append(len(of_record))
        return tokens, lengths, picked

    def tokens_of_piece(self, path, first, batch, skipped, note, one_by_one):
        """As tokens_of(), and [(number, error)] of records that failed twice; these have no tokens.
        Those whose numbers are in `skipped` get none either, and are not tried. note(number) is
        called before the records from this number on are tokenized: before each record with a
        transform, or if `one_by_one`."""
        self.open()
        unit = "line" if isinstance(batch, bytes) else "row"
        records = list(_numbered(first, batch) if unit == "line" else enumerate(batch, first))
        tokens, lengths, failed = array.array("i"), array.array("i"), []
        size = 1 if one_by_one or not self.tokenizer else _AT_ONCE
        picked = []
        for begin in range(0, len(records), size):
            group = [each for each in records[begin:begin + size] if each[0] not in skipped]
            of_group = {}
            if group:
                note(group[0][0])
                of_group = self._of_group(path, unit, group, failed, picked)
            for number, _ in records[begin:begin + size]:
                of_record = of_group.get(number, ())
                tokens.extend(of_record)
                lengths.append(len(of_record))
        note(0)
        return tokens, lengths, picked, failed

    def _of_group(self, path, unit, group, failed, picked):
        """number → tokens of the records that can be used."""
        if len(group) > 1:
            with contextlib.suppress(DataError):
                return self._of_records(path, unit, group, picked)
        found = {}
        for record in group:
            with contextlib.suppress(DataError):
                found.update(self._of_records(path, unit, [record], picked))
                continue
            try:
                found.update(self._of_records(path, unit, [record], picked))
            except DataError as error:
                failed.append((record[0], str(error)))
        return found

    def _of_records(self, path, unit, records, picked):
        numbers = [number for number, _ in records]
        values = [self._value(_parsed(path, number, record), path, unit, number)
                  if unit == "line" else record for number, record in records]
        chosen = self._picked(values, numbers, unit)
        found = {number: self._plain_tokens(sequence, path, unit, number) for number, sequence
                 in zip(numbers, self._sequences(values, numbers, path, unit))}
        picked += [(number, value, unit, found[number]) for _, value, unit, number in chosen]
        return found

    def again(self, path, number, value, unit, first):
        """Tokenizes a record that was picked; DataError if it had other tokens before."""
        self.open()
        sequence, = self._sequences([value], [number], path, unit)
        second = self._plain_tokens(sequence, path, unit, number)
        if first != second:
            raise DataError(
                "%s, %s %d: %s gave other tokens the second time (%s): it must give the same each "
                "time" % (path, unit, number, self.maker,
                          _change(first, second)))

    def _plain_tokens(self, sequence, path, unit, number):
        try:
            tokens = array.array("i", _plain(sequence))
        except (TypeError, ValueError, OverflowError) as error:
            raise DataError("%s, %s %d: what should be tokens is %s (%s)"
                            % (path, unit, number, _shown(sequence), error)) from None
        if tokens and min(tokens) < 0:
            raise DataError("%s, %s %d: a token is below 0" % (path, unit, number))
        if self.end is not None:
            tokens.append(self.end)
        return tokens

    def _picked(self, values, numbers, unit):
        """[(index in the batch, value, unit, number)] of those that are compared. Copies: a
        transform may change what it gets."""
        if not (self.tokenizer or self.transform):
            return []
        picked = [(index, copy.deepcopy(values[index]), unit, numbers[index])
                  for index in range(self._until_picked, len(values), _COMPARED_EVERY)]
        self._until_picked = (self._until_picked - len(values)) % _COMPARED_EVERY
        return picked

    def compare(self, path, tokens, lengths, picked):
        """Tokenizes records again that another process has picked from a batch. DataError if it
        gives other tokens."""
        for index, value, unit, number in picked:
            begin = sum(lengths[:index])
            self.again(path, number, value, unit, tokens[begin:begin + lengths[index]])

    def _value(self, record, path, unit, number):
        if not self.column:
            return record
        try:
            return record[self.column]
        except KeyError:
            raise DataError("%s, %s %d has no %r; it has %s"
                            % (path, unit, number, self.column,
                               ", ".join(map(repr, list(record)[:8])) or "nothing")) from None

    def _sequences(self, values, numbers, path, unit):
        if not values:
            return []
        if self.tokenizer:
            for number, value in zip(numbers, values):
                if not isinstance(value, str):
                    raise DataError("%s, %s %d: %r is %s and no text"
                                    % (path, unit, number, self.column, _shown(value)))
        try:
            sequences = self._tokens_of(values)
        except DataError:
            raise
        except Exception as whole:
            for number, value in zip(numbers, values):  # which one was it?
                try:
                    self._tokens_of([value])
                except Exception as error:
                    raise DataError("%s, %s %d: %s failed: %s"
                                    % (path, unit, number, self.maker,
                                       _line(error))) from None
            raise DataError("%s, %ss %d to %d: %s failed: %s"
                            % (path, unit, numbers[0], numbers[-1],
                               self.maker, _line(whole))) from None
        return sequences


def _lines(path, first, batch):
    """(number, object) of each line that is not blank."""
    for number, line in _numbered(first, batch):
        yield number, _parsed(path, number, line)


def _numbered(first, batch):
    return ((number, line) for number, line in enumerate(batch.split(b"\n"), first)
            if line.strip())


def _parsed(path, number, line):
    try:
        record = json.loads(line)
    except (ValueError, RecursionError) as error:  # of JSON, or of UTF-8
        raise DataError("%s, line %d is no JSON: %s" % (path, number, _line(error))) from None
    if not isinstance(record, dict):
        raise DataError("%s, line %d is %s and no object" % (path, number, _shown(record)))
    return record


def _plain(sequence):
    """Of numpy, torch and array: plain integers, faster than one by one."""
    if isinstance(sequence, (bytes, bytearray, memoryview)):
        raise TypeError("bytes are no list of tokens")
    as_list = getattr(sequence, "tolist", None)
    return as_list() if as_list else sequence


def _change(first, second):
    if len(first) != len(second):
        return "%d, then %d" % (len(first), len(second))
    at, one, other = next((at, one, other) for at, (one, other) in enumerate(zip(first, second))
                          if one != other)
    return "token %d was %d, then %d" % (at, one, other)


def _line(error):
    return " ".join(("%s: %s" % (type(error).__name__, error)).split())[:300]


def _shown(value):
    text = repr(value)
    return text if len(text) <= 60 else text[:57] + "..."
