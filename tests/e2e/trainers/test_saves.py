"""Lightning and HF Trainer that save through robustrun's engine end as an undisturbed run does."""

import pathlib
import re

import pytest

HERE = pathlib.Path(__file__).parent
LAST_LINE = re.compile(r"resumed from (\S+), (?:epoch|step) (\d+), weights (\w+)")


def run(robustrun, name, *arguments):
    folder = robustrun.folder / name
    folder.mkdir()
    done = robustrun.run("--nproc-per-node=2", "--max-restarts=1", "--standby=off", *arguments,
                         cwd=folder, env={"OMP_NUM_THREADS": "1"}, timeout=400)
    assert done.code == 0, done.errors
    (last,) = LAST_LINE.findall(done.text)
    return last


@pytest.mark.parametrize("job, resumed, end", [
    ("lightning_saves_job.py", "out/last.ckpt", "5"),
    ("hf_saves_job.py", "out/.robustrun-resume/checkpoint-6", "10")])
def test_a_killed_run_ends_with_the_weights_of_a_calm_one(robustrun, job, resumed, end):
    calm = run(robustrun, "calm", str(HERE / job), "calm")
    killed = run(robustrun, "killed", str(HERE / job))
    assert calm[0] == "None"
    assert killed == (resumed, end, calm[2])
