"""As the example scripts of transformers: Trainer, resumed from the last checkpoint, if any."""

import os
import sys

from slow_data import LENGTH, WORDS, Sequences, note
from transformers import (
    GPT2Config,
    GPT2LMHeadModel,
    Trainer,
    TrainerCallback,
    TrainingArguments,
    set_seed,
)
from transformers.trainer_utils import get_last_checkpoint


class Curve(TrainerCallback):
    def on_log(self, args, state, control, logs=None, **kwargs):
        if state.is_world_process_zero and "loss" in logs:
            note(args.output_dir + "/curve", state.global_step, logs["loss"])


def main(out):
    set_seed(7)
    args = TrainingArguments(
        out, use_cpu=True, ddp_backend="gloo", max_steps=20, save_steps=5, logging_steps=1,
        per_device_train_batch_size=2, learning_rate=1e-2, report_to=[], seed=7,
        logging_nan_inf_filter=False, disable_tqdm=False)
    model = GPT2LMHeadModel(GPT2Config(vocab_size=WORDS, n_positions=LENGTH, n_embd=16, n_layer=1,
                                       n_head=2, bos_token_id=0, eos_token_id=0))
    trainer = Trainer(model, args, train_dataset=Sequences(1000), callbacks=[Curve()])
    last = get_last_checkpoint(out) if os.path.isdir(out) else None
    trainer.train(resume_from_checkpoint=last)


if __name__ == "__main__":
    main(sys.argv[1])
