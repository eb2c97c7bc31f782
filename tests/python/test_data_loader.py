"""robustrun.data.DataLoader: each sample once per epoch, the same samples in a step for any number
of ranks, and after a kill the same batches to the last bit."""

import itertools
import json
import multiprocessing
import pickle
import random
import sys

import pytest
from conftest import PACKAGE

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


def test_a_state_of_an_epochs_last_batch_ends_that_epoch_first():
    one, other = (loaders(1, 20, 4, shuffle=True)[0] for _ in range(2))
    for _ in one:
        saved = one.state_dict()
    assert (saved["epoch"], saved["step"], one.state_dict()["epoch"]) == (0, 5, 1)
    other.load_state_dict(saved)
    assert other.epoch == 0
    other.set_epoch(0)
    assert epochs_of(other, 2) == [[], *epochs_of(one)]


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
        one = data.DataLoader(Drawing(24), 4, sampler=sampler, collate_fn=drawing_collate)
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
    ({"dataset": Endless()}, "Endless has no length: give it __len__"),
    ({"dataset": Drawing(0)}, "a dataset of 0 samples is too small for 2 ranks"),
    ({"dataset": Drawing(9), "drop_last": True}, "9 samples are no whole step of 10 .*batch_size"),
    ({"dataset": Drawing(11), "batch_size": 1}, "ends with a step of 1, too small for 2 ranks: use "
                                                "drop_last=True"),
    ({"batch_size": 0}, "batch_size must be a whole number from 1, not 0"),
    ({"batch_size": None}, "batch_size must be a whole number from 1, not None"),
    ({"seed": -1}, "seed must be a whole number from 0, not -1"),
    ({"rank": 2}, "rank 2 must be below ranks, 2"),
    ({"generator": torch.Generator()}, "generator is not used.*pass seed=NUMBER"),
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
