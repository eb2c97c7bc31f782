"""Records torch's process groups: the members of the groups that the Flight Recorder shows.

However a group is made, torch enters it into one dictionary in torch.distributed.distributed_c10d.
That dictionary is replaced by one that notifies us, so no function of torch is wrapped and no
traceback shows our frames. Slots are taken from the end of the table; NCCL's plugin takes them from
the beginning.
"""

from .._progress import progress

SLOTS_MAX = progress.COMMUNICATOR_SLOTS // 2  # the rest is the plugin's

# tracer/record_collectives.h: RecordSource, and words of RecordCommunicator.
KIND_TORCH_GROUP = 1
KIND_INTERPOSER = 3
IN_USE, COMM, SIZE_AND_RANK, SOURCE, NAME, LABEL = 0, 1, 2, 3, 32 // 8, 96 // 8
ENTERED, STARTED, DONE = 160 // 8, 168 // 8, 176 // 8
ENTERED_AT, DONE_AT, SLOT_WORDS = 184 // 8, 192 // 8, 256 // 8

_slots = {}  # id of the group -> first word of its slot
_names = {}  # its name -> the same
_kind = KIND_TORCH_GROUP
_watchers = []  # called once, when the first group is made


def watch(c10d, at_first_group=None):
    """Call it before torch makes a group. `at_first_group`: called once, after the first one."""
    if at_first_group is not None:
        _watchers.append(at_first_group)
    if type(c10d._pg_group_ranks) is dict and not c10d._pg_group_ranks:
        c10d._pg_group_ranks = _Groups(c10d)


class _Groups(dict):
    """Group -> {global rank: rank within it}, as torch keeps it."""

    __slots__ = ("_c10d",)

    def __init__(self, c10d):
        dict.__init__(self)
        self._c10d = c10d

    def __setitem__(self, group, ranks):
        dict.__setitem__(self, group, ranks)
        try:
            _note(self._c10d, group, ranks)
        except Exception:
            pass

    def __delitem__(self, group):
        dict.__delitem__(self, group)
        _forget(group)

    def pop(self, group, *default):
        _forget(group)
        return dict.pop(self, group, *default)

    def clear(self):
        for group in self:
            _forget(group)
        dict.clear(self)


def slot_of(name):
    """The first word of the slot of group `name`; None: it has no slot."""
    return _names.get(name)


def all_are(kind):
    """Sets the source of the progress (RecordSource) of all groups, present and future."""
    global _kind
    _kind = kind
    record = progress.current()
    for first in _slots.values() if record is not None else ():
        record.words[first + SOURCE] = kind


def key(name, ranks):
    """group_key() of tracer/flight_memberships.h: FNV-1a over the name, a NUL and the ranks."""
    value = 0xCBF29CE484222325
    data = name.encode("utf-8", "surrogateescape") + b"\0"
    for rank in sorted(ranks):
        data += rank.to_bytes(4, "little")
    for byte in data:
        value = (value ^ byte) * 0x100000001B3 & 0xFFFFFFFFFFFFFFFF
    return value


def _note(c10d, group, ranks):
    record = progress.current()
    name = c10d._world.pg_names.get(group)
    if record is None or name is None:  # in a child of the worker; not a member
        return
    first = _slots.get(id(group)) or _free_slot(record.words)
    if first:
        label = getattr(group, "group_desc", "") or ""  # torch 2.3
        _fill(record.words, first, name, "" if label == "undefined" else label, ranks,
              group.rank())
        _slots[id(group)] = _names[name] = first
    while _watchers:
        try:
            _watchers.pop()()
        except Exception:
            pass


def _free_slot(words):
    end = progress.COMMUNICATORS + progress.COMMUNICATOR_SLOTS * progress.COMMUNICATOR_WORDS
    for place in range(SLOTS_MAX):
        first = end - (place + 1) * progress.COMMUNICATOR_WORDS
        if not words[first + IN_USE]:
            return first
    return None


def _fill(words, first, name, label, ranks, rank):
    for word in range(first + 1, first + SLOT_WORDS):
        words[word] = 0  # left by an earlier group
    words[first + COMM] = key(name, ranks)
    words[first + SIZE_AND_RANK] = len(ranks) | rank << 32
    words[first + SOURCE] = _kind
    _put_text(words, first + NAME, name)
    _put_text(words, first + LABEL, label or name)
    words[first + IN_USE] = 1


def _put_text(words, where, text):
    data = text.encode("utf-8", "replace")[: progress.COMMUNICATOR_NAME_BYTES]
    data = data.decode("utf-8", "ignore").encode().ljust(progress.COMMUNICATOR_NAME_BYTES, b"\0")
    for place in range(0, len(data), 8):
        words[where + place // 8] = int.from_bytes(data[place : place + 8], "little")


def _forget(group):
    first = _slots.pop(id(group), None)
    record = progress.current()
    if first is None or record is None:
        return
    record.words[first + IN_USE] = 0
    for name in [name for name, slot in _names.items() if slot == first]:
        del _names[name]
