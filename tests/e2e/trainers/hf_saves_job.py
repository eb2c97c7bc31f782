"""HF Trainer on two ranks with RobustSaves. Rank 1 of the first attempt kills itself in step 7,
unless it is called with the word calm."""

import hashlib
import os
import signal
import sys

import torch
import transformers
from robustrun.integrations.hf import RobustSaves
from transformers import GPT2Config, GPT2LMHeadModel, Trainer, TrainerCallback, TrainingArguments

STEPS, SAVE_STEPS, KILLED_STEP = 10, 3, 7


class Killer(TrainerCallback):
    def on_step_begin(self, args, state, control, **kwargs):
        if state.global_step == KILLED_STEP and args.process_index == 1:
            os.kill(os.getpid(), signal.SIGKILL)


def main():
    transformers.set_seed(1)
    model = GPT2LMHeadModel(
        GPT2Config(vocab_size=32, n_positions=16, n_embd=8, n_layer=1, n_head=1))
    tokens = torch.randint(0, 32, (16, 8), generator=torch.Generator().manual_seed(1))
    dataset = [{"input_ids": row, "labels": row} for row in tokens]
    arguments = TrainingArguments(
        output_dir="out", max_steps=STEPS, save_steps=SAVE_STEPS, logging_steps=1,
        per_device_train_batch_size=2, use_cpu=True, report_to=[], disable_tqdm=True)
    saves = RobustSaves("saves", keep=2)
    callbacks = [saves]
    if "calm" not in sys.argv and os.environ["TORCHELASTIC_RESTART_COUNT"] == "0":
        callbacks.append(Killer())
    trainer = Trainer(model=model, args=arguments, train_dataset=dataset, callbacks=callbacks)
    last = saves.resume(trainer)
    trainer.train(resume_from_checkpoint=last)
    if arguments.process_index == 0:
        weights = hashlib.sha256(b"".join(
            each.detach().numpy().tobytes() for each in model.state_dict().values()))
        print(f"resumed from {last}, step {trainer.state.global_step}, "
              f"weights {weights.hexdigest()}", flush=True)


if __name__ == "__main__":
    main()
