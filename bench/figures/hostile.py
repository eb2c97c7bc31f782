"""Whether hostile inputs and surroundings end within a bound, with a line, and without traces.

The campaign is bench/hostile_campaign.py: floods of connections, records with wrong content and
right checksums, FIFOs and endless files in the place of files, limits of the machine, mutated
images, stopped and killed processes, another user. Its seeds accumulate over calls. There is no
peer.
"""

import os

import hostile_campaign as campaign
from hang_campaign import wilson
from harness import Figure, Quick
from hostile.place import NOT_LOADED

QUICK = Quick(5, "shows the stored campaign (bench/campaigns); plays 3 inputs only if it is empty")
FEW = {"records": 3}
# Images take root, FUSE and loop devices; only root can act as another user.
NEED_ROOT = ("images", "other-user")
INPUTS_ASKED = 1000


def show_table(families):
    print(f"    {'family':12}{'inputs':>8}{'passed':>8}{'not loaded':>12}{'median s':>10}"
          f"{'longest s':>11}")
    for family, lines in families.items():
        seconds = sorted(line["seconds"] for line in lines)
        unloaded = sum(line["verdict"] == NOT_LOADED for line in lines)
        bad = sum(map(campaign.is_bad, lines))
        print(f"    {family:12}{len(lines):8}{len(lines) - bad - unloaded:8}{unloaded:12}"
              f"{seconds[len(seconds) // 2]:10.2f}{seconds[-1]:11.1f}")


def share(name, lines):
    """The share of a family that ended well."""
    judged = [line for line in lines if line["verdict"] != NOT_LOADED]
    good = sum(not campaign.is_bad(line) for line in judged)
    low, high = wilson(good, len(judged))
    return Figure(f"{name}: inputs that ended as they should", "%",
                  [100 * good / max(1, len(judged))], [], "all", good == len(judged),
                  f"{good} of {len(judged)}, 95 % interval {100 * low:.1f} to {100 * high:.1f}")


def counts(quick):
    if quick:
        return {} if campaign.played() else FEW
    return {name: family.COUNT for name, family in campaign.FAMILIES.items()
            if os.geteuid() == 0 or name not in NEED_ROOT}


def measure(quick):
    campaign.play_all(counts(quick))
    lines = campaign.played()
    families = {name: found for name in campaign.FAMILIES
                if (found := [line for line in lines if line["family"] == name])}
    show_table(families)
    for line in filter(campaign.is_bad, lines):
        campaign.show(line)
    figures = [share(name, found) for name, found in families.items()]
    return [*figures,
            Figure("time until the end of an input", "s", [line["seconds"] for line in lines], [],
                   "reported", True, f"longest {max(line['seconds'] for line in lines):.1f} s"),
            Figure("inputs", "", [len(lines)], [], f"{INPUTS_ASKED} or more",
                   len(lines) >= INPUTS_ASKED)]
