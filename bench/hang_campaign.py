"""Faults on purpose in real gloo trainings, and what robustrun says of them.

Every seed is one job: it draws its faults, times and victims, and gives one line of results per
fault. Seeds that were played are kept in bench/results/hang-campaign.jsonl and not played again, so
that a campaign grows over several runs of the command (decisions: resumable, accumulating).
"""

import collections
import json
import math
import random
import re
import subprocess
import time

from harness import ROBUSTRUN, ROOT, Scratch, clean_environment, wait_for

SCRIPT = ROOT / "tests" / "e2e" / "faulty_job.py"
RESULTS = ROOT / "bench" / "results" / "hang-campaign.jsonl"
RANKS = 4
# A worker recovers from these: many of them share one job.
PASSING = ("stop", "gil-lock", "collective-sleep", "data-stall")
PASSING_PER_JOB = 8
PASSING_S = 12
# These end the attempt: one per job.
FINAL = ("sleep", "spin", "loader", "gil", "skip", "order", "inversion", "kill")
NAMED_WITHIN_S = 40
PAUSES = "checkpoint,evaluation,straggler,pause"


class Job:
    """A training in a folder of its own; `report` is there once it has ended."""

    def __init__(self, folder, *arguments, script=(), env=None):
        self.folder, self.run = folder, folder / "run"
        self.out, self.err = folder / "out", folder / "err"
        command = [ROBUSTRUN, "--run-dir", self.run, f"--nproc-per-node={RANKS}", "--omp=1",
                   *arguments, SCRIPT, *script]
        with open(self.out, "wb") as out, open(self.err, "wb") as err:
            self.process = subprocess.Popen(
                list(map(str, command)), cwd=folder, env=clean_environment(**(env or {})),
                stdin=subprocess.DEVNULL, stdout=out, stderr=err)

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
        """Waits until it has done some more steps."""
        before = self.steps()
        wait_for(lambda: self.steps() >= before + more, 120)

    def report(self):
        return self.ask("report", "--json", self.run)

    def says(self, pattern, within_s):
        end = time.monotonic() + within_s
        while time.monotonic() < end and self.process.poll() is None:
            if re.search(pattern, self.err.read_text(errors="replace")):
                return True
            time.sleep(0.05)
        return False


def judged(kind, victim, at, until, report, seed):
    """One line of results: what was said between the fault and the end of its effect."""
    said = [hang for hang in report["hangs"]
            if at <= hang["at_s"] < until and hang["stage"] != "passed"
            and not hang["finding"].startswith("slow")]
    named = [hang for hang in said if hang["culprits"] == [victim]]
    wrong = [hang for hang in said if hang["culprits"] and victim not in hang["culprits"]]
    if kind == "inversion":
        named = [hang for hang in said if victim in hang["culprits"]]
    return {"seed": seed, "kind": kind, "victim": victim,
            "detected_s": said[0]["at_s"] - at if said else None,
            "named_s": named[0]["at_s"] - at if named else None,
            "finding": (named or said or [{"finding": None}])[0]["finding"],
            "wrong": [hang["text"] for hang in wrong]}


def play_passing(seed):
    dice = random.Random(f"passing {seed}")
    with Scratch() as folder, Job(folder, "--hang-timeout=0", script=(10**6, 0.05)) as job:
        for _ in range(PASSING_PER_JOB):
            job.trains(dice.randrange(10, 60))
            job.ask("inject", job.run, dice.choice(PASSING), f"--rank={dice.randrange(RANKS)}",
                    f"--for={PASSING_S}s")
            time.sleep(PASSING_S)
        job.trains()
        job.process.terminate()
        job.process.wait(60)
        report = job.report()
    return [judged(fault["kind"], fault["rank"], fault["at_s"], fault["at_s"] + PASSING_S + 2,
                   report, f"passing {seed}") for fault in report["injected"]]


