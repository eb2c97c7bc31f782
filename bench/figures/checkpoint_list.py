"""`robustrun ckpt ls` of 500 checkpoints of 20,000 tensors, beside reading the same manifests.

The checkpoints consist of their manifests alone. `ls` reads every byte of these, so reading them is
the limit.
"""

import os
import sys
from subprocess import DEVNULL

from harness import ROBUSTRUN, ROOT, Figure, Quick, Scratch, in_turns, timed

CHECKPOINTS, TENSORS = 500, 20_000
SECONDS_MAX = 1.5
ROUNDS, QUICK_CHECKPOINTS = 10, 40
QUICK = Quick(20, "3 rounds of 40 checkpoints instead of 10 of 500", rounds=3)


def fill(folder, count):
    """Saves `count` checkpoints and leaves only their manifests; returns the paths of these."""
    os.environ["ROBUSTRUN_BUILD_DIR"] = str(ROBUSTRUN.parent.parent)
    sys.path.insert(0, str(ROOT / "python"))
    from robustrun._checkpoint import c_api

    memory = bytearray(64)
    address = c_api.ctypes.addressof(c_api.ctypes.c_char.from_buffer(memory))
    shards = c_api.Structure(c_api.Shard(f"model.layers.{i}.attention.weight", "F32", 0, (4, 4),
                                             (0, 0), (4, 4), 64) for i in range(TENSORS))
    manifests = []
    with c_api.Engine([folder], "fill") as engine:
        for step in range(count):
            with engine.begin(step, ["rank-0"]) as save:
                save.write("rank-0", shards, [address] * TENSORS)
                save.commit()
                at = os.path.join(folder, save.attempt)
            manifests.append(os.path.join(at, "MANIFEST"))
            for name in os.listdir(at):
                if name != "MANIFEST":
                    os.remove(os.path.join(at, name))
    return manifests


def measure(quick):
    count = QUICK_CHECKPOINTS if quick else CHECKPOINTS
    with Scratch() as folder:
        manifests = fill(str(folder), count)
        ours, peer = in_turns(QUICK.rounds if quick else ROUNDS,
                              lambda: timed([ROBUSTRUN, "ckpt", "ls", folder], folder, DEVNULL),
                              lambda: timed(["cat", *manifests], folder, DEVNULL))
    limit = SECONDS_MAX * count / CHECKPOINTS
    met = sorted(ours)[len(ours) // 2] <= limit
    return [Figure(f"ckpt ls of {count}, to cat", "s", ours, peer, f"at most {limit:g} s", met)]
