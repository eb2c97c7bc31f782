"""Lightning's checkpoints on robustrun's engine (docs/checkpoints.md).

    from robustrun.integrations.lightning import RobustCheckpointIO
    trainer = Trainer(plugins=[RobustCheckpointIO()], ...)

A checkpoint is a folder, under the name that Lightning gives it. It exists completely or not at
all, every byte is verified when it is loaded, and nothing is pickled. For the strategies whose
rank 0 saves for all: a single device and DDP.
"""

import os
import shutil

try:
    from lightning.fabric.plugins.io.checkpoint_io import CheckpointIO
except ImportError:  # the packages under their older names
    from lightning_fabric.plugins.io.checkpoint_io import CheckpointIO

import torch

from .._checkpoint import alone, c_api

__all__ = ["RobustCheckpointIO"]


class RobustCheckpointIO(CheckpointIO):
    """Saves and loads as Lightning's TorchCheckpointIO does. Checkpoints of the latter are loaded,
    too."""

    def save_checkpoint(self, checkpoint, path, storage_options=None):
        if storage_options is not None:
            raise TypeError("RobustCheckpointIO has no storage_options")
        path = os.fspath(path)
        if os.path.isfile(path):  # of TorchCheckpointIO
            raise FileExistsError("cannot save to %s: it is a file; remove it first" % path)
        alone.save(_neutral(checkpoint), int(checkpoint.get("global_step", 0)), path)

    def load_checkpoint(self, path, map_location=None, weights_only=None):
        path = os.fspath(path)
        if os.path.isfile(path):
            return torch.load(path, map_location=map_location or "cpu",
                              weights_only=bool(weights_only))
        try:
            return alone.load(path)
        except c_api.NotFound as error:
            raise FileNotFoundError("there is no whole checkpoint in %s" % path) from error

    def remove_checkpoint(self, path):
        if os.path.isdir(path):
            shutil.rmtree(path)
        elif os.path.exists(path):
            os.unlink(path)


def _neutral(value):
    """`value` with plain dicts instead of their subclasses, such as hyperparameters."""
    if isinstance(value, dict):
        return {key: _neutral(each) for key, each in value.items()}
    if type(value) in (list, tuple):
        return type(value)(_neutral(each) for each in value)
    return value
