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
                ("column", _TEXT), ("tokenizer", _TEXT), ("transform", _TEXT), ("end", _I64),
                ("texts", ctypes.POINTER(_TEXT)), ("pieces", ctypes.POINTER(_TEXT)),
                ("records", ctypes.POINTER(_U64)), ("text_count", _SIZE), ("fingerprint", _U64)]


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
                ("carry_count", _SIZE), ("micro", _U32)]


class Batch(ctypes.Structure):
    """rr_data_batch. Whatever comes after the call that fills it, the memory is given back with the
    last reference to it, by any thread."""

    _fields_ = [("step", _U64), ("step_labels", _U64), ("labels", _U64), ("micro", _U32),
                ("sequences", _U32), ("segments", _SIZE), ("block", _HANDLE),
                ("block_bytes", _SIZE), ("memory", _HANDLE)]

    def __init__(self, release):
        super().__init__()
        self._release = release

    def buffer(self):
        """All of its numbers. It holds the batch, and views of it hold the buffer."""
        buffer = (ctypes.c_char * self.block_bytes).from_address(self.block)
        buffer.batch = self
        return buffer

    def __del__(self):
        if self.memory:
            self._release(self.memory)


_TakePiece = ctypes.CFUNCTYPE(None, _HANDLE, ctypes.POINTER(_Piece))
_TakeInput = ctypes.CFUNCTYPE(None, _HANDLE, _TEXT, _TEXT, ctypes.c_int)
_FUNCTIONS = {  # name: result (None: a code), arguments
    "rr_data_error": (_TEXT, []),
    "rr_data_open": (None, [ctypes.POINTER(_Spec), _TEXT, _TEXT, _U32, _U32,
                            ctypes.POINTER(_HANDLE)]),
    "rr_data_close": (_HANDLE, [_HANDLE]),
    "rr_data_inputs": (None, [ctypes.POINTER(_Spec), _TEXT, _SIZE, _TakeInput, _HANDLE]),
    "rr_data_samples": (_U64, [_HANDLE, _SIZE]),
    "rr_data_fingerprint": (_U64, [_HANDLE, _SIZE]),
    "rr_data_seek": (None, [_HANDLE, ctypes.POINTER(_Cursor)]),
    "rr_data_wait": (None, [_HANDLE, _U32, ctypes.POINTER(ctypes.c_int), ctypes.POINTER(_TEXT),
                            ctypes.POINTER(_TEXT), ctypes.POINTER(_U64)]),
    "rr_data_ready": (None, [_HANDLE, ctypes.POINTER(Batch)]),
    "rr_data_receive": (_HANDLE, [_HANDLE, _U64, _U32]),
    "rr_data_release": (_HANDLE, [_HANDLE]),
    "rr_data_digest": (_U64, [_HANDLE]),
    "rr_data_carried": (_SIZE, [_HANDLE]),
    "rr_data_position": (None, [_HANDLE, ctypes.POINTER(_Cursor)]),
    "rr_data_walk": (None, [_HANDLE, ctypes.POINTER(_Cursor), ctypes.POINTER(_Cursor), _U64,
                            _TakePiece, _HANDLE, ctypes.POINTER(ctypes.c_int)]),
    "rr_data_order": (None, [ctypes.POINTER(_Spec), _SIZE, _U64, _U64, _SIZE,
                             ctypes.POINTER(_U64)]),
    "rr_data_shuffled": (None, [_U64, _U64, _U64, _U64, _U64, _SIZE, ctypes.POINTER(_U64)]),
}
_LOOK_EVERY_MS = 200  # while a batch is awaited
_NO_SAMPLE = 2 ** 64 - 1
_bound = None


def _library():
    global _bound
    if _bound is None:
        library = shared_library.opened()
        for name, (result, arguments) in _FUNCTIONS.items():
            function = getattr(library, name)
            function.restype = ctypes.c_int if result is None else result
            function.argtypes = arguments
        for name in ("rr_data_close", "rr_data_receive", "rr_data_release"):
            getattr(library, name).restype = None
        _bound = library
    return _bound


