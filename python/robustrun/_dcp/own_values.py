"""Per-rank values beside the state that DCP plans: data loaders, random number generators.

Stored under the same names as by robustrun.checkpoint, and restored by the same rules.
"""

import threading

from .._checkpoint import loading, sessions
from .._checkpoint.arguments import own as named  # noqa: F401
from .._state import codec, tensor_bytes, tree

OWN, RANDOM = loading.OWN, loading.RANDOM


class Kept:
    """The per-rank values of a writer. `values`: {name: value}."""

    def __init__(self, values, random):
        self.values, self._random = values, bool(random)
        self._thread = threading.get_ident()
        self._taken = None

    # async_save's process gets the values that were taken, not the objects, which keep changing
    # here.
    def __getstate__(self):
        taken, self._taken = self._taken, None
        return {"values": dict.fromkeys(self.values), "_random": self._random, "_thread": None,
                "_taken": taken}

    def take(self):
        """Reads the values now, for the next save."""
        self._taken = [(OWN + name, codec.encode(tree.inline(value, name), name))
                       for name, value in self.values.items()]
        if self._random:
            self._taken.append((RANDOM, codec.encode(tensor_bytes.random_states())))

    def for_save(self):
        """[(name, bytes)]: the values taken by take(), else the current ones. In another thread the
        current ones are refused, because training has continued."""
        if self._taken is None and (self.values or self._random):
            if threading.get_ident() != self._thread:
                raise ValueError("per-rank values would be those of a later step: call the "
                                 "writer's take_own() before async_save")
            self.take()
        taken, self._taken = self._taken, None
        return taken or []


class Wanted(loading.Loader):
    """The per-rank values requested by a reader. `axes`: of the job now; (): not compared."""

    def __init__(self, own, random, remap, axes):
        super().__init__(None, own, random, remap, None, None)
        self._axes = axes

    def planned(self, checkpoint, read_only):
        """Returns the calls that restore the values, to be made once the tensors are loaded. Raises
        WorldChanged or StateMismatch, before anything is changed."""
        self.world = sessions.world()
        kept = {(rank, name): data for rank, name, data in checkpoint.states}
        names = {name for _, name in kept}
        saved = {name[len(OWN):] for name in names if name.startswith(OWN)}
        if read_only and not self.own:
            saved = set()
        plan = tree.Plan()
        self._plan_own(checkpoint, kept, {"own": saved, "random": RANDOM in names},
                       checkpoint.attempt, plan)
        if plan.problems:
            raise tree.StateMismatch("cannot load the checkpoint: " + "; ".join(plan.problems))
        return plan.after

    def _own_value(self, checkpoint, kept, name, key, attempt):
        saved = [(each, size) for each, size in checkpoint.axes]
        if checkpoint.world_size != self.world.size or not self._axes or saved == self._axes:
            return super()._own_value(checkpoint, kept, name, key, attempt)
        if self.remap is None:
            raise loading.WorldChanged(
                "cannot load '%s' of %s: it was saved by ranks as %s, and they are %s now; pass "
                "remap= to assign the values" % (name, attempt, _shape(saved), _shape(self._axes)))
        values = [loading._decoded(kept, rank, key, attempt)
                  for rank in range(checkpoint.world_size)]
        return self.remap(name, values, self.world.rank, self.world.size)


def check_all_ranks(count):
    """Raises ValueError unless `count` ranks are all ranks of the job."""
    if count != sessions.world().size:
        raise ValueError("per-rank values are saved and loaded by all ranks together: only %d of "
                         "%d take part" % (count, sessions.world().size))


def _shape(axes):
    return " x ".join("%s=%d" % each for each in axes) or "none"
