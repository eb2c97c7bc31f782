"""robustrun.data.DataLoader: each sample once per epoch, the same samples in a step for any number
of ranks, and after a kill the same batches to the last bit."""

import gc
import itertools
import json
import multiprocessing
import os
import pickle
import random
import runpy
import signal
import socket
import sys
import traceback
from multiprocessing import connection, resource_sharer, synchronize

import pytest
from conftest import PACKAGE, ROOT

torch = pytest.importorskip("torch")
numpy = pytest.importorskip("numpy")
from torch.utils.data import Dataset, IterableDataset, Subset, get_worker_info  # noqa: E402

sys.path.insert(0, str(PACKAGE))
from robustrun import data  # noqa: E402
from robustrun._data import c_api  # noqa: E402
from robustrun._data.epoch_plan import EpochPlan  # noqa: E402


class Drawing(Dataset):
    """Sample i is i and three random numbers."""

    def __init__(self, samples):
        self.samples = samples

    def __len__(self):
        return self.samples

    def __getitem__(self, index):
        return index, [torch.rand(()).item(), random.random(), numpy.random.rand()]


def drawing_collate(read):
    """[samples, their numbers, a number of the batch]"""
    return [torch.tensor([index for index, _ in read]),
            torch.tensor([drawn for _, drawn in read], dtype=torch.float64), torch.rand(())]


def loaders(ranks, samples, batch_size, **options):
    return [data.DataLoader(Drawing(samples), batch_size, collate_fn=drawing_collate, rank=rank,
                            ranks=ranks, **options) for rank in range(ranks)]


def passes(of_ranks):
    """One pass: for each step its batches, rank by rank. All ranks have the same number."""
    return list(zip(*of_ranks, strict=True))


def samples_of(step):
    """The samples of a step over all ranks with their random numbers, in the order of samples."""
    numbers = {}
    for batch in step:
        for sample, drawn in zip(batch[0].tolist(), batch[1].tolist(), strict=True):
            assert sample not in numbers
            numbers[sample] = drawn
    return sorted(numbers.items())


def are_equal(step, other):
    return len(step) == len(other) and all(
        torch.equal(one, two) for a, b in zip(step, other, strict=True)
        for one, two in zip(a, b, strict=True))


@pytest.mark.parametrize("drop_last", [False, True])
def test_steps_divide_an_epoch_and_none_is_smaller_than_half(drop_last):
    for samples, of_step in itertools.product(range(1, 60), range(1, 14)):
        plan = EpochPlan(samples, of_step, drop_last)
        whole, rest = divmod(samples, of_step)
        assert plan.steps == whole + (rest > 0 and not drop_last)  # as torch's
        end = 0
        for step in range(plan.steps):
            first, size = plan.span(step)
            assert first == end and size <= of_step and 2 * size >= min(of_step, samples)
            end += size
            for ranks in range(1, size + 1):
                shares = [plan.share(step, rank, ranks) for rank in range(ranks)]
                assert [begin for begin, _ in shares] == list(range(first, first + ranks))
                counts = [count for _, count in shares]
                assert sum(counts) == size and max(counts) - min(counts) <= 1
        assert end == (whole * of_step if drop_last else samples)
        if plan.steps:
            assert plan.smallest == min(plan.span(step)[1] for step in range(plan.steps))


def test_a_step_has_the_same_samples_and_random_numbers_for_any_number_of_ranks():
    of_one, of_three = loaders(1, 50, 12, shuffle=True), loaders(3, 50, 4, shuffle=True)
    orders = set()
    for _ in range(3):
        steps = [samples_of(step) for step in passes(of_one)]
        assert steps == [samples_of(step) for step in passes(of_three)]
        assert sorted(sample for step in steps for sample, _ in step) == list(range(50))
        assert [len(step) for step in steps] == [12, 12, 12, 7, 7]
        orders.add(str(steps))
    assert len(orders) == 3
    other = [samples_of(step) for step in passes(loaders(1, 50, 12, shuffle=True, seed=1))]
    assert str(other) not in orders


