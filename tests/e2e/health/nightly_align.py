"""The alignment test with real torch: a rank that computes other bits or damages bytes is named."""

import json
import os
import sys

import pytest
from helpers.runner import ROOT

pytest.importorskip("torch")
TORCHRUN = [sys.executable, "-m", "torch.distributed.run"]
OUTVOTED, UNDECIDED = 10, 11
WITHIN_S = 400


def align(robustrun, *options, flip=None, ranks=3, align_options=()):
    verdict = robustrun.folder / "verdict.json"
    verdict.unlink(missing_ok=True)
    finished = robustrun.run(
        *(options or [f"--nproc-per-node={ranks}"]), "--max-restarts=0", "-m", "robustrun.align",
        "--json", verdict, *align_options, timeout=WITHIN_S,
        env={"ROBUSTRUN_ALIGN_FLIP": flip} if flip else None,
    )
    found = json.loads(verdict.read_text()) if verdict.exists() else None
    return finished, found


def test_ranks_that_agree_are_aligned(robustrun):
    finished, found = align(robustrun, "--nproc-per-node=4")
    assert finished.code == 0, finished.errors
    assert "aligned (rank 0: " in finished.text
    assert found["result"] == "aligned"
    assert found["tested"]["ranks"] == 4
    assert found["tested"]["blocks"] == 12
    assert found["tested"]["results"] > 30


def test_the_outvoted_rank_is_named_on_the_console_in_json_and_to_the_supervisor(robustrun):
    finished, found = align(robustrun, flip="rank=2")
    assert finished.code == OUTVOTED
    assert "outvoted: rank 2 on " in finished.text
    assert [accused["rank"] for accused in found["outvoted"]] == [2]
    # The bit is flipped after the second update: earlier results are right.
    assert "float32 step 3, output" in found["outvoted"][0]["why"]
    incident = robustrun.report()["incidents"][0]
    assert incident["looks_like"]["name"] == "this rank computes different bits"
    assert incident["looks_like"]["action"] == "evict"
    assert "rank 2" in incident["looks_like"]["evidence"]


def test_of_two_differing_ranks_none_is_blamed(robustrun):
    finished, found = align(robustrun, ranks=2, flip="rank=1")
    assert finished.code == UNDECIDED
    assert "undecided: ranks 0,1" in finished.text
    assert found["result"] == "undecided"
    incident = robustrun.report()["incidents"][0]
    assert incident["looks_like"]["name"] == "ranks compute different bits"


def test_of_two_ranks_the_one_that_differs_from_itself_is_named(robustrun):
    finished, found = align(robustrun, ranks=2, flip="rank=1,round=2")
    assert finished.code == OUTVOTED
    assert [accused["rank"] for accused in found["outvoted"]] == [1]
    assert "differs from itself" in found["outvoted"][0]["why"]


def test_damaged_bytes_are_traced_to_their_node(robustrun):
    nodes = ["--launcher=processes", "--hosts=n[1-3]", "--nproc-per-node=2"]
    finished, found = align(
        robustrun, *nodes, flip="node=n2,what=exchange", align_options=["--check=exchange"])
    assert finished.code == OUTVOTED
    assert {accused["node"] for accused in found["outvoted"]} == {"n2"}
    assert found["tested"]["results"] == 0


def test_a_node_has_the_name_that_robustrun_gives_it(robustrun):
    finished, found = align(
        robustrun, "--launcher=processes", "--hosts=n[1-3]", "--nproc-per-node=1", flip="node=n3")
    assert finished.code == OUTVOTED
    assert [(a["rank"], a["node"]) for a in found["outvoted"]] == [(2, "n3")]
    assert "outvoted: rank 2 on n3" in finished.text


@pytest.mark.parametrize("cpu", ["portable", "native"])
def test_one_process_alone_needs_no_launcher(robustrun, cpu):
    environment = {**robustrun.environment, "PYTHONPATH": str(ROOT / "python")}
    words = [sys.executable, "-m", "robustrun.align", f"--cpu={cpu}"]
    digests = []
    for _ in range(2):
        finished = robustrun.start(
            *words[1:], argv0=words[0], env=environment).finish(WITHIN_S)
        assert finished.code == 0, finished.errors
        digests.append(finished.text.splitlines()[-1])
    assert digests[0].startswith("aligned (rank 0: ")
    assert digests[0] == digests[1]


def test_under_torchrun_it_is_the_same_test(robustrun):
    verdict = robustrun.folder / "verdict.json"
    finished = robustrun.start(
        *TORCHRUN[1:], "--nproc-per-node=3", "-m", "robustrun.align", "--json", verdict,
        argv0=TORCHRUN[0],
        env={"PYTHONPATH": str(ROOT / "python"), "ROBUSTRUN_ALIGN_FLIP": "rank=0"},
    ).finish(WITHIN_S)
    assert finished.code != 0
    assert "outvoted: rank 0 on " in finished.text
    assert "outvoted by the bit-wise alignment test" in finished.errors
    assert json.loads(verdict.read_text())["result"] == "outvoted"


def test_a_rank_that_does_not_come_ends_the_test_in_time(robustrun):
    environment = {"PYTHONPATH": str(ROOT / "python"), "RANK": "0", "WORLD_SIZE": "2",
                   "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": str(20000 + os.getpid() % 20000)}
    finished = robustrun.start(
        "-m", "robustrun.align", "--limit=8", argv0=sys.executable, env=environment,
    ).finish(WITHIN_S)
    assert finished.code == 1
    assert "aligned" not in finished.text


@pytest.mark.parametrize("options", [["--check=colour"], ["--rounds=0"], ["--limit=0"]])
def test_wrong_options_are_refused(robustrun, options):
    finished = robustrun.start(
        "-m", "robustrun.align", *options, argv0=sys.executable,
        env={"PYTHONPATH": str(ROOT / "python")},
    ).finish(WITHIN_S)
    assert finished.code == 2
