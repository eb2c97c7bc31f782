"""librobustrun.so for Python: batches, shuffled epochs (loader/c_api/api.h). Without torch.

Only one call at a time on a Feed.
"""

import ctypes
import os

from .._api import library as shared_library
from .spec import DataError, rounded

_U32, _U64, _I64 = ctypes.c_uint32, ctypes.c_uint64, ctypes.c_int64
_TEXT, _SIZE, _HANDLE = ctypes.c_char_p, ctypes.c_size_t, ctypes.c_void_p


class _Source(ctypes.Structure):
    _fields_ = [("name", _TEXT), ("format", _TEXT), ("paths", ctypes.POINTER(_TEXT)),
                ("path_count", _SIZE), ("weights", ctypes.POINTER(_U64)), ("weight_count", _SIZE),
                ("column", _TEXT), ("tokenizer", _TEXT), ("transform", _TEXT), ("end", _I64)]


class _Spec(ctypes.Structure):
    _fields_ = [("seed", _U64), ("sources", ctypes.POINTER(_Source)), ("source_count", _SIZE),
                ("tokens", _U64), ("context", _U32), ("micro", _U32), ("pack", _TEXT),
                ("leftover", _TEXT), ("longer", _TEXT), ("block", _U32), ("window", _U32),
                ("linear", _U64), ("square", _U64), ("sync", _TEXT), ("cache", _TEXT)]


class _Piece(ctypes.Structure):
    _fields_ = [("source", _U32), ("offset", _U32), ("length", _U32), ("sample", _U64)]


class _Cursor(ctypes.Structure):
    _fields_ = [("step", _U64), ("dropped", _U64), ("positions", ctypes.POINTER(_U64)),
                ("owed", ctypes.POINTER(_I64)), ("carry", ctypes.POINTER(_Piece)),
                ("carry_count", _SIZE)]


class Step(ctypes.Structure):
    """The present step: number, labels over all ranks, digest, sequences of a micro-batch."""

    _fields_ = [("step", _U64), ("labels", _U64), ("digest", _U64), ("sequences", _U32),
                ("carry_at_begin", _SIZE), ("carry_at_end", _SIZE)]


_TakeInput = ctypes.CFUNCTYPE(None, _HANDLE, _TEXT, _TEXT, ctypes.c_int)
_FUNCTIONS = {  # name: result (None: a code), arguments
    "rr_data_error": (_TEXT, []),
    "rr_data_open": (None, [ctypes.POINTER(_Spec), _TEXT, _U32, _U32, ctypes.POINTER(_HANDLE)]),
    "rr_data_close": (_HANDLE, [_HANDLE]),
    "rr_data_inputs": (None, [ctypes.POINTER(_Spec), _TEXT, _SIZE, _TakeInput, _HANDLE]),
    "rr_data_fingerprint": (_U64, [_HANDLE, _SIZE]),
    "rr_data_seek": (None, [_HANDLE, ctypes.POINTER(_Cursor)]),
    "rr_data_next_step": (None, [_HANDLE, ctypes.POINTER(Step)]),
    "rr_data_get_cursor": (None, [_HANDLE, ctypes.c_int, ctypes.POINTER(_Cursor)]),
    "rr_data_segments": (_SIZE, [_HANDLE, _U32]),
    "rr_data_read": (None, [_HANDLE, _U32, _HANDLE, _HANDLE, _HANDLE, _HANDLE,
                            ctypes.POINTER(_U64)]),
    "rr_data_shuffled": (None, [_U64, _U64, _U64, _U64, _U64, _SIZE, ctypes.POINTER(_U64)]),
}
_bound = None


def _library():
    global _bound
    if _bound is None:
        library = shared_library.opened()
        for name, (result, arguments) in _FUNCTIONS.items():
            function = getattr(library, name)
            function.restype = ctypes.c_int if result is None else result
            function.argtypes = arguments
        library.rr_data_close.restype = None
        _bound = library
    return _bound


def _call(name, *arguments):
    library = _library()
    if getattr(library, name)(*arguments):
        raise DataError(library.rr_data_error().decode("utf-8", "replace"))


