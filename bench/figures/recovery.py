"""Whether runs recover from faults by themselves, with what loss, and which machine they blame.

The campaign is bench/recovery_campaign.py: DDP trainings over gloo on four "nodes" of this machine
and a spare. A run has recovered when every rank does steps beyond those before the fault. The peer
would be a batch script around torchrun: it goes on after a worker's death with --max-restarts,
names no machine, replaces none, and waits half an hour for a hang.
"""

import collections
import statistics

import recovery_campaign as campaign
from hang_campaign import wilson
from harness import Figure, Quick

JOBS, JOBS_QUICK = 13, 1
QUICK = Quick(1, "shows the stored campaign (bench/campaigns); plays 1 job only if it is empty")
INCIDENTS_ASKED = 100
# Faults of one machine that end the attempt. net-drop is not among them: it cuts the agent's
# connection to the supervisor; the workers go on, so the node is kept.
OF_ONE_MACHINE = ("kill", "segfault", "abort", "exception", "agent-death", "stop")


def share(name, hits, lines, asked):
    low, high = wilson(hits, len(lines))
    return Figure(name, "%", [100 * hits / max(1, len(lines))], [], f"{100 * asked:.0f} % or more",
                  hits >= asked * len(lines),
                  f"{hits} of {len(lines)}, 95 % interval {100 * low:.1f} to {100 * high:.1f}")


def is_blamed(line):
    return line["blamed"] == line["node"] or line["culprits"] == [line["victim"]]


def show_table(lines):
    kinds = collections.defaultdict(list)
    for line in lines:
        kinds[line["kind"]].append(line)
    print(f"    {'kind':14}{'faults':>8}{'recovered':>11}{'median s':>10}{'blamed':>8}"
          f"{'evicted':>9}")
    for kind, faults in sorted(kinds.items()):
        took = [line["recovered_s"] for line in faults if line["recovered_s"] is not None]
        middle = f"{statistics.median(took):.1f}" if took else "-"
        print(f"    {kind:14}{len(faults):8}{len(took):11}{middle:>10}"
              f"{sum(map(is_blamed, faults)):8}{sum(bool(line['evicted']) for line in faults):9}")


def measure(quick):
    campaign.play_all(JOBS_QUICK if quick else JOBS)
    lines = campaign.played()
    show_table(lines)
    recovered = [line for line in lines if line["recovered_s"] is not None]
    single = [line for line in lines if line["kind"] in OF_ONE_MACHINE]
    kept = [line for line in recovered if line["lost"] <= campaign.CHECKPOINT_STEPS]
    wrong = sum(any(name != line["node"] for name in line["evicted"]) for line in lines)
    evicted = sum(len(line["evicted"]) for line in lines)
    return [share("incidents after which the run went on by itself", len(recovered), lines, 0.99),
            share("of these, nothing lost beyond the last checkpoint", len(kept), recovered, 1),
            share("faults of one machine that were attributed to it",
                  sum(map(is_blamed, single)), single, 0.95),
            Figure("machines evicted without a fault of theirs", "", [wrong], [], "reported",
                   True, f"of {evicted} evicted"),
            Figure("time from the fault to new steps", "s",
                   [line["recovered_s"] for line in recovered], [], "reported", True),
            Figure("incidents", "", [len(lines)], [], f"{INCIDENTS_ASKED} or more",
                   len(lines) >= INCIDENTS_ASKED)]
