"""Batches of packed documents for one rank (docs/data.md)."""

import os

from .._progress import data_waits
from . import c_api
from .spec import STATE_FORMAT, DataError, check_state, is_while_training, read


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
        self._ahead, texts = None, None
        if is_while_training(self._spec):
            from .tokens_ahead import TokensAhead

            self._ahead = TokensAhead(self._spec, folder)
            with data_waits.waiting(batches=0) as wait:
                texts = self._ahead.wait_for_records(wait.place)
        self._feed = c_api.Feed(self._spec, folder, self._rank, self._ranks, texts)
        self._has_begun = False
        self._taken = None  # (step, micro) of a batch that the library may not know to be received

    def __iter__(self):
        return self

    def __next__(self):
        import torch

        batch = self._take()
        buffer = batch.buffer()
        shape = (batch.sequences, self._spec["batch"]["context"])
        places = shape[0] * shape[1]
        # Each has a storage of its own, as if it had been allocated.
        tokens, labels, positions = (
            torch.frombuffer(buffer, dtype=torch.int64, count=places, offset=8 * places * i)
            .view(shape) for i in range(3))
        ends = torch.frombuffer(buffer, dtype=torch.int32, count=batch.segments,
                                offset=24 * places)
        found = {"tokens": tokens, "labels": labels, "positions": positions, "cu_seqlens": ends,
                 "step": batch.step, "micro": batch.micro,
                 "last": batch.micro + 1 == self._spec["batch"]["micro"],
                 "loss_tokens": batch.labels, "step_loss_tokens": batch.step_labels}
        taken = batch.step, batch.micro
        # Nothing but `return` comes after it: if a signal's exception keeps the batch from the
        # script, it is that of the next call.
        self._taken = taken
        return found

    def _take(self):
        """The next batch, a c_api.Batch: the same one until _taken is set."""
        self._settle()
        with data_waits.waiting() as wait:
            self._feed.wait(self._tell(wait))
            return self._feed.ready()

    def _tell(self, wait):
        if self._ahead:
            self._ahead.begin()
            self._ahead.look()

        def tell(source, path, sample):
            wait.place(source, path)
            if self._ahead is None:
                return
            if sample is None:
                self._ahead.look()
            else:
                self._ahead.need(source, sample)

        return tell

    def _settle(self):
        if self._taken:
            self._feed.receive(*self._taken)  # twice is once
            self._has_begun = True
            is_last = self._taken[1] + 1 == self._spec["batch"]["micro"]
            self._taken = None
            if self._ahead and is_last:
                self._ahead.move(self._feed.position()[0])

    @property
    def digest(self):
        """Digest of the present step's plan: equal on all ranks, and as `data plan` prints it."""
        self._settle()
        return self._feed.digest() if self._has_begun else None

    def state_dict(self):
        """Where this loader is, in plain values: equal on all ranks after the same batch. What was
        read ahead does not count."""
        self._settle()
        cursor, micro = self._feed.position()
        state = {"format": STATE_FORMAT, "spec": self._spec, "ranks": self._ranks, "micro": micro,
                 "fingerprints": self._feed.fingerprints(), "cursor": cursor}
        if self._ahead:
            state["skips"] = self._ahead.skips_at(cursor)
        return state

    def load_state_dict(self, state):
        """Goes on where `state` was taken, with any number of ranks. Refuses another specification,
        other data, and, within a step, another number of ranks."""
        check_state(state, self._spec, self._feed.fingerprints())
        before = (state["ranks"], state["spec"]["batch"]["micro"])
        if state["micro"] and before != (self._ranks, self._spec["batch"]["micro"]):
            raise DataError("cannot use the state: it was taken within step %d, where only %d "
                            "ranks with %d micro-batches can go on; save after a whole step"
                            % (state["cursor"]["step"], *before))
        self._settle()  # in case that the library refuses the state
        if self._ahead:
            self._ahead.skips.load(state)
        self._feed.seek(state["cursor"], state["micro"])
        if self._ahead:
            self._ahead.move(state["cursor"])
            self._ahead.begin()
        self._has_begun = False
