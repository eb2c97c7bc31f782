"""Bytes that several ranks want, read once: each rank reads its share, and hands it on.

Bytes that lie in a rank's own memory are that rank's to read, those on a disk of one machine its
ranks' alone; the rest is dealt out in the order of the checkpoint, so that neighbours in a file are
read together. Who reads has checked them.
"""

import collections
import ctypes

import torch

PART_BYTES = 64 << 20    # sent at once, at most
SMALL_BYTES = 4 << 20    # what is smaller is sent together with others,
BUNDLE_BYTES = 32 << 20  # in messages of this size
IN_FLIGHT = 4            # messages
_EXTENT_BYTES = 8 << 20  # a piece in a file, at most

# Memory of this rank that will hold `bytes` of a shard, from `first` on; not 0 of them.
Target = collections.namedtuple("Target", "index first bytes memory")
# A part of targets[target], read by `owner`.
Part = collections.namedtuple("Part", "target begin bytes owner")


def dealt(shards, targets, in_memory, size, away=()):
    """[Part]: all bytes of the targets, in their order. `in_memory`: for each rank which shards lie
    in its memory, (first, count). `away`: for each rank what it cannot read, a list of (first,
    count). Pure: the same on every rank."""
    parts = []
    keepers = _keepers(targets, in_memory, away)
    left = sum(each.bytes for each in targets if keepers[each.index] is None)
    rank, quota = 0, left / size
    goal = min(PART_BYTES, left // (4 * size))
    for number, target in enumerate(targets):
        keeper = keepers[target.index]
        whole = _cut_bytes(shards[target.index], target.bytes, goal if keeper is None
                           else PART_BYTES)
        for begin in range(0, target.bytes, whole):
            count = min(whole, target.bytes - begin)
            if keeper is None:
                if quota < count / 2 and rank + 1 < size:
                    rank, quota = rank + 1, quota + left / size
                quota -= count
            parts.append(Part(number, begin, count, rank if keeper is None else keeper))
    return parts


def nowhere(targets, in_memory, away):
    """Indices of shards that no rank can read."""
    readers = _readers(away)
    return [each.index for each in targets if _in_memory(each.index, in_memory) is None
            and readers and not any(each.index not in hidden for hidden, _ in readers)]


def _keepers(targets, in_memory, away):
    """For each shard who has to read it; None: anybody can."""
    readers = _readers(away)
    keepers = {}
    for target in targets:
        index = target.index
        keepers[index] = _in_memory(index, in_memory)
        if keepers[index] is None and any(index in hidden for hidden, _ in readers):
            able = [rank for hidden, ranks in readers if index not in hidden for rank in ranks]
            keepers[index] = able[index % len(able)]
    return keepers


def _readers(away):
    """Of ranks that cannot read the same, as those of one machine: (what, these ranks)."""
    alike = {}
    for rank, runs in enumerate(away):
        alike.setdefault(tuple(map(tuple, runs)), []).append(rank)
    return [({index for first, count in runs for index in range(first, first + count)}, ranks)
            for runs, ranks in alike.items()]


def _in_memory(index, in_memory):
    for rank, (first, count) in enumerate(in_memory):
        if first <= index < first + count:
            return rank
    return None


def _cut_bytes(shard, size, goal):
    """Where a shard may be cut: where the engine cuts it into pieces, one or several of them."""
    row = size // shard.shape[0] if shard.shape else size
    piece = _EXTENT_BYTES // row * row if row <= _EXTENT_BYTES else _EXTENT_BYTES
    return max(goal // piece, 1) * piece


class Sharing:
    """Of one load."""

    def __init__(self, group, parts, targets):
        self._group, self._targets = group, targets
        self._bytes = [_bytes_of(each.memory) for each in targets]
        self._messages = _messages(parts, [each.memory.device for each in targets], group.size)
        devices = {targets[parts[0].target].memory.device
                   for parts in self._messages if len(parts) > 1}
        # Taken before anything is sent: whoever cannot have it still says so.
        self._rooms = {device: [torch.empty(BUNDLE_BYTES, dtype=torch.uint8, device=device)
                                for _ in range(IN_FLIGHT)] for device in devices}
        self._reads = _joined([each for each in parts if each.owner == group.rank])

    def read(self, read):
        """This rank's share. `read`: takes what Checkpoint.read takes, and answers what it will."""
        requests, bounced = [], []
        for part in self._reads:
            flat = self._bytes[part.target][part.begin:part.begin + part.bytes]
            if flat.device.type != "cpu":
                bounced.append((flat, torch.empty(part.bytes, dtype=torch.uint8)))
                flat = bounced[-1][1]
            target = self._targets[part.target]
            requests.append((target.index, target.first + part.begin, part.bytes,
                             flat.data_ptr()))
        answer = read(requests)
        for flat, memory in bounced:
            flat.copy_(memory)
        return answer

    def own_bytes(self):
        return sum(part.bytes for part in self._reads)

    def hand_on(self):
        """Every rank has all of it then."""
        running = collections.deque()
        for number, parts in enumerate(self._messages):
            if len(running) == IN_FLIGHT:
                self._arrived(*running.popleft())
            flats = [self._bytes[each.target][each.begin:each.begin + each.bytes]
                     for each in parts]
            owner, message = parts[0].owner, flats[0]
            if len(parts) > 1:
                room = self._rooms[message.device][number % IN_FLIGHT]
                message = room[:sum(each.bytes for each in parts)]
                if owner == self._group.rank:
                    torch.cat(flats, out=message)
            running.append((self._group.broadcast(message, owner), owner, message, flats))
        while running:
            self._arrived(*running.popleft())

    def _arrived(self, work, owner, message, flats):
        work.wait()
        if owner == self._group.rank or len(flats) == 1:
            return
        for flat, piece in zip(flats, message.split([len(each) for each in flats])):  # noqa: B905
            flat.copy_(piece)


def _messages(parts, devices, size):
    """Lists of parts of one owner and device, in an order in which all ranks send in turn."""
    queues = [[] for _ in range(size)]
    bundles = {}  # owner and device: the one that is being filled, and its bytes
    for part in parts:
        key = part.owner, devices[part.target]
        bundle, filled = bundles.get(key, (None, BUNDLE_BYTES))
        if part.bytes >= SMALL_BYTES:
            queues[part.owner].append([part])
            continue
        if filled + part.bytes > BUNDLE_BYTES:
            bundle, filled = [], 0
            queues[part.owner].append(bundle)
        bundle.append(part)
        bundles[key] = bundle, filled + part.bytes
    return [queue[turn] for turn in range(max(map(len, queues))) for queue in queues
            if turn < len(queue)]


def _joined(parts):
    """Those that follow each other as one."""
    joined = []
    for part in parts:
        before = joined[-1] if joined else None
        if before and before.target == part.target and before.begin + before.bytes == part.begin:
            joined[-1] = before._replace(bytes=before.bytes + part.bytes)
        else:
            joined.append(part)
    return joined


def _bytes_of(memory):
    """A contiguous tensor's memory, of whatever type."""
    if memory.device.type != "cpu":
        return memory.detach().reshape(-1).view(torch.uint8)
    size = memory.numel() * memory.element_size()
    return torch.frombuffer((ctypes.c_char * size).from_address(memory.data_ptr()),
                            dtype=torch.uint8)
