"""A small language model, trained on twelve sources whose shares change on the way (docs/data.md).

    robustrun examples/pretrain.py --make-data /tmp/pretrain     # twelve data sets and data.toml
    robustrun --nproc-per-node 2 examples/pretrain.py --data /tmp/pretrain/data.toml \\
        --checkpoint /tmp/pretrain/checkpoint.pt

Step N has the same documents on any number of ranks, and a run that died goes on with the next
document: with equal ranks it repeats, bit for bit, the loss curve of an uninterrupted run.
"""

import argparse
import os
import pathlib
import signal
import struct

import robustrun
import torch
import torch.distributed as dist
import torch.distributed.nn  # noqa: F401  before there is a process group (pytorch#190489)
from robustrun import data
from torch.nn.parallel import DistributedDataParallel

VOCABULARY, WIDTH = 256, 64
# Name: documents, their usual length in tokens, and the share of each, from which step on.
SOURCES = {
    "web": (2000, 60, "[[0, 0.55], [20, 0.3]]"), "wiki": (600, 90, "0.06"),
    "news": (500, 70, "[[0, 0.08], [40, 0.04]]"), "forum": (800, 40, "[[0, 0.08], [20, 0.05]]"),
    "code": (800, 120, "[[0, 0.08], [30, 0.16]]"), "issues": (400, 80, "0.03"),
    "math": (300, 100, "[[0, 0.02], [30, 0.1]]"), "papers": (200, 400, "[[10, 0.0], [30, 0.08]]"),
    "books": (200, 700, "[[10, 0.0], [30, 0.12]]"), "law": (100, 500, "0.02"),
    "dialogue": (400, 50, "0.04"), "recipes": (200, 60, "0.02"),
}
SPEC = """seed = 1
[batch]
tokens = 6144                      # of a step, over all ranks
context = 256
micro = 2
[shuffle]
block = 64
window = 4
[balance]
cost = { a = 1.0, b = 0.0013 }     # 1 / (12 * 64)
"""


def make_data(folder):
    """Data sets in Megatron-LM's format: words that count, with lengths as on the web."""
    folder.mkdir(parents=True, exist_ok=True)
    generator = torch.Generator().manual_seed(1)
    spec = SPEC + "[mixture]\n" + "".join(
        f"{name} = {share}\n" for name, (_, _, share) in SOURCES.items())
    for name, (documents, length, _) in SOURCES.items():
        sizes = (torch.randn(documents, generator=generator).exp() * length).long().clamp(2, 4000)
        starts = torch.randint(0, VOCABULARY, (documents,), generator=generator)
        ends = [0, *(2 * sizes).cumsum(0).tolist()]
        with open(folder / f"{name}.bin", "wb") as tokens:
            for start, size in zip(starts.tolist(), sizes.tolist(), strict=True):
                text = ((start + torch.arange(size) * (1 + size % 3)) % VOCABULARY).tolist()
                tokens.write(struct.pack(f"<{size}H", *text))
        (folder / f"{name}.idx").write_bytes(
            b"MMIDIDX\0\0" + struct.pack("<QBQQ", 1, 8, documents, documents + 1)
            + struct.pack(f"<{documents}i", *sizes.tolist())
            + struct.pack(f"<{documents}q", *ends[:-1])
            + struct.pack(f"<{documents + 1}q", *range(documents + 1)))
        spec += f'[[source]]\nname = "{name}"\nformat = "megatron"\npaths = "{name}.idx"\n'
    (folder / "data.toml").write_text(spec)


class Model(torch.nn.Module):
    """One layer of attention, within documents only."""

    def __init__(self):
        super().__init__()
        self.tokens = torch.nn.Embedding(VOCABULARY, WIDTH)
        self.positions = torch.nn.Embedding(256, WIDTH)
        self.mix = torch.nn.Linear(WIDTH, 3 * WIDTH)
        self.out = torch.nn.Linear(WIDTH, VOCABULARY)

    def forward(self, tokens, positions, cu_seqlens):
        documents = torch.bucketize(torch.arange(tokens.numel()), cu_seqlens, right=True)
        documents = documents.view_as(tokens)
        together = (documents.unsqueeze(1) == documents.unsqueeze(2)).tril().unsqueeze(1)
        x = self.tokens(tokens) + self.positions(positions)
        q, k, v = (part.unsqueeze(1) for part in self.mix(x).chunk(3, dim=-1))
        x = x + torch.nn.functional.scaled_dot_product_attention(q, k, v, together).squeeze(1)
        return self.out(x)


def train_step(loader, model, optimizer):
    """One optimizer step; returns its number and the loss per label over all ranks."""
    optimizer.zero_grad()
    total = torch.zeros(())
    for batch in loader:
        logits = model(batch["tokens"], batch["positions"], batch["cu_seqlens"])
        loss = torch.nn.functional.cross_entropy(
            logits.flatten(0, 1), batch["labels"].flatten(), reduction="sum")
        # DDP takes the mean over ranks; each label shall weigh the same.
        (loss * dist.get_world_size() / batch["step_loss_tokens"]).backward()
        total += loss.detach() / batch["step_loss_tokens"]
        if batch["last"]:
            break
    optimizer.step()
    dist.all_reduce(total)
    return batch["step"] + 1, total.item()


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--make-data", type=pathlib.Path, metavar="DIR")
    parser.add_argument("--data", type=pathlib.Path, help="data.toml")
    parser.add_argument("--steps", type=int, default=60)
    parser.add_argument("--checkpoint", type=pathlib.Path)
    parser.add_argument("--every", type=int, default=10, help="steps between checkpoints")
    parser.add_argument("--curve", type=pathlib.Path, help="file for the exact loss of every step")
    parser.add_argument("--die-at", type=int, default=0, metavar="STEP",
                        help="rank 1 kills itself after this step, on the first start")
    args = parser.parse_args()
    if args.make_data:
        return make_data(args.make_data)

    torch.set_num_threads(1)
    torch.manual_seed(1)
    dist.init_process_group("gloo")
    network = Model()
    model = DistributedDataParallel(network)
    optimizer = torch.optim.AdamW(model.parameters(), lr=0.003)
    loader = data.loader(args.data)
    step = 0
    if args.checkpoint and args.checkpoint.exists():
        saved = torch.load(args.checkpoint)
        network.load_state_dict(saved["model"])
        optimizer.load_state_dict(saved["optimizer"])
        loader.load_state_dict(saved["data"])
        step = saved["step"]
    while step < args.steps:
        step, loss = train_step(loader, model, optimizer)
        robustrun.step(step, loss=loss)
        if dist.get_rank() == 0:
            if step % 10 == 0:
                print(f"step {step:5d}  loss {loss:.6f}", flush=True)
            if args.curve:
                with open(args.curve, "a") as file:
                    file.write(f"{step} {loss.hex()}\n")
            if args.checkpoint and step % args.every == 0:
                unfinished = args.checkpoint.with_suffix(".unfinished")
                torch.save({"step": step, "model": network.state_dict(),
                            "optimizer": optimizer.state_dict(), "data": loader.state_dict()},
                           unfinished)
                unfinished.rename(args.checkpoint)
        if step == args.die_at and dist.get_rank() == 1 and robustrun.attempt() == 0:
            os.kill(os.getpid(), signal.SIGKILL)
    del model  # the last reference to the group
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
