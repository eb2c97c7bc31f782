"""HF Trainer's checkpoints on robustrun's engine (docs/checkpoints.md).

    from robustrun.integrations.hf import RobustSaves
    saves = RobustSaves("/scratch/run7")
    trainer = Trainer(..., callbacks=[saves])
    trainer.train(resume_from_checkpoint=saves.resume(trainer))

The callback saves whenever the Trainer would, and instead of it. For one device per rank without
FSDP and DeepSpeed.
"""

import dataclasses
import json
import os
import random
import shutil

import numpy
import torch
from transformers import TrainerCallback

from .. import checkpoint
from .._api.calls import note_metrics
from .._checkpoint import arguments, loading, manifest, rank_group

__all__ = ["RobustSaves"]

RESUME_FOLDER = ".robustrun-resume"  # in the Trainer's output_dir


class RobustSaves(TrainerCallback):
    """Saves model, optimizer, scheduler, gradient scaler, random numbers and the Trainer's state.

    directories, keep, blocking, parity, local, drain_rate, drain_every: as in checkpoint.save()
    """

    def __init__(self, directories=None, keep=3, blocking=True, **options):
        unknown = set(options) - {"parity", "local", "drain_rate", "drain_every"}
        if unknown:
            raise TypeError("RobustSaves has no option %s" % ", ".join(sorted(unknown)))
        self.directories = arguments.directories(directories)
        self.options = {"keep": keep, "blocking": blocking, **options}

    def on_train_begin(self, args, state, control, **kwargs):
        for sharded in ("fsdp", "deepspeed"):
            if getattr(args, sharded, None):
                raise ValueError("RobustSaves saves whole states and cannot be used with %s; use "
                                 "robustrun.dcp there" % sharded)
        note_metrics(steps_total=state.max_steps)  # for the ETA

    def on_step_end(self, args, state, control, **kwargs):
        self._save_if_due(args, state, control, **kwargs)

    on_epoch_end = on_step_end

    def on_train_end(self, args, state, control, **kwargs):
        if self.options["blocking"] is False:
            checkpoint.wait()

    def _save_if_due(self, args, state, control, model, optimizer, lr_scheduler, **kwargs):
        if not control.should_save:
            return
        control.should_save = False
        saved = {"model": model, "optimizer": optimizer, "scheduler": lr_scheduler}
        if getattr(optimizer, "scaler", None) is not None:  # with fp16
            saved["scaler"] = optimizer.scaler
        checkpoint.save(
            saved, state.global_step, self.directories, replicated=True, random=False,
            own={"trainer": _state_text(state), "rng": _random_states()}, **self.options)

    def resume(self, trainer):
        """Writes the newest whole checkpoint as a folder for trainer.train(resume_from_checkpoint=)
        and returns its path, on every rank; None: there is no checkpoint yet. A damaged one is
        marked as poisoned, and the previous one is taken. Raises if some ranks see another folder:
        they would begin at another step."""
        folder = os.path.join(trainer.args.output_dir, RESUME_FOLDER)
        checkpoint._drain_for_one(self.directories, self.options.get("drain_rate"))
        if trainer.args.should_save:
            shutil.rmtree(folder, ignore_errors=True)
            checkpoint._load_for_all(self.directories, lambda found: _write_folder(found, folder))
        if torch.distributed.is_available() and torch.distributed.is_initialized():
            torch.distributed.barrier()
        names = os.listdir(folder) if os.path.isdir(folder) else []
        group = rank_group.group()
        seen = group.gather(names) if group is not None else [names]
        for rank, others in enumerate(seen):
            if others != seen[0]:
                raise RuntimeError("cannot resume: rank %d sees %s in %s, and rank 0 sees %s; if "
                                   "nodes do not share output_dir, set save_on_each_node=True"
                                   % (rank, others, folder, seen[0]))
        return os.path.join(folder, names[0]) if names else None


def _state_text(state):
    return json.dumps(dataclasses.asdict(state), sort_keys=True)


def _random_states():
    """What the Trainer writes into rng_state_N.pth, as plain values and tensors."""
    name, keys, position, has_gauss, cached = numpy.random.get_state()
    states = {"python": random.getstate(), "cpu": torch.get_rng_state(),
              "numpy": (name, keys.tobytes(), int(position), int(has_gauss), float(cached))}
    if torch.cuda.is_available():
        states["cuda"] = torch.cuda.random.get_rng_state_all()
    return states


def _trainers_random_states(states):
    name, keys, *rest = states["numpy"]
    return {**states, "numpy": (name, numpy.frombuffer(keys, dtype=numpy.uint32).copy(), *rest)}


def _write_folder(found, folder):
    """The Trainer's own files, below a name that appears when they are complete."""
    state = manifest.Contents(found).nested()
    partial = os.path.join(folder + ".partial", "checkpoint-%d" % found.step)
    shutil.rmtree(os.path.dirname(partial), ignore_errors=True)
    os.makedirs(partial)
    for name, key in (("pytorch_model.bin", "model"), ("optimizer.pt", "optimizer"),
                      ("scheduler.pt", "scheduler"), ("scaler.pt", "scaler")):
        if key in state:
            torch.save(state[key], os.path.join(partial, name))
    own = {(rank, name[len(loading.OWN):]): manifest.decoded(value)
           for rank, name, value in found.states if name.startswith(loading.OWN)}
    with open(os.path.join(partial, "trainer_state.json"), "w", encoding="utf-8") as file:
        file.write(own[0, "trainer"])
    for (rank, name), value in own.items():
        if name == "rng":
            file = "rng_state_%d.pth" % rank if found.world_size > 1 else "rng_state.pth"
            torch.save(_trainers_random_states(value), os.path.join(partial, file))
    os.rename(os.path.dirname(partial), folder)
