"""Links that fail under real gloo trainings on several machines, and robustrun's verdicts on them.

Machines are network namespaces with a separate network for data
(tests/e2e/diagnosis/data_network.py), so that robustrun's own connections stay up.
`play_network(seed)` is a play of hang_campaign.py, with lines of results of the same form. Takes
root.

    link-cut   the cable of a machine is pulled: the machine's rank is the culprit
    link-drop  packets between two machines are lost: the link, with both of its ends, is
    slow-link  a machine sends slowly: the rank, or one of its links, is
"""

import random
import re
import sys
import time
import uuid

from hang_campaign import SCRIPT, Job
from harness import ROBUSTRUN, ROOT, Scratch

sys.path.append(str(ROOT / "tests" / "e2e"))
from diagnosis.data_network import DataNetwork  # noqa: E402
from helpers.machines import Lab  # noqa: E402
from helpers.runner import MARKER  # noqa: E402

KINDS = ("link-cut", "link-drop", "slow-link")
# The right findings for each kind. Naming the rank by all of its links is right, too.
FINDINGS = {"link-cut": ("link down", "link stuck"), "link-drop": ("link stuck",),
            "slow-link": ("slow link",)}
MACHINES = (3, 4)
PAYLOAD_MB = 4
RATES = ("50mbit", "100mbit", "200mbit")
PACE_LEARNT_S = 20  # robustrun needs the usual pace to find a slow link
NAMED_WITHIN_S = 40
WATCHED_ON_S = 4
BEGUN_STEPS = 40


class LabJob(Job):
    """One rank on each of the lab's machines."""

    def __init__(self, folder, lab, data, payload):
        self.folder, self.run = folder, folder / "run"
        self.out, self.err = folder / "out", folder / "err"
        command = [*lab.prefix, ROBUSTRUN, "--run-dir", self.run,
                   f"--hosts=h[1-{len(lab.machines)}]", "--iface=eth0", "--nproc-per-node=1",
                   "--omp=1", "--hang-timeout=0", SCRIPT, 10**6, 0.05]
        self.begin(command, **lab.home.environment(), **data.environment(), PAYLOAD=payload,
                   **{MARKER: lab.marker})


def names(rank, text):
    return re.search(rf"\brank {rank}\b", text) is not None


def is_right(kind, victim, partner, hang):
    if hang["finding"] not in FINDINGS[kind]:
        return False
    if kind == "link-drop":
        return not hang["culprits"] and names(victim, hang["text"]) and names(partner, hang["text"])
    if kind == "slow-link" and not hang["culprits"]:
        return names(victim, hang["text"])
    return hang["culprits"] == [victim]


def is_wrong(victim, partner, hang):
    """Whether a finding that is not right blames something innocent. One end of the link alone,
    or no culprit, is not wrong."""
    if hang["culprits"]:
        return bool(set(hang["culprits"]) - {victim, partner})
    return any(hang["finding"] in findings for findings in FINDINGS.values())


def judged(kind, victim, partner, ranks, at, report, seed):
    said = [hang for hang in report["hangs"] if hang["at_s"] >= at and hang["stage"] != "passed"]
    named = [hang for hang in said if is_right(kind, victim, partner, hang)]
    wrong = [hang for hang in said if hang not in named and is_wrong(victim, partner, hang)]
    first = (named or said or [{"finding": None, "text": None}])[0]
    return {"seed": seed, "kind": kind, "victim": victim, "ranks": ranks,
            "detected_s": said[0]["at_s"] - at if said else None,
            "named_s": named[0]["at_s"] - at if named else None,
            "finding": first["finding"], "text": first["text"],
            "wrong": [hang["text"] for hang in wrong]}


def play_network(seed):
    dice = random.Random(f"network {seed}")
    kind, ranks = KINDS[seed % len(KINDS)], dice.choice(MACHINES)
    victim = dice.randrange(ranks)
    # Neighbours in the ring: only they exchange data.
    partner = (victim + dice.choice((1, -1))) % ranks if kind == "link-drop" else None
    with Scratch() as folder:
        lab = Lab(folder / "lab", uuid.uuid4().hex).add(ranks)
        try:
            data = DataNetwork(lab)
            payload = PAYLOAD_MB if kind == "slow-link" else 0
            with LabJob(folder, lab, data, payload) as job:
                job.trains(BEGUN_STEPS + dice.randrange(BEGUN_STEPS))
                if kind == "slow-link":
                    time.sleep(PACE_LEARNT_S)
                at = strike(kind, data, lab, victim, partner, dice)
                job.says(r"(hang|slow): .*(link|eth1)", NAMED_WITHIN_S)
                time.sleep(WATCHED_ON_S)
                job.process.terminate()
                job.process.wait(60)
                report = job.report()
        finally:
            lab.close()
    return [judged(kind, victim, partner, ranks, at - report["started_s"], report,
                   f"network {seed}")]


def strike(kind, data, lab, victim, partner, dice):
    """Causes the fault; returns its Unix time."""
    machine = lab[f"h{victim + 1}"]
    at = time.time()
    if kind == "link-cut":
        data.pull(machine)
    elif kind == "link-drop":
        data.drop(machine, lab[f"h{partner + 1}"], dice.choice(("switch", "machine")))
    else:
        data.slow(machine, dice.choice(RATES))
    return at
