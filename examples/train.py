"""A small but true data-parallel training: a network learns to tell two spirals apart.

    robustrun --nproc-per-node 2 examples/train.py --checkpoint /tmp/spirals
    torchrun  --nproc-per-node 2 examples/train.py --checkpoint /tmp/spirals      # the same

PyTorch's DistributedDataParallel over gloo, on processors. Every batch is a function of (seed,
step, rank) alone, so a run that died and resumed from its checkpoint repeats, bit for bit, the
loss curve of a run that never did.
"""

import argparse
import os
import pathlib
import signal
import time

import torch
import torch.distributed as dist

# Before there is a process group, which its functions would keep until the interpreter has ended:
# a thread of gloo that is late would abort it then (pytorch#190489).
import torch.distributed.nn  # noqa: F401
from torch.nn.parallel import DistributedDataParallel

try:
    import robustrun  # optional: step numbers and losses in robustrun's reports
    from robustrun import checkpoint as verified  # for --verified alone
except ImportError:
    robustrun = None

BATCH = 128
KEEP_CHECKPOINTS = 2


def parse_arguments():
    parser = argparse.ArgumentParser(description="Train a network on two spirals.")
    parser.add_argument("--steps", type=int, default=400)
    parser.add_argument("--checkpoint", type=pathlib.Path, help="folder; resumes from its newest")
    parser.add_argument("--every", type=int, default=25, help="steps between checkpoints")
    parser.add_argument("--verified", action="store_true",
                        help="checkpoints by robustrun.checkpoint instead of torch.save")
    parser.add_argument("--save-on-stop", action="store_true",
                        help="after SIGTERM (preemption, time limit) save once more, then end")
    parser.add_argument("--print-every", type=int, default=20)
    parser.add_argument("--slow", type=float, default=0.0, help="seconds to sleep in every step")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--curve", type=pathlib.Path, help="file for the exact loss of every step")
    parser.add_argument("--die-at", type=int, default=0, metavar="STEP",
                        help="rank 1 kills itself with SIGKILL after this step, on the first start")
    parser.add_argument("--pid-dir", type=pathlib.Path, help="folder for rank-N.pid files")
    return parser.parse_args()


def spirals(count, generator):
    """Points of two interleaved spirals and which of the two each belongs to."""
    which = torch.randint(0, 2, (count,), generator=generator)
    radius = torch.rand(count, generator=generator).sqrt()
    angle = radius * 9.4 + which * torch.pi
    points = torch.stack((radius * angle.cos(), radius * angle.sin()), dim=1)
    noise = torch.randn(count, 2, generator=generator) * 0.02
    return points + noise, which.float()


def batch(args, step, rank):
    generator = torch.Generator().manual_seed((args.seed << 40) + (step << 12) + rank)
    return spirals(BATCH, generator)


def checkpoints(folder):
    """Finished checkpoints, oldest first."""
    return sorted(folder.glob("step-*.pt"), key=lambda path: int(path.stem[len("step-"):]))


def save(args, step, model, optimizer):
    """Rank 0 writes; a file either has its name and is whole, or does not exist. With --verified
    every rank writes its share."""
    if args.verified:
        state = {"model": model, "optimizer": optimizer}
        verified.save(state, step, args.checkpoint, replicated=True, keep=KEEP_CHECKPOINTS)
        return
    if dist.get_rank() != 0:
        return
    state = {"step": step, "model": model.state_dict(), "optimizer": optimizer.state_dict(),
             "rng": torch.get_rng_state()}
    unfinished = args.checkpoint / "unfinished"
    with open(unfinished, "wb") as file:
        torch.save(state, file)
        file.flush()
        os.fsync(file.fileno())
    unfinished.rename(args.checkpoint / f"step-{step}.pt")
    for old in checkpoints(args.checkpoint)[:-KEEP_CHECKPOINTS]:
        old.unlink()


