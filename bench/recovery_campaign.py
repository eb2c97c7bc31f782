"""Faults of every kind that needs no GPU, in trainings on several nodes, and their outcomes.

Does the run go on by itself, what does it lose, and is the right machine blamed? Every seed is one
job with a series of faults; it draws their kinds, victims and times. Played seeds are kept in
bench/campaigns/recovery.jsonl, with the commit that played them, and are not played again. Without
that file the campaign begins anew.
"""

import json
import random
import subprocess
import time

from harness import ROBUSTRUN, ROOT, Scratch, start, wait_for

TRAINING = ROOT / "examples" / "train.py"
RESULTS = ROOT / "bench" / "campaigns" / "recovery.jsonl"
NODES, SPARES, FAULTS_PER_JOB = 4, 1, 10
CHECKPOINT_STEPS = 20
RECOVERED_WITHIN_S = 90
SETTLED_STEPS = 25  # between two faults, at least
KINDS = {
    "kill": (),
    "segfault": (),
    "abort": (),
    "exception": (),
    "stop": (),  # for ever: a hang, until it is convicted
    "stop-and-go": ("--for=4s",),
    "gil-lock": ("--for=4s",),
    "agent-death": (),
    "net-drop": ("--for=30s",),  # longer than the lease of a silent node
    "net-delay": ("--for=4s",),
}
OF_NODES = ("agent-death", "net-drop", "net-delay")
OPTIONS = ("--launcher=processes", f"--nnodes={NODES}", f"--spares={SPARES}", "--nproc-per-node=1",
           "--omp=1", "--max-restarts=1000", "--hang-timeout=20s", "--shutdown-timeout=5s",
           "--node-lost-after=5s")


class Training:
    """A training that runs until stop(); then its report is complete."""

    def __init__(self, folder):
        self.folder, self.run = folder, folder / "run"
        command = [ROBUSTRUN, "--run-dir", self.run, *OPTIONS, TRAINING, "--steps", 10**9,
                   "--checkpoint", folder / "checkpoints", "--every", CHECKPOINT_STEPS,
                   "--slow", 0.02]
        self.process = start(command, folder, output="err")

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.stop()

    def stop(self):
        if self.process.poll() is None:
            self.process.terminate()
        self.process.wait(60)

    def ask(self, *words):
        done = subprocess.run(list(map(str, [ROBUSTRUN, *words])), capture_output=True, text=True)
        return json.loads(done.stdout) if done.returncode == 0 and done.stdout[:1] == "{" else None

    def status(self):
        return self.ask("status", "--json", self.run) or {}

    def step(self):
        """The lowest step of all ranks, as the script counts; -1: none yet in this attempt."""
        step = self.status().get("step")
        return -1 if step is None else step

    def hosts(self):
        """The nodes' names by rank; each has one worker."""
        nodes = [node for node in self.status()["nodes"] if node["node_rank"] is not None]
        return [node["name"] for node in sorted(nodes, key=lambda node: node["node_rank"])]

    def inject(self, kind, rank):
        hit = [f"--node={self.hosts()[rank]}"] if kind in OF_NODES else [f"--rank={rank}"]
        words = [ROBUSTRUN, "inject", self.run, kind.removesuffix("-and-go"), *hit, *KINDS[kind]]
        return subprocess.run(list(map(str, words)), capture_output=True).returncode == 0

    def goes_beyond(self, step, within_s):
        """Seconds until every rank has done more than that step; None if that did not happen."""
        began = time.monotonic()
        while time.monotonic() < began + within_s and self.process.poll() is None:
            if self.step() > step:
                return time.monotonic() - began
            time.sleep(0.1)
        return None


def play(seed):
    """One job; a line of results per fault."""
    dice = random.Random(f"recovery {seed}")
    lines = []
    with Scratch() as folder, Training(folder) as training:
        wait_for(lambda: training.step() > 0, "the first step", 120)
        for _ in range(FAULTS_PER_JOB):
            kind, victim = dice.choice(sorted(KINDS)), dice.randrange(NODES)
            reached = training.step()
            training.goes_beyond(reached + SETTLED_STEPS + dice.randrange(40), RECOVERED_WITHIN_S)
            before = training.step()
            if not training.inject(kind, victim):
                continue
            # A passing fault is over once the training is well beyond the step of the fault.
            took = training.goes_beyond(before + SETTLED_STEPS, RECOVERED_WITHIN_S)
            lines.append({"seed": f"recovery {seed}", "kind": kind, "victim": victim,
                          "recovered_s": took})
            if took is None:
                break
        training.stop()
        report = training.ask("report", "--json", training.run)
        lines = judged(lines, report)
        if any(line["recovered_s"] is None for line in lines):
            lines[-1]["said"] = (folder / "err").read_text(errors="replace")[-2000:]
    return lines


def judged(lines, report):
    """The lines with the report's facts: blamed and evicted nodes, and lost steps."""
    faults = report["injected"]
    begins = [fault["at_s"] for fault in faults] + [float("inf")]
    for line, fault, end in zip(lines, faults, begins[1:], strict=False):
        found = [one for one in report["incidents"] if fault["at_s"] - 0.5 <= one["at_s"] < end]
        hangs = [one for one in report["hangs"] if fault["at_s"] <= one["at_s"] < end]
        line |= {"node": fault["node"], "incidents": len(found),
                 "blamed": found[0]["node"] if found else "",
                 "culprits": hangs[-1]["culprits"] if hangs else [],
                 "lost": max([one["steps_lost"] or 0 for one in found], default=0),
                 "evicted": [name for one in report["evictions"]
                             if fault["at_s"] <= one["at_s"] < end for name in one["nodes"]]}
    return lines


def played():
    if not RESULTS.exists():
        return []
    return [json.loads(line) for line in RESULTS.read_text().splitlines()]


def play_all(jobs):
    """Plays the new ones of the first `jobs` seeds, and stores the results of each at once."""
    RESULTS.parent.mkdir(exist_ok=True)
    known = {line["seed"] for line in played()}
    commit = subprocess.run(["git", "-C", ROOT, "rev-parse", "--short=9", "HEAD"],
                            capture_output=True, text=True, check=True).stdout.strip()
    for seed in range(1, jobs + 1):
        if f"recovery {seed}" in known:
            continue
        lines = [line | {"commit": commit} for line in play(seed)]
        with open(RESULTS, "a") as file:
            file.writelines(json.dumps(line) + "\n" for line in lines)
