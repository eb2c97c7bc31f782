"""The training in tests of robustrun.checkpoint: a worker that saves at every step and may die
anywhere. Writes "loaded STEP DIGEST LOADER" and, after each save, "saved STEP DIGEST LOADER"."""

import argparse
import hashlib
import os
import sys

import light_torch  # noqa: F401
import torch
import torch.distributed as dist
import torch.distributed.nn  # noqa: F401  before there is a group: see diagnosis/faulty_job.py
from robustrun import checkpoint


def digest(state, rank):
    """A digest of this rank's whole state after a step."""
    sums = hashlib.sha256()
    for name, tensor in sorted(state["model"].state_dict().items()):
        sums.update(name.encode() + tensor.numpy().tobytes())
    for number, kept in sorted(state["optimizer"].state_dict()["state"].items()):
        for name, value in sorted(kept.items()):
            sums.update(("%d %s" % (number, name)).encode() + value.numpy().tobytes())
    sums.update(repr((state["scheduler"].state_dict(), state["losses"], rank)).encode())
    sums.update(torch.get_rng_state().numpy().tobytes())
    return sums.hexdigest()[:16]


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--steps", type=int, default=10**9)
    parser.add_argument("--own", action="store_true", help="each rank a state of its own")
    parser.add_argument("--remap", action="store_true")
    parser.add_argument("--log", help="folder: lines of rank N go to rank-N.log")
    args = parser.parse_args()
    torch.set_num_threads(1)
    if int(os.environ.get("WORLD_SIZE", "1")) > 1:
        dist.init_process_group("gloo")
    rank = dist.get_rank() if dist.is_initialized() else 0
    out = open(os.path.join(args.log, "rank-%d.log" % rank), "a") if args.log else sys.stdout
    torch.manual_seed(rank if args.own else 0)
    model = torch.nn.Sequential(torch.nn.Linear(8, 64), torch.nn.BatchNorm1d(64),
                                torch.nn.Linear(64, 1))
    optimizer = torch.optim.AdamW(model.parameters())
    state = {"model": model, "optimizer": optimizer, "losses": [],
             "scheduler": torch.optim.lr_scheduler.MultiStepLR(optimizer, [3, 5])}
    torch.manual_seed(100 + rank)
    loader = {"seen": 0, "rank": rank}

    def remap(name, values, rank, size):
        return None if name == "random" else {"seen": sum(each["seen"] for each in values),
                                              "rank": rank}

    first = checkpoint.load_latest(state, dataloader=loader, remap=args.remap and remap or None)
    print("loaded", first, digest(state, rank), loader, file=out, flush=True)
    for step in range((first or 0) + 1, args.steps + 1):
        optimizer.zero_grad()
        loss = model(torch.randn(32, 8)).square().mean()
        loss.backward()
        if dist.is_initialized() and not args.own:
            for parameter in model.parameters():
                dist.all_reduce(parameter.grad)
            for buffer in model.buffers():
                dist.broadcast(buffer, 0)
        elif dist.is_initialized():
            dist.barrier()
        optimizer.step()
        state["scheduler"].step()
        state["losses"] = state["losses"][-3:] + [step]
        loader["seen"] += 32
        if dist.is_initialized() and not args.own:
            for parameter in model.parameters():
                dist.broadcast(parameter.data, 0)
        checkpoint.save(state, step, replicated=not args.own, dataloader=loader, keep=3)
        print("saved", step, digest(state, rank), loader, file=out, flush=True)
    if dist.is_initialized():
        dist.destroy_process_group()


if __name__ == "__main__":
    main()
