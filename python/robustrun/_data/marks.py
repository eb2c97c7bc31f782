"""Marks of a training: how far its loader was in each checkpoint of it."""

import collections
import os

from .._checkpoint import c_api as checkpoints
from .._state import codec
from .spec import DataError, is_whole

# `step`: of the checkpoint. `state`: of its loader, data.Loader.state_dict(). `generation`: rises
# with each attempt of the training; 0: unknown.
Mark = collections.namedtuple("Mark", "name step state generation")

_KEYS = {"format", "spec", "ranks", "micro", "fingerprints", "cursor"}


def read(paths):
    """The marks of one training by rising steps. `paths`: the directories of its checkpoints
    (robustrun.checkpoint.save), or files of torch.save."""
    folders = [path for path in paths if os.path.isdir(path)]
    if folders and len(folders) < len(paths):
        raise DataError("name directories of robustrun.checkpoint or files of torch.save, not both")
    marks = _of_store(folders) if folders else [_of_file(path) for path in paths]
    marks.sort(key=lambda mark: mark.step)
    for one, other in zip(marks, marks[1:]):
        if one.step == other.step:
            raise DataError("%s and %s are both of step %d" % (one.name, other.name, one.step))
    return marks


def _of_store(folders):
    """Of the newest checkpoint and those that it can go back to: checkpoints of later steps are of
    attempts whose work was lost."""
    marks = []
    for found in checkpoints.catalogue(folders):  # the newest one first
        if found.state == "committed" and not found.poisoned \
                and (not marks or found.step < marks[-1].step):
            with checkpoints.Checkpoint(folders, found.attempt) as checkpoint:
                values = [codec.decode(data) for _, name, data in checkpoint.states
                          if name == "tree" or name.startswith("own/")]
            marks.append(Mark(found.attempt, found.step, _state_in(values, found.attempt),
                              found.generation))
    if not marks:
        raise DataError("there is no checkpoint in %s" % ", ".join(folders))
    return marks


def _of_file(path):
    import torch

    try:
        saved = torch.load(path, map_location="cpu", weights_only=True)
    except OSError as error:
        raise DataError("cannot read %s: %s" % (path, error.strerror)) from None
    except Exception as error:  # of pickle, zip files, and values that are not plain
        raise DataError("cannot read %s: %s" % (path, _first_line(error))) from None
    step = saved.get("step") if isinstance(saved, dict) else None
    if type(step) is not int or step < 0:
        raise DataError("%s has no \"step\", the number of steps of its model, as a plain int"
                        % path)
    return Mark(path, step, _state_in([saved], path), 0)


def _first_line(error):
    return (str(error).splitlines() or ["it is empty or cut off"])[0]


def _state_in(values, name):
    """The one state of a loader in these nested values; all ranks have the same."""
    found, left = [], list(values)
    while left:
        value = left.pop()
        if isinstance(value, dict):
            if value.keys() >= _KEYS:
                found.append(value)
            else:
                left += value.values()
        elif type(value) in (list, tuple):
            left += value
    if not found:
        raise DataError("%s has no state of data.loader" % name)
    for state in found:
        if not is_whole(state):
            raise DataError("%s: the state of data.loader in it is damaged" % name)
    for other in found[1:]:
        if other != found[0]:
            raise DataError("%s has two states of data.loader that differ: of steps %d and %d"
                            % (name, found[0]["cursor"]["step"], other["cursor"]["step"]))
    return found[0]
