"""DataLoader for map-style datasets, in the place of torch's, which it drives (docs/data.md)."""

import gc
import os
import warnings

from .._progress import data_waits
from .batch_reader import BatchReader, WorkerStart, same
from .epoch_plan import EpochPlan
from .loader_processes import END_S, LoaderProcesses
from .schedule import Schedule, whole
from .spec import DataError

_LOST = "DataLoader worker"  # what torch's error begins with, if one has ended
_OF_WORKER = "in DataLoader worker process"  # in the text of an error of the dataset
_LOST_IN_A_ROW = 2  # loader processes that are replaced without a batch in between


def _has_group():
    import torch.distributed as dist

    return dist.is_available() and dist.is_initialized()


def _of_environment(name, other, default):
    if name not in os.environ and other in os.environ:
        raise DataError("%s is set and %s is not: build the loader after init_process_group, or "
                        "pass rank= and ranks=" % (other, name))
    return os.environ.get(name, default)


def _place(rank, ranks):
    """(rank, ranks): as given, of the process group if there is one, else RANK and WORLD_SIZE."""
    import torch.distributed as dist

    grouped = _has_group()
    if ranks is None:
        ranks = dist.get_world_size() if grouped else _of_environment("WORLD_SIZE", "RANK", 1)
    if rank is None:
        rank = dist.get_rank() if grouped else _of_environment("RANK", "WORLD_SIZE", 0)
    rank, ranks = whole("rank", int(rank), 0), whole("ranks", int(ranks), 1)
    if rank >= ranks:
        raise DataError("rank %d must be below ranks, %d" % (rank, ranks))
    return rank, ranks


def _generator(seed):
    """On the default device, where torch's DataLoader draws from it. Otherwise that would draw
    from the script's generator at the beginning of each pass, and a pass that goes on within an
    epoch begins once more than it did without a restart."""
    import torch

    return torch.Generator(torch.empty(()).device).manual_seed(seed % 2 ** 63)


def _samples_of(dataset):
    from torch.utils.data import IterableDataset

    name = type(dataset).__name__
    if isinstance(dataset, IterableDataset) or not hasattr(dataset, "__getitem__"):
        raise DataError("%s cannot be read by position, so its samples cannot be dealt to ranks: "
                        "give it __getitem__ and __len__, or use torch's DataLoader" % name)
    try:
        return len(dataset)
    except (TypeError, NotImplementedError) as error:
        raise DataError("%s has no length (%s): give it __len__" % (name, error)) from error


class DistributedSampler:
    """In the place of torch's: DataLoader takes these arguments from it. Gives no indices itself.

    Either drop_last, this one's or the DataLoader's, drops the rest of an epoch.
    """

    __class_getitem__ = classmethod(lambda cls, item: cls)  # torch's is generic: in annotations

    def __init__(self, dataset, num_replicas=None, rank=None, shuffle=True, seed=0,
                 drop_last=False):
        self.dataset = dataset
        self.num_replicas, self.rank = num_replicas, rank
        self.shuffle, self.seed, self.drop_last = shuffle, seed, drop_last
        self.epoch = 0
        self._schedules = []  # of the loaders that have this sampler

    def set_epoch(self, epoch):
        """As DataLoader.set_epoch."""
        for schedule in self._schedules:
            schedule.set_epoch(epoch)
        self.epoch = epoch

    def __len__(self):
        """Samples of this rank in an epoch."""
        if self._schedules:
            return self._schedules[0].rank_samples
        rank, ranks = _place(self.rank, self.num_replicas)
        return EpochPlan(_samples_of(self.dataset), ranks, self.drop_last).rank_samples(rank, ranks)

    def drive(self, schedule):
        """For DataLoader: set_epoch() sets the epoch of `schedule` from now on."""
        schedule.set_epoch(self.epoch)
        self._schedules.append(schedule)


