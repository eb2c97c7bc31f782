"""Rank processes of a training are killed at random moments, with 4, then 2, then 3 ranks. Each
batch has the bytes that it has in a quiet run, and the model was given each sample once."""

import contextlib
import json
import os
import pathlib
import random
import signal
import subprocess
import sys

import torch
from data.token_sets import SPEC, write
from helpers.processes import wait_for
from helpers.runner import BUILD, ROOT

sys.path.insert(0, str(ROOT / "python"))
os.environ["ROBUSTRUN_BUILD_DIR"] = str(BUILD.resolve())
from data.killed_job import digests_of  # noqa: E402
from robustrun import checkpoint, data  # noqa: E402

SCRIPT = pathlib.Path(__file__).parent / "killed_job.py"
RUNS = ((4, 40), (2, 80), (3, 120))  # ranks, and the step until which they train
STEPS = RUNS[-1][1]
WITHIN_S = 150


def make_data(folder):
    (folder / "data.toml").write_text(SPEC)
    drawn = random.Random(4)
    for name, first, count in (("web-0", 0, 400), ("web-1", 400, 300), ("code", 10_000, 250)):
        write(folder / name, [[first + i] * drawn.randint(2, 90) for i in range(count)])


def quiet_run(folder, ranks):
    """(hash of each batch, what the model is given in each step), without processes."""
    batches, given = {}, [0] * STEPS
    for rank in range(ranks):
        step = 0
        for batch in data.loader(folder / "data.toml", rank, ranks):
            whole, documents = digests_of(batch)
            batches[ranks, rank, batch["step"], batch["micro"]] = whole
            given[step] += documents
            step += batch["last"]
            if step == STEPS:
                break
    return batches, given


class Training:
    """One run of the job, whose ranks are killed."""

    def __init__(self, robustrun, ranks, until):
        self.folder, self.ranks = robustrun.folder, ranks
        self.binary = robustrun.binary
        before = set(self.folder.glob("robustrun-runs/*"))
        self.running = robustrun.start(
            f"--nproc-per-node={ranks}", "--max-restarts=100", SCRIPT, str(self.folder),
            str(self.folder / "saves"), str(self.folder / "log"), str(until), str(STEPS))
        self.run, = wait_for(lambda: set(self.folder.glob("robustrun-runs/*")) - before,
                             what="the run's folder")

    def has_ended(self):
        return self.running.process.poll() is not None

    def status(self):
        done = subprocess.run([self.binary, "status", "--json", self.run], capture_output=True,
                              text=True, timeout=60)
        return json.loads(done.stdout) if done.returncode == 0 else None

    def pids(self):
        """Of all ranks, if all run."""
        status = self.status()
        ranks = [rank for node in status["nodes"] for rank in node["ranks"]] if status else []
        pids = [rank["pid"] for rank in ranks if rank["state"] == "running" and rank["pid"]]
        return pids if len(pids) == self.ranks else None

    def batches(self):
        """Read so far, those of lost work included."""
        return sum(path.read_text().count("\n") for path in self.folder.glob("log.*"))

    def kill_one(self, drawn, batches):
        """Kills a rank once so many more batches were read. Whether there still was one."""
        end = self.batches() + batches
        pids = wait_for(lambda: self.has_ended() or self.batches() >= end and self.pids(),
                        WITHIN_S, "batches")
        if self.has_ended():
            return False
        victim = drawn.choice(pids)
        with contextlib.suppress(ProcessLookupError):
            os.kill(victim, signal.SIGKILL)
        wait_for(lambda: self.has_ended() or victim not in (self.pids() or [victim]), WITHIN_S,
                 "the next attempt")
        return True


def test_kills_and_other_numbers_of_ranks_change_no_batch_and_lose_none(robustrun):
    seed = int(os.environ.get("RR_KILLS_SEED") or random.randrange(2 ** 32))
    print(f"RR_KILLS_SEED={seed}")
    drawn = random.Random(seed)
    folder = robustrun.folder
    (folder / "saves").mkdir()
    make_data(folder)
    kills = 0
    for ranks, until in RUNS:
        training = Training(robustrun, ranks, until)
        # The first one also before a step; two kills without one in between end the run.
        for least in (0, 4 * ranks):
            more = drawn.randint(least, 30 * ranks)
            kills += training.kill_one(drawn, drawn.choice((least, more)))
        done = training.running.finish()
        assert done.code == 0, done.errors
    assert kills > 0

    quiet = {}
    for ranks, _ in RUNS:
        batches, given = quiet_run(folder, ranks)
        quiet.update(batches)
    read = set()
    for path in folder.glob("log.*"):
        for line in path.read_text().splitlines():
            *place, whole = line.split()
            place = tuple(map(int, place))
            assert quiet[place] == whole, place
            read.add(place)
    for ranks, rank, step, micro in quiet:
        begun, ended = {4: (0, 40), 2: (40, 80), 3: (80, 120)}[ranks]
        assert not begun <= step < ended or (ranks, rank, step, micro) in read

    state = {"data": data.loader(folder / "data.toml", 0, 1),
             "given": torch.zeros(STEPS, dtype=torch.int64)}
    assert checkpoint.load_latest(state, directories=folder / "saves", random=False,
                                  read_only=True) == STEPS
    assert state["given"].tolist() == given
    audit = subprocess.run([BUILD / "bin" / "robustrun", "data", "audit", "data.toml", "saves"],
                           cwd=folder, capture_output=True, text=True,
                           env=dict(os.environ, PYTHON_EXEC=sys.executable))
    assert audit.returncode == 0, audit.stdout + audit.stderr
    assert "Each step of the data was given once, up to the newest checkpoint." in audit.stdout
