"""librobustrun.so for Python: checkpoints in directories (checkpoint/c_api/api.h). Without torch.

ctypes releases the GIL during calls. Only one call at a time on an Engine or Checkpoint.
"""

import collections
import ctypes
import os
import struct

from .._api import library as shared_library
from .blobs import Fields, Shard, text, texts  # noqa: F401 (Shard is used by callers)

CODES = {1: "invalid", 2: "not found", 3: "unavailable", 4: "timeout", 5: "permission",
         6: "protocol", 7: "corrupt", 8: "limit", 9: "cancelled", 10: "conflict", 11: "os",
         12: "internal"}
IO_WAYS = ("auto", "ring", "direct", "buffered")  # rr_io_way
STATES = ("committed", "incomplete", "damaged", "deleted")

# One checkpoint of a catalogue. `attempt` is its name: "step-000000001000/g7-3f9c...".
Found = collections.namedtuple(
    "Found", "attempt step generation state verified pinned poisoned sequence wall_time_ns bytes "
             "digest local")
Description = collections.namedtuple(
    "Description", "attempt step generation sequence wall_time_ns digest world_size axes mounts "
                   "writers shards states")


class CheckpointError(RuntimeError):
    """An error of the engine. `kind`: one of the words in CODES."""

    def __init__(self, kind, what):
        super().__init__(what)
        self.kind = kind

    def __reduce__(self):  # torch sends errors from rank to rank
        return type(self), (self.kind, str(self))


class NotFound(CheckpointError):
    """There is no such checkpoint, or no checkpoint at all."""


class Corrupt(CheckpointError):
    """The bytes read differ from those that were saved."""


class Unreadable(CheckpointError):
    """A disk failed to return the bytes (EIO)."""


class Conflict(CheckpointError):
    """A later attempt of the job has taken over, or the attempt is already committed."""


_KINDS = {"not found": NotFound, "unavailable": Unreadable, "corrupt": Corrupt,
          "conflict": Conflict}


class _Blob(ctypes.Structure):
    _fields_ = [("data", ctypes.c_void_p), ("size", ctypes.c_size_t)]


class _Read(ctypes.Structure):
    _fields_ = [("shard", ctypes.c_uint64), ("begin", ctypes.c_uint64),
                ("bytes", ctypes.c_uint64), ("destination", ctypes.c_void_p)]


_U32, _U64, _SIZE = ctypes.c_uint32, ctypes.c_uint64, ctypes.c_size_t
_TEXT, _HANDLE = ctypes.c_char_p, ctypes.c_void_p
_HANDLE_OUT, _BLOB_OUT = ctypes.POINTER(ctypes.c_void_p), ctypes.POINTER(_Blob)
_TEXTS, _INT = ctypes.POINTER(ctypes.c_char_p), ctypes.c_int

_FUNCTIONS = {  # name: arguments; all return a code
    "rr_store_open_with": [_TEXTS, ctypes.POINTER(ctypes.c_double), _SIZE, _U32, _INT, _U64,
                           _HANDLE_OUT],
    "rr_store_parity": [_HANDLE, ctypes.c_uint32],
    "rr_store_claim_by": [_HANDLE, _TEXT, _U64, _U64, ctypes.POINTER(_U64)],
    "rr_save_begin": [_HANDLE, _U64, _U64, _TEXT, _SIZE, _HANDLE_OUT],
    "rr_save_write": [_HANDLE, _TEXT, _TEXT, _SIZE, ctypes.POINTER(ctypes.c_void_p), _SIZE, _TEXT,
                      _SIZE, _BLOB_OUT],
    "rr_save_recheck": [_HANDLE, ctypes.POINTER(_U64), _SIZE, _BLOB_OUT],
    "rr_save_commit": [_HANDLE, ctypes.POINTER(_INT), _BLOB_OUT],
    "rr_list": [_TEXTS, _SIZE, _BLOB_OUT],
    "rr_checkpoint_open_with": [_TEXTS, _SIZE, _TEXT, _INT, _U64, _HANDLE_OUT],
    "rr_checkpoint_describe": [_HANDLE, _BLOB_OUT],
    "rr_checkpoint_read": [_HANDLE, ctypes.POINTER(_Read), _SIZE],
    "rr_checkpoint_verify": [_HANDLE, _BLOB_OUT],
    "rr_checkpoint_poison": [_HANDLE, _TEXT],
    "rr_checkpoint_pin": [_HANDLE, _INT],
    "rr_prune": [_TEXTS, _SIZE, _U64, _BLOB_OUT, _BLOB_OUT],
    "rr_make_directories": [_TEXTS, _SIZE, _U64, ctypes.POINTER(_INT)],
}
_library = None


