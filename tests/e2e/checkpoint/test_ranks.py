"""Ranks with the same state load it together: one reads for all, and all succeed or all raise."""

import json
import os
import pathlib

import pytest
from helpers.forked_python import forked_python
from helpers.runner import BUILD, FOREIGN, ROOT

pytest.importorskip("torch")
from checkpoint.test_eio import c_api, failing  # noqa: E402

JOB = pathlib.Path(__file__).with_name("ranks_job.py")


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "work").mkdir()
    return tmp_path


def places(folder):
    return f"{folder / 'a'}:{folder / 'b'}"


def environment():
    kept = {name: value for name, value in os.environ.items() if not name.startswith(FOREIGN)}
    return {**kept, "PYTHONPATH": str(ROOT / "python"), "OMP_NUM_THREADS": "1",
            "PYTHON_EXEC": forked_python().executable,  # torchrun's workers
            "ROBUSTRUN_BUILD_DIR": str(BUILD.resolve())}


def job(folder, mode, ranks, launcher=(), code=0):
    """The notes of each rank."""
    work = folder / "work"
    for old in work.glob("told.*"):
        old.unlink()
    words = [*launcher, JOB, places(folder), mode]
    if not launcher:
        words.append(str(ranks))
    done = forked_python().run(words, environment(), work)
    assert done.returncode == code, done.stdout + done.stderr
    (work / "errors").write_text(done.stderr)
    return told(work, ranks)


def told(work, ranks):
    return [json.loads((work / f"told.{rank}").read_text()) for rank in range(ranks)
            if (work / f"told.{rank}").exists()]


def check_read_once(said, ranks):
    assert [each["kind"] for each in said] == ["loaded"] * ranks, said
    size = said[0]["bytes"]
    assert size > 40_000_000
    assert sum(each["from_disk"] + each["from_memory"] for each in said) == size
    for each in said:
        assert each["from_disk"] + each["from_memory"] + each["from_ranks"] == each["bytes"] == size


@pytest.mark.parametrize("ranks", [pytest.param(2, marks=pytest.mark.nightly), 4])
def test_every_byte_is_read_by_one_rank_for_all(folder, ranks):
    job(folder, "save", ranks)
    said = job(folder, "load", ranks)
    check_read_once(said, ranks)
    for each in said:  # pieces are of 8 MiB
        assert abs(each["from_disk"] - each["bytes"] / ranks) <= 8 << 20, said


def test_four_ranks_under_torchrun_load_a_save_of_two(folder):
    torchrun = ("-m", "torch.distributed.run", "--standalone", "--nproc-per-node")
    job(folder, "save", 2, (*torchrun, "2"))
    check_read_once(job(folder, "load", 4, (*torchrun, "4")), 4)


def test_a_state_that_does_not_fit_on_one_rank_changes_nothing_on_any(folder):
    job(folder, "save", 2)
    said = job(folder, "mismatch", 2)
    assert [each["kind"] for each in said] == ["RankFailed", "StateMismatch"]
    assert "rank 1 of 2 failed: StateMismatch" in said[0]["what"]
    assert "'mine' is not in the checkpoint" in said[0]["what"]
    assert said[0]["unchanged"] and said[1]["unchanged"]


def damage(folder, step):
    for data in folder.glob(f"[ab]/step-{step:012}/*/*.safetensors"):
        content = bytearray(data.read_bytes())
        if len(content) > 1 << 20:
            content[len(content) // 2] ^= 4
            data.write_bytes(content)
            return
    raise AssertionError("there is no large file")


def check_the_one_before(folder, said, cause):
    check_read_once(said, 2)
    assert [each["step"] for each in said] == [2, 2]
    warned = (folder / "work" / "errors").read_text()
    assert "checkpoint step-000000000003/" in warned and "cannot be used" in warned
    assert cause in warned


def states_of(folder):
    return {found.step: found.poisoned for found in c_api.catalogue([folder / "a", folder / "b"])}


def test_after_a_read_error_of_one_rank_all_take_the_previous_checkpoint_at_once(folder):
    job(folder, "save-two", 2)
    with failing(folder / "b", "step-000000000003"):
        check_the_one_before(folder, job(folder, "load", 2), "Input/output error")
    assert states_of(folder) == {3: "", 2: ""}  # it may be readable later
    assert [each["step"] for each in job(folder, "load", 2)] == [3, 3]


def test_after_damage_found_by_one_rank_all_take_the_previous_checkpoint_at_once(folder):
    job(folder, "save-two", 2)
    damage(folder, 3)
    check_the_one_before(folder, job(folder, "load", 2), "step-000000000003")
    assert states_of(folder) == {3: "damaged", 2: ""}


def test_damage_of_the_only_checkpoint_is_an_error_on_all_ranks(folder):
    job(folder, "save", 2)
    damage(folder, 3)
    said = job(folder, "load", 2)
    kinds = [each["kind"] for each in said]
    assert "Corrupt" in kinds, said
    sentence = said[kinds.index("Corrupt")]["what"]
    for each in said:
        assert each["kind"] in ("Corrupt", "RankFailed")
        assert each["kind"] == "Corrupt" or sentence in each["what"]


@pytest.mark.parametrize("mode, kind, words", [
    ("nowhere", "RuntimeError", "the ranks found different checkpoints"),
    ("no-parent", "RankFailed", "FileNotFoundError")])
def test_a_rank_with_other_directories_is_an_error_at_once(folder, mode, kind, words):
    job(folder, "save", 2)
    said = job(folder, mode, 2)
    assert said[0]["kind"] == kind and words in said[0]["what"], said
    assert said[1]["kind"] in (kind, "FileNotFoundError")
    assert said[0]["unchanged"] and said[1]["unchanged"]


def test_a_rank_that_fails_at_the_end_of_its_load_fails_all(folder):
    said = job(folder, "picky", 2)
    assert [each["kind"] for each in said] == ["RankFailed", "ValueError"]
    assert "rank 1 does not like its loader" in said[0]["what"]


def test_a_rank_that_loads_alone_waits_for_no_other_and_reads_everything(folder):
    job(folder, "save", 2)
    said = job(folder, "read-only", 2)
    assert said[0]["kind"] == "loaded" and said[0]["from_disk"] == said[0]["bytes"]
    assert said[1]["kind"] == "did not ask"


def under(robustrun, mode):
    (robustrun.folder / "saves").mkdir()
    running = robustrun.start("--nproc-per-node=2", "--standby=off", str(JOB),
                              str(robustrun.folder / "saves"), mode)
    finished = running.finish(400)
    assert finished.code == 0, finished.errors
    return told(robustrun.folder, 2)


def test_under_robustrun_ranks_with_a_group_share_and_ranks_without_read_all(robustrun):
    said = under(robustrun, "then-alone")
    check_read_once([together for together, _ in said], 2)
    for _, alone in said:
        assert alone["kind"] == "loaded" and alone["from_disk"] == alone["bytes"]



def test_each_rank_shares_its_copies_in_memory_and_no_rank_reads_a_disk(robustrun):
    said = under(robustrun, "memory")
    check_read_once(said, 2)
    for each in said:
        assert each["from_disk"] == 0 and 0 < each["from_memory"] < each["bytes"]
