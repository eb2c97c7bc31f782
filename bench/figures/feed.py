"""What it costs to feed two ranks from 50 sources: memory, processor time, and waits for a batch;
the memory that feeding eight ranks takes; and text that is tokenized while two ranks read it, the
peer by two workers of each rank.

Sequences of 4,096 tokens from files in Megatron-LM's format, 16 to a batch and rank; the ranks
pause for 20 ms between two batches. The peer is torch's DataLoader with 4 workers per rank, and
with none, over a dataset that maps the same files with numpy, as Megatron-LM does, and cuts
documents at the context. robustrun's loader has no processes of its own; it packs whole documents.
Memory is the proportional share (PSS) of all processes beyond that of a rank that has only imported
torch.
"""

import json
import random
import shutil

import numpy
from harness import (
    PYTHON,
    ROOT,
    Figure,
    Quick,
    Scratch,
    in_turns,
    median_ratio,
    processes_shown,
    start,
)

from figures.data import write_index

SOURCES, DOCUMENTS = 50, 2000
RANKS, MANY_RANKS, WORKERS = 2, 8, 4
CONTEXT, SEQUENCES = 4096, 16
STEPS, QUICK_STEPS, MANY_STEPS, TEXT_STEPS = 300, 100, 30, 80
TEXTS, TEXT_WORDS, VOCABULARY = 90_000, 100, 5000
TEXT_WORKERS = 2
ROUNDS, TEXT_ROUNDS = 5, 3
QUICK = Quick(45, "1 round of 100 batches instead of 5 of 300; neither eight ranks nor text")
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


def make_text(folder):
    """Lines of JSON with words of a made-up language, and a byte-pair tokenizer that knows it."""
    from tokenizers import Tokenizer, models, pre_tokenizers, trainers

    drawn = random.Random(5)
    words = ["".join(drawn.choice("aeioukstrnlmpdg") for _ in range(drawn.randint(2, 11)))
             for _ in range(VOCABULARY)]
    weights = [1 / (1 + number) for number in range(VOCABULARY)]
    texts = [" ".join(drawn.choices(words, weights, k=max(2, round(
        drawn.lognormvariate(0, 1) * TEXT_WORDS)))) for _ in range(TEXTS)]
    with open(folder / "text.jsonl", "w") as file:
        for text in texts:
            file.write(json.dumps({"text": text}) + "\n")
    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel()
    tokenizer.train_from_iterator(texts[:2000], trainers.BpeTrainer(
        vocab_size=4000, show_progress=False,
        initial_alphabet=pre_tokenizers.ByteLevel.alphabet()))
    tokenizer.save(str(folder / "tokenizer.json"))
    (folder / "text.toml").write_text(f"""
        prepare = "training"
        [[source]]
        name = "text"
        format = "jsonl"
        paths = "text.jsonl"
        column = "text"
        tokenizer = "tokenizer.json"
        [batch]
        tokens = {RANKS * SEQUENCES * CONTEXT}
        context = {CONTEXT}
        micro = 1
        [shuffle]
        block = 1024
        window = 1
        """)


def text_rate(rounds):
    """Text that is tokenized while the ranks read."""
    with Scratch() as folder:
        make_text(folder)

        def ours():
            shutil.rmtree(folder / "tokens", ignore_errors=True)
            return run("ours-text", folder, TEXT_STEPS)

        read = in_turns(rounds, ours,
                        lambda: run("torch-text", folder, TEXT_STEPS, workers=TEXT_WORKERS))
    rate = [[one["rate"] for one in readings] for readings in read]
    return Figure("text, tokens per processor second", "million", *rate, "at least once",
                  median_ratio(*rate) >= 1)


def run(kind, folder, steps, workers=WORKERS, ranks=RANKS):
    """The sums over all ranks, and the longest wait."""
    results = [folder / f"{kind}.{rank}.json" for rank in range(ranks)]
    for old in folder.glob(f"{kind}.*"):
        old.unlink()
    running = [start([PYTHON, JOB, kind, folder, steps, workers, path], folder,
                     output=f"output.{rank}", PYTHONPATH=ROOT / "build" / "share" / "robustrun"
                     / "python", RANK=rank, WORLD_SIZE=ranks, LOCAL_WORLD_SIZE=ranks, GROUP_RANK=0,
                     TORCHELASTIC_RUN_ID="bench")
               for rank, path in enumerate(results)]
    for process in running:
        if process.wait() != 0:
            raise SystemExit(f"a rank failed\n{processes_shown()}")
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
    more = [] if quick else [memory_of_many(), text_rate(TEXT_ROUNDS)]
    return [Figure("memory beyond two ranks with torch", "MiB", *memory, "at most 1/4",
                   median_ratio(*memory) <= 1 / 4, counts),
            Figure("tokens per processor second", "million", *rate, "at least 5 times",
                   median_ratio(*rate) >= 5),
            Figure("the same, torch without workers", "million", rate[0],
                   [one["rate"] for one in alone], "-", True),
            Figure("the longest wait for a batch but for 1 %", "ms", *wait, "ours at most 1 ms",
                   max(wait[0]) <= 1),
            Figure("the same, torch without workers", "ms", wait[0],
                   [one["wait_ms"] for one in alone], "-", True), *more]
