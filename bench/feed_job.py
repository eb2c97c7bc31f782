"""One rank that reads training data and does nothing with it: for figures/feed.py.

    feed_job.py ours|torch|ours-text|torch-text FOLDER STEPS WORKERS RESULT

Writes a JSON file: memory and processor time of this process and its loader workers, and how long
each batch was waited for.
"""

import contextlib
import json
import os
import pathlib
import sys
import time

import numpy
import torch
from torch.utils.data import DataLoader, IterableDataset, get_worker_info

CONTEXT, SEQUENCES = 4096, 16
PAUSE_S = 0.02  # between two batches, in which a training computes
MEET_S = 300


class Packed(IterableDataset):
    """What a script has that reads Megatron-LM's files with numpy: documents of sources chosen at
    random, one after the other, cut at the context."""

    def __init__(self, folder):
        self.folder = folder

    def __iter__(self):
        worker = get_worker_info()
        number = worker.id if worker else 0
        drawn = numpy.random.default_rng([int(os.environ["RANK"]), number])
        sources = [_open(path) for path in sorted(self.folder.glob("*.idx"))]
        buffer, positions = [], []
        filled = 0
        while True:
            tokens, offsets, lengths = sources[drawn.integers(len(sources))]
            one = drawn.integers(len(lengths))
            document = tokens[offsets[one] // 2:offsets[one] // 2 + lengths[one]]
            buffer.append(document.astype(numpy.int64))
            positions.append(numpy.arange(len(document)))
            filled += len(document)
            if filled <= CONTEXT:
                continue
            joined, places = numpy.concatenate(buffer), numpy.concatenate(positions)
            yield {"tokens": joined[:CONTEXT], "labels": joined[1:CONTEXT + 1],
                   "positions": places[:CONTEXT]}
            buffer, positions = [joined[CONTEXT:]], [places[CONTEXT:]]
            filled -= CONTEXT


class Texts(IterableDataset):
    """The same from lines of JSON, which each worker tokenizes: its share of them."""

    def __init__(self, folder):
        self.folder = folder

    def __iter__(self):
        from tokenizers import Tokenizer

        worker = get_worker_info()
        ranks, workers = int(os.environ["WORLD_SIZE"]), worker.num_workers
        own = int(os.environ["RANK"]) * workers + worker.id
        encode = Tokenizer.from_file(str(self.folder / "tokenizer.json")).encode
        buffer = []
        with open(self.folder / "text.jsonl") as lines:
            for number, line in enumerate(lines):
                if number % (ranks * workers) != own:
                    continue
                buffer += encode(json.loads(line)["text"]).ids
                while len(buffer) > CONTEXT:
                    tokens = numpy.array(buffer[:CONTEXT + 1])
                    yield {"tokens": tokens[:-1], "labels": tokens[1:]}
                    buffer = buffer[CONTEXT:]


def _open(index):
    """As megatron.core.datasets.indexed_dataset does: both files mapped."""
    mapped = numpy.memmap(index, mode="r")
    count = int(numpy.frombuffer(mapped, "<u8", 1, 18)[0])
    lengths = numpy.frombuffer(mapped, "<i4", count, 34)
    offsets = numpy.frombuffer(mapped, "<i8", count, 34 + 4 * count)
    return numpy.memmap(index.with_suffix(".bin"), "<u2", "r"), offsets, lengths


def batches(kind, folder, workers):
    if kind.startswith("ours"):
        from robustrun import data

        return iter(data.loader(str(folder / ("text.toml" if "text" in kind else "data.toml"))))
    dataset = Texts(folder) if "text" in kind else Packed(folder)
    return iter(DataLoader(dataset, batch_size=SEQUENCES, num_workers=workers))


def processes():
    """This one and all below it."""
    children = {}
    for entry in pathlib.Path("/proc").iterdir():
        if entry.name.isdigit():
            with contextlib.suppress(OSError):
                parent = int((entry / "stat").read_text().rpartition(") ")[2].split()[1])
                children.setdefault(parent, []).append(int(entry.name))
    found = [os.getpid()]
    for pid in found:
        found += children.get(pid, [])
    return found


def memory_kb(pid):
    lines = pathlib.Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines()
    return sum(int(line.split()[1]) for line in lines if line.startswith("Pss:"))


def processor_s(pid):
    fields = pathlib.Path(f"/proc/{pid}/stat").read_text().rpartition(") ")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def meet(result, place):
    """Returns when all ranks are at this place: memory that they share is divided among them."""
    stem, rank = result.with_suffix("").stem, os.environ["RANK"]
    (result.parent / f"{stem}.{place}.{rank}").touch()
    until = time.monotonic() + MEET_S
    while len(list(result.parent.glob(f"{stem}.{place}.*"))) < int(os.environ["WORLD_SIZE"]):
        if time.monotonic() > until:
            raise SystemExit(f"the other ranks did not come to '{place}' within {MEET_S} s")
        time.sleep(0.01)


def main(kind, folder, steps, workers, result):
    torch.set_num_threads(1)
    folder, result = pathlib.Path(folder), pathlib.Path(result)
    meet(result, "begin")
    before = memory_kb(os.getpid())
    meet(result, "measured")
    spent = processor_s(os.getpid())
    source = batches(kind, folder, int(workers))
    if "text" not in kind:  # text is tokenized ahead from the beginning
        next(source)
        spent = sum(map(processor_s, processes()))
    tokens, waits = 0, []
    for _ in range(int(steps)):
        time.sleep(PAUSE_S)
        began = time.perf_counter()
        batch = next(source)
        waits.append(1e3 * (time.perf_counter() - began))
        tokens += batch["tokens"].numel()
    found = processes()
    used = sum(map(processor_s, found)) - spent
    waits.sort()
    meet(result, "end")
    result.write_text(json.dumps({
        "memory_kb": sum(map(memory_kb, found)) - before, "processes": len(found),
        "tokens": tokens, "processor_s": used,
        "wait_ms": waits[int(0.99 * (len(waits) - 1))]}))
    meet(result, "written")
    os._exit(0)  # the workers end with it


if __name__ == "__main__":
    main(*sys.argv[1:])
