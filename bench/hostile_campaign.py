#!/usr/bin/env python3
"""Hostile inputs and surroundings, and how robustrun ends: within a bound, with a line that says
why, with nothing left behind, and so that the next start is clean.

Each family of bench/hostile plays one input per seed. Played seeds are kept in
bench/campaigns/hostile.jsonl, with the commit that played them, and are not played again: a
campaign grows over several runs of the command. Without that file it begins anew.

    bench/hostile_campaign.py FAMILY SEED...     plays these again, stores nothing, shows the lines
"""

import argparse
import json
import signal
import subprocess
import sys
import time

from harness import ROOT
from hostile import files, floods, images, limits, other_user, processes, records
from hostile.place import NOT_LOADED, PASSED

NOT_PLAYED = "not played: "  # the campaign's own fault
RESULTS = ROOT / "bench" / "campaigns" / "hostile.jsonl"
FAMILIES = {"floods": floods, "records": records, "files": files, "limits": limits,
            "images": images, "processes": processes, "other-user": other_user}


def played():
    if not RESULTS.exists():
        return []
    return [json.loads(line) for line in RESULTS.read_text().splitlines()]


def play(family, seeds, until=float("inf")):
    """Plays these seeds, in turn; yields a line of results for each. Begins none after `until`, by
    the monotonic clock."""
    seeds = list(seeds)
    if not seeds or time.monotonic() > until:
        return
    # SIGTERM, too, ends what an input has started.
    before = signal.signal(signal.SIGTERM, signal.default_int_handler)
    try:
        with FAMILIES[family].Player() as player:
            for seed in seeds:
                if time.monotonic() > until:
                    return
                began = time.monotonic()
                try:
                    line = player.play(seed)
                except (Exception, SystemExit) as why:
                    line = {"input": "?", "seconds": round(time.monotonic() - began, 3),
                            "code": None, "lines": 0,
                            "verdict": f"{NOT_PLAYED}{type(why).__name__}: {str(why)[:300]}"}
                yield {"seed": f"{family} {seed}", "family": family, **line}
    finally:
        signal.signal(signal.SIGTERM, before)


def is_bad(line):
    return line["verdict"] not in (PASSED, NOT_LOADED)


def show(line):
    code = "killed" if line["code"] is None else line["code"]
    print(f"    {line['seed']}: {line['input']}: {code} after {line['seconds']} s, "
          f"{line['lines']} lines: {line['verdict']}", flush=True)


def play_all(counts, until=float("inf")):
    """Plays the new ones of the first seeds of each family, and stores each result at once."""
    RESULTS.parent.mkdir(exist_ok=True)
    known = {line["seed"] for line in played()}
    commit = subprocess.run(["git", "-C", ROOT, "rev-parse", "--short=9", "HEAD"],
                            capture_output=True, text=True, check=True).stdout.strip()
    for family, count in counts.items():
        new = [seed for seed in range(1, count + 1) if f"{family} {seed}" not in known]
        for line in play(family, new, until):
            if is_bad(line):
                show(line)
            if line["verdict"].startswith(NOT_PLAYED):
                continue  # another time
            with open(RESULTS, "a") as file:
                file.write(json.dumps(line | {"commit": commit}) + "\n")


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("family", choices=FAMILIES)
    parser.add_argument("seed", type=int, nargs="+")
    options = parser.parse_args()
    failed = False
    for line in play(options.family, options.seed):
        show(line)
        print(line.get("said", ""))
        failed = failed or is_bad(line)
    return failed


if __name__ == "__main__":
    sys.exit(main())