def _spec(values):
    sources = (_Source * max(1, len(values["source"])))()
    for out, source in zip(sources, values["source"]):
        points = values["mixture"].get(source["name"], [])
        paths = [str(path).encode() for path in source["paths"]]
        flat = [number for point in points for number in point]
        out.name, out.format = source["name"].encode(), source["format"].encode()
        out.paths, out.path_count = (_TEXT * max(1, len(paths)))(*paths), len(paths)
        out.weights, out.weight_count = (_U64 * max(1, len(flat)))(*flat), len(points)
        for key in ("column", "tokenizer", "transform"):
            setattr(out, key, source.get(key, "").encode())
        out.end = source.get("end", -1)
    batch, shuffle, balance = values["batch"], values["shuffle"], values["balance"]
    return _Spec(values["seed"], sources, len(values["source"]), batch["tokens"], batch["context"],
                 batch["micro"], batch["pack"].encode(), batch["leftover"].encode(),
                 batch["long"].encode(), shuffle["block"], shuffle["window"],
                 rounded(balance["cost"]["a"] * 1e6), rounded(balance["cost"]["b"] * 1000 * 1e6),
                 balance["sync"].encode(), values["cache"].encode())


def inputs(values, folder, source):
    """Of the source with this number, which is text: (path, prefix of its tokens' files, whether
    they exist) of each file."""
    found = []
    take = _TakeInput(lambda _, path, tokens, is_prepared: found.append(
        (os.fsdecode(path), os.fsdecode(tokens), bool(is_prepared))))
    _call("rr_data_inputs", ctypes.byref(_spec(values)), folder.encode(), source, take, None)
    return found


def shuffled(seed, epoch, samples, first, stride, count):
    """The samples at positions first, first + stride, … of a shuffled epoch: `count` of them."""
    out = (_U64 * count)()
    _call("rr_data_shuffled", seed, epoch, samples, first, stride, count, out)
    return out[:count]


class Feed:
    """loader::Feed: the steps of one rank."""

    def __init__(self, values, folder, rank, ranks):
        self._handle = None
        self._sources = len(values["source"])
        handle = _HANDLE()
        _call("rr_data_open", ctypes.byref(_spec(values)), folder.encode(), rank, ranks,
              ctypes.byref(handle))
        self._handle = handle

    def __del__(self):
        if self._handle is not None:
            _library().rr_data_close(self._handle)

    def fingerprints(self):
        return [_library().rr_data_fingerprint(self._handle, i) for i in range(self._sources)]

    def next_step(self):
        step = Step()
        _call("rr_data_next_step", self._handle, ctypes.byref(step))
        return step

    def _empty_cursor(self, carried):
        return _Cursor(0, 0, (_U64 * self._sources)(), (_I64 * self._sources)(),
                       (_Piece * max(1, carried))(), carried)

    def cursor(self, step, at_end):
        """The cursor at the begin or end of the present step, as plain values."""
        carried = step.carry_at_end if at_end else step.carry_at_begin
        cursor = self._empty_cursor(carried)
        _call("rr_data_get_cursor", self._handle, int(at_end), ctypes.byref(cursor))
        return {"step": cursor.step, "dropped": cursor.dropped,
                "positions": cursor.positions[:self._sources],
                "owed": cursor.owed[:self._sources],
                "carry": [[piece.source, piece.sample, piece.offset, piece.length]
                          for piece in cursor.carry[:carried]]}

    def seek(self, cursor):
        to = self._empty_cursor(len(cursor["carry"]))
        to.step, to.dropped = cursor["step"], cursor["dropped"]
        for i in range(self._sources):
            to.positions[i], to.owed[i] = cursor["positions"][i], cursor["owed"][i]
        for i, (source, sample, offset, length) in enumerate(cursor["carry"]):
            to.carry[i] = _Piece(source, offset, length, sample)
        _call("rr_data_seek", self._handle, ctypes.byref(to))

    def segments(self, micro):
        return _library().rr_data_segments(self._handle, micro)

    def read(self, micro, tokens, labels, positions, segments):
        """Fills the memory at these addresses; returns the number of labels."""
        labelled = _U64()
        _call("rr_data_read", self._handle, micro, tokens, labels, positions, segments,
              ctypes.byref(labelled))
        return labelled.value
