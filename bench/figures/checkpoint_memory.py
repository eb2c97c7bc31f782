"""Copies of a state in the agent's memory: how long they stop training, and reading them back.

The limit is a warm copy of the same tensors by libc or by torch, whichever is faster at that
moment; torch.distributed.checkpoint's async_save is beside it. Saves go to tmpfs, so that no disk
is measured.
"""

import json
import statistics
import tempfile

from harness import ROBUSTRUN, ROOT, Figure, Quick, Scratch, call, clean_environment

STALL_MAX = 1.15       # of a memcpy
RESTORE_MIN = 0.8      # of a memcpy's bandwidth; a restore also computes a CRC
DCP_ROUNDS = 5         # 20,000 tensors take its process half a minute
STEP_SHARE_MAX = 0.01  # of a step of one second, up to 64 MiB
STEP_KIND = "64 MiB in all"
ROUNDS, MIB = 20, 1024
QUICK_MIB, QUICK_DCP_ROUNDS = 256, 1
QUICK = Quick(55, "3 pairs of 256 MiB instead of 20 of 1 GiB, 1 of DCP's instead of 5", rounds=3)


def readings(quick):
    sizes = (QUICK.rounds, QUICK_MIB, QUICK_DCP_ROUNDS) if quick else (ROUNDS, MIB, DCP_ROUNDS)
    command = [ROBUSTRUN, "--nproc-per-node=1", "--max-restarts=0",
               ROOT / "bench" / "copies_job.py", *map(str, sizes)]
    with Scratch() as folder, tempfile.TemporaryDirectory(dir="/dev/shm") as saves:
        ran = call([*command, saves], folder, clean_environment(OMP_NUM_THREADS=2), check=True)
    lines = [line.partition("{") for line in ran.stdout.splitlines() if '"kind"' in line]
    return [json.loads(brace + rest) for _, brace, rest in lines]


def median_of(pairs):
    return statistics.median(a / b for a, b in pairs)


def measure(quick):
    figures = []
    for found in readings(quick):
        kind, memcpy, size = found["kind"], found["memcpy"], found["bytes"]
        where = "" if found["shared"] else "not the agent's memory"
        if kind == STEP_KIND:
            step = found["step"]
            figures.append(Figure(
                f"copy in every step, {kind}", "s", step, [], f"at most {STEP_SHARE_MAX} s",
                statistics.median(step) <= STEP_SHARE_MAX and not where, where))
            continue
        stall = median_of(zip(found["stage"], memcpy, strict=True))
        figures.append(Figure(f"stall of a save, {kind}, to memcpy", "s", found["stage"], memcpy,
                              f"at most {STALL_MAX}", stall <= STALL_MAX and not where, where))
        for peer in ("dcp thread", "dcp process"):
            if found.get(peer):
                beside = found["stage"][:len(found[peer])]
                figures.append(Figure(f"stall of a save, {kind}, to {peer}", "s", beside,
                                      found[peer], "less",
                                      median_of(zip(beside, found[peer], strict=True)) < 1))
        ours = [size / 1e9 / value for value in found["restore"]]
        peer = [size / 1e9 / value for value in memcpy]
        figures.append(Figure(f"restore from memory, {kind}, to memcpy", "GB/s", ours, peer,
                              f"at least {RESTORE_MIN}",
                              median_of(zip(ours, peer, strict=True)) >= RESTORE_MIN))
    return figures
