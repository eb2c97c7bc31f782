"""One of two ranks that train a small GPT on packed documents: for figures/data_step.py.

    balance_job.py FOLDER STEPS RESULT

FOLDER has data.toml, whose bins are packed next-fit, and lengths.json. Each step is done twice, by
two models that begin alike: with the micro-batches of robustrun.data.loader, and with the same bins
in the order of arrival, dealt to ranks in turn, through torch's DataLoader. Rank 0 writes a JSON
file: processor seconds of the slower rank in each step, and losses, for both.
"""

import contextlib
import itertools
import json
import os
import pathlib
import sys
import time

import numpy
import torch
import torch.distributed as dist
from robustrun import data
from torch import nn
from torch.nn import functional
from torch.nn.parallel import DistributedDataParallel
from torch.utils.data import DataLoader, Dataset

VOCABULARY, CONTEXT, WIDTH, HEADS, LAYERS = 512, 4096, 256, 4, 2
RANKS, MICRO = 2, 4


class Block(nn.Module):
    def __init__(self):
        super().__init__()
        self.before, self.after = nn.LayerNorm(WIDTH), nn.LayerNorm(WIDTH)
        self.attention, self.out = nn.Linear(WIDTH, 3 * WIDTH), nn.Linear(WIDTH, WIDTH)
        self.mlp = nn.Sequential(nn.Linear(WIDTH, 4 * WIDTH), nn.GELU(),
                                 nn.Linear(4 * WIDTH, WIDTH))

    def forward(self, x, ends):
        parts = self.attention(self.before(x)).view(-1, 3, HEADS, WIDTH // HEADS)
        heads = parts.permute(1, 2, 0, 3)  # of 3, heads, tokens, width of a head
        mixed = torch.cat([
            functional.scaled_dot_product_attention(*heads[:, None, :, begin:end], is_causal=True)
            for begin, end in itertools.pairwise(ends)], 2)
        x = x + self.out(mixed[0].transpose(0, 1).reshape(-1, WIDTH))
        return x + self.mlp(self.after(x))


class Gpt(nn.Module):
    """Over documents one after the other; attention stays within each."""

    def __init__(self):
        super().__init__()
        self.tokens = nn.Embedding(VOCABULARY, WIDTH)
        self.places = nn.Embedding(CONTEXT, WIDTH)
        self.blocks = nn.ModuleList(Block() for _ in range(LAYERS))
        self.head = nn.Linear(WIDTH, VOCABULARY)

    def forward(self, tokens, positions, ends):
        x = self.tokens(tokens) + self.places(positions)
        for block in self.blocks:
            x = block(x, ends)
        return self.head(x)


class Bins(Dataset):
    """Bins as (tokens, labels, positions, ends), without padding. `bins`: lists of samples."""

    def __init__(self, folder, lengths, bins):
        self.tokens = numpy.memmap(folder / "all.bin", "<u2", "r")
        self.begins = [0, *itertools.accumulate(lengths)]
        self.bins = bins

    def __len__(self):
        return len(self.bins)

    def __getitem__(self, index):
        documents = [torch.from_numpy(
            self.tokens[self.begins[one]:self.begins[one + 1]].astype(numpy.int64))
            for one in self.bins[index]]
        labels = [functional.pad(one[1:], (0, 1), value=-100) for one in documents]
        return (torch.cat(documents), torch.cat(labels),
                torch.cat([torch.arange(len(one)) for one in documents]),
                [0, *itertools.accumulate(map(len, documents))])


def in_order_of_arrival(folder, lengths, steps):
    """The bins of each step: its documents as the plan has drawn them, packed next-fit."""
    plan = data.loader(folder / "data.toml", 0, 1)._feed
    found = []
    for step in range(steps):
        bins, room = [[]], CONTEXT
        for _, sample in plan.pieces(step, step + 1):
            if lengths[sample] > room:
                bins.append([])
                room = CONTEXT
            bins[-1].append(sample)
            room -= lengths[sample]
        found.append(bins)
    return found


def ours(folder):
    for batch in data.loader(folder / "data.toml"):
        ends, tokens = batch["cu_seqlens"].tolist(), batch["tokens"].flatten()
        if tokens[ends[-2]] == 0:  # padding: tokens are at least 1
            ends.pop()
        yield [batch[name].flatten()[:ends[-1]] for name in ("tokens", "labels", "positions")] + [
            ends]


class Training:
    def __init__(self, batches):
        torch.manual_seed(1)
        self.model = DistributedDataParallel(Gpt())
        self.optimizer = torch.optim.AdamW(self.model.parameters(), lr=1e-3)
        self.batches = batches

    def step(self, labels):
        """(processor seconds of the slower rank, loss of the step, its documents on this rank)"""
        began, loss, documents = time.process_time(), 0.0, []
        for micro in range(MICRO):
            tokens, targets, positions, ends = next(self.batches)
            documents += [tuple(tokens[a:b].tolist()) for a, b in itertools.pairwise(ends)]
            waits = contextlib.nullcontext() if micro == MICRO - 1 else self.model.no_sync()
            with waits:
                logits = self.model(tokens, positions, ends)
                summed = functional.cross_entropy(logits, targets, reduction="sum")
                (summed * RANKS / labels).backward()
            loss += summed.item()
        self.optimizer.step()
        self.optimizer.zero_grad()
        slower = torch.tensor(time.process_time() - began, dtype=torch.float64)
        sums = torch.tensor([loss / labels], dtype=torch.float64)
        dist.all_reduce(slower, dist.ReduceOp.MAX)
        dist.all_reduce(sums)
        return slower.item(), sums.item(), documents


def main(folder, steps, result):
    torch.set_num_threads(1)
    folder, steps = pathlib.Path(folder), int(steps)
    dist.init_process_group("gloo")
    rank = dist.get_rank()
    lengths = json.loads((folder / "lengths.json").read_text())
    arrival = in_order_of_arrival(folder, lengths, steps)
    peers = [bins[micro * RANKS + rank] for bins in arrival for micro in range(MICRO)]
    both = (Training(ours(folder)),
            Training(iter(DataLoader(Bins(folder, lengths, peers), batch_size=None))))
    seen = [[], []]
    for step, bins in enumerate(arrival):
        labels = sum(lengths[one] - 1 for each in bins for one in each)
        documents = [None, None]
        for which in (step % 2, 1 - step % 2):
            seconds, loss, documents[which] = both[which].step(labels)
            seen[which].append((seconds, loss))
        everywhere = [None] * RANKS
        dist.all_gather_object(everywhere, documents)
        sets = [sorted(sum((each[which] for each in everywhere), [])) for which in (0, 1)]
        if sets[0] != sets[1]:
            raise SystemExit(f"step {step}: the two have other documents")
    if rank == 0:
        pathlib.Path(result).write_text(json.dumps(seen))
    dist.barrier()
    os._exit(0)  # the end of the process group may deadlock in torch 2.13: bench/gpt_job.py


if __name__ == "__main__":
    main(*sys.argv[1:])