class History:
    """A training that is killed and goes on with other numbers of ranks, as `seed` draws it."""

    def __init__(self, seed, workers):
        print("seed", seed, "workers", workers)
        self.drawn = random.Random(seed)
        self.first_ranks = self.drawn.randint(1, 2 if workers else 4)
        self.batch_size = self.drawn.randint(2, 6)
        self.options = {"shuffle": self.drawn.random() < 0.8, "seed": self.drawn.randrange(2 ** 63),
                        "drop_last": self.drawn.random() < 0.3, "num_workers": workers}
        if workers:
            self.options["persistent_workers"] = self.drawn.random() < 0.5
            self.options["prefetch_factor"] = self.drawn.randint(1, 4)
        least = self.first_ranks * self.batch_size
        self.samples = self.drawn.randint(least, 10 * least)
        self.most_ranks = EpochPlan(self.samples, least, self.options["drop_last"]).smallest
        self.saved, self.ranks = None, self.first_ranks
        self.resumed, self.other_ranks = 0, 0

    def start(self, ranks):
        return loaders(ranks, self.samples, self.batch_size, **self.options)

    def quiet(self, epochs):
        """(epoch, step) → batches."""
        whole = self.start(self.first_ranks)
        return {(epoch, number): step for epoch in range(epochs)
                for number, step in enumerate(passes(whole))}

    def attempt(self, epochs):
        """Yields (epoch, step, batches) until it is killed or all is done; returns whether it is
        done."""
        present = self.start(self.ranks)
        if self.saved:
            self.resumed += 1
            self.other_ranks += self.ranks != self.first_ranks
            for one in present:
                one.load_state_dict(json.loads(self.saved))
        dies_in = self.drawn.randint(1, 1 + len(present[0]))
        for epoch in range(present[0].epoch, epochs):
            steps = [iter(one) for one in present]
            while True:
                number = present[0].state_dict()["step"]
                step = [next(one, None) for one in steps]
                if None in step:
                    assert not any(step)
                    break
                yield epoch, number, step
                states = {json.dumps(one.state_dict()) for one in present}
                assert len(states) == 1
                if self.drawn.random() < 0.4:
                    self.saved = states.pop()
                dies_in -= 1
                if not dies_in:
                    # The others may be ahead of the rank that dies.
                    for one in steps[:self.drawn.randint(0, len(steps))]:
                        next(one, None)
                    return False
        return True

    def restart(self):
        """With other numbers of ranks only where a state says how many samples a step has."""
        if self.saved and self.drawn.random() < 0.5:
            self.ranks = self.drawn.randint(1, min(6, self.most_ranks))


def check(seed, workers=0, epochs=3):
    """The history of this seed."""
    history = History(seed, workers)
    quiet = history.quiet(epochs)
    seen, done = set(), False
    while not done:
        run = history.attempt(epochs)
        while True:
            try:
                epoch, number, step = next(run)
            except StopIteration as end:
                done = end.value
                break
            seen.add((epoch, number))
            expected = quiet[epoch, number]
            assert samples_of(step) == samples_of(expected)
            sizes = [len(batch[0]) for batch in step]
            assert min(sizes) > 0 and max(sizes) - min(sizes) <= 1
            if history.ranks == history.first_ranks:
                assert are_equal(step, expected)
        history.restart()
    assert seen == set(quiet)
    for epoch in range(epochs):
        samples = [sample for (of, _), step in quiet.items() if of == epoch
                   for sample, _ in samples_of(step)]
        assert len(set(samples)) == len(samples)
        if not history.options["drop_last"]:
            assert len(samples) == history.samples
    return history


def test_kills_and_other_numbers_of_ranks_change_no_step():
    histories = [check(seed) for seed in range(12)]
    assert sum(one.resumed - one.other_ranks for one in histories) > 10
    assert sum(one.other_ranks for one in histories) > 10
    for _ in range(12):
        check(random.randrange(10 ** 9))


def test_nor_do_they_with_worker_processes():
    histories = [check(seed, workers=2, epochs=2) for seed in (103, 104)]
    assert sum(one.resumed - one.other_ranks for one in histories) > 1
    assert sum(one.other_ranks for one in histories) > 0
    assert {one.options["persistent_workers"] for one in histories} == {False, True}


def test_the_order_and_the_random_numbers_stay_those_of_earlier_versions():
    one, = loaders(1, 10, 10, shuffle=True, seed=1)
    batches = list(itertools.chain(one, one))
    assert [batch[0].tolist() for batch in batches] == [
        [6, 5, 9, 2, 1, 4, 0, 8, 7, 3], [1, 6, 0, 7, 3, 9, 4, 8, 2, 5]]
    assert batches[1][1][0].tolist() == [
        0.04318249225616455, 0.5128856721944479, 0.03923118590101404]


def test_a_position_behind_the_epochs_end_is_an_error():
    assert len(c_api.shuffled(1, 0, 10, 1, 4, 3)) == 3
    for first, stride, count in ((10, 1, 1), (2, 4, 3), (0, 2 ** 63, 3)):
        with pytest.raises(data.DataError, match="no such position"):
            c_api.shuffled(1, 0, 10, first, stride, count)


