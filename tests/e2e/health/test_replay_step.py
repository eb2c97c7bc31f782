"""Replay as a step of the policy: real jobs on several "nodes", with one that fails in groups."""

import re

from helpers.packages import NEEDS_TORCH

NODES = ("--launcher=processes", "--nproc-per-node=1")
POLICY = '[ladder]\ncheck = ["replay x1", "restart"]\n'

# Rank 1 of the first attempt crashes without explanation; the next attempt succeeds.
CRASHING = r"""
import glob, os, signal, time
import robustrun
for step in range(5):
    robustrun.step(step)
    time.sleep(0.01)
if os.environ["TORCHELASTIC_RESTART_COUNT"] == "0":
    if os.environ["RANK"] == "1":
        os.kill(os.getpid(), signal.SIGSEGV)
    time.sleep(60)

def replayed():
    # Processes of this test's replay that still run: its folder is in their arguments.
    here = os.getcwd().encode()
    for path in glob.glob("/proc/[0-9]*/cmdline"):
        try:
            words = open(path, "rb").read().split(b"\\0")
        except OSError:
            continue
        if b"small.py" in words and any(word.startswith(here) for word in words):
            yield words

end = time.monotonic() + 20
while list(replayed()):
    assert time.monotonic() < end, list(replayed())
    time.sleep(0.05)
print("ran on", os.environ["ROBUSTRUN_NODE"], flush=True)
"""

# The user's own program at a reduced size: notes its node and rank. Its second argument decides on
# which nodes it fails: one by its number, "all", "hang" (on 2), or none.
REPLAYED = r"""
import os, subprocess, sys, time
folder, faulty = sys.argv[1], sys.argv[2]
node = os.environ["ROBUSTRUN_NODE"]
names = ("RANK", "LOCAL_RANK", "WORLD_SIZE", "LOCAL_WORLD_SIZE", "MASTER_ADDR", "MASTER_PORT")
with open(os.path.join(folder, f"{node}.{time.monotonic_ns()}"), "w") as file:
    file.write(" ".join(os.environ[name] for name in names))
print("replayed on", node, flush=True)
if faulty == "hang" and node.endswith("2"):
    subprocess.Popen(["sleep", "3000"])
    time.sleep(3000)
if faulty == "all" or node.endswith(faulty):
    sys.exit(3)
"""


def lines(finished, *words):
    log = [line for line in finished.errors.splitlines() if re.match(r"\d\d:\d\d:\d\d", line)]
    return [line for line in log if all(word in line for word in words)]


def run(robustrun, faulty, *options, policy=POLICY):
    robustrun.write("job.py", CRASHING)
    robustrun.write("small.py", REPLAYED)
    robustrun.write("site.toml", policy)
    seen = robustrun.folder / "seen"
    seen.mkdir()
    finished = robustrun.run(*NODES, "--policy=site.toml",
                             f"--replay-cmd=small.py '{seen}' {faulty}",
                             *options, "job.py")
    assert finished.code == 0, finished.errors
    return finished, sorted(path.read_text() for path in seen.iterdir())


def test_the_machine_in_both_failing_groups_is_evicted_and_a_spare_takes_its_place(robustrun):
    finished, seen = run(robustrun, "2", "--nnodes=4", "--spares=1")
    assert lines(finished, "groups of nodes run the replay command before the next start")
    (found,) = lines(finished, "is in the groups that failed in both phases")
    name = re.search(r"replay: (\S+) is in", found)[1]
    assert lines(finished, f"{name} is evicted: it fails in a dual-phase replay")
    assert lines(finished, f"takes the place of {name}")
    assert [one["nodes"] for one in robustrun.report()["evictions"]] == [[name]]
    assert f"ran on {name}" not in finished.text
    # Two phases of two groups of two: each node ran twice, as one of two ranks.
    assert len(seen) == 8
    ranks = [line.split() for line in seen]
    assert sorted(line[0] for line in ranks) == ["0"] * 4 + ["1"] * 4
    assert {(line[1], line[2], line[3]) for line in ranks} == {("0", "2", "1")}
    logs = list(robustrun.folder.glob("robustrun-runs/*/**/replay_*/0.log"))
    assert len(logs) == 8
    assert all(log.read_text().startswith("replayed on") for log in logs)


