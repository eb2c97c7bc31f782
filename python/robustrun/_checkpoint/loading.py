"""Loading of checkpoints written by save(): which one, which parts of it, and from where."""

import collections
import contextlib
import hashlib
import warnings

from .._state import codec, tensor_bytes, tree
from .._state.tree import StateMismatch
from . import c_api, collective_read, local_disks, rank_group, sessions, staged_saves
from .c_api import CheckpointError, Corrupt, NotFound, Unreadable
from .notes import note

ABOUT, TREE, RANDOM, OWN = staged_saves.ABOUT, "tree", "random", "own/"  # names of rank states

NOT_THIS_ONE = Corrupt, NotFound, Unreadable  # errors after which another checkpoint may do

last = None  # a Loaded


class WorldChanged(RuntimeError):
    """Per-rank values cannot be loaded, because the number or layout of ranks has changed."""


class Loaded(collections.namedtuple("Loaded", "step attempt bytes from_memory from_disk "
                                               "from_ranks")):
    """What was loaded: the step, the checkpoint's name, the bytes in total, and how many of them
    this rank took from memory, read from the directories, and received from other ranks."""


def attempts(places):
    """The loadable checkpoints, newest first: (name, Checkpoint or None).

    The first one is open, and the caller closes it. The others are searched for only when needed
    and not opened.
    """
    try:
        newest = c_api.Checkpoint(places)
    except NotFound:
        return
    first = newest.attempt
    yield first, newest
    for found in c_api.catalogue(places):
        if found.state == "committed" and not found.poisoned and found.attempt != first:
            yield found.attempt, None


def first_usable(places, load, read_only=False, tries_others=True):
    """Calls load(name, Checkpoint or None) with the newest checkpoint, then with older ones until
    one can be used; returns its result, or None if there is no checkpoint. Raises the last error if
    none can be used."""
    failed = None
    for attempt, opened in attempts(places):
        try:
            return load(attempt, opened)
        except NOT_THIS_ONE as error:
            failed = error
            give_up(places, attempt, error, read_only)
            if not tries_others:
                raise
    if failed is not None:
        raise failed
    return None


def give_up(places, attempt, error, read_only):
    """Warns that a checkpoint cannot be used, and marks it if it is damaged."""
    warnings.warn("checkpoint %s cannot be used: %s" % (attempt, error), RuntimeWarning,
                  stacklevel=4)
    if not isinstance(error, Corrupt) or read_only:
        return
    try:
        with c_api.Checkpoint(places, attempt) as checkpoint:
            checkpoint.poison("damaged")
    except CheckpointError as failed:  # the next start will find it damaged again
        warnings.warn("checkpoint %s is damaged and could not be marked: %s" % (attempt, failed),
                      RuntimeWarning, stacklevel=4)


def pass_over(group, places, attempt, error):
    """give_up() on the ranks that had the error, and on rank 0."""
    if not isinstance(error, rank_group.RankFailed) or group.rank == 0:
        give_up(places, attempt, error, read_only=False)


