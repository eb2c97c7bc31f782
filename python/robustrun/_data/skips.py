"""Which records a training has skipped, as its state keeps them: those of all pieces (pieces.py)
that it has drawn a sample from. A piece tells what it skips, and every rank has read the same ones
up to the same cursor, so this is equal on all ranks.

Where a state is loaded it counts more than the cache: what it has is skipped without another try;
what it has not, of pieces that the training has drawn from, may not be skipped any more. Else
samples of later epochs, and what an audit computes from the beginning, would differ.
"""

import bisect

from . import pieces
from .spec import DataError

_FROM_STATE = "it was skipped before this cache was made"


def of_cache(texts):
    """{file: the records that have been noted as such that cannot be used} of a source's files."""
    found = ((file, set(text.skipped())) for file, text in enumerate(texts))
    return {file: records for file, records in found if records}


class Skips:
    """Of one loader. `texts`: {number of a source: its files}, all known. Sources that skip nothing
    and may skip nothing are left out."""

    def __init__(self, values, texts):
        self._names = {number: values["source"][number]["name"] for number in texts}
        self._places = {
            number: pieces.Places(values, number, of_source)
            for number, of_source in texts.items()
            if values["source"][number].get("max_skips", 0) or of_cache(of_source)}
        self._values, self._texts = values, texts
        self._begin({})

    def _begin(self, found):
        self._found = {number: set(found.get(number, ())) for number in self._places}
        self._kept = {number: set(of_source) for number, of_source in self._found.items()}
        self._upto = dict.fromkeys(self._places, 0)
        self._read = {number: set() for number in self._places}  # pieces

    def move(self, cursor):
        """The training has drawn samples up to this cursor. DataError if a piece that it has drawn
        from lacks a skip of the loaded state."""
        for number, places in self._places.items():
            # After an epoch it has drawn from all.
            end = min(cursor["positions"][number], places.samples)
            for part in places.order(self._upto[number], end):
                self._add(number, places, sorted(part))
            self._upto[number] = max(end, self._upto[number])

    def _add(self, number, places, samples):
        at, read = 0, self._read[number]
        while at < len(samples):
            text, piece = places.piece_of(samples[at])
            if (text.path, piece) not in read:
                self._add_piece(number, places, text, piece)
                read.add((text.path, piece))
            at = bisect.bisect_left(samples, places.samples_of(text, piece).stop, at)

    def _add_piece(self, number, places, text, piece):
        file = places.number_of(text)
        skipped = {(file, record) for record in text.skips_of(piece) or ()}
        for one, record in sorted(self._kept[number] - skipped):
            if one == file and text.piece_with(record) == piece:
                raise _differs(text, piece, record, True)
        self._found[number] |= skipped

    def count(self):
        return sum(map(len, self._found.values()))

    def value(self):
        """{name of a source: [[number of the file, from 0, and of its line or row, from 1]]}"""
        return {self._names[number]: [list(each) for each in sorted(found)]
                for number, found in self._found.items()}

    def load(self, state):
        """Goes on from a state, and lets the cache skip what it skips. DataError, and no effect on
        this, if the cache has pieces that differ."""
        found = self._of_state(state)
        for number, skips in found.items():
            for file, record in sorted(skips):
                text = self._texts[number][file]
                if record not in text.skipped():
                    text.skip(record, "%s, %s %d: %s"
                              % (text.path, text.unit, record, _FROM_STATE))
        self.check(state)
        for number in found:  # max_skips may be gone
            if number not in self._places:
                self._places[number] = pieces.Places(self._values, number, self._texts[number])
        self._begin(found)
        for number in found:
            self._upto[number] = min(state["cursor"]["positions"][number],
                                     self._places[number].samples)

    def check(self, state):
        """DataError unless the pieces that are there skip what the state says, as far as it does.
        """
        for number, stated in self._of_state(state).items():
            places = pieces.Places(self._values, number, self._texts[number])
            noted = {(file, record) for file, records in of_cache(places.texts).items()
                     for record in records}
            position = state["cursor"]["positions"][number]
            checked = {}  # (file, piece) → whether the training has drawn from it
            for file, record in sorted(stated | noted):
                text = places.texts[file]
                piece = text.piece_with(record)
                if piece is None:
                    continue
                there = text.skips_of(piece)
                is_skipped = (file, record) in stated
                if (record in there if there is not None else True) == is_skipped:
                    continue
                if (file, piece) not in checked:
                    checked[file, piece] = places.was_drawn(text, piece, position)
                if checked[file, piece]:
                    raise _differs(text, piece, record, is_skipped)

    def _of_state(self, state):
        """{number of a source: {(file, record)}} of the sources that the state has."""
        found, given = {}, state.get("skips", {})
        for number, name in self._names.items():
            if name in given:
                found[number] = {tuple(each) for each in given[name]}
                for file, record in found[number]:
                    texts = self._texts[number]
                    if file >= len(texts) or texts[file].piece_with(record) is None:
                        raise DataError("cannot use the state: it skips a record that source %s "
                                        "does not have" % name)
        return found


def _differs(text, piece, record, is_skipped):
    return DataError(
        "%s, %s %d was %s by the training so far, and in the cache it is %s: remove %s%s, and it "
        "is made again" % (
            text.path, text.unit, record, *(("skipped", "not") if is_skipped else
                                            ("used", "skipped")),
            text.piece(piece), "" if is_skipped else " and " + text.skip_path(record)))
