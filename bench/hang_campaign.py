"""Injected faults in real gloo trainings, and robustrun's verdicts on them.

Every seed is one job, which draws its faults, times and victims and yields one line of results per
fault. Played seeds are kept in bench/campaigns/hangs.jsonl, with the commit that played them, and
are not played again: a campaign grows over several runs of the command. Without that file it begins
anew.
"""

import collections
import concurrent.futures
import json
import math
import random
import re
import subprocess
import threading
import time

from harness import ROBUSTRUN, ROOT, Scratch, start, wait_for

SCRIPT = ROOT / "tests" / "e2e" / "diagnosis" / "faulty_job.py"
RESULTS = ROOT / "bench" / "campaigns" / "hangs.jsonl"
RANKS = (2, 3, 4, 4, 4, 8, 8, 16)
HEALTHY_RANKS = (2, 4, 4, 8)
JOBS_AT_ONCE = 2   # jobs wait most of the time
# A worker recovers from these: many of them share one job.
PASSING = ("stop", "gil-lock", "collective-sleep", "data-stall")
PASSING_PER_JOB = 8
PASSING_S = 12
# These end the attempt: one per job.
FINAL = ("sleep", "spin", "loader", "gil", "skip", "order", "size", "inversion", "slow", "kill")
NAMED_WITHIN_S = 40
# A group's usual pace takes 16 s to learn (supervisor/limits.h).
PACE_LEARNT_STEPS = 700
WATCHED_ON_S = 4   # after a culprit was named: the verdict should not change
# Two sides contradict each other; two ranks have no majority, so both are named.
AMBIGUOUS_OF_TWO = ("skip", "order")
PAUSES = "checkpoint,evaluation,straggler,pause"


class Job:
    """A training in a folder of its own; its report is complete once it has ended."""

    def __init__(self, folder, ranks, *arguments, script=(), env=None):
        self.folder, self.run = folder, folder / "run"
        self.out, self.err = folder / "out", folder / "err"
        command = [ROBUSTRUN, "--run-dir", self.run, f"--nproc-per-node={ranks}", "--omp=1",
                   *arguments, SCRIPT, *script]
        self.begin(command, **(env or {}))

    def begin(self, command, **variables):
        with open(self.out, "wb") as out:
            self.process = start(command, self.folder, output=self.err.name, stdout=out,
                                 **variables)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        if self.process.poll() is None:
            self.process.terminate()
        self.process.wait(60)

    def ask(self, *words):
        done = subprocess.run(list(map(str, [ROBUSTRUN, *words])), capture_output=True, text=True)
        return json.loads(done.stdout) if done.returncode == 0 and "--json" in words else None

    def steps(self):
        status = self.ask("status", "--json", self.run)
        return status["steps"] if status else 0

    def trains(self, more=10):
        """Waits until the job has done `more` steps."""
        before = self.steps()
        wait_for(lambda: self.steps() >= before + more, f"{more} more steps", 120)

    def report(self):
        return self.ask("report", "--json", self.run)

    def says(self, pattern, within_s):
        end = time.monotonic() + within_s
        while time.monotonic() < end and self.process.poll() is None:
            if re.search(pattern, self.err.read_text(errors="replace")):
                return True
            time.sleep(0.05)
        return False


def judged(kind, victim, ranks, at, until, report, seed):
    """One line of results: the verdicts between the fault and the end of its effect."""
    said = [hang for hang in report["hangs"]
            if at <= hang["at_s"] < until and hang["stage"] != "passed"]
    two_sided = kind == "inversion" or (ranks == 2 and kind in AMBIGUOUS_OF_TWO)

    def is_right(hang):
        if two_sided:
            return victim in hang["culprits"]
        is_kind = hang["finding"].startswith("slow") == (kind == "slow")
        return hang["culprits"] == [victim] and is_kind

    named = [hang for hang in said if is_right(hang)]
    wrong = [hang for hang in said
             if not is_right(hang) and set(hang["culprits"]) - {victim}]
    return {"seed": seed, "kind": kind, "victim": victim, "ranks": ranks,
            "detected_s": said[0]["at_s"] - at if said else None,
            "named_s": named[0]["at_s"] - at if named else None,
            "finding": (named or said or [{"finding": None}])[0]["finding"],
            "text": (named or said or [{"text": None}])[0]["text"],
            "wrong": [hang["text"] for hang in wrong]}


def play_passing(seed):
    dice = random.Random(f"passing {seed}")
    ranks = dice.choice(RANKS)
    with Scratch() as folder, Job(folder, ranks, "--hang-timeout=0",
                                  script=(10**6, 0.05)) as job:
        for _ in range(PASSING_PER_JOB):
            job.trains(dice.randrange(10, 60))
            job.ask("inject", job.run, dice.choice(PASSING), f"--rank={dice.randrange(ranks)}",
                    f"--for={PASSING_S}s")
            time.sleep(PASSING_S)
        job.trains()
        job.process.terminate()
        job.process.wait(60)
        report = job.report()
    faults = report["injected"]
    # A verdict after the next fault may be about that one.
    ends = [fault["at_s"] for fault in faults[1:]] + [math.inf]
    return [judged(fault["kind"], fault["rank"], ranks, fault["at_s"],
                   min(end, fault["at_s"] + PASSING_S + 2), report, f"passing {seed}")
            for fault, end in zip(faults, ends, strict=True)]


