"""The hostile campaign (bench/hostile_campaign.py): all inputs of each family, and new ones with
new seeds. A failure shows the seeds; `bench/hostile_campaign.py FAMILY SEED` plays them again."""

import os
import random
import sys

import pytest
from helpers.runner import ROOT

sys.path.append(str(ROOT / "bench"))
import hostile_campaign as campaign  # noqa: E402

NEED_ROOT = ("images", "other-user")
NEW = int(os.environ.get("ROBUSTRUN_TEST_ROUNDS", "100"))
FIRST_NEW = int(os.environ.get("ROBUSTRUN_TEST_SEED", random.randrange(10**6, 10**9)))


def seeds(family):
    """Those of the stored campaign, and new ones."""
    return [*range(1, campaign.FAMILIES[family].COUNT + 1), *range(FIRST_NEW, FIRST_NEW + NEW)]


@pytest.mark.parametrize("family", campaign.FAMILIES)
def test_every_hostile_input_ends_with_a_line_and_leaves_nothing(family):
    if family in NEED_ROOT and os.geteuid() != 0:
        pytest.skip("mounting by the kernel, and acting as another user, takes root")
    print(f"new seeds from {FIRST_NEW} on (ROBUSTRUN_TEST_SEED)")
    bad = []
    for line in campaign.play(family, seeds(family)):
        if campaign.is_bad(line):
            campaign.show(line)
            bad.append(f"{line['seed']}: {line['input']}: {line['verdict']}")
    assert not bad, "\n".join(bad)
