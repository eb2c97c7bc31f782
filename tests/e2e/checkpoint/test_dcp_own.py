"""The ranks' own data, which robustrun.dcp keeps beside the state that torch plans."""

from pathlib import Path

import pytest
from checkpoint.test_dcp import both, ckpt, job, with_newer_torch

JOB = Path(__file__).with_name("dcp_own_job.py")


@pytest.fixture
def folder(tmp_path):
    for name in ("a", "a-2"):
        (tmp_path / name).mkdir()
    return tmp_path / "a"


def own_job(*words, **more):
    return job(*words, script=JOB, **more)


def test_own_data_of_a_rank_is_restored_and_refused_or_remapped_with_other_ranks(folder):
    own_job(2, "save_own", folder, "5")
    own_job(2, "load_own", folder, "5")
    for world in (2, 1, 4):
        own_job(world, "load_own_elsewhere", folder, "5")
    said = job(2, "load", folder, "5", code=1)
    assert "StateMismatch" in said
    assert "'dataloader' was saved per rank, but is not requested" in said
    ckpt("export", *both(folder), "--to", "torch", str(folder / "x.pt"))


def test_a_request_for_data_that_no_rank_saved_is_an_error(folder):
    job(2, "save", folder, "5")
    said = own_job(2, "load_own", folder, "5", code=1)
    assert "'counts' is requested per rank, but not in the checkpoint" in said


@with_newer_torch
@pytest.mark.parametrize("kind", ["THREAD", "PROCESS"])
def test_own_data_of_a_rank_is_copied_before_an_asynchronous_save(folder, kind):
    own_job(2, "save_own", folder, "5", kind)
    own_job(2, "load_own", folder, "5")
