"""NCCL's RAS as evidence: queried on one node when a rank is suspected, if NCCL is in use."""

import json
import pathlib
import subprocess

from helpers.jobs import start_job
from helpers.processes import HeldPort
from helpers.runner import BUILD

WORKER = pathlib.Path(__file__).parent / "ras_worker.py"
PLAYER = BUILD / "test-helpers" / "nccl_player"
RANKS = 3
WITHIN_S = 150
CLAIM = f"rank {RANKS - 1}: NCCL's RAS gets no answer from it"


def start(robustrun, mode, *options, env=None):
    said = robustrun.folder / "said"
    said.mkdir()
    job = start_job(
        robustrun,
        f"--nproc-per-node={RANKS}",
        "--hang-timeout=0",
        *options,
        WORKER,
        said,
        mode,
        env={"NCCL_PLAYER": str(PLAYER), **(env or {})},
    )
    job.wait(
        lambda: (said / "serving").exists()
        and all((said / f"pid{rank}").exists() for rank in range(RANKS)),
        "the workers",
        WITHIN_S,
    )
    return job, said


def diagnosis(job):
    asked = subprocess.run(
        [job.runner.binary, "diagnose", str(job.run), "--json"],
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert asked.returncode == 0, asked.stderr
    return json.loads(asked.stdout)


def test_the_state_of_a_rank_in_ras_is_shown_beside_the_verdict(robustrun):
    job, said = start(robustrun, "nccl")
    addresses = {(said / f"address{rank}").read_text() for rank in range(RANKS)}
    assert len(addresses) == 1 and addresses.pop().startswith("127.0.0.1:")

    def named():
        found = diagnosis(job)
        return found if found["culprits"] == [RANKS - 1] and CLAIM in found["evidence"] else None

    verdict = job.wait(named, "a verdict with RAS's word", WITHIN_S)
    assert "has not entered" in verdict["sentence"]
    assert (said / "asked").exists()
    job.stop()


def test_the_users_own_address_is_kept_and_used(robustrun):
    held = HeldPort()
    port = held.number
    job, said = start(robustrun, "nccl", env={"NCCL_RAS_ADDR": f"127.0.0.1:{port}"})
    assert (said / "address0").read_text() == f"127.0.0.1:{port}"
    job.wait(lambda: CLAIM in diagnosis(job)["evidence"], "RAS's word", WITHIN_S)
    job.stop()
    held.close()


def test_without_nccl_there_is_no_connection_to_ras(robustrun):
    job, said = start(robustrun, "plain")
    for _ in range(2):
        diagnosis(job)
    assert not (said / "asked").exists()
    job.stop()
