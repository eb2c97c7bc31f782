"""Trainings that go on with another number of ranks: samples that are lost or repeated.

960 samples in 24 files, a restart at a random step from 4 to 2, 4 to 3, 2 to 3, 8 to 6 and 6 to 12
ranks. Counted beside a run without a restart. data.loader packs documents, carries pieces to the
next step and follows a schedule of weights; its numbers are tokens. The peer is torchdata's
StatefulDataLoader with its distributed sampler, of PyPI, beside the torch that is installed.
"""

import json
import subprocess
import sys

from harness import PYTHON, ROOT, Figure, Quick, Scratch, start

SEEDS = (1, 2, 3)
QUICK = Quick(10, "1 seed instead of 3")
JOB = ROOT / "bench" / "resume_job.py"
PACKAGES = ("torchdata==0.11.0",)  # without what it depends on: torch stays as it is


def install(folder):
    try:
        subprocess.run([PYTHON, "-m", "pip", "install", "--quiet", "--no-deps", "--target",
                        folder, *PACKAGES], check=True, timeout=180, capture_output=True)
    except (OSError, subprocess.SubprocessError) as why:
        print(f"torchdata cannot be installed here: {why}", file=sys.stderr)


def measure(quick):
    seeds = SEEDS[:QUICK.rounds] if quick else SEEDS
    with Scratch() as folder:
        install(folder / "packages")
        path = f"{ROOT / 'build' / 'share' / 'robustrun' / 'python'}:{folder / 'packages'}"
        running = start([PYTHON, JOB, folder, *seeds], folder, stdout=subprocess.PIPE,
                        PYTHONPATH=path)
        shown, _ = running.communicate()
        if running.returncode != 0:
            raise SystemExit("the job failed\n" + (folder / "output").read_text())
    sums = json.loads(shown)
    restarts = 5 * len(seeds)
    lost, repeated, other, samples, steps = sums["DataLoader"]
    peer = sums.get("torchdata")
    note = f"torchdata: {peer[0]} lost, {peer[1]} repeated" if peer else "no torchdata"
    figures = [
        Figure(f"DataLoader: samples lost or repeated, {samples:,} in {restarts} restarts", "",
               [lost + repeated], [peer[0] + peer[1]] if peer and peer[0] + peer[1] else [], "0",
               lost + repeated == 0, note),
        Figure(f"DataLoader: steps with other samples, of {steps}", "", [other],
               [peer[2]] if peer and peer[2] else [], "0", other == 0)]
    lost, repeated, other, tokens, steps = sums["loader"]
    return [*figures,
            Figure(f"data.loader: tokens lost or repeated, {tokens:,} in {restarts} restarts", "",
                   [lost + repeated], [], "0", lost + repeated == 0),
            Figure(f"data.loader: steps with other documents, of {steps}", "", [other], [], "0",
                   other == 0)]
