"""Ranks that proceed together or not at all: each learns the facts and errors of all others.

Uses small collectives of the default process group, or of a group that the script has made. No rank
waits for one that has failed.
"""

import json

import torch

from . import sessions

_BACKENDS = ("gloo", "nccl", "mpi", "ucc", "xccl", "hccl", "cncl")  # those that move bytes
_SENTENCE_MAX = 4096


class RankFailed(RuntimeError):
    """Another rank failed; the message says which one, and why."""


class PassedOver(Exception):
    """Raised on all ranks if all errors were of the `kinds` passed to agree(). `error`: this rank's
    error, or a RankFailed; `facts`: those of all ranks."""

    def __init__(self, error, facts):
        super().__init__(str(error))
        self.error, self.facts = error, facts


def group():
    """The default process group; None without one, or if it has only one rank."""
    dist = sessions._process_group()
    if dist is None or dist.get_world_size() < 2:
        return None
    kinds = _kinds_of_devices()
    return Group(dist, kinds) if kinds else None


def group_of(ranks):
    """An existing process group of exactly these ranks, such as one of a DeviceMesh, if this rank
    is in it; else None. It does not create one, because that would need all ranks."""
    from torch.distributed import distributed_c10d

    dist = sessions._process_group()
    known = getattr(getattr(distributed_c10d, "_world", None), "pg_group_ranks", {})
    for handle, members in known.items():  # in order of creation, the same on every rank
        if dist.get_rank() in members and sorted(members) == list(ranks):
            kinds = _kinds_of_devices(handle)
            if kinds:
                return Group(dist, kinds, handle, sorted(members, key=members.get))
    return None


def _kinds_of_devices(handle=None):
    """The device types whose tensors the group can send, "cpu" first."""
    from torch.distributed import distributed_c10d

    described = getattr(distributed_c10d, "get_backend_config", None)
    config = described(handle) if described else ""  # "cpu:gloo,cuda:nccl"
    pairs = [each.split(":") for each in config.split(",") if ":" in each]
    kinds = [kind for kind, backend in pairs if backend in _BACKENDS and _is_there(kind)
             and (kind == "cpu" or backend != "gloo")]  # gloo would copy them to the host
    return sorted(kinds, key=lambda kind: kind != "cpu")


def _is_there(kind):
    return kind == "cpu" or getattr(getattr(torch, kind, None), "is_available", bool)()


class Group:
    def __init__(self, dist, kinds, handle=None, members=None):
        """`members`: the global rank of each rank in the group `handle`."""
        self._dist, self._kinds, self._handle = dist, kinds, handle
        self.rank, self.size = dist.get_rank(handle), dist.get_world_size(handle)
        self._members = members or range(self.size)
        self._talks_on = self._device(kinds[0])

    @staticmethod
    def _device(kind):
        if kind == "cpu":
            return torch.device("cpu")
        return torch.device(kind, getattr(torch, kind).current_device())

    def device_for(self, tensor):
        """The device to send the tensor from: its own if the group supports that."""
        kind = tensor.device.type
        return self._device(kind if kind in self._kinds else self._kinds[0])

    def broadcast(self, flat, source):
        """Begins a broadcast; wait() on the result completes it."""
        return self._dist.broadcast(flat, self._members[source], group=self._handle,
                                    async_op=True)

    def gather(self, value):
        """The values of all ranks, which must be JSON-serializable."""
        data = json.dumps(value).encode()
        sizes = self._all(torch.tensor([len(data)]))
        padded = torch.zeros(max(int(size) for size in sizes), dtype=torch.uint8)
        padded[:len(data)] = torch.frombuffer(bytearray(data), dtype=torch.uint8)
        return [json.loads(bytes(row[:int(size)].tolist()))
                for row, size in zip(self._all(padded), sizes)]  # noqa: B905

    def _all(self, row):
        row = row.to(self._talks_on)
        rows = [torch.empty_like(row) for _ in range(self.size)]
        self._dist.all_gather(rows, row, group=self._handle)
        return [each.cpu() for each in rows]

    def agree(self, error, facts=None, kinds=()):
        """Returns the facts of all ranks. If any rank has an error, all raise: that rank its own
        error, the others RankFailed; PassedOver if all errors are of `kinds`."""
        sentence = error and ("%s: %s" % (type(error).__name__, error))[:_SENTENCE_MAX]
        try:
            answers = self.gather([sentence, facts, isinstance(error, kinds)])
        except Exception:
            if error is None:
                raise
            raise error from None  # the group broke because of it
        facts = [each for _, each, _ in answers]
        failed = [rank for rank, (what, _, _) in enumerate(answers) if what is not None]
        if not failed:
            return facts
        if error is None:
            error = RankFailed("cannot continue: rank %d of %d failed: %s" % (
                self._members[failed[0]], self._dist.get_world_size(), answers[failed[0]][0]))
        if all(answers[rank][2] for rank in failed):
            raise PassedOver(error, facts)
        raise error