class DataLoader:
    """The batches of one rank, epoch after epoch, each sample once per epoch over all ranks.

    Arguments are those of torch's DataLoader, which reads, collates and pins underneath, and

    - batch_size: of each rank. A state keeps the step's size over all ranks; other numbers of ranks
      that load it share the same samples.
    - seed: the order is a function of it and the epoch.
    - rank of ranks: among those that get different samples; the process group's, or RANK and
      WORLD_SIZE, if not given.

    sampler may be robustrun.data's DistributedSampler; if not given, there is one all the same, for
    frameworks that set the epoch of loader.sampler.
    """

    __class_getitem__ = classmethod(lambda cls, item: cls)

    def __init__(self, dataset, batch_size=1, shuffle=None, sampler=None, batch_sampler=None,
                 num_workers=0, collate_fn=None, pin_memory=False, drop_last=False, timeout=0,
                 worker_init_fn=None, multiprocessing_context=None, generator=None, *,
                 prefetch_factor=None, persistent_workers=False, pin_memory_device="",
                 in_order=True, seed=0, rank=None, ranks=None):
        from torch.utils import data

        if generator is not None:
            raise DataError("generator is not used, as the order depends on seed: pass seed=NUMBER")
        if not in_order:
            raise DataError("in_order=False would make the batches depend on the workers' speed: "
                            "leave it out")
        if batch_sampler is not None:
            raise DataError("batch_sampler cannot be dealt anew to other numbers of ranks: pass "
                            "batch_size and shuffle instead")
        if sampler is not None:
            if not isinstance(sampler, DistributedSampler):
                raise DataError("sampler cannot be dealt anew to other numbers of ranks: leave it "
                                "out and pass shuffle=True or False, or import DistributedSampler "
                                "from robustrun.data; for a part of the dataset use "
                                "torch.utils.data.Subset")
            if shuffle:
                raise DataError("shuffle is the sampler's: leave out one of the two")
            shuffle, seed = sampler.shuffle, sampler.seed
            drop_last = drop_last or sampler.drop_last
            rank = sampler.rank if rank is None else rank
            ranks = sampler.num_replicas if ranks is None else ranks
        self._given, (self._rank, self._ranks) = (rank, ranks), _place(rank, ranks)
        self.dataset, self.batch_size = dataset, whole("batch_size", batch_size, 1)
        self.drop_last, self.num_workers = bool(drop_last), num_workers
        self._seed = whole("seed", seed, 0)
        self._schedule = Schedule(_samples_of(dataset), self.batch_size, self._seed, bool(shuffle),
                                  self.drop_last, self._rank, self._ranks)
        if sampler is None:
            sampler = DistributedSampler(dataset, self._ranks, self._rank, bool(shuffle),
                                         self._seed, self.drop_last)
        self.sampler = sampler
        sampler.drive(self._schedule)
        self.collate_fn = collate_fn or data.default_collate
        rarer = {"prefetch_factor": prefetch_factor, "pin_memory_device": pin_memory_device}
        self._below = data.DataLoader(
            BatchReader(dataset, self.collate_fn, self._seed), batch_size=None,
            sampler=self._schedule, num_workers=num_workers, collate_fn=same,
            pin_memory=pin_memory, timeout=timeout, worker_init_fn=WorkerStart(worker_init_fn),
            multiprocessing_context=multiprocessing_context,
            persistent_workers=persistent_workers,
            **{name: value for name, value in rarer.items() if value not in (None, "")})
        # For what looks at torch's attributes.
        self.worker_init_fn, self.in_order = worker_init_fn, True
        self.batch_sampler = self.generator = None
        for name in ("pin_memory", "timeout", "multiprocessing_context", "persistent_workers",
                     *rarer):
            setattr(self, name, getattr(self._below, name, None))

    def __len__(self):
        """Batches of an epoch: of every rank the same number."""
        return self._schedule.steps

    @property
    def epoch(self):
        """The present epoch: where a loop over epochs begins after a restart."""
        return self._schedule.epoch

    @property
    def step_samples(self):
        """Samples of the present step over all ranks. A rank's mean loss times its own number of
        samples times the number of ranks, over this, weighs all samples alike where gradients are
        averaged over ranks (DDP, FSDP)."""
        return self._schedule.step_samples

    def __iter__(self):
        place = _place(*self._given) if _has_group() else (self._rank, self._ranks)
        if place != (self._rank, self._ranks):
            raise DataError("the loader was made before init_process_group, for rank %d of %d, and "
                            "this is rank %d of %d: build the loader after it, or pass rank= and "
                            "ranks=" % (self._rank, self._ranks, *place))
        self._schedule.check()
        return _Pass(self._schedule, self._begin, self.persistent_workers,
                     type(self.dataset).__name__.encode())

    def _begin(self, running):
        """The batches that this pass has not given yet."""
        self._schedule.read(running)
        try:
            # Seeds of worker processes. Samples have seeds of their own.
            self._below.generator = _generator(self._seed + running.epoch * 65_537 + self._rank)
            return LoaderProcesses(self._below, iter(self._below))
        finally:
            self._schedule.read(None)

    def set_epoch(self, epoch):
        """The next `for` is this epoch; within the epoch of a loaded state, the rest of it. Not
        needed: each `for` is the next epoch."""
        self._schedule.set_epoch(epoch)

    def state_dict(self):
        """Where this loader is, in plain values: equal on all ranks after the same batch. What
        workers have prefetched does not count."""
        return self._schedule.state()

    def load_state_dict(self, state):
        """Goes on where `state` was taken, with any number of ranks up to the samples of a step.
        Refuses another dataset length, seed, order or drop_last, and another number of samples in a
        step."""
        self._schedule.load(state)


