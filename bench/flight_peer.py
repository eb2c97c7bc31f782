"""The ranks that torchfrtrace names: reads folders of dumps, one a line, and writes JSON.

It prints mismatches; the ranks that it calls missing or "Culprit rank" count as named.
"""

import contextlib
import io
import json
import logging
import re
import sys
import types

# torchfrtrace ends with a NameError without this package, which only lays out tables.
sys.modules["tabulate"] = types.SimpleNamespace(tabulate=lambda data, headers=None: data)

from torch.distributed.flight_recorder import fr_trace  # noqa: E402


def named(folder):
    said = io.StringIO()
    logging.getLogger("Flight Recorder").handlers = [logging.StreamHandler(said)]
    # Its output counts even if it fails afterwards.
    with contextlib.redirect_stdout(said), contextlib.suppress(Exception, SystemExit):
        fr_trace.main([folder, "--allow-incomplete-ranks"])
    ranks = {int(rank) for rank in re.findall(r"Culprit rank (\d+)", said.getvalue())}
    for missing in re.findall(r"missing ranks: \{([^}]*)\}", said.getvalue()):
        ranks |= {int(rank) for rank in missing.split(",")}
    return sorted(ranks)


print(json.dumps([named(line.strip()) for line in sys.stdin]))