class Loader:
    def __init__(self, state, own, random, remap, world, copies, then=None):
        """`then(checkpoint, turn)`: called after a load. `turn`: (this rank's number on its
        machine, number of ranks there), or None if unknown. `copies`: memory_copies.Copies, or
        None."""
        self.state, self.own, self.random, self.remap = state, own, random, remap
        self.world, self.copies, self.then = world, copies, then
        self.turn = None

    def load(self, places, attempt, opened=None):
        """Loads without other ranks; returns the step. `opened`: as from attempts()."""
        with opened or c_api.Checkpoint(places, attempt) as checkpoint:
            plan, reads, _ = self._planned(checkpoint)
            requests = reads.requests()
            from_memory = self._read(checkpoint, requests)
            reads.finish()
            _finish(plan)
            self.turn = (0, 1) if self.world.size == 1 else None
            return self._loaded(places, checkpoint, reads, from_memory, reads.bytes - from_memory)

    def load_with(self, group, places, attempt, opened=None, error=None):
        """Loads together with the other ranks of `group`: returns the same step on all, or raises
        on all, PassedOver if another checkpoint may do. `attempt`: None if none was found. `error`:
        an earlier error on this rank."""
        with contextlib.ExitStack() as stack:
            kinds = NOT_THIS_ONE if error is None else ()
            try:
                facts = [attempt]
                if error is None and attempt is not None:
                    checkpoint = stack.enter_context(
                        opened or c_api.Checkpoint(places, attempt))
                    plan, reads, replicated = self._planned(checkpoint, group)
                    held, away = self._in_memory(checkpoint), local_disks.away(checkpoint)
                    facts += [replicated, reads.digest(), held, away, sessions.machine()]
                    if not replicated:
                        _check_present(checkpoint, reads, [held], [away])
            except Exception as failed:
                error = failed
            try:
                answers = group.agree(error, facts, kinds)
            except rank_group.PassedOver as passed:
                if len({each[0] for each in passed.facts}) > 1:
                    raise passed.error from None
                raise
            found = [each[0] for each in answers]
            if len(set(found)) > 1:
                raise RuntimeError("the ranks found different checkpoints, %s; are the "
                                   "directories the same on all of them?" % ", ".join(
                                       "%s (rank %d)" % (name, found.index(name))
                                       for name in sorted(set(found), key=str)))
            if attempt is None:
                return None
            self.turn = _turn_of(group.rank, [each[5] for each in answers])
            share = None
            try:
                if replicated and len({each[2] for each in answers}) == 1:
                    held, away = [each[3] for each in answers], [each[4] for each in answers]
                    _check_present(checkpoint, reads, held, away)
                    parts = collective_read.dealt(checkpoint.shards, reads.targets,
                                          held, group.size, away)
                    share = collective_read.Sharing(group, parts, reads.targets)
                    read = share.own_bytes()
                    from_memory = share.read(lambda wanted: self._read(checkpoint, wanted))
                else:
                    read = reads.bytes
                    from_memory = self._read(checkpoint, reads.requests())
            except Exception as failed:
                error = failed
            group.agree(error, kinds=NOT_THIS_ONE)
            try:
                if share is not None:
                    share.hand_on()
                reads.finish()
                _finish(plan)
            except Exception as failed:
                error = failed
            group.agree(error)
            return self._loaded(places, checkpoint, reads, from_memory, read - from_memory)

    def _in_memory(self, checkpoint):
        """The shards in this rank's memory: [first, count]."""
        return self.copies.holds(checkpoint) if self.copies is not None else [0, 0]

    def _read(self, checkpoint, requests):
        """Reads; returns how many bytes came from memory."""
        if self.copies is not None:
            return self.copies.read(checkpoint, requests)
        checkpoint.read(requests)
        return 0

    def _planned(self, checkpoint, group=None):
        """(plan, Reads, whether all ranks have the same state). Changes nothing yet."""
        attempt = checkpoint.attempt
        kept = {(rank, name): data for rank, name, data in checkpoint.states}
        if (0, ABOUT) not in kept:
            raise CheckpointError("invalid", "cannot load %s: it was not written by "
                                  "robustrun.checkpoint.save()" % attempt)
        about = _decoded(kept, 0, ABOUT, attempt)
        replicated = about["replicated"]
        rank = 0 if replicated else self.world.rank
        if not replicated and checkpoint.world_size != self.world.size:
            raise WorldChanged(
                "cannot load %s: each of %d ranks saved a state of its own, and there are %d "
                "ranks now" % (attempt, checkpoint.world_size, self.world.size))
        saved = _decoded(kept, rank, TREE, attempt)
        plan = tree.Plan()
        self._plan_own(checkpoint, kept, about, attempt, plan)
        plan.restore(self.state, saved)
        where = {shard.name: index for index, shard in enumerate(checkpoint.shards)
                 if replicated or shard.rank == rank}
        return plan, Reads(checkpoint, where, plan, group if replicated else None), replicated

    def _loaded(self, places, checkpoint, reads, from_memory, from_disk):
        global last
        last = Loaded(checkpoint.step, checkpoint.attempt, reads.bytes, from_memory, from_disk,
                      reads.bytes - from_memory - from_disk)
        note("loaded", attempt=checkpoint.attempt, directories=places,
             source="memory" if reads.bytes and not from_disk else "disk")
        if self.then is not None:
            self.then(checkpoint, self.turn)
        return checkpoint.step

    def _plan_own(self, checkpoint, kept, about, attempt, plan):
        saved = set(about["own"])
        for name in sorted(saved - set(self.own)):
            plan.problems.append("'%s' was saved per rank, but is not requested" % name)
        for name in sorted(set(self.own) - saved):
            plan.problems.append("'%s' is requested per rank, but not in the checkpoint" % name)
        wanted = [(name, OWN + name) for name in sorted(saved & set(self.own))]
        if self.random and about["random"]:
            wanted.append(("random", RANDOM))
        for name, key in wanted:
            value = self._own_value(checkpoint, kept, name, key, attempt)
            if value is not None:
                plan.after.append(lambda name=name, value=value: self._take(name, value))

    def _own_value(self, checkpoint, kept, name, key, attempt):
        if checkpoint.world_size == self.world.size:
            return _decoded(kept, self.world.rank, key, attempt)
        if self.remap is None:
            raise WorldChanged(
                "cannot load '%s' of %s: it was saved by %d ranks, and there are %d now; pass "
                "remap= to assign the values" % (name, attempt, checkpoint.world_size,
                                                 self.world.size))
        values = [_decoded(kept, rank, key, attempt) for rank in range(checkpoint.world_size)]
        return self.remap(name, values, self.world.rank, self.world.size)

    def _take(self, name, value):
        if name == "random":
            return tensor_bytes.set_random_states(value)
        target = self.own[name]
        if callable(getattr(target, "load_state_dict", None)):
            target.load_state_dict(value)
        elif isinstance(target, dict) and isinstance(value, dict):
            target.clear()
            target.update(value)
        elif isinstance(target, list) and isinstance(value, list):
            target[:] = value
        else:
            raise StateMismatch("cannot load '%s': its target must be a dict, a list or an object "
                                "with load_state_dict()" % name)