def play_final(seed):
    dice = random.Random(f"final {seed}")
    kind, victim, step = dice.choice(FINAL), dice.randrange(RANKS), dice.randrange(20, 120)
    script = (10**6, 0.02) if kind == "kill" else (10**6, 0.02, kind, victim, step)
    with Scratch() as folder, Job(folder, "--hang-timeout=0", script=script) as job:
        if kind == "kill":
            job.trains(step)
            job.ask("inject", job.run, "kill", f"--rank={victim}")
            job.says("restart 1 of", NAMED_WITHIN_S)
        else:
            wait_for(lambda: b"fault" in job.out.read_bytes(), 120)
            job.says(rf"hang: .*rank {victim}\b", NAMED_WITHIN_S)
            time.sleep(1)
        job.process.terminate()
        job.process.wait(60)
        report, out = job.report(), job.out.read_text(errors="replace")
    if kind == "kill":
        return [judged_death(report, victim, f"final {seed}")]
    at = float(re.search(r"fault \w+ \d+ \d+ ([\d.]+)", out)[1]) - report["started_s"]
    return [judged(kind, victim, at, math.inf, report, f"final {seed}")]


def judged_death(report, victim, seed):
    """Deaths are no hangs: the first incident names the rank."""
    first = report["incidents"][0] if report["incidents"] else {"rank": None, "at_s": None}
    at = report["injected"][0]["at_s"]
    right = first["rank"] == victim
    return {"seed": seed, "kind": "kill", "victim": victim, "finding": "died",
            "detected_s": max(0.0, first["at_s"] - at) if first["at_s"] is not None else None,
            "named_s": max(0.0, first["at_s"] - at) if right else None,
            "wrong": [] if right or first["rank"] is None else [f"rank {first['rank']}"]}


def play_healthy(seed):
    dice = random.Random(f"healthy {seed}")
    env = {"PAUSES": PAUSES, "PAUSE_EVERY": dice.randrange(15, 40), "SEED": seed,
           "PAUSE_S": dice.choice((1, 3, 6))}
    script = (dice.randrange(80, 160), 0.02)
    with Scratch() as folder, Job(folder, script=script, env=env) as job:
        wait_for(lambda: job.process.poll() is not None, 600)
        report = job.report()
    return [{"seed": f"healthy {seed}", "kind": "healthy", "code": job.process.returncode,
             "suspected": [h["text"] for h in report["hangs"] if h["stage"] == "suspected"],
             "convicted": [h["text"] for h in report["hangs"] if h["stage"] == "convicted"]}]


PLAYS = {"passing": play_passing, "final": play_final, "healthy": play_healthy}


def played():
    if not RESULTS.exists():
        return []
    return [json.loads(line) for line in RESULTS.read_text().splitlines()]


def play(which, seeds):
    """Plays those of the seeds that are new; their results are kept at once."""
    RESULTS.parent.mkdir(exist_ok=True)
    known = {line["seed"] for line in played()}
    for seed in seeds:
        if f"{which} {seed}" not in known:
            lines = PLAYS[which](seed)
            with open(RESULTS, "a") as file:
                file.writelines(json.dumps(line) + "\n" for line in lines)


def wilson(hits, count, z=1.96):
    """95 % interval of a share (Wilson, 1927)."""
    if not count:
        return 0.0, 1.0
    share, spread = hits / count, z * z / count
    middle = share + spread / 2
    half = z * math.sqrt(share * (1 - share) / count + spread / (4 * count))
    return (middle - half) / (1 + spread), (middle + half) / (1 + spread)


def table(faults):
    """Per kind: how many, named, missed, called something wrong, and as what they were found."""
    kinds = collections.defaultdict(list)
    for fault in faults:
        kinds[fault["kind"]].append(fault)
    rows = []
    for kind, those in sorted(kinds.items()):
        findings = collections.Counter(str(fault["finding"]) for fault in those)
        rows.append([kind, str(len(those)), str(sum(f["named_s"] is not None for f in those)),
                     str(sum(bool(f["wrong"]) for f in those)),
                     ", ".join(f"{name} {count}" for name, count in findings.most_common())])
    return rows
