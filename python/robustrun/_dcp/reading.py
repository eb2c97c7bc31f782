"""Loading for robustrun.dcp: collects the planner's read items into few calls of the engine."""

import hashlib

import torch
from torch.distributed.checkpoint.planner import LoadItemType

from .._checkpoint import collective_read, manifest, rank_group
from .._state import tensor_bytes
from . import layout

_BOUNCE_BYTES_MAX = 256 << 20
_BATCH_BYTES = 1 << 30  # bytes that the ranks read together at a time


class Reading:
    """Reads items of this rank alone from a Source."""

    def __init__(self, source, planner):
        self._source, self._planner = source, planner
        self._reads = []    # (shard, begin, bytes, address)
        self._arrived = []  # (item, target, memory to copy from or None)
        self._bounced = 0
        self.bytes = 0

    def add(self, item, number):
        shard = self._source.shards[number]
        target = _resolved(self._planner, item, shard)
        memory = None
        if target.numel():
            memory = self._place(shard, number, item, target)
        self._arrived.append((item, target, memory))
        if self._bounced > _BOUNCE_BYTES_MAX:
            self.flush()

    def _place(self, shard, number, item, target):
        dtype = manifest.dtype_of(shard.dtype)
        lengths = tuple(item.lengths)
        spans = layout.spans_of(shard.shape, tuple(item.storage_offsets), lengths, dtype.itemsize)
        if layout.is_one_run(shard.shape, lengths) and target.dtype == dtype \
                and tensor_bytes.is_memory(target):
            self._reads.append((number, *spans[0], target.data_ptr()))
            return None
        first, end = spans[0][0], sum(spans[-1])
        memory = torch.empty((end - first) // dtype.itemsize, dtype=dtype)
        self._bounced += sum(size for _, size in spans)
        for begin, size in spans:
            self._reads.append((number, begin, size, memory.data_ptr() + begin - first))
        return memory.as_strided(lengths, layout.strides_of(shard.shape))

    def flush(self):
        self._source.read(self._reads)
        self.bytes += sum(size for _, _, size, _ in self._reads)
        for item, target, memory in self._arrived:
            if memory is not None:
                target.copy_(memory)
            self._planner.commit_tensor(item, target)
        self._reads, self._arrived, self._bounced = [], [], 0


def wanted_alike(plans):
    """For each plan, a list of (ranks, places): the tensor items that exactly these ranks want. All
    ranks have their common entries in the same order."""
    places = [{_key(item): place for place, item in enumerate(plan.items)
               if item.type == LoadItemType.TENSOR} for plan in plans]
    wanting = {}
    for rank, mine in enumerate(places):
        for key in mine:
            wanting.setdefault(key, []).append(rank)
    together = {}
    for key, ranks in wanting.items():
        if len(ranks) > 1:
            together.setdefault(tuple(ranks), []).append(key)
    answer = [[] for _ in plans]
    for ranks in sorted(together, key=lambda ranks: (-len(ranks), ranks)):
        for rank in ranks:
            answer[rank].append((ranks, [places[rank][key] for key in sorted(together[ranks])]))
    return answer


def _key(item):
    index = item.storage_index
    return (index.fqn, tuple(index.offset or ()), tuple(item.storage_offsets),
            tuple(item.lengths))


def sharing_groups(group, alike):
    """{ranks: their process group} for the sets of ranks in `alike` whose group all of them can
    use.
    Call it on all ranks of `group`."""
    error, groups = None, {}
    try:
        for ranks, _ in alike:
            found = group if len(ranks) == group.size else rank_group.group_of(ranks)
            if found is not None:
                groups[ranks] = found
    except Exception as failed:
        error = failed
    usable = [{tuple(ranks) for ranks in known} for known in group.agree(error, list(groups))]
    return {ranks: found for ranks, found in groups.items()
            if all(ranks in usable[rank] for rank in ranks)}


class SharedReading:
    """Reads items that several ranks want, be it all ranks or replicas of FSDP shards: each rank
    reads a share and broadcasts it."""

    def __init__(self, group, source, planner):
        self._group, self._source, self._planner = group, source, planner
        self.bytes = self.bytes_from_ranks = 0

    def read(self, items, places):
        """Reads `items` and returns those that it could not, because their bytes are not contiguous
        or ranks differ. `places`: {storage index: number of the shard}."""
        left, batches = [], [[]]
        try:
            filled = 0
            for item in items:
                number = places[item.storage_index]
                shard = self._source.shards[number]
                if 0 in item.lengths or not layout.is_one_run(shard.shape, tuple(item.lengths)):
                    left.append(item)
                    continue
                if filled > _BATCH_BYTES:
                    batches.append([])
                    filled = 0
                batches[-1].append((item, number))
                filled += shard.bytes
        except Exception as error:
            self._group.agree(error)
        for batch in batches:
            if not self._read(batch):
                left += [item for item, _ in batch]
        return left

    def _read(self, batch):
        """Returns whether the batch was read, the same on all ranks. An error on one rank is raised
        on all."""
        error = facts = sharing = None
        try:
            targets, arrived = [], []
            for item, number in batch:
                targets.append(self._target(item, number, arrived))
            layout_text = repr([(_key(item), each.memory.device.type)
                         for (item, _), each in zip(batch, targets)])  # noqa: B905
            facts = [hashlib.blake2b(layout_text.encode(), digest_size=16).hexdigest(),
                     self._source.holds()]
        except Exception as failed:
            error = failed
        facts = self._group.agree(error, facts)
        if len({digest for digest, _ in facts}) > 1:
            return False
        try:
            parts = collective_read.dealt(self._source.shards, targets, [held for _, held in facts],
                                  self._group.size)
            sharing = collective_read.Sharing(self._group, parts, targets)
            sharing.read(self._source.read)
        except Exception as failed:
            error = failed
        self._group.agree(error)
        try:
            sharing.hand_on()
            for item, target, memory in arrived:
                if memory is not target:
                    target.copy_(memory)
                self._planner.commit_tensor(item, target)
        except Exception as failed:
            error = failed
        self._group.agree(error)
        self.bytes += sharing.own_bytes()
        self.bytes_from_ranks += sum(each.bytes for each in targets) - sharing.own_bytes()
        return True

    def _target(self, item, number, arrived):
        shard = self._source.shards[number]
        target = _resolved(self._planner, item, shard)
        dtype = manifest.dtype_of(shard.dtype)
        first, size = layout.spans_of(shard.shape, tuple(item.storage_offsets),
                                      tuple(item.lengths), dtype.itemsize)[0]
        device = self._group.device_for(target)
        memory = target if target.dtype == dtype and tensor_bytes.is_memory(target, device) \
            else torch.empty(tuple(item.lengths), dtype=dtype, device=device)
        arrived.append((item, target, memory))
        return collective_read.Target(number, first, size, memory)


def _resolved(planner, item, shard):
    """The tensor to read the item into. Raises ValueError if it does not fit the shard."""
    target = planner.resolve_tensor(item).detach()
    lengths, offsets = tuple(item.lengths), tuple(item.storage_offsets)
    if tuple(target.shape) != lengths:
        raise ValueError("'%s': cannot read %s into %s" % (
            shard.name, list(lengths), list(target.shape)))
    if target.numel() and not layout.is_inside(shard.shape, offsets, lengths):
        raise ValueError("'%s' has no %s at %s" % (shard.name, list(lengths), list(offsets)))
    return target
