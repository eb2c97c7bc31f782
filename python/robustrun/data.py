"""Training data: the right samples on every rank, each once (docs/data.md).

    from robustrun import data
    loader = data.loader("data.toml")
    loader.load_state_dict(saved)                  # after a restart
    for batch in loader:
        loss = model(batch["tokens"], batch["positions"], batch["cu_seqlens"])
    state = loader.state_dict()                    # the same on every rank

Which samples a step has depends on the specification and the step alone, not on the number of
ranks. Works under robustrun, under torchrun and in a single process.

DataLoader and DistributedSampler, used in place of torch's, give the same guarantees for map-style
datasets, without packing.
"""

import os

from ._data import c_api
from ._data.map_style import DataLoader, DistributedSampler
from ._data.spec import DataError, differences, read

__all__ = ["DataError", "DataLoader", "DistributedSampler", "Loader", "loader"]
_FORMAT = 1


def loader(spec, rank=None, ranks=None):
    """The batches of one rank. `spec`: the path of a TOML file, or its contents as a dictionary.
    `rank` of `ranks`: among those that get different data (data parallelism); RANK and WORLD_SIZE
    if not given.
    """
    return Loader(spec, rank, ranks)


class Loader:
    """An endless iterator over micro-batches: dictionaries with

    - tokens, labels, positions: int64 tensors of (sequences, context). Documents are packed one
      after the other. A label is the next token of the same document, else -100.
    - cu_seqlens: int32, where documents end in tokens.flatten(), with a 0 before the first.
    - step, micro, last: number of the step and of the micro-batch; whether it is the step's last.
    - loss_tokens, step_loss_tokens: labels in this micro-batch, and in the step over all ranks.
      Divide the sum of losses by step_loss_tokens, and multiply by the number of ranks if
      gradients are averaged over them (DDP, FSDP): each label then weighs the same.
    """

    def __init__(self, spec, rank=None, ranks=None):
        self._spec, folder = read(spec)
        self._rank = int(os.environ.get("RANK", 0)) if rank is None else rank
        self._ranks = int(os.environ.get("WORLD_SIZE", 1)) if ranks is None else ranks
        self._feed = c_api.Feed(self._spec, folder, self._rank, self._ranks)
        zeros = [0] * len(self._spec["source"])
        # Where the first step begins, and its first micro-batch.
        self._start = ({"step": 0, "dropped": 0, "positions": zeros, "owed": zeros, "carry": []}, 0)
        self._step = None  # the present one; None: before the first
        self._micro = 0  # the next one

    def __iter__(self):
        return self

    def __next__(self):
        import torch

        micros = self._spec["batch"]["micro"]
        if self._step is None or self._micro == micros:
            step = self._feed.next_step()
            self._micro = self._start[1] if self._step is None else 0
            self._step = step
        step, micro = self._step, self._micro
        shape = (step.sequences, self._spec["batch"]["context"])
        tokens, labels, positions = (torch.empty(shape, dtype=torch.int64, device="cpu")
                                     for _ in range(3))
        ends = torch.empty(self._feed.segments(micro), dtype=torch.int32, device="cpu")
        labelled = self._feed.read(micro, tokens.data_ptr(), labels.data_ptr(),
                                   positions.data_ptr(), ends.data_ptr())
        self._micro += 1
        return {"tokens": tokens, "labels": labels, "positions": positions, "cu_seqlens": ends,
                "step": step.step, "micro": micro, "last": self._micro == micros,
                "loss_tokens": labelled, "step_loss_tokens": step.labels}

    @property
    def digest(self):
        """Digest of the present step's plan: equal on all ranks, and as `data plan` prints it."""
        return self._step and self._step.digest

    def state_dict(self):
        """Where this loader is, in plain values: equal on all ranks after the same batch."""
        if self._step is None:
            cursor, micro = self._start
        else:
            done = self._micro == self._spec["batch"]["micro"]
            cursor, micro = self._feed.cursor(self._step, done), 0 if done else self._micro
        return {"format": _FORMAT, "spec": self._spec, "ranks": self._ranks, "micro": micro,
                "fingerprints": self._feed.fingerprints(), "cursor": cursor}

    def load_state_dict(self, state):
        """Goes on where `state` was taken, with any number of ranks. Refuses another specification,
        other data, and, within a step, another number of ranks."""
        if state.get("format") != _FORMAT:
            raise DataError("cannot use the state: its format is %r, not %d"
                            % (state.get("format"), _FORMAT))
        changed = differences(state["spec"], self._spec)
        if changed:
            raise DataError("cannot use the state: %s" % "; ".join(changed))
        for source, before, now in zip(self._spec["source"], state["fingerprints"],
                                       self._feed.fingerprints()):
            if before != now:
                raise DataError("cannot use the state: the samples of source %s have changed"
                                % source["name"])
        before = (state["ranks"], state["spec"]["batch"]["micro"])
        if state["micro"] and before != (self._ranks, self._spec["batch"]["micro"]):
            raise DataError("cannot use the state: it was taken within step %d, where only %d "
                            "ranks with %d micro-batches can go on; save after a whole step"
                            % (state["cursor"]["step"], *before))
        self._feed.seek(state["cursor"])
        self._start = (state["cursor"], state["micro"])
        self._step = None
