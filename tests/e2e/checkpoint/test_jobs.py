"""robustrun.checkpoint in killed jobs: the loaded state is the saved one, bit for bit."""

import functools
import os
import pathlib
import random
import re
import signal
import tempfile

import pytest
from helpers.forked_python import forked_python
from helpers.packages import NEEDS_TORCH
from helpers.processes import HeldPort, wait_for
from helpers.runner import BUILD, FOREIGN, ROOT

pytestmark = NEEDS_TORCH
JOB = pathlib.Path(__file__).with_name("steps_job.py")
LINE = re.compile(r"(loaded|saved) (\S+) (\S+) (.*)")


@pytest.fixture
def shm():
    """A folder in memory, where syncing is cheap: killed processes lose nothing that they wrote."""
    with tempfile.TemporaryDirectory(dir="/dev/shm") as folder:
        yield pathlib.Path(folder)


def environment(folder, **more):
    return {**{name: value for name, value in os.environ.items() if not name.startswith(FOREIGN)},
            "PYTHONPATH": str(ROOT / "python"), "ROBUSTRUN_BUILD_DIR": str(BUILD.resolve()),
            "ROBUSTRUN_CHECKPOINT_DIR": f"{folder / 'a'}:{folder / 'b'}", **more}


class Job:
    """Ranks that are started together, without a launcher."""

    def __init__(self, folder, ranks, *words):
        self.port = HeldPort()
        self.folder = folder
        folder.mkdir(exist_ok=True)
        self.lines_before = [len(lines_of(folder, rank)) for rank in range(ranks)]
        self.said = tempfile.TemporaryFile()
        self.ranks = [
            forked_python().start(
                [JOB, "--log", folder, *words],
                environment(folder, RANK=str(rank), WORLD_SIZE=str(ranks),
                            MASTER_ADDR="127.0.0.1", MASTER_PORT=str(self.port.number)),
                self.said, self.said)
            for rank in range(ranks)]

    def new_lines(self, rank):
        return lines_of(self.folder, rank)[self.lines_before[rank]:]

    def wait_for_lines(self, count):
        wait_for(lambda: len(self.new_lines(0)) > count or self.ranks[0].poll() is not None, 400,
                 "some saves")

    def kill(self):
        for each in self.ranks:
            each.send_signal(signal.SIGKILL)
        return self.finish()

    def finish(self):
        """(exit codes, output of all)"""
        codes = [each.wait(500) for each in self.ranks]
        self.port.close()
        self.said.seek(0)
        return codes, self.said.read().decode()


def lines_of(folder, rank):
    """(kind, step, digest, loader) of the complete lines."""
    try:
        text = (folder / f"rank-{rank}.log").read_text()
    except FileNotFoundError:
        return []
    return [LINE.fullmatch(line).groups() for line in text[:text.rfind("\n") + 1].splitlines()]


@functools.cache
def undisturbed(ranks, steps, *words):
    """{step: digest} of each rank."""
    with tempfile.TemporaryDirectory(dir="/dev/shm") as place:
        folder = pathlib.Path(place)
        codes, said = Job(folder, ranks, "--steps", str(steps), *words).finish()
        assert codes == [0] * ranks, said
        return [{int(step): digest for kind, step, digest, _ in lines_of(folder, rank)
                 if kind == "saved"} for rank in range(ranks)]


@pytest.mark.parametrize("ranks, words, rounds, steps",
                         [(1, [], 4, 60), (2, [], 2, 30), (2, ["--own"], 1, 20)])