def _call(name, *arguments):
    library = _library()
    if getattr(library, name)(*arguments):
        raise DataError(library.rr_data_error().decode("utf-8", "replace"))


def _spec(values, texts=None):
    """`texts`: {number of a source: (its pieces.Text, fingerprint)} of those that are text and
    tokenized while the training runs."""
    sources = (_Source * max(1, len(values["source"])))()
    for number, (out, source) in enumerate(zip(sources, values["source"])):
        points = values["mixture"].get(source["name"], [])
        paths = [str(path).encode() for path in source["paths"]]
        flat = [number for point in points for number in point]
        out.name, out.format = source["name"].encode(), source["format"].encode()
        out.paths, out.path_count = (_TEXT * max(1, len(paths)))(*paths), len(paths)
        out.weights, out.weight_count = (_U64 * max(1, len(flat)))(*flat), len(points)
        for key in ("column", "tokenizer", "transform"):
            setattr(out, key, source.get(key, "").encode())
        out.end = source.get("end", -1)
        files, out.fingerprint = (texts or {}).get(number, ((), 0))
        out.texts = (_TEXT * len(files))(*(os.fsencode(each.path) for each in files))
        out.pieces = (_TEXT * len(files))(*(os.fsencode(each.folder) for each in files))
        out.records = (_U64 * len(files))(*(each.records for each in files))
        out.text_count = len(files)
    batch, shuffle, balance = values["batch"], values["shuffle"], values["balance"]
    return _Spec(values["seed"], sources, len(values["source"]), batch["tokens"], batch["context"],
                 batch["micro"], batch["pack"].encode(), batch["leftover"].encode(),
                 batch["long"].encode(), shuffle["block"], shuffle["window"],
                 rounded(balance["cost"]["a"] * 1e6), rounded(balance["cost"]["b"] * 1000 * 1e6),
                 balance["sync"].encode(), values["cache"].encode())


def shared_folder():
    """Where the ranks of a run on this machine share one copy of the indices: beside their records,
    in a folder that the agent removes. Empty outside robustrun."""
    return os.fsencode(os.path.dirname(os.environ.get("ROBUSTRUN_RECORD", "")))


def inputs(values, folder, source):
    """Of the source with this number, which is text: (path, prefix of its tokens' files, whether
    they exist) of each file."""
    found = []
    take = _TakeInput(lambda _, path, tokens, is_prepared: found.append(
        (os.fsdecode(path), os.fsdecode(tokens), bool(is_prepared))))
    _call("rr_data_inputs", ctypes.byref(_spec(values)), folder.encode(), source, take, None)
    return found


def order(values, source, samples, position, count):
    """The samples of a source at positions `position`, `position` + 1, …: `count` of them."""
    out = (_U64 * count)()
    _call("rr_data_order", ctypes.byref(_spec(values)), source, samples, position, count, out)
    return out[:count]


def shuffled(seed, epoch, samples, first, stride, count):
    """The samples at positions first, first + stride, … of a shuffled epoch: `count` of them."""
    out = (_U64 * count)()
    _call("rr_data_shuffled", seed, epoch, samples, first, stride, count, out)
    return out[:count]


def beginning(sources):
    """The cursor before the first step, as plain values."""
    return {"step": 0, "dropped": 0, "positions": [0] * sources, "owed": [0] * sources, "carry": []}


