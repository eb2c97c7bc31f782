"""Dumps of hung jobs: which ranks `diagnose --from` names, beside torchfrtrace.

The jobs are those of tests/e2e/diagnosis/flight_jobs.py: 16 ranks with NCCL in groups TP, PP, EP
and DP, with one to three faulty ranks. All dumps are pickles, as torch writes them, and both tools
judge the same folders. torchfrtrace (torch.distributed.flight_recorder.fr_trace) prints mismatches;
the ranks that it calls missing or "Culprit rank" count as named. It fails without the package
tabulate, so a stand-in that lays out nothing replaces it. Exact: precisely the faulty ranks are
named. When a GPU stands still, dumps without times show only the members of its operation: "group"
are the jobs in which these are reported and no rank is named.
"""

import collections
import json
import pathlib
import re
import subprocess
import sys

from harness import PYTHON, ROBUSTRUN, ROOT, Figure, Quick, Scratch, call

sys.path.insert(0, str(ROOT / "tests" / "e2e"))
from diagnosis import flight_jobs  # noqa: E402

# For each kind: its name, and the target for the share of exact verdicts in jobs with one faulty
# rank. There is no target where dumps do not hold the answer.
KINDS = {"sleep": ("a rank asleep", 1.0), "lock": ("an empty dump", 1.0),
         "watchdog": ("a blind recorder", 0.8), "gpu": ("a GPU stands, its host goes on", 0),
         "skip": ("an operation left out", 0.8)}
COUNTS = (1, 2, 3)
SEEDS, QUICK_SEEDS = 200, 1
QUICK = Quick(45, "1 seed of each kind instead of 200")


def judge_ours(folder):
    done = call([ROBUSTRUN, "diagnose", "--json", "--from", folder], check=True)
    verdict = json.loads(done.stdout)
    candidates = set()
    for line in [verdict["sentence"], *verdict["evidence"]]:
        named, found, _ = line.partition(" have all reached")
        if not found:
            continue
        candidates |= {int(number) for number in re.findall(r"\d+", named)}
        if named.endswith(" more"):  # a line names some of many
            candidates |= set(verdict["victims"])
    return set(verdict["culprits"]), candidates


def judge_torchs(folders):
    """The ranks that torchfrtrace names in each folder. One process: torch takes seconds to
    import."""
    done = subprocess.run([PYTHON, ROOT / "bench" / "flight_peer.py"],
                          input="\n".join(map(str, folders)), capture_output=True,
                          text=True, check=True)
    return [set(named) for named in json.loads(done.stdout)]


def outcome(named, candidates, truth):
    if named == truth:
        return "exact"
    if named - truth:
        return "wrong"
    if named:
        return "some"
    return "group" if truth & candidates else "none"


def played(kind, count, seeds, scratch):
    jobs = []
    for seed in range(seeds):
        job = flight_jobs.Job(kind, seed, count)
        if not job.is_hung or not job.truth:
            continue
        job.form = "pickle"
        folder = pathlib.Path(scratch, f"{kind}-{count}-{seed}")
        folder.mkdir()
        job.write(folder)
        jobs.append((set(job.truth), folder))
    return jobs


def measure(quick):
    seeds = QUICK_SEEDS if quick else SEEDS
    print(f"    {seeds} seeds each; jobs in which exactly the faulty ranks are named / some of "
          "them / their group / none / a wrong one too")
    for kind, (what, least) in KINDS.items():
        shares = {}
        with Scratch() as scratch:
            jobs = {count: played(kind, count, seeds, scratch) for count in COUNTS}
            named = iter(judge_torchs([folder for count in COUNTS for _, folder in jobs[count]]))
            for count in COUNTS:
                ours = [outcome(*judge_ours(folder), truth) for truth, folder in jobs[count]]
                torchs = [outcome(next(named), set(), truth) for truth, _ in jobs[count]]
                for tool, outcomes in (("robustrun", ours), ("torchfrtrace", torchs)):
                    tally = collections.Counter(outcomes)
                    shares[tool, count] = tally["exact"] / max(1, len(outcomes))
                    print(f"    {what:32}{count} of {len(outcomes):3} jobs  {tool:13}" + " / ".join(
                        str(tally[one]) for one in ("exact", "some", "group", "none", "wrong")))
        yield Figure(
            f"{what}: named exactly", "", [shares["robustrun", 1]], [],
            f"at least {least}" if least else "–",
            shares["robustrun", 1] >= least,
            f"of one; two {shares['robustrun', 2]:.2f}, three {shares['robustrun', 3]:.2f}; "
            "torchfrtrace " + ", ".join(f"{shares['torchfrtrace', n]:.2f}" for n in COUNTS))