def test_prefetched_batches_are_not_consumed_and_workers_end_with_the_loop():
    one, = loaders(1, 60, 4, shuffle=True, num_workers=2, prefetch_factor=4)
    for number, _ in enumerate(one, 1):
        assert one.state_dict()["step"] == number
        if number == 3:
            break
    assert multiprocessing.active_children() == []


@pytest.mark.parametrize("workers", [0, 2])
def test_the_scripts_own_random_numbers_do_not_depend_on_the_data(workers):
    one, = loaders(1, 12, 4, num_workers=workers)

    def states():
        _, words, *rest = numpy.random.get_state()
        return torch.get_rng_state().tolist(), random.getstate(), words.tolist(), rest

    before = states()
    assert len(passes([one])) == 3
    assert states() == before


class Caching(Drawing):
    """Draws only when it reads a sample for the first time."""

    def __init__(self, samples):
        self.samples, self.cache = samples, {}

    def __getitem__(self, index):
        if index not in self.cache:
            self.cache[index] = super().__getitem__(index)
        return self.cache[index]


def test_collate_fn_draws_the_same_whatever_the_dataset_has_drawn():
    one = data.DataLoader(Caching(8), 4, collate_fn=drawing_collate, rank=0, ranks=1)
    first = passes([one])
    one.set_epoch(0)
    assert all(map(are_equal, first, passes([one])))


def epochs_of(loader, count=1):
    return [[batch[0].tolist() for batch in loader] for _ in range(count)]


def test_each_loop_is_the_next_epoch_also_after_break():
    def fresh():
        return loaders(1, 20, 4, shuffle=True)[0]

    first, second, third = epochs_of(fresh(), 3)
    one = fresh()
    next(iter(one))
    assert one.epoch == 0
    assert epochs_of(one, 2) == [second, third]
    assert one.epoch == 3
    one.set_epoch(1)
    assert epochs_of(one, 2) == [second, third]
    iter(one), iter(one)  # without a batch used
    assert one.epoch == 3
    one.set_epoch(2)
    next(iter(one))
    one.set_epoch(2)
    assert epochs_of(one) == [third]


def test_a_state_of_an_epochs_last_batch_goes_on_with_the_next_epoch():
    one, = loaders(1, 20, 4, shuffle=True)
    for _ in one:
        saved = one.state_dict()
    assert (saved["epoch"], saved["step"], one.state_dict()["epoch"]) == (0, 5, 1)
    third = epochs_of(one, 2)[0]

    def loaded():
        other, = loaders(1, 20, 4, shuffle=True)
        other.load_state_dict(saved)
        assert other.epoch == 1 and other.step_samples == 4
        return other

    assert epochs_of(loaded()) == [third]
    other = loaded()
    other.set_epoch(0)  # by a script that counts itself: nothing is left of that one
    assert len(iter(other)) == 0 and epochs_of(other, 2) == [[], third]
    other = loaded()
    passing = iter(other)
    other.set_epoch(0), other.set_epoch(1)  # as Lightning does before it uses a batch
    assert next(passing)[0].tolist() == third[0]
    assert (other.epoch, other.state_dict()["step"]) == (1, 1)


def test_set_epoch_after_a_look_at_a_batch_begins_where_the_look_did():
    one, other = (loaders(1, 20, 4, shuffle=True)[0] for _ in range(2))
    expected, = epochs_of(one)
    next(iter(other))
    other.set_epoch(0)
    assert epochs_of(other) == [expected]
    other.load_state_dict({**other.state_dict(), "epoch": 0, "step": 2})
    next(iter(other))
    other.set_epoch(0)
    assert epochs_of(other) == [expected[2:]]


def frameworks_epochs(loader, epochs):
    """As Lightning reads: it counts batches and does not ask for one after the last."""
    read, states = [], []
    for epoch in epochs:
        loader.sampler.set_epoch(epoch)
        passing = iter(loader)
        for _ in range(len(passing)):
            read.append(next(passing)[0].tolist())
            states.append(loader.state_dict())
    return read, states


