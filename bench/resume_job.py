"""Trainings that go on with another number of ranks: for figures/data_resume.py.

    resume_job.py FOLDER SEED...

Ranks are objects in this process. Prints a JSON line for each of "DataLoader", "loader" and, where
torchdata is installed, "torchdata": [lost, repeated, steps with another set, samples, steps] summed
over all restarts. The peer is torchdata's StatefulDataLoader with its StatefulDistributedSampler;
a rank loads the state of the rank with its number, or of that number modulo the former ranks.
"""

import collections
import itertools
import json
import pathlib
import random
import struct
import sys

import torch
from figures.data import write_index
from robustrun import data
from torch.utils.data import Dataset

CASES = ((4, 2), (4, 3), (2, 3), (8, 6), (6, 12))  # ranks before and after the restart
FILES, IN_FILE = 24, 40
OF_STEP = 48
STEPS = FILES * IN_FILE // OF_STEP
SPEC = """
seed = {seed}
[[source]]
name = "web"
paths = "web*.idx"
[[source]]
name = "code"
paths = "code*.idx"
[mixture]
web = [[0, 0.9], [12, 0.4]]
code = 0.3
[batch]
tokens = 3072
context = 64
micro = 2
[shuffle]
block = 16
window = 4
[balance]
cost = {{ a = 1.0, b = 0.01 }}
"""


class Samples(Dataset):
    def __len__(self):
        return FILES * IN_FILE

    def __getitem__(self, index):
        return index


def write_set(prefix, first, lengths):
    """A data set of Megatron-LM; the tokens of a document are its number."""
    write_index(prefix, lengths)
    prefix.with_suffix(".bin").write_bytes(b"".join(
        struct.pack("<H", first + i) * length for i, length in enumerate(lengths)))


def make_sets(folder, seed):
    drawn = random.Random(seed)
    for number in range(FILES):
        name = "web" if number < FILES // 2 else "code"
        write_set(folder / f"{name}{number:02}", 1 + number * IN_FILE,
                  [drawn.randint(2, 90) for _ in range(IN_FILE)])
    (folder / "data.toml").write_text(SPEC.format(seed=seed))


def steps_of(ranks):
    """Merges batches of all ranks: an iterator over multisets of samples, one for each step."""
    for step in zip(*ranks, strict=True):
        yield sum((collections.Counter(batch) for batch in step), collections.Counter())


class OfDataLoader:
    """robustrun.data.DataLoader."""

    def __init__(self, folder, seed, ranks, states=None):
        # The size of a step over all ranks is the same before and after.
        self.loaders = [data.DataLoader(Samples(), OF_STEP // ranks, shuffle=True, seed=seed,
                                        rank=rank, ranks=ranks) for rank in range(ranks)]
        for loader in self.loaders if states else ():
            loader.load_state_dict(states[0])
        self.steps = steps_of([(batch.tolist() for batch in loader) for loader in self.loaders])

    def states(self):
        return [loader.state_dict() for loader in self.loaders]


class OfLoader(OfDataLoader):
    """robustrun.data.loader, with packing, carry and a schedule of weights."""

    def __init__(self, folder, seed, ranks, states=None):
        self.loaders = [data.loader(folder / "data.toml", rank, ranks) for rank in range(ranks)]
        for loader in self.loaders if states else ():
            loader.load_state_dict(states[0])
        self.steps = steps_of([map(self.step, itertools.repeat(loader, STEPS))
                               for loader in self.loaders])

    @staticmethod
    def step(loader):
        """Each document's tokens in a step of one rank."""
        found = []
        for batch in loader:
            found += batch["tokens"][batch["tokens"] > 0].tolist()
            if batch["last"]:
                return found


class OfTorchdata(OfDataLoader):
    def __init__(self, folder, seed, ranks, states=None):
        from torchdata.stateful_dataloader import StatefulDataLoader
        from torchdata.stateful_dataloader.sampler import StatefulDistributedSampler

        self.loaders = [StatefulDataLoader(Samples(), OF_STEP // ranks,
                                           sampler=StatefulDistributedSampler(
                                               Samples(), ranks, rank, shuffle=True, seed=seed))
                        for rank in range(ranks)]
        for rank, loader in enumerate(self.loaders) if states else ():
            loader.load_state_dict(states[rank % len(states)])
        self.steps = steps_of([(batch.tolist() for batch in loader) for loader in self.loaders])


def restart(kind, folder, seed, before, after):
    whole = list(itertools.islice(kind(folder, seed, before).steps, STEPS))
    saved_at = random.Random(f"{seed} {before} {after}").randrange(3, STEPS - 3)
    first = kind(folder, seed, before)
    resumed = list(itertools.islice(first.steps, saved_at))
    resumed += itertools.islice(kind(folder, seed, after, first.states()).steps, STEPS - saved_at)
    asked, given = sum(whole, collections.Counter()), sum(resumed, collections.Counter())
    other = sum(one != two for one, two in itertools.zip_longest(whole, resumed))
    return [(asked - given).total(), (given - asked).total(), other, asked.total(), STEPS]


def main(folder, *seeds):
    torch.set_num_threads(1)
    folder = pathlib.Path(folder)
    kinds = {"DataLoader": OfDataLoader, "loader": OfLoader}
    try:
        import torchdata.stateful_dataloader  # noqa: F401

        kinds["torchdata"] = OfTorchdata
    except ImportError as why:
        print(f"no torchdata: {why}", file=sys.stderr)
    sums = {name: [0] * 5 for name in kinds}
    for seed in map(int, seeds):
        make_sets(folder, seed)
        for (name, kind), case in itertools.product(kinds.items(), CASES):
            found = restart(kind, folder, seed, *case)
            sums[name] = [a + b for a, b in zip(sums[name], found, strict=True)]
    print(json.dumps(sums))


if __name__ == "__main__":
    main(*sys.argv[1:])
