"""Whether the agent's store speaks the protocol of the torch that this worker has imported."""

import os
import sys

# Versions of torch whose store protocol agent/store/ knows.
FIRST, LAST = (2, 2), (2, 14)


def leave_if_unknown(rendezvous):
    """Leaves the store to rank 0's worker, as before torchrun had a store of its own, if torch is
    older or newer than those that are known."""
    version = sys.modules["torch"].__version__
    if FIRST <= tuple(int(part) for part in str(version).split(".")[:2]) <= LAST:
        return
    from .._api.agent import Agent

    with Agent() as agent:
        agent.own_store()
    os.environ["TORCHELASTIC_USE_AGENT_STORE"] = "False"
    if os.environ.get("RANK") != "0":
        return
    print("robustrun: the store of torch %s is not known here: rank 0's worker serves it"
          % version, file=sys.stderr)