@pytest.mark.parametrize("workers", [0, 1])
def test_a_framework_that_counts_batches_skips_and_repeats_none(workers):
    def fresh():
        return loaders(1, 20, 4, shuffle=True, num_workers=workers)[0]

    expected = list(itertools.chain(*epochs_of(fresh(), 3)))
    read, states = frameworks_epochs(fresh(), range(3))
    assert read == expected
    for used in (3, 5, 10) if not workers else (5,):  # within an epoch, and at ends
        resumed = fresh()
        resumed.load_state_dict(states[used - 1])
        assert frameworks_epochs(resumed, range((used - 1) // 5, 3))[0] == expected[used:]


def test_the_loader_has_the_attributes_of_torchs():
    torchs = torch.utils.data.DataLoader(Drawing(20), 4)
    one, = loaders(1, 20, 4)
    missing = {name for name in vars(torchs) if not name.startswith("_") and name not in vars(one)}
    assert missing == set()
    assert {name for name, value in vars(torchs).items()
            if getattr(one, name, value) != value} <= {"dataset", "sampler", "batch_sampler",
                                                       "collate_fn"}
    assert one.multiprocessing_context is None
    assert len(iter(one)) == len(one) == len(iter(torchs))
    for drop_last in (False, True):
        of_ranks = loaders(3, 50, 4, drop_last=drop_last)
        lengths = [len(each.sampler) for each in of_ranks]
        assert lengths == [sum(len(batch[0]) for batch in each) for each in of_ranks]
        assert sum(lengths) == (48 if drop_last else 50)
    assert [len(data.DistributedSampler(Drawing(11), 2, rank)) for rank in (0, 1)] == [6, 5]


def test_torch_gets_what_it_may_not_know_only_if_it_was_passed(monkeypatch):
    passed = []
    torchs = torch.utils.data.DataLoader
    monkeypatch.setattr(torch.utils.data, "DataLoader",
                        lambda *args, **options: passed.append(options) or torchs(*args, **options))
    loaders(1, 20, 4, in_order=True)
    loaders(1, 20, 4, pin_memory_device="cuda", prefetch_factor=3, num_workers=1)
    rarer = {"pin_memory_device": "cuda", "prefetch_factor": 3}
    assert not rarer.keys() & passed[0].keys() and rarer.items() <= passed[1].items()
    assert all("in_order" not in options for options in passed)


def test_a_pass_is_of_the_epoch_in_which_it_began():
    one, = loaders(1, 20, 4, shuffle=True)
    first, second = epochs_of(one, 2)
    one.set_epoch(0)
    passing = iter(one)
    taken = [next(passing)]
    one.set_epoch(1)
    assert [batch[0].tolist() for batch in taken + list(passing)] == first
    assert one.epoch == 1 and epochs_of(one) == [second]
    # Frameworks may make the iterator first. Without a batch it is of no epoch yet.
    passing = iter(one)
    one.set_epoch(0)
    assert len(passing) == 5
    assert [batch[0].tolist() for batch in passing] == first
    assert (one.state_dict()["epoch"], one.state_dict()["step"]) == (1, 0)


def test_a_pass_that_goes_on_after_its_own_epoch_was_set_still_counts():
    one, = loaders(1, 20, 4, shuffle=True)
    for _ in one:
        one.set_epoch(0)
        assert one.state_dict()["step"] == 0
    assert (one.epoch, one.state_dict()["step"]) == (1, 0)
    for number, _ in enumerate(one):
        assert one.state_dict()["step"] == number + 1
        if number == 1:
            one.set_epoch(1)
            saved = one.state_dict()
    assert saved["step"] == 0 and one.epoch == 2


def test_an_earlier_pass_takes_no_batches_from_persistent_workers():
    one, = loaders(1, 20, 4, num_workers=1, persistent_workers=True)
    earlier = iter(one)
    next(earlier)
    assert len(list(one)) == 5
    with pytest.raises(data.DataError, match="this pass ended when the next one began"):
        next(earlier)


def test_step_samples_is_of_the_batch_that_was_used_last():
    one, = loaders(1, 50, 12)
    sizes = [one.step_samples for _ in one]
    assert sizes == [12, 12, 12, 7, 7] and one.step_samples == 7


@pytest.mark.parametrize("device", ["cpu", *["cuda"] * torch.cuda.is_available()])
def test_a_default_device_may_be_set(device):
    before = torch.empty(()).device
    torch.set_default_device(device)
    try:
        one, = loaders(1, 12, 4)
        assert len(list(one)) == 3 and one._below.generator.device == torch.empty(()).device
    finally:
        torch.set_default_device(before)


def test_after_a_state_was_loaded_set_epoch_does_not_go_back():
    one, other = (loaders(1, 20, 4, shuffle=True)[0] for _ in range(2))
    one.set_epoch(2)
    passing = iter(one)
    next(passing), next(passing)
    other.load_state_dict(one.state_dict())
    with pytest.raises(data.DataError, match="go back to epoch 0: the loaded state is in epoch 2"):
        other.set_epoch(0)
    other.set_epoch(2)
    assert epochs_of(other)[0] == [batch[0].tolist() for batch in passing]
    other.set_epoch(0)


def test_a_script_for_torchs_sampler_needs_other_imports_only():
    torchs = torch.utils.data.distributed.DistributedSampler(
        Drawing(24), num_replicas=2, rank=1, shuffle=False)
    expected = epochs_of(torch.utils.data.DataLoader(
        Drawing(24), 4, sampler=torchs, collate_fn=drawing_collate))
    for shuffle in (False, True):
        sampler = data.DistributedSampler(Drawing(24), num_replicas=2, rank=1, shuffle=shuffle,
                                          seed=5)
        one = data.DataLoader(Drawing(24), 4, sampler=sampler, collate_fn=drawing_collate,
                              shuffle=False)  # as many scripts write, which torch allows
        assert one.sampler is sampler and len(one) == 3
        if shuffle:
            expected = epochs_of(loaders(2, 24, 4, shuffle=True, seed=5)[1], 3)
            sampler.set_epoch(2)
            assert epochs_of(one) == expected[2:]
        else:
            assert epochs_of(one) == expected


def test_the_process_group_or_the_environment_says_which_rank_this_is(monkeypatch):
    def samples():
        return epochs_of(data.DataLoader(Drawing(8), 2, collate_fn=drawing_collate))

    monkeypatch.setenv("RANK", "1")
    monkeypatch.setenv("WORLD_SIZE", "2")
    assert samples() == [[[1, 3], [5, 7]]]
    monkeypatch.setattr(torch.distributed, "is_initialized", lambda: True)
    monkeypatch.setattr(torch.distributed, "get_rank", lambda: 2)
    monkeypatch.setattr(torch.distributed, "get_world_size", lambda: 4)
    assert samples() == [[[2, 6]]]


@pytest.mark.parametrize("name, value", [("WORLD_SIZE", "2"), ("RANK", "0")])
def test_half_an_environment_is_an_error(monkeypatch, name, value):
    for each in ("WORLD_SIZE", "RANK"):
        monkeypatch.delenv(each, raising=False)
    monkeypatch.setenv(name, value)
    with pytest.raises(data.DataError, match=name + " is set and .* is not: build the loader after "
                                                    "init_process_group, or pass rank= and ranks="):
        data.DataLoader(Drawing(8), 2)
    loaders(2, 8, 2)


def test_a_loader_from_before_the_process_group_is_an_error(monkeypatch):
    for each in ("WORLD_SIZE", "RANK"):
        monkeypatch.delenv(each, raising=False)
    early, told = data.DataLoader(Drawing(8), 2), data.DataLoader(Drawing(8), 2, rank=0, ranks=1)
    iter(early)
    monkeypatch.setattr(torch.distributed, "is_initialized", lambda: True)
    monkeypatch.setattr(torch.distributed, "get_rank", lambda: 1)
    monkeypatch.setattr(torch.distributed, "get_world_size", lambda: 2)
    with pytest.raises(data.DataError, match="before init_process_group, for rank 0 of 1, and this "
                                             "is rank 1 of 2: build the loader after it"):
        iter(early)
    iter(told), iter(data.DataLoader(Drawing(8), 2))


class Together(Drawing):
    def __getitems__(self, samples):
        number = torch.rand(()).item()
        return [(sample, [number, len(samples), 0]) for sample in samples]


def test_a_dataset_that_reads_many_samples_at_once_may():
    def read(dataset):
        one = data.DataLoader(dataset, 4, collate_fn=drawing_collate, rank=0, ranks=1)
        return [batch[1].tolist() for batch in one]

    batches = read(Subset(Together(20), range(8)))
    assert batches == read(Together(8))
    assert all(batch == [batch[0]] * 4 and batch[0][1] == 4 for batch in batches)
    assert read(Subset(Drawing(20), range(8))) == read(Drawing(8))
    assert read(Halved(Drawing(20), range(8)))[0] == [[0.5, 4, 0]] * 4


class Halved(Subset):
    def __getitems__(self, samples):
        return [(sample, [0.5, len(samples), 0]) for sample in samples]


def note_dataset(worker):
    get_worker_info().dataset.noted = 1000 + worker


class Noting(Drawing):
    def __getitem__(self, index):
        return self.noted


def test_worker_init_fn_sees_the_scripts_own_dataset():
    one = data.DataLoader(Noting(4), 1, num_workers=2, worker_init_fn=note_dataset, rank=0, ranks=1)
    assert [batch.item() for batch in one] == [1000, 1001, 1000, 1001]
    pickle.dumps(one._below.dataset), pickle.dumps(one._below.worker_init_fn)  # for spawn


def test_an_error_of_the_dataset_ends_the_pass_and_is_not_consumed():
    class Broken(Drawing):
        def __getitem__(self, index):
            return 1 // (4 - index)

    one = data.DataLoader(Broken(8), 2, rank=0, ranks=1)
    passing = iter(one)
    next(passing), next(passing)
    with pytest.raises(ZeroDivisionError):
        next(passing)
    assert list(passing) == [] and one.state_dict()["step"] == 2


@pytest.mark.skipif(sys.version_info < (3, 11), reason="exceptions have no notes")
@pytest.mark.parametrize("workers", [0, 2])
def test_an_error_of_the_dataset_or_of_collate_fn_names_the_samples(workers):
    class Broken(Drawing):
        def __getitem__(self, index):
            return 1 // (4 - index)

    def words(dataset, **options):
        with pytest.raises(ZeroDivisionError) as caught:
            list(data.DataLoader(dataset, 2, num_workers=workers, rank=0, ranks=1, **options))
        return "".join(traceback.format_exception(caught.value))

    assert "sample 4 of Broken, epoch 0" in words(Broken(8))
    assert "samples 0, 1 of Drawing, epoch 0" in words(
        Drawing(8), collate_fn=lambda read: len(read) // 0)


class Killing(Drawing):
    """Kills the process that reads it at these samples, as often as there are files for it."""

    def __init__(self, samples, folder, at):
        super().__init__(samples)
        self.folder, self.at = folder, at

    def __getitem__(self, index):
        if index in self.at and get_worker_info() is not None:
            for file in sorted(self.folder.iterdir()):
                file.unlink()
                os.kill(os.getpid(), signal.SIGKILL)
        return super().__getitem__(index)


@pytest.fixture(autouse=True)
def without_processes_of_earlier_tests():
    """Those of a pass that ended with an error end with its iterator, which the error refers to."""
    if multiprocessing.active_children():
        gc.collect()


def given_in(loader, epochs=2):
    return [[batch[0].tolist(), batch[1].tolist()] for _ in range(epochs) for batch in loader]


@pytest.mark.parametrize("persistent", [False, True])
def test_a_loader_process_that_is_killed_is_replaced_and_no_batch_differs(tmp_path, persistent):
    def loader(dataset):
        return data.DataLoader(dataset, 4, shuffle=True, num_workers=2, rank=0, ranks=1,
                               collate_fn=drawing_collate, persistent_workers=persistent)

    quiet = given_in(loader(Drawing(40)))
    for number in range(2):  # two in a row
        (tmp_path / str(number)).touch()
    with pytest.warns(RuntimeWarning, match=r"DataLoader worker .* batches are read again, from "
                                            r"step \d of epoch [01] on"):
        assert given_in(loader(Killing(40, tmp_path, {3, 17, 30}))) == quiet
    assert not list(tmp_path.iterdir())
    assert persistent or multiprocessing.active_children() == []


def test_processes_that_are_killed_while_the_script_computes_are_no_error_of_it():
    quiet = given_in(loaders(1, 40, 4, shuffle=True)[0], 1)
    one, = loaders(1, 40, 4, shuffle=True, num_workers=2)
    read = []
    with pytest.warns(RuntimeWarning, match="from step 5 of epoch 0 on"):
        for batch in one:
            read.append([batch[0].tolist(), batch[1].tolist()])
            if len(read) == 5:
                for process in multiprocessing.active_children():
                    process.kill()
                    os.waitid(os.P_PID, process.pid, os.WEXITED | os.WNOWAIT)
                for _ in range(10_000):  # a handler of signals would run here
                    pass
    assert read == quiet


@pytest.mark.parametrize("persistent", [False, True])
def test_a_loss_after_another_epoch_was_set_reads_the_present_one_again(persistent):
    quiet = given_in(loaders(1, 40, 4, shuffle=True)[0], 1)
    one, = loaders(1, 40, 4, shuffle=True, num_workers=2, persistent_workers=persistent)
    read = []
    with pytest.warns(RuntimeWarning, match=r"read again, from step \d+ of epoch 0"):
        for batch in one:
            read.append([batch[0].tolist(), batch[1].tolist()])
            if len(read) == 3:
                one.set_epoch(1)  # does not change the present one
                multiprocessing.active_children()[0].kill()
    assert read == quiet


@pytest.mark.parametrize("error", [ConnectionResetError, ConnectionRefusedError, EOFError,
                                   FileNotFoundError])
def test_a_process_that_is_killed_while_it_hands_over_a_batch_is_replaced(monkeypatch, error):
    quiet = given_in(loaders(1, 40, 4, shuffle=True)[0], 1)
    left = [5, 17]  # descriptors are received before the kills
    of_python = resource_sharer.DupFd.detach

    def detach(self):
        if left:
            left[0] -= 1
            if left[0] == 0:
                left.pop(0)
                for process in multiprocessing.active_children():
                    process.kill()
                raise error  # its connections end before it does
        return of_python(self)

    monkeypatch.setattr(resource_sharer.DupFd, "detach", detach)
    with pytest.warns(RuntimeWarning, match="DataLoader worker was killed; its batches are read "
                                            "again, from step"):
        assert given_in(loaders(1, 40, 4, shuffle=True, num_workers=2)[0], 1) == quiet
    assert not left


@pytest.mark.parametrize("batches", [None, 3])
def test_a_process_that_is_killed_while_it_holds_a_lock_is_replaced(tmp_path, monkeypatch, batches):
    quiet = given_in(loaders(1, 40, 4, shuffle=True)[0], 1)
    script, to_kill = os.getpid(), tmp_path / "to kill"
    of_python = synchronize.Event.is_set

    def is_set(self):
        if os.getpid() != script and to_kill.exists():
            to_kill.unlink()
            with self._cond:
                os.kill(os.getpid(), signal.SIGKILL)
        return of_python(self)

    monkeypatch.setattr(synchronize.Event, "is_set", is_set)
    loader, = loaders(1, 40, 4, shuffle=True, num_workers=2)
    if batches is None:
        to_kill.touch()
        with pytest.warns(RuntimeWarning, match="its batches are read again"):
            assert given_in(loader, 1) == quiet
    else:  # the script ends the pass before it meets the loss
        passing = iter(loader)
        for _ in range(batches):
            next(passing)
        killed = multiprocessing.active_children()
        to_kill.touch()
        next(passing)  # so that a process gets its next batch, and dies
        connection.wait([each.sentinel for each in killed])
        del passing
        gc.collect()
    assert multiprocessing.active_children() == []


def test_a_connection_error_of_the_dataset_is_its_own():
    class Broken(Drawing):
        def __getitem__(self, index):
            raise ConnectionResetError("of the storage")

    with pytest.raises(ConnectionResetError, match="of the storage"):
        list(data.DataLoader(Broken(8), 2, num_workers=1, rank=0, ranks=1))


def test_a_sample_that_kills_each_process_ends_the_pass(tmp_path):
    for number in range(100):
        (tmp_path / str(number)).touch()
    passing = iter(data.DataLoader(Killing(40, tmp_path, {11}), 4, num_workers=2, rank=0, ranks=1,
                                   collate_fn=drawing_collate))
    with pytest.warns(RuntimeWarning), pytest.raises(RuntimeError, match="DataLoader worker"):
        list(passing)
    assert list(passing) == [] and len(list(tmp_path.iterdir())) > 90
    del passing
    assert multiprocessing.active_children() == []


def test_an_earlier_pass_does_not_move_the_position():
    one, = loaders(1, 20, 4)
    earlier = iter(one)
    next(earlier)
    later = iter(one)
    next(earlier), next(later)
    assert (one.epoch, one.state_dict()["step"]) == (1, 1)
    one.set_epoch(0)
    list(later)
    assert (one.epoch, one.state_dict()["step"]) == (0, 0)


class Stream(IterableDataset):
    def __iter__(self):
        return iter(range(9))


class Endless(Dataset):
    def __getitem__(self, index):
        return index


@pytest.mark.parametrize("changed, error", [
    ({"dataset": Stream()}, "Stream cannot be read by position.*__getitem__ and __len__"),
    ({"dataset": Endless()}, r"Endless has no length \(.*\): give it __len__"),
    ({"dataset": Drawing(0)}, "a dataset of 0 samples is too small for 2 ranks"),
    ({"dataset": Drawing(9), "drop_last": True}, "9 samples are no whole step of 10 .*batch_size"),
    ({"dataset": Drawing(11), "batch_size": 1}, "ends with a step of 1, too small for 2 ranks: use "
                                                "drop_last=True"),
    ({"batch_size": 0}, "batch_size must be a whole number from 1, not 0"),
    ({"batch_size": None}, "batch_size must be a whole number from 1, not None"),
    ({"seed": -1}, "seed must be a whole number from 0, not -1"),
    ({"rank": 2}, "rank 2 must be below ranks, 2"),
    ({"generator": torch.Generator()}, "generator is not used.*pass seed=NUMBER"),
    ({"in_order": False}, "in_order=False would make"),
    ({"batch_sampler": [[1, 2]]}, "batch_sampler cannot be dealt anew.*pass batch_size"),
    ({"sampler": [1, 2]}, "sampler cannot be dealt anew.*leave it out and pass shuffle"),
    ({"sampler": data.DistributedSampler(None), "shuffle": True}, "shuffle is the sampler's"),
])
def test_a_mistake_is_one_sentence(changed, error):
    options = {"dataset": Drawing(50), "batch_size": 5, "rank": 0, "ranks": 2, **changed}
    with pytest.raises(data.DataError, match=error) as raised:
        iter(data.DataLoader(**options))
    assert "\n" not in str(raised.value)


@pytest.mark.parametrize("samples, batch_size, ranks, options, error", [
    (51, 5, 2, {}, "the dataset had 50 samples and has 51; use the same dataset"),
    (50, 5, 2, {"seed": 3, "shuffle": True}, "seed was 0 and is 3; shuffle was False and is True"),
    (50, 5, 2, {"drop_last": True}, "drop_last was False and is True"),
    (50, 6, 2, {}, "batch_size was 5, 10 samples in a step, and is 6 on 2 ranks"),
    (50, 5, 11, {}, "a step of 10 samples is too small for 11 ranks: use at most 10"),
])
def test_a_state_of_another_training_is_refused(samples, batch_size, ranks, options, error):
    state = loaders(2, 50, 5)[0].state_dict()
    with pytest.raises(data.DataError, match=error):
        loaders(ranks, samples, batch_size, **options)[0].load_state_dict(state)


@pytest.mark.parametrize("state, error", [
    ({"format": 1, "cursor": {}}, "its format is 1, not 'dataloader 1'"),
    ([1], "its format is 'list', not"), ({"step": 26}, "it is at step 26 of 25"),
    ({"step": "1"}, "step must be a whole number from 0, not '1'"),
    ({"step_samples": 0}, "step_samples must be a whole number from 1, not 0"),
])
def test_a_damaged_state_is_refused_and_changes_nothing(state, error):
    one, = loaders(1, 50, 2)
    before = one.state_dict()
    with pytest.raises(data.DataError, match="cannot use the state: " + error):
        one.load_state_dict({**before, **state} if isinstance(state, dict) else state)
    assert one.state_dict() == before


def test_batch_size_may_be_computed_from_the_number_of_ranks():
    four = loaders(4, 64, 2, shuffle=True)
    steps = list(map(samples_of, passes(four)))
    two = loaders(2, 64, 4, shuffle=True)
    for one in two:
        one.load_state_dict({**four[0].state_dict(), "epoch": 0})
        assert one.state_dict()["step_samples"] == 8 and one.step_samples == 8
    assert list(map(samples_of, passes(two))) == steps


def test_also_where_it_is_rounded():
    four, three = loaders(4, 64, 32 // 4, shuffle=True), loaders(3, 64, 32 // 3, shuffle=True)
    steps = list(map(samples_of, passes(four)))
    for one in three:
        one.load_state_dict({**four[0].state_dict(), "epoch": 0})
    assert list(map(samples_of, passes(three))) == steps
    with pytest.raises(data.DataError, match="batch_size was 8, 32 .* and is 9 on 3 ranks"):
        loaders(3, 64, 9, shuffle=True)[0].load_state_dict(four[0].state_dict())


def test_the_example_started_again_when_it_has_ended_does_nothing(monkeypatch, tmp_path, capfd):
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    for name, value in {"RANK": 0, "WORLD_SIZE": 1, "MASTER_ADDR": "127.0.0.1",
                        "MASTER_PORT": port}.items():
        monkeypatch.setenv(name, str(value))
    script, curve = str(ROOT / "examples" / "classify.py"), tmp_path / "curve"
    # 33 steps: the checkpoint is of the last one.
    monkeypatch.setattr(sys, "argv", [
        script, "--epochs=1", "--workers=0", "--every=33", "--curve", str(curve), "--checkpoint",
        str(tmp_path / "saved.pt")])
    threads = torch.get_num_threads()
    try:
        for printed in ("epoch   1", ""):
            runpy.run_path(script, run_name="__main__")
            assert capfd.readouterr().out[:9] == printed
    finally:
        torch.set_num_threads(threads)
    assert len(curve.read_text().splitlines()) == 33
