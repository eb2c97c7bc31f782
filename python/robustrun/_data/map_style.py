"""DataLoader for map-style datasets, in the place of torch's, which it drives (docs/data.md)."""

import os

from .batch_reader import BatchReader, WorkerStart, same
from .schedule import Schedule, whole
from .spec import DataError


def _place(rank, ranks):
    """(rank, ranks): as given, of the process group if there is one, else RANK and WORLD_SIZE."""
    import torch.distributed as dist

    grouped = dist.is_available() and dist.is_initialized()
    if ranks is None:
        ranks = dist.get_world_size() if grouped else os.environ.get("WORLD_SIZE", 1)
    if rank is None:
        rank = dist.get_rank() if grouped else os.environ.get("RANK", 0)
    rank, ranks = whole("rank", int(rank), 0), whole("ranks", int(ranks), 1)
    if rank >= ranks:
        raise DataError("rank %d must be below ranks, %d" % (rank, ranks))
    return rank, ranks


def _samples_of(dataset):
    from torch.utils.data import IterableDataset

    name = type(dataset).__name__
    if isinstance(dataset, IterableDataset) or not hasattr(dataset, "__getitem__"):
        raise DataError("%s cannot be read by position, so its samples cannot be dealt to ranks: "
                        "give it __getitem__ and __len__, or use torch's DataLoader" % name)
    try:
        return len(dataset)
    except (TypeError, NotImplementedError):
        raise DataError("%s has no length: give it __len__" % name) from None


class DistributedSampler:
    """In the place of torch's: DataLoader takes these arguments from it. Gives no indices itself.

    Either drop_last, this one's or the DataLoader's, drops the rest of an epoch.
    """

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

    def drive(self, schedule):
        """For DataLoader: set_epoch() sets the epoch of `schedule` from now on."""
        schedule.set_epoch(self.epoch)
        self._schedules.append(schedule)


class DataLoader:
    """The batches of one rank, epoch after epoch, each sample once per epoch over all ranks.

    Arguments are those of torch's DataLoader, which reads, collates and pins underneath, and

    - batch_size: of each rank. A state keeps the step's size over all ranks; other numbers of ranks
      that load it share the same samples.
    - seed: the order is a function of it, the epoch and the step.
    - rank of ranks: among those that get different samples; the process group's, or RANK and
      WORLD_SIZE, if not given.

    sampler may be robustrun.data's DistributedSampler.
    """

    def __init__(self, dataset, batch_size=1, shuffle=None, sampler=None, batch_sampler=None,
                 num_workers=0, collate_fn=None, pin_memory=False, drop_last=False, timeout=0,
                 worker_init_fn=None, multiprocessing_context=None, generator=None, *,
                 prefetch_factor=None, persistent_workers=False, pin_memory_device="", seed=0,
                 rank=None, ranks=None):
        import torch
        from torch.utils import data

        if generator is not None:
            raise DataError("generator is not used, as the order depends on seed: pass seed=NUMBER")
        if batch_sampler is not None:
            raise DataError("batch_sampler cannot be dealt anew to other numbers of ranks: pass "
                            "batch_size and shuffle instead")
        if sampler is not None:
            if not isinstance(sampler, DistributedSampler):
                raise DataError("sampler cannot be dealt anew to other numbers of ranks: leave it "
                                "out and pass shuffle=True or False, or import DistributedSampler "
                                "from robustrun.data; for a part of the dataset use "
                                "torch.utils.data.Subset")
            if shuffle is not None:
                raise DataError("shuffle is the sampler's: leave out one of the two")
            shuffle, seed = sampler.shuffle, sampler.seed
            drop_last = drop_last or sampler.drop_last
            rank = sampler.rank if rank is None else rank
            ranks = sampler.num_replicas if ranks is None else ranks
        self.dataset, self.batch_size = dataset, whole("batch_size", batch_size, 1)
        self.drop_last, self.num_workers = bool(drop_last), num_workers
        self.sampler = sampler
        self._seed = whole("seed", seed, 0)
        self._rank, ranks = _place(rank, ranks)
        self._schedule = Schedule(_samples_of(dataset), self.batch_size, self._seed, bool(shuffle),
                                  self.drop_last, self._rank, ranks)
        if sampler is not None:
            sampler.drive(self._schedule)
        self.collate_fn = collate_fn or data.default_collate
        # Otherwise torch would draw from the script's generator at the begin of each pass, and a
        # pass that goes on within an epoch begins once more than it did without a restart.
        self._generator = torch.Generator()
        self._below = data.DataLoader(
            BatchReader(dataset, self.collate_fn, self._seed), batch_size=None,
            sampler=self._schedule, num_workers=num_workers, collate_fn=same,
            pin_memory=pin_memory, timeout=timeout, worker_init_fn=WorkerStart(worker_init_fn),
            multiprocessing_context=multiprocessing_context, generator=self._generator,
            prefetch_factor=prefetch_factor, persistent_workers=persistent_workers,
            pin_memory_device=pin_memory_device)

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
        return self._schedule.size(max(0, self._schedule.step - 1))

    def __iter__(self):
        schedule = self._schedule
        number = schedule.begin()
        # Seeds of worker processes. Samples have seeds of their own.
        self._generator.manual_seed((self._seed + schedule.epoch * 65_537 + self._rank) % 2 ** 63)
        return _Pass(schedule, number, iter(self._below))

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
        Refuses another dataset length, seed, order or batch_size."""
        self._schedule.load(state)


class _Pass:
    """The rest of an epoch."""

    def __init__(self, schedule, number, batches):
        self._schedule, self._number, self._batches = schedule, number, batches

    def __iter__(self):
        return self

    def __next__(self):
        if self._batches is None:
            raise StopIteration
        batches, self._batches = self._batches, None  # an error ends it
        try:
            batch = next(batches)
        except StopIteration:
            self._schedule.end(self._number)
            raise
        self._batches = batches
        self._schedule.advance(self._number)
        return batch