def play_final(seed):
    dice = random.Random(f"final {seed}")
    kind, ranks = FINAL[seed % len(FINAL)], dice.choice(RANKS)
    step = dice.randrange(20, 120)
    if kind == "slow":
        ranks, step = min(ranks, 4), step + PACE_LEARNT_STEPS
    victim = dice.randrange(ranks)
    script = (10**6, 0.02) if kind == "kill" else (10**6, 0.02, kind, victim, step)
    with Scratch() as folder, Job(folder, ranks, "--hang-timeout=0", script=script) as job:
        if kind == "kill":
            job.trains(step)
            job.ask("inject", job.run, "kill", f"--rank={victim}")
            job.says("restart 1 of", NAMED_WITHIN_S)
        else:
            wait_for(lambda: b"fault" in job.out.read_bytes(), "the fault of the script", 120)
            job.says(rf"(hang|slow): .*rank {victim}\b|restart 1 of", NAMED_WITHIN_S)
            time.sleep(WATCHED_ON_S)
        job.process.terminate()
        job.process.wait(60)
        report, out = job.report(), job.out.read_text(errors="replace")
    if kind == "kill":
        return [judged_death(kind, victim, ranks, report["injected"][0]["at_s"], report,
                             f"final {seed}")]
    at = float(re.search(r"fault \w+ \d+ \d+ ([\d.]+)", out)[1]) - report["started_s"]
    if kind == "size":  # gloo ends a process that receives an unexpected size
        return [judged_mismatch(victim, ranks, at, report, f"final {seed}")]
    return [judged(kind, victim, ranks, at, math.inf, report, f"final {seed}")]


def judged_death(kind, victim, ranks, at, report, seed):
    """Deaths are no hangs: the first incident names the rank."""
    first = report["incidents"][0] if report["incidents"] else {"rank": None, "at_s": None}
    right = first["rank"] == victim
    return {"seed": seed, "kind": kind, "victim": victim, "ranks": ranks, "finding": "died",
            "detected_s": max(0.0, first["at_s"] - at) if first["at_s"] is not None else None,
            "named_s": max(0.0, first["at_s"] - at) if right else None,
            "wrong": [] if right or first["rank"] is None else [f"rank {first['rank']}"]}


def judged_mismatch(victim, ranks, at, report, seed):
    """One line of results for a mismatch of sizes, by the verdict on the calls before the death
    that it led to. The dead rank leaves no record; if the other ranks are too few for a majority,
    the verdict names both sides."""
    line = judged("size", victim, ranks, at, math.inf, report, seed)
    both = [hang for hang in report["hangs"] if hang["at_s"] >= at and not hang["culprits"]
            and re.search(rf"\brank {victim} (\([^)]*\) )?calls\b", hang["text"])]
    if line["named_s"] is None and both:
        line.update(named_s=both[0]["at_s"] - at, finding=both[0]["finding"], text=both[0]["text"])
    return line if line["finding"] else judged_death("size", victim, ranks, at, report, seed)


def play_healthy(seed):
    dice = random.Random(f"healthy {seed}")
    ranks = dice.choice(HEALTHY_RANKS)
    env = {"PAUSES": PAUSES, "PAUSE_EVERY": dice.randrange(15, 40), "SEED": seed,
           "PAUSE_S": dice.choice((1, 3, 6))}
    script = (dice.randrange(80, 160), 0.02)
    with Scratch() as folder, Job(folder, ranks, script=script, env=env) as job:
        wait_for(lambda: job.process.poll() is not None, "the end of the job", 600)
        report = job.report()
    said = {"suspected": [], "slow": [], "convicted": [], "passed": []}
    for hang in report["hangs"]:
        is_slow = hang["finding"].startswith("slow")
        said["slow" if is_slow else hang["stage"]].append(hang["text"])
    return [{"seed": f"healthy {seed}", "kind": "healthy", "ranks": ranks,
             "code": job.process.returncode, **said}]


WRITING = threading.Lock()


def played():
    if not RESULTS.exists():
        return []
    return [json.loads(line) for line in RESULTS.read_text().splitlines()]


def play(which, how, seeds):
    """Plays the new ones of the seeds, and stores the results of each at once.

    `how(seed)` returns lines of results, each with "seed": "WHICH SEED"."""
    RESULTS.parent.mkdir(exist_ok=True)
    known = {line["seed"] for line in played()}
    commit = subprocess.run(["git", "-C", ROOT, "rev-parse", "--short=9", "HEAD"],
                            capture_output=True, text=True, check=True).stdout.strip()

    def play_one(seed):
        lines = [line | {"commit": commit} for line in how(seed)]
        with WRITING, open(RESULTS, "a") as file:
            file.writelines(json.dumps(line) + "\n" for line in lines)

    with concurrent.futures.ThreadPoolExecutor(JOBS_AT_ONCE) as pool:
        list(pool.map(play_one, [seed for seed in seeds if f"{which} {seed}" not in known]))


def wilson(hits, count, z=1.96):
    """95 % interval of a share (Wilson, 1927)."""
    if not count:
        return 0.0, 1.0
    share, spread = hits / count, z * z / count
    middle = share + spread / 2
    half = z * math.sqrt(share * (1 - share) / count + spread / (4 * count))
    return (middle - half) / (1 + spread), (middle + half) / (1 + spread)


def table(faults):
    """Per kind: the number of faults, of named and of wrong ones, and the findings."""
    kinds = collections.defaultdict(list)
    for fault in faults:
        kinds[fault["kind"]].append(fault)
    rows = []
    for kind, members in sorted(kinds.items()):
        findings = collections.Counter(str(fault["finding"]) for fault in members)
        rows.append([kind, str(len(members)), str(sum(f["named_s"] is not None for f in members)),
                     str(sum(bool(f["wrong"]) for f in members)),
                     ", ".join(f"{name} {count}" for name, count in findings.most_common())])
    return rows