def _load():
    global _library
    if _library is not None:
        return _library
    library = shared_library.opened()
    for name, arguments in _FUNCTIONS.items():
        getattr(library, name).argtypes = arguments
    library.rr_error.restype = library.rr_save_name.restype = _TEXT
    library.rr_save_name.argtypes = [_HANDLE]
    library.rr_blob_free.argtypes = [_BLOB_OUT]
    library.rr_blob_free.restype = None
    library.rr_store_write_rate.argtypes = [_HANDLE, _U64]
    library.rr_store_write_rate.restype = None
    for name in ("rr_store_close", "rr_save_close", "rr_checkpoint_close"):
        getattr(library, name).argtypes = [_HANDLE]
        getattr(library, name).restype = None
    _library = library
    return library


def _call(name, *arguments):
    library = _load()
    code = getattr(library, name)(*arguments)
    if code:
        kind = CODES.get(code, "internal")
        what = (library.rr_error() or b"").decode("utf-8", "replace")
        raise _KINDS.get(kind, CheckpointError)(kind, what)


def _blob_of(name, *arguments):
    """Calls a function whose last argument is an output blob; returns the blob's bytes."""
    blob = _Blob()
    _call(name, *arguments, ctypes.byref(blob))
    return _taken(blob)


def _taken(blob):
    try:
        return ctypes.string_at(blob.data, blob.size) if blob.size else b""
    finally:
        _load().rr_blob_free(ctypes.byref(blob))


def _paths(directories):
    if isinstance(directories, (str, bytes, os.PathLike)):
        directories = [directories]
    paths = [os.fsencode(path) for path in directories]
    return (ctypes.c_char_p * len(paths))(*paths), len(paths)


def io_options():
    """(index in IO_WAYS, patience in milliseconds), from the environment."""
    way = os.environ.get("ROBUSTRUN_CHECKPOINT_IO") or "auto"
    if way not in IO_WAYS:
        raise ValueError("ROBUSTRUN_CHECKPOINT_IO must be one of %s, not %r"
                         % (", ".join(IO_WAYS), way))
    patience = os.environ.get("ROBUSTRUN_CHECKPOINT_PATIENCE") or "60"
    try:
        milliseconds = int(float(patience) * 1000)
    except (ValueError, OverflowError):
        milliseconds = 0
    if milliseconds < 1:
        raise ValueError("ROBUSTRUN_CHECKPOINT_PATIENCE must be a number of seconds, not %r"
                         % patience)
    return IO_WAYS.index(way), milliseconds


def attempt_name(step, generation, token):
    return "step-%012d/g%d-%s" % (step, generation, token)


class Structure:
    """The encoded descriptions of shards. Keep it for as long as the shards stay the same."""

    def __init__(self, shards):
        self.shards = list(shards)
        parts = [struct.pack("<I", len(self.shards))]
        for shard in self.shards:
            d = len(shard.shape)
            parts.append(text(shard.name))
            parts.append(text(shard.dtype))
            parts.append(struct.pack("<II%dQ" % (3 * d + 1), shard.rank, d, *shard.global_shape,
                                     *shard.offsets, *shard.shape, shard.bytes))
        self.blob = b"".join(parts)


