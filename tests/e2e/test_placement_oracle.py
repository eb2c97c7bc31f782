"""The integer program that says what the best placement costs, against all placements.

Seeds: nodes.rounds().
"""

import pytest
from nodes import rounds
from placement_oracle import draw_job, least_cost, least_cost_of_all

TOLERANCE = 1e-4


@rounds(of_ci=10)
def test_the_program_finds_the_least_of_all_placements(tmp_path, seed):
    job = draw_job(seed, nodes_most=6, minipods_most=3)
    assert least_cost(job, tmp_path) == pytest.approx(least_cost_of_all(job), abs=TOLERANCE)