def _check_present(checkpoint, reads, held, away):
    """Raises Unreadable if some bytes are only on the local disks of a machine that is missing."""
    missing = collective_read.nowhere(reads.targets, held, away)
    if missing:
        more = " and %d more" % (len(missing) - 1) if len(missing) > 1 else ""
        raise Unreadable("unavailable", "tensor '%s'%s of %s is only on a local disk of a machine "
                         "that is missing" % (checkpoint.shards[missing[0]].name, more,
                                              checkpoint.attempt))


def _turn_of(rank, machines):
    here = [each for each, machine in enumerate(machines) if machine == machines[rank]]
    return here.index(rank), len(here)


def _finish(plan):
    for each in plan.after:
        each()


def _decoded(kept, rank, name, attempt):
    try:
        return tree.outline(codec.decode(kept[rank, name]))
    except KeyError:
        raise CheckpointError("invalid", "cannot load %s: rank %d has no '%s' in it"
                              % (attempt, rank, name)) from None
    except ValueError as error:
        raise CheckpointError("corrupt", "cannot load %s: %s" % (attempt, error)) from None


class Reads:
    """What to read, and into which memory: directly into tensors that are contiguous memory of the
    host or, if a group sends it, of the group's devices; else into a buffer."""

    def __init__(self, checkpoint, where, plan, group=None):
        for ref, _ in plan.reads:
            index = where.get(ref.name)
            shard = None if index is None else checkpoint.shards[index]
            if shard is None or shard.dtype != ref.dtype or shard.shape != ref.shape:
                raise CheckpointError("corrupt", "cannot load %s: it contradicts itself on '%s'"
                                      % (checkpoint.attempt, ref.name))
        tree.make_fresh(plan)
        self.targets = []
        self._first, self._copies = {}, []  # {name: memory}; (tensor, memory to copy from)
        for ref, tensor in plan.reads:
            if ref.name not in self._first:
                self._add(checkpoint, where[ref.name], ref, tensor, group)
            if self._first[ref.name] is not tensor:
                self._copies.append((tensor, self._first[ref.name]))
        self.targets.sort(key=lambda each: each.index)
        self.bytes = sum(each.bytes for each in self.targets)

    def _add(self, checkpoint, index, ref, tensor, group):
        device = group.device_for(tensor) if group is not None else tensor_bytes.CPU
        memory = tensor if tensor_bytes.is_memory(tensor, device) \
            else tensor_bytes.new(ref.dtype, ref.shape, device)
        self._first[ref.name] = memory
        size = tensor_bytes.byte_size(memory)
        if checkpoint.shards[index].bytes != size:
            raise CheckpointError("corrupt", "cannot load %s: '%s' has %d bytes instead of %d" % (
                checkpoint.attempt, ref.name, checkpoint.shards[index].bytes, size))
        if size:
            self.targets.append(collective_read.Target(index, 0, size, memory))

    def requests(self):
        """All reads, for the engine: (shard, begin, bytes, address)."""
        return [(each.index, 0, each.bytes, each.memory.data_ptr()) for each in self.targets]

    def digest(self):
        """Equal on ranks that read the same bytes into the same kinds of memory."""
        text = repr([(each.index, each.memory.device.type) for each in self.targets])
        return hashlib.blake2b(text.encode(), digest_size=16).hexdigest()

    def finish(self):
        """Completes the tensors once everything has been read."""
        for memory in self._first.values():
            tensor_bytes.was_written(memory)
        for tensor, memory in self._copies:
            tensor_bytes.copy(tensor, memory)
