"""What it costs to feed two ranks from 50 sources: memory, processor time, and waits for a batch;
and the memory that feeding eight ranks takes.

Sequences of 4,096 tokens from files in Megatron-LM's format, 16 to a batch and rank; the ranks
pause for 20 ms between two batches. The peer is torch's DataLoader with 4 workers per rank, and
with none, over a dataset that maps the same files with numpy, as Megatron-LM does, and cuts
documents at the context. robustrun's loader has no processes of its own; it packs whole documents.
Memory is the proportional share (PSS) of all processes beyond that of a rank that has only imported
torch.
"""

import json
import random

import numpy
from harness import PYTHON, ROOT, Figure, Quick, Scratch, in_turns, median_ratio, start

from figures.data import write_index

SOURCES, DOCUMENTS = 50, 2000
RANKS, MANY_RANKS, WORKERS = 2, 8, 4
CONTEXT, SEQUENCES = 4096, 16
STEPS, QUICK_STEPS, MANY_STEPS = 300, 100, 30
ROUNDS = 5
QUICK = Quick(45, "1 round of 100 batches instead of 5 of 300; not eight ranks")
JOB = ROOT / "bench" / "feed_job.py"


def make_sources(folder, ranks):
    drawn = random.Random(3)
    for number in range(SOURCES):
        prefix = folder / f"source{number:02}"
        lengths = [max(2, min(CONTEXT, round(drawn.lognormvariate(6.3, 1.1))))
                   for _ in range(DOCUMENTS)]
        write_index(prefix, lengths)
        values = numpy.random.default_rng(number).integers(0, 50_000, sum(lengths), numpy.uint16)
        prefix.with_suffix(".bin").write_bytes(values.tobytes())
    listed = ", ".join(f'{{name = "s{n}", paths = "source{n:02}.idx"}}' for n in range(SOURCES))
    (folder / "data.toml").write_text(f"""
        source = [{listed}]
        [batch]
        tokens = {ranks * SEQUENCES * CONTEXT}
        context = {CONTEXT}
        micro = 1
        """)


def run(kind, folder, steps, workers=WORKERS, ranks=RANKS):
    """The sums over all ranks, and the longest wait."""
    results = [folder / f"{kind}.{rank}.json" for rank in range(ranks)]
    for old in folder.glob(f"{kind}.*"):
        old.unlink()
    running = [start([PYTHON, JOB, kind, folder, steps, workers, path], folder,
                     output=f"output.{rank}", PYTHONPATH=ROOT / "build" / "share" / "robustrun"
                     / "python", RANK=rank, WORLD_SIZE=ranks)
               for rank, path in enumerate(results)]
    for process in running:
        if process.wait() != 0:
            raise SystemExit("a rank failed")
    read = [json.loads(path.read_text()) for path in results]
    tokens = sum(rank["tokens"] for rank in read)
    return {"MiB": sum(rank["memory_kb"] for rank in read) / 1024,
            "processes": sum(rank["processes"] for rank in read),
            "rate": tokens / 1e6 / sum(rank["processor_s"] for rank in read),
            "wait_ms": max(rank["wait_ms"] for rank in read)}


def memory_of_many():
    """Of eight ranks, once each."""
    with Scratch() as folder:
        make_sources(folder, MANY_RANKS)
        ours, peer = (run(kind, folder, MANY_STEPS, ranks=MANY_RANKS) for kind in ("ours", "torch"))
    memory = [ours["MiB"]], [peer["MiB"]]
    return Figure(f"memory beyond {MANY_RANKS} ranks with torch", "MiB", *memory, "at most 1/13",
                  median_ratio(*memory) <= 1 / 13,
                  f"{ours['processes']} and {peer['processes']} processes")


def measure(quick):
    rounds, steps = (QUICK.rounds, QUICK_STEPS) if quick else (ROUNDS, STEPS)
    with Scratch() as folder:
        make_sources(folder, RANKS)
        ours, peer, alone = in_turns(rounds, lambda: run("ours", folder, steps),
                                     lambda: run("torch", folder, steps),
                                     lambda: run("torch", folder, steps, workers=0))
    memory, rate, wait = ([[one[key] for one in readings] for readings in (ours, peer)]
                          for key in ("MiB", "rate", "wait_ms"))
    counts = f"{ours[0]['processes']} and {peer[0]['processes']} processes"
    many = [] if quick else [memory_of_many()]
    return [Figure("memory beyond two ranks with torch", "MiB", *memory, "at most 1/4",
                   median_ratio(*memory) <= 1 / 4, counts),
            Figure("tokens per processor second", "million", *rate, "at least 5 times",
                   median_ratio(*rate) >= 5),
            Figure("the same, torch without workers", "million", rate[0],
                   [one["rate"] for one in alone], "-", True),
            Figure("the longest wait for a batch but for 1 %", "ms", *wait, "ours at most 1 ms",
                   max(wait[0]) <= 1),
            Figure("the same, torch without workers", "ms", wait[0],
                   [one["wait_ms"] for one in alone], "-", True), *many]