def test_ranks_killed_while_saving_resume_without_a_trace(shm, ranks, words, rounds,
                                                                  steps):
    seed = int(os.environ.get("ROBUSTRUN_TEST_SEED", random.randrange(2**32)))
    print("seed", seed)
    chance = random.Random(seed)
    wanted = undisturbed(ranks, steps, *words)
    folder = shm / "killed"
    told = 0  # the newest step whose save has returned on every rank
    for turn in range(rounds + 1):
        job = Job(folder, ranks, "--steps", str(steps), *words)
        if turn == rounds:
            codes, said = job.finish()
            assert codes == [0] * ranks, said
        else:
            job.wait_for_lines(chance.randrange(2, 6))
            job.kill()
        for rank in range(ranks):
            lines = job.new_lines(rank)
            assert not lines or int(lines[0][1].replace("None", "0")) >= told
            for kind, step, digest, _ in lines:
                assert step == "None" or digest == wanted[rank][int(step)], (turn, rank, kind, step)
        ends = [job.new_lines(rank)[-1:] for rank in range(ranks)]
        if all(ends):
            told = min(int(line[1].replace("None", "0")) for (line,) in ends)
    assert told == steps
    if "--own" in words:
        codes, said = Job(folder, 1, "--remap", *words).finish()
        assert codes == [1]
        assert "each of 2 ranks saved a state of its own, and there are 1 ranks now" in said


def test_another_number_of_ranks_is_refused_by_name_without_a_mapping(shm):
    folder = shm / "job"
    codes, said = Job(folder, 2, "--steps", "3").finish()
    assert codes == [0, 0], said
    codes, said = Job(folder, 1, "--steps", "3").finish()
    assert codes == [1]
    assert "WorldChanged: cannot load 'dataloader' of step-000000000003" in said
    assert "saved by 2 ranks, and there are 1 now; pass remap=" in said
    both = [lines_of(folder, rank)[-1] for rank in range(2)]
    alone = Job(folder, 1, "--steps", "4", "--remap")
    codes, said = alone.finish()
    assert codes == [0], said
    loaded = alone.new_lines(0)[0]
    assert loaded[1] == "3" and loaded[3] == "{'seen': 192, 'rank': 0}"
    assert [each[3] for each in both] == [f"{{'seen': 96, 'rank': {rank}}}" for rank in (0, 1)]
    wider = Job(folder, 2, "--steps", "5", "--remap")
    codes, said = wider.finish()
    assert codes == [0, 0], said
    assert [wider.new_lines(rank)[0][1] for rank in range(2)] == ["4", "4"]


def test_under_robustrun_a_killed_worker_loses_no_saved_step(robustrun, shm):
    wanted = undisturbed(2, 30)
    folder = shm / "job"
    folder.mkdir()
    running = robustrun.start(
        "--nproc-per-node=2", "--standby=off", str(JOB), "--steps", "30", "--log", str(folder),
        env={"ROBUSTRUN_CHECKPOINT_DIR": f"{folder / 'a'}:{folder / 'b'}"})
    wait_for(lambda: len(lines_of(folder, 1)) > 4, 400, "some saves")
    os.kill(running.workers(2)[1], signal.SIGKILL)
    finished = running.finish(500)
    assert finished.code == 0, finished.errors
    for rank in range(2):
        lines = lines_of(folder, rank)
        assert [kind for kind, *_ in lines].count("loaded") == 2
        assert all(digest == wanted[rank][int(step)] for _, step, digest, _ in lines
                   if step != "None")
        again = next(i for i, each in enumerate(lines) if i and each[0] == "loaded")
        assert int(lines[again][1]) >= int(lines[again - 1][1]) - 1
        assert lines[-1][1] == "30"
    attempts = {name.name.split("-")[0] for name in (folder / "a").glob("step-*/g*")}
    assert attempts == {"g2"}


def test_the_example_of_the_documentation_resumes_at_its_step(shm):
    text = (ROOT / "docs" / "checkpoints.md").read_text()
    script = re.search(r"```python\n(.*?)```", text, re.S).group(1)
    for last in (10, 20):
        done = forked_python().run(["-c", script + f"\nassert step == {last}, step"],
                                   environment(shm))
        assert done.returncode == 0, done.stderr
    assert sorted(each.parent.parent.name for each in (shm / "b").glob("*/*/MANIFEST")) == [
        f"step-{step:012}" for step in (10, 15, 20)]
