"""Reactions to faults: real jobs on several nodes, each fault handled by its ladder."""

import re

ECC = "RuntimeError: CUDA error: uncorrectable ECC error encountered"

# Rank 1 of the first attempts fails as its argument says, after some steps.
FAILING = r"""
import os, signal, sys, time
try:
    from robustrun import step as note_step
except ImportError:  # --compat=torchrun
    note_step = print
how, attempts = sys.argv[1], int(sys.argv[2])
rank, attempt = int(os.environ["RANK"]), int(os.environ["TORCHELASTIC_RESTART_COUNT"])
for step in range(10):
    note_step(step)
    time.sleep(0.01)
if rank == 1 and attempt < attempts:
    if how == "crash":
        os.kill(os.getpid(), signal.SIGSEGV)
    print(how, file=sys.stderr, flush=True)
    os._exit(1)
if attempt < attempts:
    time.sleep(60)
"""
NODES = ("--launcher=processes", "--nproc-per-node=1")


def lines(finished, *words):
    """The decisions in the log, without the summary after it."""
    log = [line for line in finished.errors.splitlines() if re.match(r"\d\d:\d\d:\d\d", line)]
    return [line for line in log if all(word in line for word in words)]


def run(robustrun, *options, how=ECC, attempts=1):
    robustrun.write("failing.py", FAILING)
    return robustrun.run(*NODES, *options, "failing.py", how, str(attempts))


def test_a_broken_machine_is_evicted_and_a_spare_takes_its_rank(robustrun):
    finished = run(robustrun, "--nnodes=2", "--spares=1")
    assert finished.code == 0, finished.errors
    (evicted,) = lines(finished, "is evicted: uncorrectable ECC error")
    name = re.search(r"(\S+) is evicted", evicted)[1]
    assert lines(finished, f"takes the place of {name} (uncorrectable ECC error)")
    report = robustrun.report()
    assert [one["nodes"] for one in report["evictions"]] == [[name]]
    assert report["incidents"][0]["looks_like"]["action"] == "evict"
    # No restart of the script's own is used up by it.
    assert lines(finished, "free restart (likely not your code)")


def test_without_a_node_to_spare_all_nodes_are_checked_and_the_reason_is_given(robustrun):
    finished = run(robustrun, "--nnodes=2")
    assert finished.code == 0, finished.errors
    assert not lines(finished, "is evicted:")
    assert lines(finished, "checking all nodes before the next start")
    assert lines(finished, "check (full): 2 nodes checked")
    report = robustrun.report()
    (incident,) = report["incidents"]
    assert "evict: 1 other machine is there, and 2 are needed" in incident["alternatives"]
    spent = {share["spent"]: share["duration_s"] for share in report["time"]["shares"]}
    assert spent["localizing"] > spent.get("detecting", 0)


def test_a_twice_broken_machine_is_evicted_and_returns_when_it_passes_a_test(robustrun):
    finished = run(robustrun, "--nnodes=2", attempts=2)
    assert finished.code == 0, finished.errors
    (evicted,) = lines(finished, "is evicted: uncorrectable ECC error")
    name = re.search(r"(\S+) is evicted", evicted)[1]
    assert "there is no spare: waiting up to 600 s for a node (--wait-for-nodes)" in evicted
    assert lines(finished, f"{name} is broken (uncorrectable ECC error), "
                           "and there is no spare")
    assert lines(finished, f"{name} is tested again meanwhile")
    assert lines(finished, f"{name} passed a full check and takes part again")
    assert [one["returned"] for one in robustrun.report()["evictions"]] == [[name]]


def test_a_machine_that_stays_broken_ends_a_run_that_may_not_wait_with_the_reason(robustrun):
    finished = run(robustrun, "--nnodes=2", "--wait-for-nodes=0", "--max-restarts=1", attempts=9)
    assert finished.code == 94, finished.errors
    assert not lines(finished, "is evicted:")
    assert len(lines(finished, "there is no spare: start the run with spares (--spares)")) == 2


def test_an_unexplained_crash_leads_to_one_check_and_then_a_restart(robustrun):
    finished = run(robustrun, "--nnodes=2", how="crash", attempts=2)
    assert finished.code == 0, finished.errors
    assert len(lines(finished, "checking all nodes before the next start")) == 1
    assert len(lines(finished, "starting 2 workers on 2 nodes again")) == 2


def test_on_one_machine_a_crash_leads_to_a_restart_at_once(robustrun):
    robustrun.write("failing.py", FAILING)
    finished = robustrun.run("--nproc-per-node=2", "failing.py", "crash", "1")
    assert finished.code == 0, finished.errors
    assert not lines(finished, "checking all nodes")


def test_a_custom_policy_is_followed_and_shown(robustrun):
    robustrun.write("site.toml", '[ladder]\nevict = ["give up"]\n')
    finished = run(robustrun, "--nnodes=2", "--spares=1", "--policy=site.toml")
    assert finished.code == 94, finished.errors
    assert lines(finished, "no restart: it would not help (uncorrectable ECC error)")
    said = robustrun.run("policy", "--policy=site.toml")
    assert said.code == 0
    assert "If a machine is broken (evict):\n  1. end the run\n" in said.text


def test_with_compat_torchrun_the_only_reaction_is_a_restart(robustrun):
    finished = run(robustrun, "--nnodes=2", "--spares=1", "--compat=torchrun", "--max-restarts=1")
    assert finished.code == 0, finished.errors
    assert not lines(finished, "evicted")


def test_a_damaged_policy_is_refused_before_anything_starts(robustrun):
    robustrun.write("site.toml", '[ladder]\nevict = ["reboot"]\n')
    finished = run(robustrun, "--nnodes=2", "--policy=site.toml")
    assert finished.code == 2
    assert "site.toml:2:10: a ladder has at most 16 steps" in finished.errors
    assert not (robustrun.folder / "robustrun-runs").exists()
