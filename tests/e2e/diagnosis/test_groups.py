"""`robustrun diagnose --from`: hung jobs of 16 ranks with NCCL in groups TP, PP, EP and DP, played
by flight_jobs.py with one to three faulty ranks. The limits are the results of its campaign, less
the noise of a few seeds."""

import json

import pytest
from diagnosis import flight_jobs

SEEDS = range(1000, 1008)


def judge(robustrun, kind, faulty, seeds=SEEDS):
    """Counts of ranks named rightly, missed although they block others, and named wrongly; and the
    verdicts."""
    right = missed = wrong = 0
    verdicts = []
    for seed in seeds:
        job = flight_jobs.Job(kind, seed, faulty)
        if not job.is_hung or not job.truth:
            continue
        print(f"{kind} {seed} {faulty}")
        folder = robustrun.folder / f"{kind}_{seed}_{faulty}"
        folder.mkdir()
        job.write(folder)
        shown = robustrun.run("diagnose", "--json", "--from", str(folder))
        assert shown.code == 0, shown.errors
        verdict = json.loads(shown.out)
        verdicts.append((job, verdict))
        named = set(verdict["culprits"])
        right += len(named & set(job.truth))
        missed += len(set(job.blocking) - named)
        wrong += len(named - set(job.truth))
    assert verdicts
    return right, missed, wrong, verdicts


def candidates_of(verdict):
    """The ranks of which one is stuck, where a verdict names no culprit."""
    assert "have all reached" in verdict["sentence"]
    candidates = verdict["sentence"].split(" have all reached")[0]
    if candidates.endswith(" more"):  # of all 16 ranks a sentence names some
        return range(flight_jobs.WORLD)
    return [int(word) for word in candidates.replace(",", " ").split() if word.isdigit()]


@pytest.mark.parametrize("kind", ["sleep", "lock"])
def test_one_rank_that_stops_calling_is_named(robustrun, kind):
    right, missed, wrong, verdicts = judge(robustrun, kind, 1)
    assert (right, missed, wrong) == (len(verdicts), 0, 0)


@pytest.mark.parametrize("faulty", [2, 3])
@pytest.mark.parametrize("kind", ["sleep", "lock", "watchdog"])
def test_several_ranks_in_different_groups_are_named(robustrun, kind, faulty):
    right, missed, wrong, verdicts = judge(robustrun, kind, faulty)
    assert right >= (0.7 if kind == "watchdog" else 0.9) * (right + missed)
    assert wrong <= 0.1 * (right + wrong)
    assert all(verdict["finding"] != "nothing" for _, verdict in verdicts)
    if kind == "watchdog":
        named = [verdict for _, verdict in verdicts if verdict["culprits"]]
        assert {verdict["confidence"] for verdict in named} == {"inferred"}
    else:
        exact = sum(verdict["culprits"] == job.truth for job, verdict in verdicts)
        assert exact >= 0.8 * len(verdicts)


def test_a_rank_that_stops_finishing_operations_is_named(robustrun):
    right, missed, wrong, _ = judge(robustrun, "watchdog", 1)
    assert right >= 0.7 * (right + missed)
    assert wrong == 0


def test_where_dumps_do_not_show_the_stopped_gpu_its_group_is_named_and_no_wrong_rank(robustrun):
    _, _, wrong, verdicts = judge(robustrun, "gpu", 1)
    assert wrong == 0
    for job, verdict in verdicts:
        if verdict["culprits"]:
            assert verdict["confidence"] == "inferred"
            continue
        assert job.truth[0] in candidates_of(verdict)


def test_a_rank_that_leaves_one_operation_out_is_named(robustrun):
    right, _, _, verdicts = judge(robustrun, "skip", 1)
    exact = sum(verdict["culprits"] == job.truth for job, verdict in verdicts)
    assert exact >= 0.6 * len(verdicts)
    assert right >= 0.8 * len(verdicts)


def test_a_rank_that_calls_two_operations_in_the_other_order_is_named(robustrun):
    """Only jobs of these seeds hang: in the others the two operations do not need each other."""
    seeds = (1001, 1012, 1029, 1030, 1059)
    right, missed, wrong, verdicts = judge(robustrun, "order", 1, seeds)
    assert (right, missed, wrong, len(verdicts)) == (len(seeds), 0, 0, len(seeds))
    for job, verdict in verdicts:
        assert verdict["finding"] == "order inversion"
        blamed = f"because rank {job.truth[0]} has left an operation out or calls the operations in"
        assert blamed in verdict["sentence"]


@pytest.mark.parametrize("faulty", [2, 3])
def test_of_several_stopped_gpus_some_are_named_or_the_group_of_one(robustrun, faulty):
    """From the dumps alone, most stopped GPUs look like their peers'."""
    right, _, wrong, verdicts = judge(robustrun, "gpu", faulty)
    assert right >= 2
    assert wrong <= 2
    for job, verdict in verdicts:
        if verdict["culprits"]:
            assert verdict["confidence"] in ("inferred", "exact")
            continue
        assert set(candidates_of(verdict)) & set(job.truth)


def test_ages_do_not_come_from_the_times_of_the_files(robustrun):
    _, _, _, verdicts = judge(robustrun, "sleep", 1, range(1000, 1002))
    for _, verdict in verdicts:
        assert verdict["lasting_s"] < 60  # the job ran in January 2026
        assert " min " not in verdict["sentence"]


def test_a_dump_rewritten_by_python_gives_the_same_verdict(robustrun):
    for seed in range(1000, 1004):
        said = set()
        for form in ("pickle", "torch", "json"):
            job = flight_jobs.Job("sleep", seed, 1)
            job.form = form
            folder = robustrun.folder / f"{form}_{seed}"
            folder.mkdir()
            job.write(folder)
            shown = robustrun.run("diagnose", "--from", str(folder))
            assert shown.code == 0, shown.errors
            said.add(shown.text)
        assert len(said) == 1