def resume(args, model, optimizer):
    """The first step to do: rank 0 names the newest checkpoint, every rank loads it."""
    if args.checkpoint and args.verified:
        step = verified.load_latest({"model": model, "optimizer": optimizer}, args.checkpoint)
        if step and dist.get_rank() == 0:
            print(f"resumed from step {step}", flush=True)
        return step or 0
    newest = [None]
    if args.checkpoint and dist.get_rank() == 0:
        args.checkpoint.mkdir(parents=True, exist_ok=True)
        newest = [str(path) for path in checkpoints(args.checkpoint)[-1:]] or [None]
    dist.broadcast_object_list(newest)
    if newest[0] is None:
        return 0
    state = torch.load(newest[0])
    model.load_state_dict(state["model"])
    optimizer.load_state_dict(state["optimizer"])
    torch.set_rng_state(state["rng"])
    if dist.get_rank() == 0:
        print(f"resumed from {newest[0]}", flush=True)
    return state["step"]


class Stop:
    """Whether somebody wants us to end. Ranks hear of it in different steps, and must end in the
    same one: train_step asks all of them."""

    def __init__(self, wanted):
        self.heard = False
        if wanted:
            signal.signal(signal.SIGTERM, self.hear)

    def hear(self, *_):
        request = robustrun and robustrun.stop_requested()
        if request and request.reason == "restart":
            os._exit(143)  # a rank has failed: no step will be finished any more
        self.heard = True


def train_step(args, step, model, optimizer, stop):
    """One step of every rank; the mean loss over all ranks, and whether one wants to stop."""
    points, which = batch(args, step, dist.get_rank())
    optimizer.zero_grad()
    loss = torch.nn.functional.binary_cross_entropy_with_logits(model(points).squeeze(1), which)
    loss.backward()
    optimizer.step()
    sums = torch.stack((loss.detach(), torch.tensor(float(stop.heard))))
    dist.all_reduce(sums)
    return (sums[0] / dist.get_world_size()).item(), sums[1].item() > 0


def accuracy(args, model):
    points, which = spirals(2000, torch.Generator().manual_seed(args.seed))
    with torch.no_grad():
        right = (model(points).squeeze(1) > 0) == (which > 0.5)
    return right.float().mean().item()


def main():
    args = parse_arguments()
    torch.set_num_threads(1)  # the order of additions, and so every bit, stays the same
    torch.manual_seed(args.seed)
    dist.init_process_group("gloo")
    rank = dist.get_rank()
    if args.pid_dir:
        args.pid_dir.mkdir(parents=True, exist_ok=True)
        (args.pid_dir / f"rank-{rank}.pid").write_text(str(os.getpid()))
    layers = [torch.nn.Linear(2, 64), torch.nn.Tanh(), torch.nn.Linear(64, 64), torch.nn.Tanh(),
              torch.nn.Linear(64, 1)]
    network = torch.nn.Sequential(*layers)
    model = DistributedDataParallel(network)
    optimizer = torch.optim.Adam(model.parameters(), lr=0.005)

    stop = Stop(args.save_on_stop)
    first = resume(args, network, optimizer)
    done = first
    for step in range(first, args.steps):
        loss, stops = train_step(args, step, model, optimizer, stop)
        done = step + 1
        if robustrun:
            robustrun.step(done, loss=loss)
        if rank == 0:
            if done % args.print_every == 0 or done == args.steps:
                print(f"step {done:5d}  loss {loss:.6f}", flush=True)
            if args.curve:
                with open(args.curve, "a") as file:
                    file.write(f"{done} {loss.hex()}\n")
        if args.checkpoint and (stops or done % args.every == 0):
            save(args, done, network, optimizer)
        if stops:
            break
        if done == args.die_at and rank == 1 and os.environ["TORCHELASTIC_RESTART_COUNT"] == "0":
            print(f"step {done:5d}  rank 1 kills itself with SIGKILL", flush=True)
            os.kill(os.getpid(), signal.SIGKILL)
        time.sleep(args.slow)
    if rank == 0:
        print(f"accuracy {accuracy(args, network):.1%} after {done} steps", flush=True)
    # The model would be the last to hold the group, and wait for gloo's threads with the
    # interpreter's lock, which one of them may want.
    del model
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