class _Pass:
    """The rest of an epoch. Begins when the first batch is asked for: frameworks such as Lightning
    make the iterator before they set the epoch."""

    def __init__(self, schedule, begin, shared, source):
        self._schedule, self._begin = schedule, begin
        self._source = source  # the dataset's name
        self._shared = shared  # with later passes: torch has one iterator over persistent workers
        self._running = self._batches = self._number = None
        self._is_open = False

    def __len__(self):
        """Batches of this pass, used ones included."""
        return self._schedule.left if self._number is None else self._number

    def __iter__(self):
        return self

    def __next__(self):
        with data_waits.waiting(self._source):
            return self._next()

    def _next(self):
        if self._number is None:
            self._number = self._schedule.left
            self._running, self._batches = self._schedule.begin(), None
            self._is_open = True
        if not self._is_open:
            raise StopIteration
        if self._shared and self._running is not self._schedule.newest:
            raise DataError("this pass ended when the next one began, as persistent_workers read "
                            "for one at a time: leave persistent_workers out, or use two loaders")
        self._is_open = False  # an error ends it
        batches, self._batches = self._batches, None
        try:
            batch, batches = self._read(batches)
        except StopIteration:
            self._schedule.end(self._running)
            raise
        self._batches, self._is_open = batches, True
        self._schedule.advance(self._running)
        return batch

    def _read(self, batches):
        """The next batch, and the iterator that gave it: another one than `batches` if that is
        None, or if a loader process was killed."""
        lost, is_incomplete = 0, False
        while True:
            try:
                if batches is None:
                    if is_incomplete:  # an iterator, which may have processes
                        gc.collect()
                    batches = self._begin(self._running)
                return next(batches), batches
            # Also of the dataset. The process that has a batch's memory may end before this one has
            # asked for that, or while it does.
            except (RuntimeError, OSError, EOFError) as error:
                is_incomplete = batches is None
                is_lost = _LOST in str(error) if is_incomplete else batches.has_lost_one(
                    0 if isinstance(error, RuntimeError) or _OF_WORKER in str(error) else END_S)
                if batches and is_lost:
                    batches.close()
                lost += 1
                if not is_lost or lost > _LOST_IN_A_ROW:
                    raise
                batches = None
                what = str(error) if _LOST in str(error) else "%s was killed" % _LOST
                warnings.warn("%s; its batches are read again, from step %d of epoch %d on"
                              % (what.rstrip(" ."), self._running.step, self._running.epoch),
                              RuntimeWarning, stacklevel=4)
