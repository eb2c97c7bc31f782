"""Hangs in real gloo trainings: how soon and how surely their culprits are named.

A campaign of faults and of healthy runs (hang_campaign.py), whose seeds accumulate over calls. The
peer is torch, which reports nothing before its time-out: 600 s by default with NCCL, the value
shown beside ours, and 30 min with gloo. `tracing` has torch's report, and the cost of watching.
"""

import hang_campaign as campaign
import network_faults
from harness import Figure, Quick

PLAYS = {"final": campaign.play_final, "network": network_faults.play_network,
         "passing": campaign.play_passing, "healthy": campaign.play_healthy}
QUICK = Quick(1, "shows the stored campaign (bench/campaigns); plays 1 job only if it is empty")
FEW = {"final": 1}
WHOLE = {"final": 60, "network": 24, "passing": 16, "healthy": 100}
FAULTS_ASKED, HEALTHY_ASKED = 200, 100
TORCH_TIMEOUT_S = 600


def percentile(values, share):
    ordered = sorted(values)
    return ordered[min(len(ordered) - 1, int(share * len(ordered)))]


def timing(name, values, share, limit_s):
    """Shows the value that `share` of the values do not exceed."""
    value = percentile(values, share)
    return Figure(name, "s", [value], [TORCH_TIMEOUT_S], f"below {limit_s} s", value < limit_s,
                  f"{len(values)} faults")


def sureness(faults):
    named = sum(fault["named_s"] is not None and not fault["wrong"] for fault in faults)
    wrong = sum(bool(fault["wrong"]) for fault in faults)
    low, high = campaign.wilson(named, len(faults))
    recall = Figure("faults whose culprit was named, and no other", "%",
                    [100 * named / len(faults)], [], "95 % or more", named / len(faults) >= 0.95,
                    f"{named} of {len(faults)}, 95 % interval {100 * low:.1f} to {100 * high:.1f}")
    spoken = named + wrong
    low, high = campaign.wilson(named, spoken)
    precision = Figure("verdicts that named the right one", "%", [100 * named / max(1, spoken)],
                       [], "95 % or more", named >= 0.95 * spoken,
                       f"95 % interval {100 * low:.1f} to {100 * high:.1f}")
    return [recall, precision]


def show_table(faults):
    rows = [["kind", "faults", "named", "wrong", "found as"], *campaign.table(faults)]
    widths = [max(len(row[i]) for row in rows) for i in range(len(rows[0]))]
    for row in rows:
        cells = [cell.ljust(width) for cell, width in zip(row, widths, strict=True)]
        print("    " + "  ".join(cells).rstrip())


def measure(quick):
    for which, count in (FEW if quick else WHOLE).items():
        campaign.play(which, PLAYS[which], range(1, count + 1))
    lines = campaign.played()
    faults = [line for line in lines if line["kind"] != "healthy"]
    healthy = [line for line in lines if line["kind"] == "healthy"]
    show_table(faults)
    detected = [f["detected_s"] for f in faults if f["detected_s"] is not None]
    named = [f["named_s"] for f in faults if f["named_s"] is not None]
    convicted = sum(bool(run["convicted"]) or run["code"] != 0 for run in healthy)
    suspected = sum(bool(run["suspected"]) for run in healthy)
    slow = sum(bool(run["slow"]) for run in healthy)
    figures = [timing("fault to suspicion, 90 % of them", detected, 0.9, 5),
               timing("fault to suspicion, all of them", detected, 1, 15),
               timing("fault to named culprit, half of them", named, 0.5, 8),
               timing("fault to named culprit, all of them", named, 1, 25),
               *sureness(faults),
               Figure("healthy runs that were convicted, or failed", "runs", [convicted], [],
                      "none", convicted == 0,
                      f"of {len(healthy)}; a pause was mentioned as suspicious in {suspected}, "
                      f"a slow rank in {slow}")]
    for name, count, asked in (("faults played", len(faults), FAULTS_ASKED),
                               ("healthy runs played", len(healthy), HEALTHY_ASKED)):
        figures.append(Figure(name, "", [count], [], f"{asked} or more", count >= asked))
    return figures
