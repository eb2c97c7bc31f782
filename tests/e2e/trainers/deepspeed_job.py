"""DeepSpeed's engine with ZeRO 1, from its newest checkpoint, if any."""

import os
import sys

import deepspeed
import torch
from slow_data import WORDS, Sequences, note

EVERY, STEPS = 5, 20
CONFIG = {
    "train_micro_batch_size_per_gpu": 2,
    "zero_optimization": {"stage": 1},
    "optimizer": {"type": "AdamW", "params": {"lr": 1e-2, "torch_adam": True}},
}


def main(out):
    torch.manual_seed(7)
    model = torch.nn.Sequential(torch.nn.Embedding(WORDS, 16), torch.nn.Linear(16, WORDS))
    engine, _, loader, _ = deepspeed.initialize(
        model=model, model_parameters=model.parameters(), training_data=Sequences(1000),
        config=CONFIG)
    if os.path.exists(out + "/latest"):
        engine.load_checkpoint(out)
        print("loaded step", engine.global_steps)
    for index, batch in enumerate(loader):
        if index < engine.global_steps:
            continue
        logits = engine(batch["input_ids"])
        loss = torch.nn.functional.cross_entropy(logits.flatten(0, 1), batch["labels"].flatten())
        engine.backward(loss)
        engine.step()
        if torch.distributed.get_rank() == 0:
            note(out + "/curve", engine.global_steps, loss.item())
        if engine.global_steps % EVERY == 0:
            engine.save_checkpoint(out)
        if engine.global_steps == STEPS:
            break


if __name__ == "__main__":
    main(sys.argv[1])
