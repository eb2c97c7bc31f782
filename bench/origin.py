"""The remote web server of the tests, with machines around it. Takes root."""

import sys

from harness import ROOT

sys.path.append(str(ROOT / "tests" / "e2e"))
from helpers.machines import Lab  # noqa: E402, F401
from image.far_origin import BURST, LATENCY, Origin  # noqa: E402, F401
