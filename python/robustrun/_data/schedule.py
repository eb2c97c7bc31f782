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


class Running:
    """A pass over the rest of an epoch: which step it gives next."""

    def __init__(self, plan, epoch, step):
        self.plan, self.epoch, self.step = plan, epoch, step


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
        self.step_samples = self._plan.span(0)[1]  # of the step that was used last
        self._goes_on = True  # the next pass begins here, not with the next epoch
        self._loaded = None  # (epoch, step) of a state, until another epoch begins
        self.newest = None  # pass
        self._reading = None  # the pass that iterators are for at present

    def _checked(self, plan):
        """`plan`, if no rank is ever without a sample: the others would wait for it forever."""
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

    @property
    def rank_samples(self):
        """Samples of this rank in an epoch."""
        return self._plan.rank_samples(self._rank, self._ranks)

    def read(self, running):
        """Until read(None), iterators give the keys of what this pass has not given yet: torch
        makes two of them for one pass."""
        self._reading = running

    def __iter__(self):
        # For torch's DataLoader, which asks ahead of what the script has used, or later than the
        # script sets another epoch.
        running = self._reading or Running(self._plan, self.epoch, self.step)
        return self._keys(running.plan, running.epoch, running.step)

    def _keys(self, plan, epoch, begin):
        for step in range(begin, plan.steps):
            first, count = plan.share(step, self._rank, self._ranks)
            if self._shuffle:
                yield epoch, c_api.shuffled(self._seed, epoch, plan.samples, first, self._ranks,
                                            count)
            else:
                yield epoch, list(range(first, first + count * self._ranks, self._ranks))

    def check(self):
        """DataError if a rank would be without samples."""
        self._checked(self._plan)

    @property
    def left(self):
        """Batches of the next pass."""
        return self._plan.steps - (self.step if self._goes_on else 0)

    def begin(self):
        """A pass begins: at the position if no batch was used since it was set, otherwise with the
        next epoch, as with torch after `break`. An earlier pass that goes on does not move the
        position any more."""
        if not self._goes_on:
            self._move(self.epoch + 1, 0)
        self.newest = Running(self._plan, self.epoch, self.step)
        return self.newest

    def _counts(self, running):
        # Another epoch may have been set meanwhile. If it is the same one, the pass that goes on
        # shows that it was not to begin again.
        return running is self.newest and running.epoch == self.epoch

    def advance(self, running):
        """A pass has given a batch to the script."""
        self.step_samples = running.plan.span(running.step)[1]  # of the step that was given
        running.step += 1
        if self._counts(running):
            self.step = running.step
            self._goes_on = False

    def end(self, running):
        """A pass has shown the epoch's end to the script."""
        if self._counts(running):
            self._move(self.epoch + 1, 0)

    def set_epoch(self, epoch):
        """The next pass is this epoch: from its beginning, or where a loaded state goes on in it,
        even if batches of it were used since."""
        epoch = whole("epoch", epoch, 0)
        if self._loaded and epoch < self._loaded[0]:
            raise DataError("cannot go back to epoch %d: the loaded state is in epoch %d; begin "
                            "the loop over epochs with loader.epoch" % (epoch, self._loaded[0]))
        if self._loaded and epoch == self._loaded[0]:
            self.epoch, self.step = self._loaded
            self._goes_on = True
        elif epoch != self.epoch or not self._goes_on:
            self._move(epoch, 0)

    def _move(self, epoch, step):
        self.epoch, self.step = epoch, step
        self._goes_on, self._loaded = True, None

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
        # change, but total // ranks need not be exact.
        kept, of_step = state.get("batch_size"), state.get("step_samples")
        whole("cannot use the state: step_samples", of_step, 1)
        if kept != self._batch_size and abs(
                self._batch_size * self._ranks - of_step) >= self._ranks:
            changed.append("batch_size was %r, %r samples in a step, and is %r on %d ranks"
                           % (kept, of_step, self._batch_size, self._ranks))
        if changed:
            raise DataError("cannot use the state: %s; use the same dataset and arguments, or "
                            "begin without the state" % "; ".join(changed))
        for key, least in (("epoch", 0), ("step", 0), ("batch_size", 1)):
            whole("cannot use the state: " + key, state.get(key), least)
        plan = self._checked(EpochPlan(own["samples"], of_step, self._drop_last))
        if state["step"] > plan.steps:
            raise DataError("cannot use the state: it is at step %d of %d"
                            % (state["step"], plan.steps))
        self._plan, self._batch_size = plan, kept
        self.newest = None  # a pass that is under way does not count any more
        epoch, step = state["epoch"], state["step"]
        self.step_samples = plan.span(max(0, step - 1))[1]
        # Of the epoch's last batch: a script that gets this state begins with the next epoch, and
        # one that asks for this epoch has no more batches of it.
        self._move(*((epoch + 1, 0) if step == plan.steps else (epoch, step)))
        self._loaded = epoch, step