class Feed:
    """loader::Feed: the steps of one rank."""

    def __init__(self, values, folder, rank, ranks, texts=None):
        self._handle = None
        self._sources = len(values["source"])
        handle = _HANDLE()
        _call("rr_data_open", ctypes.byref(_spec(values, texts)), folder.encode(),
              shared_folder(), rank, ranks, ctypes.byref(handle))
        self._handle, self._close = handle, _library().rr_data_close

    def __del__(self):
        if self._handle is not None:
            self._close(self._handle)

    def samples(self, source):
        """Number of samples of the source with this number."""
        return _library().rr_data_samples(self._handle, source)

    def fingerprints(self):
        return [_library().rr_data_fingerprint(self._handle, i) for i in range(self._sources)]

    def wait(self, tell):
        """Waits until ready() returns at once. Meanwhile calls tell(source, path, sample) again and
        again with what is being read, empty bytes while nothing is, and the sample that has no
        tokens yet, or None. Python's signal handlers run, too."""
        is_there, source, path, sample = ctypes.c_int(), _TEXT(), _TEXT(), _U64()
        while True:
            _call("rr_data_wait", self._handle, _LOOK_EVERY_MS, ctypes.byref(is_there),
                  ctypes.byref(source), ctypes.byref(path), ctypes.byref(sample))
            if is_there.value:
                return
            tell(source.value, path.value,
                 None if sample.value == _NO_SAMPLE else sample.value)

    def ready(self):
        """The batch after the one that was received last; waits for it. The same until receive().
        """
        batch = Batch(_library().rr_data_release)
        _call("rr_data_ready", self._handle, ctypes.byref(batch))
        return batch

    def receive(self, step, micro):
        """Moves on from the batch that ready() has returned; no effect if that is not this one."""
        _library().rr_data_receive(self._handle, step, micro)

    def digest(self):
        """Of the step of the batch that was received last."""
        return _library().rr_data_digest(self._handle)

    def _empty_cursor(self, carried):
        return _Cursor(0, 0, (_U64 * self._sources)(), (_I64 * self._sources)(),
                       (_Piece * max(1, carried))(), carried)

    def position(self):
        """(cursor, micro-batch) after the batch that was received last, as plain values."""
        carried = _library().rr_data_carried(self._handle)
        cursor = self._empty_cursor(carried)
        _call("rr_data_position", self._handle, ctypes.byref(cursor))
        return {"step": cursor.step, "dropped": cursor.dropped,
                "positions": cursor.positions[:self._sources],
                "owed": cursor.owed[:self._sources],
                "carry": [[piece.source, piece.sample, piece.offset, piece.length]
                          for piece in cursor.carry[:carried]]}, cursor.micro

    def _cursor_of(self, values, micro=0):
        cursor = self._empty_cursor(len(values["carry"]))
        cursor.step, cursor.dropped, cursor.micro = values["step"], values["dropped"], micro
        for i in range(self._sources):
            cursor.positions[i], cursor.owed[i] = values["positions"][i], values["owed"][i]
        for i, (source, sample, offset, length) in enumerate(values["carry"]):
            cursor.carry[i] = _Piece(source, offset, length, sample)
        return cursor

    def seek(self, cursor, micro):
        """Goes on there."""
        _call("rr_data_seek", self._handle, ctypes.byref(self._cursor_of(cursor, micro)))

    def arrives(self, cursor, there):
        """Whether the plan goes from one cursor to the other one."""
        arrives = ctypes.c_int()
        _call("rr_data_walk", self._handle, ctypes.byref(self._cursor_of(cursor)),
              ctypes.byref(self._cursor_of(there)), there["step"], _TakePiece(0), None,
              ctypes.byref(arrives))
        return bool(arrives.value)

    def pieces(self, first, end):
        """(source, sample) of each piece of a document in steps `first` to `end` - 1."""
        found = []
        take = _TakePiece(lambda _, piece: found.append((piece[0].source, piece[0].sample)))
        begin, to = self._empty_cursor(0), self._empty_cursor(0)
        to.step = end
        _call("rr_data_walk", self._handle, ctypes.byref(begin), ctypes.byref(to), first, take,
              None, ctypes.byref(ctypes.c_int()))
        return found
