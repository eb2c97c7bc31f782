"""Steps of a small GPT on two ranks: processor time of the slower rank, with and without balance.

Two layers of width 256, documents packed next-fit into sequences of 4,096, 4 micro-batches and one
gradient exchange per step, gloo, one thread per rank. Each step is done twice, with the same bins:
dealt by their cost (robustrun.data.loader), and in the order of arrival, by torch's DataLoader.
Lengths are drawn as in figures/data.py.
"""

import itertools
import json

import numpy
from harness import PYTHON, ROOT, Figure, Quick, Scratch, start
from sshd import free_port

from figures.data import SEEDS, lengths, write_index

RANKS, MICRO, CONTEXT, WIDTH = 2, 4, 4096, 256
VOCABULARY = 512
SAMPLES = 3000
STEPS, QUICK_STEPS = 20, 1
QUICK = Quick(25, "1 step of the mix, whose imbalance is chance, instead of 20 of the mix and of "
              "web")
# Processor time in the order of arrival over ours: at least.
TARGETS = {"mix": 1.15, "web": 1.09}
LOSS_MAX = 1e-6  # relative difference of the losses of both in a step


def make_data(folder, workload):
    drawn = list(itertools.islice(lengths(workload, CONTEXT, SEEDS[0]), SAMPLES))
    write_index(folder / "all", drawn)
    (folder / "lengths.json").write_text(json.dumps(drawn))
    values = numpy.random.default_rng(1).integers(1, VOCABULARY, sum(drawn), numpy.uint16)
    (folder / "all.bin").write_bytes(values.tobytes())
    (folder / "data.toml").write_text(f"""
        source = [{{name = "all", paths = "all.idx"}}]
        [batch]
        tokens = {RANKS * MICRO * CONTEXT}
        context = {CONTEXT}
        micro = {MICRO}
        pack = "next-fit"
        [balance]
        cost = {{a = 1.0, b = {1 / (12 * WIDTH):.9f}}}
        """)


def run(folder, workload, steps):
    """(processor seconds, loss) of each step but the first, ours and the peer's."""
    make_data(folder, workload)
    result, port = folder / "result.json", free_port()
    running = [start([PYTHON, ROOT / "bench" / "balance_job.py", folder, steps + 1, result], folder,
                     output=f"output.{rank}", PYTHONPATH=ROOT / "build" / "share" / "robustrun"
                     / "python", RANK=rank, WORLD_SIZE=RANKS, MASTER_ADDR="127.0.0.1",
                     MASTER_PORT=port, OMP_NUM_THREADS=1) for rank in range(RANKS)]
    for process in running:
        if process.wait() != 0:
            raise SystemExit("a rank failed\n" + (folder / "output.0").read_text())
    return [of_kind[1:] for of_kind in json.loads(result.read_text())]


def measure(quick):
    figures = []
    for workload, least in itertools.islice(TARGETS.items(), 1 if quick else None):
        with Scratch() as folder:
            steps = QUICK_STEPS if quick else STEPS
            ours, peer = run(folder, workload, steps)
        # A step's imbalance is chance: the sum over steps counts.
        times = [[sum(seconds for seconds, _ in one) / steps] for one in (ours, peer)]
        apart = max(abs(a - b) / b for (_, a), (_, b) in zip(ours, peer, strict=True))
        figures += [
            Figure(f"a step of {workload}, processor time of the slower rank", "s", *times,
                   f"torch at least {least} times", times[1][0] >= least * times[0][0],
                   f"torch {times[1][0] / times[0][0]:.3f} times"),
            Figure(f"{workload}: losses of both apart, at most", "", [apart], [],
                   f"at most {LOSS_MAX:.0e}", apart <= LOSS_MAX)]
    return figures