class _Closed:
    """Base of handles that are closed at the end of a with statement or when collected."""

    _handle = None

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()

    def __del__(self):
        if self._handle and _library is not None:
            self.close()


class Engine(_Closed):
    """Directories to save to, claimed for a session: attempt `attempt` of `run`, as ordered by the
    supervisor `incarnation`. The first directory is the home. `weights`: each directory's share of
    the data; `workers`: threads per directory. Holds memory and threads until close()."""

    def __init__(self, directories, run, attempt=0, incarnation=0, weights=None, workers=2):
        paths, count = _paths(directories)
        shares = None
        if weights is not None:
            if len(weights) != count:
                raise ValueError("weights= needs one weight per directory")
            shares = (ctypes.c_double * count)(*weights)
        self._handle = ctypes.c_void_p()
        self.directories = [os.fsdecode(path) for path in paths]
        self.run, self.attempt = run, attempt
        self.saves_begun = 0
        _call("rr_store_open_with", paths, shares, count, workers, *io_options(),
              ctypes.byref(self._handle))
        try:
            generation = _U64()
            _call("rr_store_claim_by", self._handle, run.encode(), incarnation, attempt,
                  ctypes.byref(generation))
            self.generation = generation.value
        except BaseException:
            self.close()
            raise

    def use_parity(self, parity):
        """Sets how many of the directories may be lost, for the saves from now on."""
        _call("rr_store_parity", self._handle, parity)

    def limit_writes(self, bytes_per_s):
        """Limits the write rate, also of a save in progress; 0: no limit. From any thread."""
        if self._handle:
            _load().rr_store_write_rate(self._handle, bytes_per_s)

    def begin(self, step, writers, world_size=1, axes=()):
        """Begins or joins the save of `step`, on every writer. All writers must have begun the same
        number of saves before. `axes`: (name, size); the first one varies slowest over the
        ranks."""
        number, self.saves_begun = self.saves_begun, self.saves_begun + 1
        if step < 0:
            raise ValueError("cannot save step %d: it is negative" % step)
        participants = struct.pack("<II", world_size, len(axes)) + b"".join(
            text(name) + struct.pack("<I", size) for name, size in axes) + texts(writers)
        handle = ctypes.c_void_p()
        _call("rr_save_begin", self._handle, step, number, participants, len(participants),
              ctypes.byref(handle))
        return Save(self, handle)

    def close(self):
        handle, self._handle = self._handle, ctypes.c_void_p()
        if handle:
            _load().rr_store_close(handle)


class Save(_Closed):
    """A save in progress."""

    def __init__(self, engine, handle):
        self._engine = engine  # must outlive this object
        self._handle = handle
        self.attempt = _load().rr_save_name(handle).decode()
        self.notes = []  # problems that did no harm, such as mounts that were left out

    def write(self, writer, structure, addresses, states=()):
        """Writes and syncs this writer's data. `structure`: a Structure or a list of Shards;
        `addresses`: the address of each shard's bytes, which must not change during the call;
        `states`: (rank, name, bytes)."""
        if not isinstance(structure, Structure):
            structure = Structure(structure)
        places = (ctypes.c_void_p * len(addresses))(*addresses)
        kept = b""
        if states:
            kept = struct.pack("<I", len(states)) + b"".join(
                struct.pack("<I", rank) + text(name) + text(bytes(data))
                for rank, name, data in states)
        said = _blob_of("rr_save_write", self._handle, writer.encode(), structure.blob,
                        len(structure.blob), places, len(addresses), kept, len(kept))
        self.notes += Fields(said).texts()

    def recheck(self, indices):
        """The names of shards whose bytes differ from what was written. Call it before commit()."""
        numbers = (_U64 * len(indices))(*indices)
        return Fields(_blob_of("rr_save_recheck", self._handle, numbers, len(indices))).texts()

    def commit(self):
        """Publishes this writer's part. Returns whether this call committed the checkpoint, as
        that of one of the last writers does."""
        done = _INT()
        said = _blob_of("rr_save_commit", self._handle, ctypes.byref(done))
        self.notes += Fields(said).texts()
        return bool(done.value)

    def close(self):
        handle, self._handle = self._handle, ctypes.c_void_p()
        if handle:
            _load().rr_save_close(handle)


