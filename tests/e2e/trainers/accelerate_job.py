"""As accelerate's complete_nlp_example.py: state saved every few steps, loaded if there is one."""

import os
import sys

import torch
from accelerate import Accelerator
from accelerate.utils import set_seed
from slow_data import WORDS, Sequences, note

EVERY, STEPS = 5, 20


def main(out):
    accelerator = Accelerator()
    set_seed(7)
    model = torch.nn.Sequential(torch.nn.Embedding(WORDS, 16), torch.nn.Linear(16, WORDS))
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-2)
    loader = torch.utils.data.DataLoader(Sequences(1000), batch_size=2, shuffle=True)
    model, optimizer, loader = accelerator.prepare(model, optimizer, loader)

    saved = [name for name in os.listdir(out) if name.startswith("step_")] \
        if os.path.isdir(out) else []
    done = max((int(name.split("_")[1]) for name in saved), default=0)
    accelerator.wait_for_everyone()
    if done:
        accelerator.print(f"Resumed from checkpoint: step_{done}")
        accelerator.load_state(f"{out}/step_{done}")
    for batch in accelerator.skip_first_batches(loader, done):
        with accelerator.accumulate(model):
            logits = model(batch["input_ids"])
            loss = torch.nn.functional.cross_entropy(logits.flatten(0, 1),
                                                     batch["labels"].flatten())
            accelerator.backward(loss)
            optimizer.step()
            optimizer.zero_grad()
        done += 1
        if accelerator.is_main_process:
            note(out + "/curve", done, loss.item())
        if done % EVERY == 0:
            accelerator.save_state(f"{out}/step_{done}")
        if done == STEPS:
            break
    accelerator.end_training()
    print(f"precision {accelerator.mixed_precision}, {accelerator.state.distributed_type}")


if __name__ == "__main__":
    main(sys.argv[1])
