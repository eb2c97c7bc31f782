"""Hostile inputs by family: each module has COUNT, the number of seeds of a whole campaign, and a
class Player whose play(seed) returns one line of results (bench/hostile_campaign.py)."""

import harness  # noqa: F401  # finds the helpers of tests/e2e