def test_a_failure_on_all_nodes_is_blamed_on_no_machine(robustrun):
    finished, seen = run(robustrun, "all", "--nnodes=4", "--spares=1")
    assert lines(finished, "the replay: it fails everywhere")
    assert not lines(finished, "evicted")
    assert len(seen) == 4  # the second phase would add nothing


def test_a_hung_group_counts_as_failed_and_leaves_nothing(robustrun):
    policy = POLICY + '[replay]\nlimit = "15s"\n'
    finished, _ = run(robustrun, "hang", "--nnodes=4", "--spares=1", policy=policy)
    (found,) = lines(finished, "is in the groups that failed in both phases")
    assert re.search(r"replay: \S*2 is in", found)
    robustrun.expect_nothing_left()


def test_after_a_fault_that_does_not_recur_the_run_goes_on(robustrun):
    finished, seen = run(robustrun, "none", "--nnodes=2")
    assert lines(finished, "the replay: no group failed")
    assert not lines(finished, "evicted")
    assert len(seen) == 2


def test_one_machine_alone_is_not_replayed(robustrun):
    robustrun.write("job.py", CRASHING)
    robustrun.write("site.toml", POLICY)
    finished = robustrun.run("--nproc-per-node=2", "--policy=site.toml", "job.py")
    assert finished.code == 0, finished.errors
    assert not lines(finished, "replay")
    (incident,) = robustrun.report()["incidents"]
    assert "replay: there is no other machine to compare with" in incident["alternatives"]


# Its loss is not a number from step 10 on in as many first attempts as its argument says.
DIVERGING = """
import os, sys, time
import robustrun
wrong = int(os.environ["TORCHELASTIC_RESTART_COUNT"]) < int(sys.argv[1])
for step in range(10**6 if wrong else 15):
    robustrun.step(step, loss=float("nan") if wrong and step >= 10 else 2.0)
    time.sleep(0.12)
"""
ACT = '[metrics]\nnan = "act"\n'


def diverge(robustrun, attempts, *options, policy=ACT, flip=None):
    robustrun.write("job.py", DIVERGING)
    robustrun.write("site.toml", policy)
    env = {"ROBUSTRUN_ALIGN_FLIP": flip} if flip else None
    return robustrun.run(*NODES, "--policy=site.toml", *options, "job.py", str(attempts), env=env,
                         timeout=400)


@NEEDS_TORCH
def test_a_loss_that_is_not_a_number_leads_to_the_machine_that_computes_wrongly(robustrun):
    finished = diverge(robustrun, 1, "--nnodes=3", "--spares=1", flip="rank=1")
    assert finished.code == 0, finished.errors
    assert lines(finished, "loss is not a number: nan, 3 readings in a row",
                 "; stopping all 3 ranks")
    assert lines(finished, "groups of nodes do the alignment test before the next start")
    (found,) = lines(finished, "computes other bits than the others")
    name = re.search(r"the replay: (\S+) computes", found)[1]
    assert name.endswith("1")
    assert lines(finished, f"{name} is evicted")
    (incident,) = robustrun.report()["incidents"]
    assert incident["looks_like"]["action"] == "replay"


def test_a_script_that_diverges_by_itself_is_not_restarted_for_ever(robustrun):
    policy = ACT + '[ladder]\nreplay = ["replay x1", "restart x1", "give up"]\n'
    finished = diverge(robustrun, 99, "--nnodes=2", "--replay-cmd=true", "--max-restarts=9",
                       policy=policy)
    assert finished.code == 1, finished.errors
    assert len(lines(finished, "starting 2 workers on 2 nodes again")) == 2
    assert lines(finished, "the replay: no group failed")
    assert lines(finished, "no restart: it would not help")


def test_an_alarm_never_ends_a_run_that_has_no_restart_left(robustrun):
    robustrun.write("job.py", DIVERGING.replace("10**6", "30"))
    robustrun.write("site.toml", ACT)
    finished = robustrun.run(*NODES, "--nnodes=2", "--policy=site.toml", "--max-restarts=0",
                             "job.py", "1")
    assert finished.code == 0, finished.errors
    assert lines(finished, "loss is not a number")
    assert robustrun.report()["incidents"] == []
