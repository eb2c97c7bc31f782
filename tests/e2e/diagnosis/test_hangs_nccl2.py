"""A hang under torch's nccl2, whose watchdog does not end the process: robustrun names it with the
back end and ends it. The group is played by nccl2_job.py from PyTorch's source; no GPU was used."""

import json
import pathlib

from helpers.jobs import start_job

SCRIPT = pathlib.Path(__file__).parent / "nccl2_job.py"
RANKS, VICTIM, AT = 3, 1, 60
WITHIN_S = 150  # generous for busy machines


def test_a_hang_under_nccl2_is_named_with_the_back_end_and_ended(robustrun):
    job = start_job(robustrun, f"--nproc-per-node={RANKS}", "--standby=off",
                    "--summary-json=summary.json", SCRIPT, "200", str(VICTIM), str(AT))

    def line_of_hang():
        return next((line for line in job.err().splitlines() if "hang: " in line), None)

    line = job.wait(line_of_hang, "a hang", WITHIN_S)
    words = (f"rank {VICTIM} ", f"has not entered all_reduce #{AT}", "group default_pg (nccl2)",
             "load_batch (nccl2_job.py:", "2 ranks wait for it")
    assert all(word in line for word in words), line
    # The watchdogs of the waiting ranks have seen their timeout, and their processes live on.
    waiting = [rank for rank in range(RANKS) if rank != VICTIM]
    job.wait(lambda: all((robustrun.folder / f"timed_out.{rank}").exists() for rank in waiting),
             "the timeouts", WITHIN_S)
    job.wait(lambda: "free restart" in job.err(), "another attempt", WITHIN_S)
    ended = job.finish(WITHIN_S)
    assert ended.code == 0, ended.errors
    assert "SIGSEGV" not in ended.errors
    report = json.loads((robustrun.folder / "summary.json").read_text())
    assert report["attempts"] == 2
    convicted = [hang for hang in report["hangs"] if hang["stage"] == "convicted"]
    assert [hang["culprits"] for hang in convicted] == [[VICTIM]], report["hangs"]
    assert "(nccl2)" in convicted[0]["text"]
