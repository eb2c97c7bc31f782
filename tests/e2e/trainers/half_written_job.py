"""HF Trainer with a tiny random model. Rank 0 kills itself at given points of its save of step 4:
ROBUSTRUN_TEST_POINTS names one for each of the first attempts."""

import json
import os
import signal

import torch
import transformers
from transformers import GPT2Config, GPT2LMHeadModel, Trainer, TrainerState, TrainingArguments
from transformers.trainer_utils import get_last_checkpoint

STEPS = 6
SAVE_STEPS = 2
KILLED_SAVE = "checkpoint-4"
POINTS = ("configuration", "model", "arguments", "optimizer", "state")
ATTEMPT = int(os.environ["TORCHELASTIC_RESTART_COUNT"])
POINT = dict(enumerate(os.environ["ROBUSTRUN_TEST_POINTS"].split(","))).get(ATTEMPT)


def die():
    os.kill(os.getpid(), signal.SIGKILL)


def cut(path):
    """What is on the disk when a process dies in the middle of a file."""
    os.truncate(path, os.path.getsize(path) // 2)
    die()


def before(owner, name, point, is_meant):
    """Calls die() instead of the function when `is_meant` says so of its arguments."""
    original = getattr(owner, name)

    def replacement(*arguments, **options):
        if is_meant(*arguments, **options):
            die()
        return original(*arguments, **options)

    if point == POINT:
        setattr(owner, name, replacement)


def amid(owner, name, point, path_of):
    """Cuts the file that the function has written when it is one of the save in question."""
    original = getattr(owner, name)

    def replacement(*arguments, **options):
        result = original(*arguments, **options)
        path = str(path_of(*arguments, **options))
        if KILLED_SAVE in path:
            cut(path)
        return result

    if point == POINT:
        setattr(owner, name, replacement)


def set_the_trap():
    from transformers import modeling_utils

    before(modeling_utils, "safe_save_file", "configuration",
           lambda tensors, path, **_: KILLED_SAVE in str(path))
    amid(modeling_utils, "safe_save_file", "model", lambda tensors, path, **_: path)
    before(torch, "save", "arguments",
           lambda value, path, **_: KILLED_SAVE in str(path) and "training_args" in str(path))

    def optimizer_of(value, path, **_):
        return path if "optimizer" in str(path) else ""

    amid(torch, "save", "optimizer", optimizer_of)
    amid(TrainerState, "save_to_json", "state", lambda state, path: path)


def main():
    transformers.set_seed(1)
    rank = int(os.environ["RANK"])
    if rank == 0:
        set_the_trap()
    model = GPT2LMHeadModel(
        GPT2Config(vocab_size=32, n_positions=16, n_embd=8, n_layer=1, n_head=1))
    generator = torch.Generator().manual_seed(1)
    tokens = torch.randint(0, 32, (64, 8), generator=generator)
    dataset = [{"input_ids": row, "labels": row} for row in tokens]
    arguments = TrainingArguments(
        output_dir="out", max_steps=STEPS, save_steps=SAVE_STEPS, logging_steps=1,
        per_device_train_batch_size=2, use_cpu=True, report_to=[], disable_tqdm=True)
    last = get_last_checkpoint("out") if os.path.isdir("out") else None
    print(f"attempt {ATTEMPT} resumes from {last}", flush=True)
    trainer = Trainer(model=model, args=arguments, train_dataset=dataset)
    trainer.train(resume_from_checkpoint=last)
    if rank == 0:
        print(json.dumps({"step": trainer.state.global_step}), flush=True)


if __name__ == "__main__":
    main()
