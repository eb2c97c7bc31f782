"""Copies of a state in the agent's memory: how long they stop training, and reading them back.

The limit is a warm copy of the same tensors by libc or by torch, whichever is faster at that
moment; torch.distributed.checkpoint's async_save is beside it. Saves go to tmpfs, so that no disk
is measured.
"""

import json
import statistics
import sys
import tempfile

from harness import ROBUSTRUN, ROOT, Figure, Quick, Scratch, processes_shown, start, wait_for

STALL_MAX = 1.15       # of a memcpy
RESTORE_MIN = 0.8      # of a memcpy's bandwidth; a restore also computes a CRC
DCP_ROUNDS = 5         # 20,000 tensors take its process half a minute
STEP_SHARE_MAX = 0.01  # of a step of one second, up to 64 MiB
STEP_KIND = "64 MiB in all"
KINDS = 4              # of states
ROUNDS, MIB = 20, 1024
QUICK_MIB, QUICK_DCP_ROUNDS = 128, 1
QUICK = Quick(45, "3 pairs of 128 MiB instead of 20 of 1 GiB, 1 of DCP's instead of 5", rounds=3)


def readings(quick):
    """What the job prints about each kind of state, as it comes."""
    sizes = (QUICK.rounds, QUICK_MIB, QUICK_DCP_ROUNDS) if quick else (ROUNDS, MIB, DCP_ROUNDS)
    command = [ROBUSTRUN, "--nproc-per-node=1", "--max-restarts=0",
               ROOT / "bench" / "copies_job.py", *map(str, sizes)]
    with tempfile.TemporaryDirectory(dir="/dev/shm") as saves, Scratch() as folder:
        process = start([*command, saves], folder, OMP_NUM_THREADS=2)

        def printed():
            lines = (folder / "output").read_text(errors="replace").split("\n")[:-1]
            return [line for line in lines if '"kind"' in line]

        for number in range(KINDS):
            def is_there(number=number):
                return process.poll() is not None or len(printed()) > number

            wait_for(is_there, f"kind {number + 1} of {KINDS}", 3600)
            if len(printed()) <= number:
                sys.exit(f"the job ended too early\n{processes_shown()}")
            _, brace, rest = printed()[number].partition("{")
            yield json.loads(brace + rest)


def median_of(pairs):
    return statistics.median(a / b for a, b in pairs)


def measure(quick):
    for found in readings(quick):
        kind, memcpy, size = found["kind"], found["memcpy"], found["bytes"]
        where = "" if found["shared"] else "not the agent's memory"
        if kind == STEP_KIND:
            step = found["step"]
            yield Figure(
                f"copy in every step, {kind}", "s", step, [], f"at most {STEP_SHARE_MAX} s",
                statistics.median(step) <= STEP_SHARE_MAX and not where, where)
            continue
        stall = median_of(zip(found["stage"], memcpy, strict=True))
        yield Figure(f"stall of a save, {kind}, to memcpy", "s", found["stage"], memcpy,
                     f"at most {STALL_MAX}", stall <= STALL_MAX and not where, where)
        for peer in ("dcp thread", "dcp process"):
            if found.get(peer):
                beside = found["stage"][:len(found[peer])]
                yield Figure(f"stall of a save, {kind}, to {peer}", "s", beside, found[peer],
                             "less", median_of(zip(beside, found[peer], strict=True)) < 1)
        ours = [size / 1e9 / value for value in found["restore"]]
        peer = [size / 1e9 / value for value in memcpy]
        yield Figure(f"restore from memory, {kind}, to memcpy", "GB/s", ours, peer,
                     f"at least {RESTORE_MIN}",
                     median_of(zip(ours, peer, strict=True)) >= RESTORE_MIN)