class Checkpoint(_Closed):
    """A checkpoint to read: the one named `attempt`, else the newest that is committed and not
    poisoned. Raises NotFound if no checkpoint remains."""

    def __init__(self, directories, attempt=None):
        paths, count = _paths(directories)
        self._handle = ctypes.c_void_p()
        _call("rr_checkpoint_open_with", paths, count, attempt and attempt.encode(), *io_options(),
              ctypes.byref(self._handle))
        described = describe(_blob_of("rr_checkpoint_describe", self._handle))
        for name, value in described._asdict().items():
            setattr(self, name, value)

    def read(self, reads):
        """Reads and verifies. `reads`: (index of shard, first byte in the shard, bytes, address).
        After an exception, the bytes at the addresses must not be used."""
        requests = (_Read * len(reads))(*reads)
        _call("rr_checkpoint_read", self._handle, requests, len(reads))

    def verify(self):
        """Reads everything. Returns the problems as sentences; if there are none, marks the
        checkpoint as verified."""
        return Fields(_blob_of("rr_checkpoint_verify", self._handle)).texts()

    def poison(self, reason):
        """Marks the checkpoint so that it is never loaded again. `reason`: one word."""
        _call("rr_checkpoint_poison", self._handle, reason.encode())

    def pin(self, pinned=True):
        _call("rr_checkpoint_pin", self._handle, 1 if pinned else 0)

    def close(self):
        handle, self._handle = self._handle, ctypes.c_void_p()
        if handle:
            _load().rr_checkpoint_close(handle)


def describe(data):
    fields = Fields(data)
    step, generation = fields.numbers("QQ")
    token = fields.text()
    sequence, wall_time_ns = fields.numbers("QQ")
    digest = fields.text()
    world_size = fields.number()
    axes = [(fields.text(), fields.number()) for _ in range(fields.number())]
    mounts, writers = fields.texts(), fields.texts()
    shards = fields.shards()
    states = [(fields.number(), fields.text(), fields.raw()) for _ in range(fields.number())]
    return Description(attempt_name(step, generation, token), step, generation, sequence,
                       wall_time_ns, digest, world_size, axes, mounts, writers, shards, states)


def catalogue(directories):
    """The checkpoints in the directories, newest first: a list of Found."""
    paths, count = _paths(directories)
    fields = Fields(_blob_of("rr_list", paths, count))
    found = []
    for _ in range(fields.number()):
        step, generation = fields.numbers("QQ")
        token = fields.text()
        state, flags = fields.numbers("II")
        poisoned = fields.text()
        sequence, wall_time_ns, size = fields.numbers("QQQ")
        found.append(Found(attempt_name(step, generation, token), step, generation, STATES[state],
                           bool(flags & 1), bool(flags & 2), poisoned, sequence, wall_time_ns,
                           size, fields.text(), bool(flags & 4)))
    return found


def prune(directories, keep):
    """Removes old checkpoints. Keeps the `keep` newest verified ones, newer ones, and pinned ones;
    those that stay are verified first. Returns (names of removed checkpoints, notes)."""
    paths, count = _paths(directories)
    removed, notes = _Blob(), _Blob()
    _call("rr_prune", paths, count, keep, ctypes.byref(removed), ctypes.byref(notes))
    return Fields(_taken(removed)).texts(), Fields(_taken(notes)).texts()


def make_directories(directories):
    """Creates missing directories, but not their parents. Returns 0 or an errno for each; ETIMEDOUT
    if it did not respond within the patience."""
    paths, count = _paths(directories)
    errors = (_INT * count)()
    _call("rr_make_directories", paths, count, io_options()[1], errors)
    return list(errors)
