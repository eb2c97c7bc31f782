"""gloo ends a rank that receives unexpected data, and the others lose their connections. The rank
that called something else is still named; without such a rank, none is named."""

import json
import pathlib

import pytest
from helpers.jobs import start_job

SCRIPT = pathlib.Path(__file__).parent / "faulty_job.py"
SAID_WITHIN_S = 180   # generous for busy machines; bench/ measures the times
LOOK_BACK_S = 1.5
DIAGNOSED = 19   # in the journal


def start(robustrun, ranks, *fault, options=()):
    return start_job(robustrun, f"--nproc-per-node={ranks}", *options, SCRIPT, "100000", "0.02",
                     *map(str, fault))


def report_of(job):
    done = job.runner.run("report", "--json", str(job.run))
    assert done.code == 0, done.errors
    return json.loads(done.out)


def line_with(job, words):
    def said():
        lines = job.err().splitlines()
        return next((line for line in lines if all(word in line for word in words)), None)

    return job.wait(said, f"a line with {words}", SAID_WITHIN_S)


@pytest.mark.parametrize(("ranks", "victim"), [
    (6, 2), pytest.param(8, 4, marks=pytest.mark.nightly)])
def test_a_rank_that_calls_with_another_size_is_named(robustrun, ranks, victim):
    job = start(robustrun, ranks, "size", victim, 40)
    line = line_with(job, [f"mismatch: rank {victim} ", "128", "64", "all_reduce"])
    assert f"local {victim}" in line
    job.says("restart 1 of", SAID_WITHIN_S)
    job.stop()
    report = report_of(job)
    found = [hang for hang in report["hangs"] if hang["finding"] == "mismatch"]
    assert [hang["culprits"] for hang in found] == [[victim]]
    assert found[0]["stage"] == "post-mortem"
    incident = report["incidents"][0]
    assert f"mismatch: rank {victim} " in incident["decision"]
    assert incident["evidence"]
    assert found[0]["at_s"] - incident["at_s"] < 10 * LOOK_BACK_S


def test_of_four_ranks_both_sides_are_named(robustrun):
    """One rank has died without a record: two against one are not a majority of four."""
    job = start(robustrun, 4, "size", 2, 40)
    line_with(job, ["mismatch: ", "rank 2 (", "calls all_reduce of 128", "64"])
    job.says("restart 1 of", SAID_WITHIN_S)
    job.stop()
    assert [hang["culprits"] for hang in report_of(job)["hangs"]] == [[]]


def test_an_exception_of_one_rank_is_not_blamed_on_another(robustrun):
    job = start(robustrun, 4, "crash", 2, 40)
    job.says("restart 1 of", SAID_WITHIN_S)
    job.stop()
    report = report_of(job)
    assert "mismatch" not in job.err()
    assert [hang for hang in report["hangs"] if hang["stage"] == "post-mortem"] == []
    incident = report["incidents"][0]
    assert incident["rank"] == 2
    waited = sum(phase["duration_s"] for phase in incident["phases"]
                 if phase["name"] in ("stop the others", "back-off"))
    assert waited < 20 * LOOK_BACK_S


def test_a_program_without_collectives_has_nothing_to_say_and_says_so_at_once(robustrun):
    robustrun.write("plain.py", "import os, sys, time\n"
                    "if os.environ['TORCHELASTIC_RESTART_COUNT'] == '0':\n"
                    "    sys.exit(3 if os.environ['RANK'] == '0' else time.sleep(100))\n")
    job = start_job(robustrun, "--nproc-per-node=2", "plain.py")
    assert job.finish().code == 0
    (answer,) = job.records(DIAGNOSED)
    assert answer.body[4][0] < LOOK_BACK_S * 1e9, "learnt in so many ns"
    assert report_of(job)["hangs"] == []
    assert "mismatch" not in job.err()
