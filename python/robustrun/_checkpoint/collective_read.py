"""Reads bytes that several ranks need only once: each rank reads a share and broadcasts it.

Bytes in a rank's own memory are read by that rank, and bytes on a machine's local disk by the ranks
there. The rest is dealt out in the order of the checkpoint, so that neighbours in a file are read
together. The reading rank verifies them.
"""

import collections
import ctypes

import torch

PART_BYTES = 64 << 20    # largest message
SMALL_BYTES = 4 << 20    # smaller parts are bundled
BUNDLE_BYTES = 32 << 20  # into messages of this size
IN_FLIGHT = 4            # messages at a time
_EXTENT_BYTES = 8 << 20  # largest piece of a file

# Memory of this rank for `bytes` (not 0) of shard `index`, from byte `first` on.
Target = collections.namedtuple("Target", "index first bytes memory")
# A part of targets[target], read by rank `owner`.
Part = collections.namedtuple("Part", "target begin bytes owner")


def dealt(shards, targets, in_memory, size, away=()):
    """Deals the bytes of all targets out to `size` ranks. Returns Parts in the targets' order.

    `in_memory`: for each rank, the shards in its memory, (first, count). `away`: for each rank, the
    shards that it cannot read, a list of (first, count). Pure: the same result on every rank.
    """
    parts = []
    keepers = _keepers(targets, in_memory, away)
    left = sum(each.bytes for each in targets if keepers[each.index] is None)
    rank, quota = 0, left / size
    goal = min(PART_BYTES, left // (4 * size))
    for number, target in enumerate(targets):
        keeper = keepers[target.index]
        whole = _cut_bytes(shards[target.index], goal if keeper is None else PART_BYTES)
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
    """{shard: the rank that has to read it, or None if any rank can}."""
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
    """Groups ranks that cannot read the same shards: (set of these shards, ranks)."""
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


def _cut_bytes(shard, goal):
    """The size at which to cut a shard: a multiple of the engine's pieces, about `goal` bytes."""
    row = shard.bytes // shard.shape[0] if shard.shape else shard.bytes
    piece = _EXTENT_BYTES // row * row if row <= _EXTENT_BYTES else _EXTENT_BYTES
    return max(goal // piece, 1) * piece


class Sharing:
    """One collective read of `parts` into `targets`: read() on each rank, then hand_on()."""

    def __init__(self, group, parts, targets):
        self._group, self._targets = group, targets
        self._bytes = [_bytes_of(each.memory) for each in targets]
        self._messages = _messages(parts, [each.memory.device for each in targets], group.size)
        devices = {targets[parts[0].target].memory.device
                   for parts in self._messages if len(parts) > 1}
        # Allocated before anything is sent, so that a rank without memory can still report it.
        self._rooms = {device: [torch.empty(BUNDLE_BYTES, dtype=torch.uint8, device=device)
                                for _ in range(IN_FLIGHT)] for device in devices}
        self._reads = _joined([each for each in parts if each.owner == group.rank])

    def read(self, read):
        """Reads this rank's share with `read`, which takes the argument of Checkpoint.read. Returns
        its result."""
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
        """Broadcasts every rank's share, after which all ranks have all bytes."""
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
    """Groups parts of one owner and device into messages, ordered so that the ranks take turns."""
    queues = [[] for _ in range(size)]
    bundles = {}  # (owner, device) -> the bundle being filled, and its bytes
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
    """Merges parts that follow each other."""
    joined = []
    for part in parts:
        before = joined[-1] if joined else None
        if before and before.target == part.target and before.begin + before.bytes == part.begin:
            joined[-1] = before._replace(bytes=before.bytes + part.bytes)
        else:
            joined.append(part)
    return joined


def _bytes_of(memory):
    """The memory of a contiguous tensor of any type, as bytes."""
    if memory.device.type != "cpu":
        return memory.detach().reshape(-1).view(torch.uint8)
    size = memory.numel() * memory.element_size()
    return torch.frombuffer((ctypes.c_char * size).from_address(memory.data_ptr()),
                            dtype=torch.uint8)
