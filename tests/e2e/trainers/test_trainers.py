"""Scripts of the trainers people use, unchanged: a rank is killed between two checkpoints, the run
goes on from the last one, and the losses are those of an undisturbed torchrun, to the last bit."""

import importlib.util
import os
import pathlib

import pytest
from helpers.forked_python import forked_python
from helpers.processes import wait_for

FOLDER = pathlib.Path(__file__).parent
STEPS = 20
TORCHRUN = ("-m", "torch.distributed.run", "--standalone")
# Two items a step and rank: in step 13, after the checkpoint of step 10.
HOLD_AT = 24
PLAIN = {"OMP_NUM_THREADS": "1", "CUDA_VISIBLE_DEVICES": "", "HF_HUB_OFFLINE": "1"}


def losses(out):
    """Step to loss as written; a step that was repeated must have the same loss again."""
    found = {}
    curve = out / "curve"
    text = curve.read_text() if curve.exists() else ""
    for line in text[: text.rfind("\n") + 1].splitlines():
        step, loss = line.split()
        assert found.setdefault(int(step), loss) == loss, f"step {step} had two losses"
    return found


class Contest:
    """The same script under torchrun, and under robustrun with a kill."""

    def __init__(self, robustrun, script, argument="{}", hold_at=HOLD_AT, timeout=300):
        self.robustrun, self.folder = robustrun, robustrun.folder
        self.script, self.argument = str(FOLDER / script), argument
        self.hold_at, self.timeout = hold_at, timeout

    def words(self, out):
        return ["--nproc-per-node=2", self.script, self.argument.format(out)]

    def torchruns_losses(self, env=None):
        """torchrun and its workers are forks of one interpreter."""
        python = forked_python().executable
        for out in ("calm", "calm.1", "calm.2"):
            finished = self.robustrun.run(
                *TORCHRUN, *self.words(out), argv0=python,
                env={**PLAIN, "PYTHON_EXEC": python, **(env or {})}, timeout=self.timeout)
            # gloo's threads abort one interpreter in eight at its exit.
            if "terminate called without an active exception" not in finished.errors:
                break
        assert finished.code == 0, finished.errors
        return losses(self.folder / out)

    def killed(self, *options, env=None, warm=False):
        """robustrun's run, whose rank 1 is killed in step 13; warm: once standby workers wait."""
        hold = self.robustrun.write("hold", "")
        running = self.robustrun.start(
            *options, *([] if warm else ["--standby=off"]), *self.words("killed"),
            env={**PLAIN, **(env or {}), "HOLD": str(hold), "HOLD_AT": str(self.hold_at)})

        def is_held():
            assert running.process.poll() is None, running.finish().errors
            return len(losses(self.folder / "killed")) >= 11

        wait_for(is_held, self.timeout, "step 11")
        if warm:
            self.robustrun.waiting_standbys(2)
        told = self.robustrun.run("inject", "kill", "--rank=1")
        assert told.code == 0, told.errors
        hold.unlink()
        finished = running.finish(self.timeout)
        assert finished.code == 0, finished.errors
        report = self.robustrun.report()
        assert (report["outcome"], report["attempts"]) == ("succeeded", 2), finished.errors
        return finished

    def check(self, *options, env=None, warm=False):
        finished = self.killed(*options, env=env, warm=warm)
        ours = losses(self.folder / "killed")
        assert ours == self.torchruns_losses(env)
        assert max(ours) == len(ours) == STEPS
        lines = (self.folder / "killed" / "curve").read_text().splitlines()
        # It resumed from step 10: not from the beginning, and not from later than it had saved.
        assert 1 <= len(lines) - STEPS <= 4
        return finished


def test_a_script_in_the_shape_of_nanogpt(robustrun):
    finished = Contest(robustrun, "nanogpt_job.py", "--out_dir={}").check(env={"LIGHT_TORCH": "1"})
    assert "Resuming training from killed" in finished.text


def test_huggingfaces_trainer(robustrun):
    Contest(robustrun, "hf_job.py").check()
    saved = sorted(each.name for each in (robustrun.folder / "killed").glob("checkpoint-*"))
    assert saved == ["checkpoint-10", "checkpoint-15", "checkpoint-20", "checkpoint-5"]


@pytest.mark.nightly  # test_accelerate_config.py compares the environment
def test_a_script_with_accelerate(robustrun):
    robustrun.write("cpu.yaml", "distributed_type: MULTI_CPU\nuse_cpu: true\nnum_processes: 2\n"
                                "mixed_precision: bf16\n")
    # torchrun's user sets by hand what accelerate's file says.
    by_hand = {"ACCELERATE_USE_CPU": "true", "ACCELERATE_MIXED_PRECISION": "bf16"}
    contest = Contest(robustrun, "accelerate_job.py")
    finished = contest.killed("--accelerate-config=cpu.yaml")
    assert "Resumed from checkpoint: step_10" in finished.text
    assert "precision bf16, DistributedType.MULTI_CPU" in finished.text
    ours = losses(robustrun.folder / "killed")
    assert max(ours) == STEPS and ours == contest.torchruns_losses(by_hand)


# Standby workers import Lightning before they know their rank.
@pytest.mark.parametrize("warm", [False, pytest.param(True, marks=pytest.mark.nightly)])
def test_lightning_takes_torchruns_environment_even_inside_slurm(robustrun, warm):
    # What a batch job has; Lightning's Slurm plug-in would take the ranks from them.
    slurm = {"SLURM_JOB_ID": "77", "SLURM_JOB_NAME": "batch", "SLURM_NTASKS": "1",
             "SLURM_NTASKS_PER_NODE": "1", "SLURM_PROCID": "0", "SLURM_LOCALID": "0",
             "SLURM_NODEID": "0", "SLURM_NNODES": "1"}
    finished = Contest(robustrun, "lightning_job.py").check(env=slurm, warm=warm)
    assert finished.text.count("environment TorchElasticEnvironment") == 2
    assert ("2 workers started warm" in finished.errors) == warm


@pytest.mark.nightly
@pytest.mark.skipif(importlib.util.find_spec("hydra") is None, reason="hydra is not installed")
def test_a_hydra_application_that_changes_its_working_directory(robustrun):
    contest = Contest(robustrun, "hydra_job.py", "out={}", hold_at=12)
    finished = contest.check()
    assert finished.text.count("worked in outputs/") == 2
    # The run's folder stays where the command was started.
    assert os.listdir(robustrun.folder / "robustrun-runs")
    assert not list((robustrun.folder / "outputs").rglob("robustrun-runs"))
