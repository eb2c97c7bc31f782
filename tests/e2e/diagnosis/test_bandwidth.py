"""Bandwidth of NCCL's collectives, and a rank whose links become half as fast (played NCCL)."""

import json
import re
import subprocess
import time
import urllib.request

from helpers.jobs import start_job
from helpers.runner import BUILD

PLAYER = BUILD / "test-helpers" / "nccl_player"
PLUGIN = (BUILD / "share" / "robustrun" / "librobustrun_tracer.so").resolve()
RANKS, SLOW = 4, 2
SIZE, KERNEL_S = 2 * (4 << 20), 0.010  # as tests/helpers/nccl_rates.h has them
ALGORITHM = SIZE / KERNEL_S
BUS = ALGORITHM * 2 * (RANKS - 1) / RANKS
LEARNT_S = 17  # the history of the links
NAMED_WITHIN_S = 10


def status(job):
    asked = subprocess.run([job.runner.binary, "status", str(job.run), "--json"],
                           capture_output=True, text=True, timeout=60)
    return json.loads(asked.stdout) if asked.returncode == 0 else {}


def near(value, wanted):
    return abs(value - wanted) <= 0.02 * wanted


def test_bandwidth_is_shown_and_a_rank_with_slow_links_is_named(robustrun):
    flag = robustrun.folder / "slow"
    job = start_job(robustrun, f"--nproc-per-node={RANKS}", "--metrics-port=0", "--no-python",
                    PLAYER, PLUGIN, "ring", "7",
                    env={"SLOW_FLAG": str(flag), "SLOW_RANK": str(SLOW)})
    shown = job.wait(lambda: status(job).get("bandwidth"), "bandwidth", 60)
    begun = time.monotonic()
    assert len(shown) == 1
    row = shown[0]
    assert row["operation"] == "all_reduce" and row["members"] == RANKS
    assert row["group"] == "comm 2748" and row["size_bytes"] == SIZE
    assert near(row["algorithm_bytes_per_s"], ALGORITHM) and near(row["bus_bytes_per_s"], BUS)
    page = urllib.request.urlopen(status(job)["metrics_url"], timeout=10).read().decode()
    sample = r'collective_bus_bytes_per_second\{[^}]*operation="all_reduce"[^}]*\} (.*)'
    measured = re.search(sample, page)
    assert near(float(measured.group(1)), BUS)

    time.sleep(max(0, LEARNT_S - (time.monotonic() - begun)))
    before = status(job)["hang"]
    assert before is None, before
    flag.touch()
    slow_at = time.monotonic()

    def named():
        hang = status(job)["hang"]
        return hang if hang and hang["culprits"] else None

    hang = job.wait(named, "a verdict", 60)
    took = time.monotonic() - slow_at
    assert hang["finding"] == "slow link" and hang["culprits"] == [SLOW], hang
    assert "before" in hang["sentence"]
    assert took <= NAMED_WITHIN_S, f"named after {took:.1f} s"
    print(f"named after {took:.1f} s: {hang['sentence']}")
    job.stop()
    report = json.loads(subprocess.run([job.runner.binary, "report", str(job.run), "--json"],
                                       capture_output=True, text=True, check=True).stdout)
    assert [one["operation"] for one in report["bandwidth"]] == ["all_reduce"]
    assert report["bandwidth"][0]["algorithm_bytes_per_s"] <= 1.02 * ALGORITHM
    assert [one["culprits"] for one in report["hangs"]] == [[SLOW]]
