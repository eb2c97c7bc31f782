"""In the shape of nanoGPT's train.py: globals, overridden by --name=value, torchrun's variables,
DDP, gradient accumulation, and one checkpoint in out_dir."""

import os
import sys
from ast import literal_eval

if "LIGHT_TORCH" in os.environ:  # a test that needs no compiler of torch's; never a measurement
    import light_torch  # noqa: F401
import torch
from slow_data import WORDS, note, wait_if_held, words_of
from torch.distributed import destroy_process_group, init_process_group
from torch.nn.parallel import DistributedDataParallel as DDP

out_dir = "out"
init_from = "auto"  # nanoGPT: scratch or resume
eval_interval = 5
max_iters = 20
batch_size = 2
gradient_accumulation_steps = 4
n_embd = 16
learning_rate = 1e-2
backend = "gloo"
config_keys = [k for k, v in globals().items() if not k.startswith("_")
               and isinstance(v, (int, float, bool, str))]
for arg in sys.argv[1:]:  # configurator.py
    key, value = arg.removeprefix("--").split("=")
    assert key in globals()
    try:
        value = literal_eval(value)
    except (ValueError, SyntaxError):
        pass
    globals()[key] = value
config = {k: globals()[k] for k in config_keys}

ddp = int(os.environ.get("RANK", -1)) != -1
if ddp:
    init_process_group(backend=backend)
    ddp_rank = int(os.environ["RANK"])
    ddp_local_rank = int(os.environ["LOCAL_RANK"])
    ddp_world_size = int(os.environ["WORLD_SIZE"])
    master_process = ddp_rank == 0
    assert gradient_accumulation_steps % ddp_world_size == 0
    gradient_accumulation_steps //= ddp_world_size
else:
    master_process, ddp_rank, ddp_world_size = True, 0, 1
if master_process:
    os.makedirs(out_dir, exist_ok=True)
torch.manual_seed(1337 + ddp_rank)


class GPT(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.wte = torch.nn.Embedding(WORDS, n_embd)
        self.block = torch.nn.TransformerEncoderLayer(n_embd, 2, 32, 0.0, batch_first=True)
        self.lm_head = torch.nn.Linear(n_embd, WORDS)

    def forward(self, idx, targets):
        mask = torch.nn.Transformer.generate_square_subsequent_mask(idx.size(1))
        logits = self.lm_head(self.block(self.wte(idx), mask))
        return torch.nn.functional.cross_entropy(logits.flatten(0, 1), targets.flatten())


def get_batch(iter_num, micro_step):
    first = (iter_num * gradient_accumulation_steps + micro_step) * ddp_world_size + ddp_rank
    wait_if_held()
    words = torch.stack([words_of(first * batch_size + i) for i in range(batch_size)])
    return words[:, :-1], words[:, 1:]


iter_num = 0
model = GPT()
optimizer = torch.optim.AdamW(model.parameters(), lr=learning_rate)
saved = os.path.join(out_dir, "ckpt.pt")
if init_from == "auto" and os.path.exists(saved):
    print(f"Resuming training from {out_dir}")
    checkpoint = torch.load(saved, weights_only=False)
    model.load_state_dict(checkpoint["model"])
    optimizer.load_state_dict(checkpoint["optimizer"])
    iter_num = checkpoint["iter_num"]
if ddp:
    model = DDP(model)
raw_model = model.module if ddp else model

while iter_num < max_iters:
    if iter_num % eval_interval == 0 and master_process and iter_num > 0:
        checkpoint = {"model": raw_model.state_dict(), "optimizer": optimizer.state_dict(),
                      "iter_num": iter_num, "config": config}
        print(f"saving checkpoint to {out_dir}")
        torch.save(checkpoint, saved)
    for micro_step in range(gradient_accumulation_steps):
        X, Y = get_batch(iter_num, micro_step)
        if ddp:
            model.require_backward_grad_sync = micro_step == gradient_accumulation_steps - 1
        loss = model(X, Y) / gradient_accumulation_steps
        loss.backward()
    optimizer.step()
    optimizer.zero_grad(set_to_none=True)
    iter_num += 1
    if master_process:
        lossf = loss.item() * gradient_accumulation_steps
        print(f"iter {iter_num}: loss {lossf:.4f}, time 1.00ms, mfu 0.00%")
        note(os.path.join(out_dir, "curve"), iter_num, lossf)
if ddp:
    destroy_process_group()
