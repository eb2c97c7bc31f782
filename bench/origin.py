"""A web server that is far away, and machines around it, as the tests have them. Takes root."""

import sys

from harness import ROOT

sys.path.append(str(ROOT / "tests" / "e2e"))
from helpers.machines import Lab  # noqa: E402, F401
from image.far_origin import BURST, LATENCY, Origin  # noqa: E402, F401
