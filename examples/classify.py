"""A small image classifier, trained epoch by epoch on a dataset of torch's kind (docs/data.md).

    robustrun --nproc-per-node 2 examples/classify.py --checkpoint /tmp/classify.pt

Each image is seen once per epoch, on any number of ranks, and a run that died goes on with the next
batch: with equal ranks it repeats, bit for bit, the loss curve of an uninterrupted run.
"""

import argparse
import os
import pathlib
import signal

import robustrun
import torch
import torch.distributed as dist
import torch.distributed.nn  # noqa: F401  before there is a process group (pytorch#190489)
from robustrun.data import DataLoader
from torch.nn.parallel import DistributedDataParallel


class Stripes(torch.utils.data.Dataset):
    """Noisy images of 8 x 8: stripes that lie or stand."""

    def __len__(self):
        return 196

    def __getitem__(self, index):
        image = torch.zeros(8, 8)
        image[index // 2 % 3::3] = 1
        if torch.rand(()) < 0.5:  # an augmentation: the same after a restart
            image = image.flip(0)
        noisy = image + 0.5 * torch.randn(8, 8)
        return (noisy.T if index % 2 else noisy).reshape(1, 8, 8), index % 2


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--epochs", type=int, default=10)
    parser.add_argument("--workers", type=int, default=1, help="processes per rank that read")
    parser.add_argument("--checkpoint", type=pathlib.Path)
    parser.add_argument("--every", type=int, default=10, help="steps between checkpoints")
    parser.add_argument("--curve", type=pathlib.Path, help="file for the exact loss of every step")
    parser.add_argument("--die-at", type=int, default=0, metavar="STEP",
                        help="rank 1 kills itself after this step, on the first start")
    args = parser.parse_args()

    torch.set_num_threads(1)
    torch.manual_seed(1)
    dist.init_process_group("gloo")
    rank, ranks = dist.get_rank(), dist.get_world_size()
    network = torch.nn.Sequential(
        torch.nn.Conv2d(1, 8, 3), torch.nn.ReLU(), torch.nn.Flatten(), torch.nn.Dropout(0.2),
        torch.nn.Linear(8 * 6 * 6, 2))
    model = DistributedDataParallel(network)
    optimizer = torch.optim.AdamW(model.parameters(), lr=0.003)
    loader = DataLoader(Stripes(), batch_size=6, shuffle=True, num_workers=args.workers)
    step = 0
    if args.checkpoint and args.checkpoint.exists():
        saved = torch.load(args.checkpoint)
        network.load_state_dict(saved["model"])
        optimizer.load_state_dict(saved["optimizer"])
        loader.load_state_dict(saved["data"])
        step = saved["step"]
    for epoch in range(loader.epoch, args.epochs):
        for images, labels in loader:
            torch.manual_seed(step * ranks + rank)  # dropout: the same after a restart
            optimizer.zero_grad()
            loss = torch.nn.functional.cross_entropy(model(images), labels, reduction="sum")
            loss = loss / loader.step_samples  # each image weighs the same
            (loss * ranks).backward()  # DDP takes the mean over ranks
            optimizer.step()
            dist.all_reduce(loss.detach_())
            step += 1
            robustrun.step(step, loss=loss.item())
            if rank == 0 and args.curve:
                with open(args.curve, "a") as file:
                    file.write(f"{step} {loss.item().hex()}\n")
            if rank == 0 and args.checkpoint and step % args.every == 0:
                unfinished = args.checkpoint.with_suffix(".unfinished")
                torch.save({"step": step, "model": network.state_dict(),
                            "optimizer": optimizer.state_dict(), "data": loader.state_dict()},
                           unfinished)
                unfinished.rename(args.checkpoint)
            if step == args.die_at and rank == 1 and robustrun.attempt() == 0:
                os.kill(os.getpid(), signal.SIGKILL)
        if rank == 0:
            print(f"epoch {epoch + 1:3d}  loss {loss.item():.4f}", flush=True)
    del model  # the last reference to the group
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
