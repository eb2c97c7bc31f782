"""Which samples of a map-style dataset this rank reads next, and what of that a state keeps.

Without torch. Does not read samples.
"""

import operator

from . import c_api
from .epoch_plan import EpochPlan
from .spec import DataError

_FORMAT = "dataloader 1"
_KEPT = {  # in a state: what it says if it differs
    "samples": "the dataset had %r samples and has %r",
    "seed": "seed was %r and is %r",
    "shuffle": "shuffle was %r and is %r",
    "drop_last": "drop_last was %r and is %r",
}


def whole(name, value, least):
    """`value` as an int; DataError if it is no whole number from `least` to 2^63 - 1."""
    try:
        number = -1 if isinstance(value, bool) else operator.index(value)
    except TypeError:
        number = -1
    if not least <= number < 2 ** 63:
        raise DataError("%s must be a whole number from %d, not %r" % (name, least, value))
    return number


class Schedule:
    """The position of a training, epoch and step, and the samples of this rank from there on.

    Iterating gives keys (epoch, samples of the next step), as far as the epoch's end, and does not
    move the position: advance() does, once a batch has been used.
    """

    def __init__(self, samples, batch_size, seed, shuffle, drop_last, rank, ranks):
        self._batch_size = batch_size
        self._seed, self._shuffle, self._drop_last = seed, shuffle, drop_last
        self._rank, self._ranks = rank, ranks
        # Not checked yet: a state may be loaded, and with it the plan of other numbers of ranks.
        self._plan = EpochPlan(samples, batch_size * ranks, drop_last)
        self.epoch, self.step = 0, 0
        self._goes_on = True  # the next pass begins here, not with the next epoch
        self._loaded = False  # and here is where a state was taken
        self._pass = 0  # number of the newest one

    def _checked(self, plan):
        """`plan`, if no rank is ever without a sample: the others would wait for it for ever."""
        for what, size in (("a dataset", plan.samples), ("a step", plan.of_step)):
            if size < self._ranks:
                raise DataError("%s of %d samples is too small for %d ranks: use at most %d"
                                % (what, size, self._ranks, max(1, size)))
        if plan.steps == 0:
            raise DataError("%d samples are no whole step of %d (batch_size times ranks): use a "
                            "smaller batch_size, or drop_last=False"
                            % (plan.samples, plan.of_step))
        if plan.smallest < self._ranks:
            raise DataError("an epoch of %d samples ends with a step of %d, too small for %d "
                            "ranks: use drop_last=True, or another batch_size"
                            % (plan.samples, plan.smallest, self._ranks))
        return plan

    @property
    def steps(self):
        """Of an epoch."""
        return self._plan.steps

    def size(self, step):
        """Number of samples of a step over all ranks."""
        return self._plan.span(step)[1]

    def __iter__(self):
        # For torch's DataLoader, which asks ahead of what the script has used.
        epoch, plan = self.epoch, self._plan
        for step in range(self.step, plan.steps):
            first, count = plan.share(step, self._rank, self._ranks)
            if self._shuffle:
                yield epoch, c_api.shuffled(self._seed, epoch, plan.samples, first, self._ranks,
                                            count)
            else:
                yield epoch, list(range(first, first + count * self._ranks, self._ranks))

    def begin(self):
        """A pass begins: at the position if no batch was used since it was set, otherwise with the
        next epoch, as with torch after `break`. Returns the pass's number. An earlier pass that
        goes on does not move the position any more."""
        self._checked(self._plan)
        if not self._goes_on:
            self._move(self.epoch + 1, 0)
        self._pass += 1
        return self._pass

    def advance(self, number):
        """A pass has given a batch to the script."""
        if number == self._pass:
            self.step += 1
            self._goes_on = self._loaded = False

    def end(self, number):
        """A pass has shown the epoch's end to the script."""
        if number == self._pass:
            self._move(self.epoch + 1, 0)

    def set_epoch(self, epoch):
        """The next pass is this epoch: from its begin, or where a loaded state goes on in it."""
        epoch = whole("epoch", epoch, 0)
        if self._loaded and epoch < self.epoch:
            raise DataError("cannot go back to epoch %d: the loaded state is in epoch %d; begin "
                            "the loop over epochs with loader.epoch" % (epoch, self.epoch))
        if epoch != self.epoch or not self._goes_on:
            self._move(epoch, 0)

    def _move(self, epoch, step):
        self.epoch, self.step = epoch, step
        self._goes_on, self._loaded = True, False
        self._pass += 1

    def state(self):
        return {"format": _FORMAT, "epoch": self.epoch, "step": self.step,
                "samples": self._plan.samples, "seed": self._seed, "shuffle": self._shuffle,
                "drop_last": self._drop_last, "batch_size": self._batch_size,
                "step_samples": self._plan.of_step}

    def load(self, state):
        found = state.get("format") if isinstance(state, dict) else type(state).__name__
        if found != _FORMAT:
            raise DataError("cannot use the state: its format is %r, not %r" % (found, _FORMAT))
        own = self.state()
        changed = [text % (state.get(key), own[key]) for key, text in _KEPT.items()
                   if state.get(key) != own[key]]
        # What the script passes may be computed from the number of ranks; the step's size may not
        # change.
        kept, of_step = state.get("batch_size"), state.get("step_samples")
        if of_step != self._batch_size * self._ranks and kept != self._batch_size:
            changed.append("batch_size was %r, %r samples in a step, and is %r on %d ranks"
                           % (kept, of_step, self._batch_size, self._ranks))
        if changed:
            raise DataError("cannot use the state: %s; use the same dataset and arguments, or "
                            "begin without the state" % "; ".join(changed))
        for key, least in (("epoch", 0), ("step", 0), ("batch_size", 1), ("step_samples", 1)):
            whole("cannot use the state: " + key, state.get(key), least)
        plan = self._checked(EpochPlan(own["samples"], of_step, self._drop_last))
        if state["step"] > plan.steps:
            raise DataError("cannot use the state: it is at step %d of %d"
                            % (state["step"], plan.steps))
        self._plan, self._batch_size = plan, kept
        self._move(state["epoch"], state["step"])
        self._loaded = True
