"""Dumps of hung jobs: which ranks `diagnose --from` names, beside torchfrtrace.

The jobs are those of tests/e2e/diagnosis/flight_jobs.py: 16 ranks with NCCL in groups TP, PP, EP
and DP, one to three of which are faulty. All dumps are written as torch does, with pickles, and
both judge the same folders. torchfrtrace (torch.distributed.flight_recorder.fr_trace) prints what
does not match: as named count the ranks that it calls missing or "Culprit rank". It fails without
the package tabulate, so one that lays out nothing stands in. Exact: just the faulty ranks are
named. Of a GPU that stands, dumps without times tell no more than the members of its operation:
"group" are the jobs in which those are told and no rank is named.
"""

import collections
import json
import pathlib
import re
import subprocess
import sys

from harness import PYTHON, ROBUSTRUN, ROOT, Figure, Scratch

sys.path.insert(0, str(ROOT / "tests" / "e2e"))
from diagnosis import flight_jobs  # noqa: E402

# How each kind is called, and the least part of jobs with one faulty rank that is to be exact.
# Nothing is asked where the dumps do not tell.
KINDS = {"sleep": ("a rank asleep", 1.0), "lock": ("an empty dump", 1.0),
         "watchdog": ("a blind recorder", 0.8), "gpu": ("a GPU stands, its host goes on", 0),
         "skip": ("an operation left out", 0.8)}
COUNTS = (1, 2, 3)
SEEDS, QUICK_SEEDS = 200, 12


def judge_ours(folder):
    done = subprocess.run([ROBUSTRUN, "diagnose", "--json", "--from", folder],
                          capture_output=True, text=True, check=True)
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
    """What it names in each folder, in one process: torch takes seconds to import."""
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
    figures = []
    print(f"    {seeds} seeds each; named are exactly the faulty ranks / some of them / their group"
          " / nobody / a wrong one too")
    for kind, (what, least) in KINDS.items():
        shares = {}
        for count in COUNTS:
            with Scratch() as scratch:
                jobs = played(kind, count, seeds, scratch)
                ours = [outcome(*judge_ours(folder), truth) for truth, folder in jobs]
                torchs = [outcome(named, set(), truth) for (truth, _), named in
                          zip(jobs, judge_torchs([f for _, f in jobs]), strict=True)]
            for who, told in (("robustrun", ours), ("torchfrtrace", torchs)):
                tally = collections.Counter(told)
                shares[who, count] = tally["exact"] / len(jobs)
                print(f"    {what:32}{count} of {len(jobs):3} jobs  {who:13}" + " / ".join(
                    str(tally[one]) for one in ("exact", "some", "group", "none", "wrong")))
        figures.append(Figure(
            f"{what}: named exactly", "", [shares["robustrun", 1]], [],
            f"at least {least}" if least else "–",
            shares["robustrun", 1] >= least,
            f"of one; two {shares['robustrun', 2]:.2f}, three {shares['robustrun', 3]:.2f}; "
            "torchfrtrace " + ", ".join(f"{shares['torchfrtrace', n]:.2f}" for n in COUNTS)))
    return figures
