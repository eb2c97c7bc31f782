"""killed_job.py DATA CHECKPOINTS LOG STEP OF: trains a "model", a list of what it was given, until
step STEP of OF.

A step's entry is a sum of hashes of its documents, so it depends on no rank. Each rank appends a
line for each batch to LOG.RANK: number of ranks, rank, step, micro-batch, hash of all its bytes.
"""

import hashlib
import itertools
import sys
import time

if __name__ == "__main__":
    import light_torch  # noqa: F401
import robustrun
import torch
import torch.distributed as dist
from robustrun import checkpoint, data

EVERY = 7  # steps


def digest_of(values):
    return hashlib.blake2b(values.numpy().tobytes(), digest_size=16)


def digests_of(batch):
    """(hash of the whole batch, sum of the hashes of its documents)"""
    names = ("tokens", "labels", "positions", "cu_seqlens")
    whole = hashlib.blake2b(b"".join(batch[name].numpy().tobytes() for name in names),
                            digest_size=16).hexdigest()
    tokens, total = batch["tokens"].flatten(), 0
    for begin, end in itertools.pairwise(batch["cu_seqlens"].tolist()):
        piece = tokens[begin:end]
        if piece.any():
            total += int.from_bytes(digest_of(piece).digest()[:5], "little")
    return whole, total


def main():
    folder, store, log, steps, total = *sys.argv[1:4], *map(int, sys.argv[4:])
    dist.init_process_group("gloo")
    rank, ranks = dist.get_rank(), dist.get_world_size()
    loader = data.loader(folder + "/data.toml")
    state = {"data": loader, "given": torch.zeros(total, dtype=torch.int64)}
    done = checkpoint.load_latest(state, directories=store, random=False) or 0
    with open("%s.%d" % (log, rank), "a") as file:
        given = torch.zeros(1, dtype=torch.int64)
        for batch in loader:
            whole, documents = digests_of(batch)
            print(ranks, rank, batch["step"], batch["micro"], whole, file=file, flush=True)
            given += documents
            if not batch["last"]:
                continue
            dist.all_reduce(given)
            state["given"][done] = given
            given = torch.zeros(1, dtype=torch.int64)
            done += 1
            robustrun.step(done)
            time.sleep(0.02)
            if done % EVERY == 0 or done == steps:
                checkpoint.save(state, done, directories=store, replicated=True, random=False)
            if done == steps:
                break
    dist.barrier()
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
