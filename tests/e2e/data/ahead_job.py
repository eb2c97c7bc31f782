"""ahead_job.py SPEC RANK RANKS STATE STEPS LOG [LATE_S [STILL_LOOKS]]: reads the batches of a rank
up to step STEPS.

RANK and RANKS may be "-": those of the environment. It goes on with the state in LOG.begin, if
there is one; after each step rank 0 saves its state in STATE. If there is a file LOG.pace, no step
is begun before the number in it is larger. Each rank appends a line for each batch to LOG.RANK:
step, micro-batch, hash of all its bytes. It needs no torch: a batch's tensors are bytes.
"""

import hashlib
import json
import os
import sys
import time
import types


class Bytes(bytes):
    def view(self, _):
        return self

    flatten = property(lambda self: lambda: self)


torch = types.ModuleType("torch")
torch.int64, torch.int32 = 8, 4
torch.frombuffer = lambda buffer, dtype, count, offset: Bytes(
    memoryview(buffer).cast("B")[offset:offset + count * dtype])
sys.modules["torch"] = torch

from robustrun import data  # noqa: E402
from robustrun._data import tokens_ahead  # noqa: E402


def digest_of(batch):
    return hashlib.sha256(b"".join(
        batch[name] for name in ("tokens", "labels", "positions", "cu_seqlens"))).hexdigest()


def begun(loader):
    return loader.state_dict()["cursor"]["step"]


def pace(log):
    try:
        with open(log + ".pace") as file:
            return int(file.read())
    except FileNotFoundError:  # the test has let it go
        return sys.maxsize


def main():
    spec, rank, ranks, state, steps, log = sys.argv[1:7]
    rank, ranks = (int(os.environ[name] if given == "-" else given)
                   for name, given in (("RANK", rank), ("WORLD_SIZE", ranks)))
    steps = int(steps)
    if len(sys.argv) > 7:
        tokens_ahead.LATE_S = float(sys.argv[7])
    if len(sys.argv) > 8:
        tokens_ahead.STILL_LOOKS, tokens_ahead._START_LOOKS = int(sys.argv[8]), 100
    loader = data.loader(spec, rank, ranks)
    if os.path.exists(log + ".begin"):
        with open(log + ".begin") as file:
            loader.load_state_dict(json.load(file))
    with open("%s.%d" % (log, rank), "a") as out:
        while True:
            if begun(loader) >= steps:
                return
            while begun(loader) >= pace(log):
                time.sleep(0.005)
            batch = next(loader)
            print(batch["step"], batch["micro"], digest_of(batch), file=out, flush=True)
            if batch["last"] and rank == 0:
                with open(state + "~", "w") as file:
                    json.dump(loader.state_dict(), file)
                os.replace(state + "~", state)


if __name__ == "__main__":
    try:
        main()
    except data.DataError as error:
        sys.exit("data: %s" % error)
