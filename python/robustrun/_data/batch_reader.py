"""Reads the samples of a batch and collates them, where torch's DataLoader wants it: in a worker
process, or in the script's.

Random numbers that a dataset and collate_fn draw from torch, random and numpy's global generator
depend on (seed, epoch, sample) alone: not on ranks, workers, what was read before, or restarts.
"""

import hashlib
import random
import struct
import sys

from . import memory_files

_SAMPLE, _COLLATE = 0, 1  # what is seeded


def _reads_together(dataset):
    """Whether `dataset` reads many samples in one call, as data sets of HF do."""
    from torch.utils.data import Subset

    below = getattr(Subset, "__getitems__", None)  # calls the dataset's, if that has one
    while below and isinstance(dataset, Subset) and type(dataset).__getitems__ is below:
        dataset = dataset.dataset
    return callable(getattr(dataset, "__getitems__", None))


def same(batch):
    """The collate_fn of the DataLoader below: the batch is collated already."""
    return batch


class BatchReader:
    """What torch's DataLoader takes for its dataset: a key of Schedule → a batch."""

    def __init__(self, dataset, collate_fn, seed):
        self.dataset = dataset
        self._collate = collate_fn
        self._seed = seed

    def __getitem__(self, key):
        from torch.utils.data import get_worker_info

        if get_worker_info() is not None:
            return self._read(*key)
        generators = _Generators()  # dropout must not depend on what the dataset draws
        try:
            return self._read(*key)
        finally:
            generators.restore()

    def _read(self, epoch, samples):
        at = None  # the sample that is being read; None: all of them
        try:
            if _reads_together(self.dataset):  # seeded by the first
                self._begin(_SAMPLE, epoch, samples[0])
                read = self.dataset.__getitems__(samples)
            else:
                read = []
                for at in samples:
                    self._begin(_SAMPLE, epoch, at)
                    read.append(self.dataset[at])
            at = None
            self._begin(_COLLATE, epoch, samples[0])
            return self._collate(read)
        except Exception as error:
            if hasattr(error, "add_note"):  # from Python 3.11 on
                what = "samples " + ", ".join(map(str, samples)) if at is None else "sample %d" % at
                error.add_note("%s of %s, epoch %d" % (what[:200], type(self.dataset).__name__,
                                                       epoch))
            raise

    def _begin(self, what, epoch, sample):
        import torch

        text = struct.pack("<QQQQ", self._seed, epoch, sample, what)
        seed = int.from_bytes(hashlib.blake2b(text, digest_size=8).digest(), "little")
        # torch.manual_seed() would cost 0.3 ms, as it seeds devices, too.
        torch.default_generator.manual_seed(seed)
        random.seed(seed)
        numpy = sys.modules.get("numpy")
        if numpy:
            numpy.random.seed(seed % 2 ** 32)


class _Generators:
    """The generators of this process as they are now."""

    def __init__(self):
        import torch

        self._torch, self._random = torch.get_rng_state(), random.getstate()
        numpy = sys.modules.get("numpy")
        self._numpy = numpy and numpy.random.get_state()

    def restore(self):
        import torch

        torch.set_rng_state(self._torch)
        random.setstate(self._random)
        if self._numpy:
            sys.modules["numpy"].random.set_state(self._numpy)


class WorkerStart:
    """The worker_init_fn of the DataLoader below: lets batches lie in memory files, and calls the
    user's, to which get_worker_info() shows the user's dataset."""

    def __init__(self, worker_init_fn):
        self._given = worker_init_fn

    def __call__(self, worker):
        from torch.utils.data import get_worker_info

        memory_files.use()
        info = get_worker_info()
        object.__setattr__(info, "dataset", info.dataset.dataset)  # torch made it read-only
        if self._given:
            self._given(worker)
