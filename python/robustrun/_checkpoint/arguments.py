"""Arguments of robustrun.checkpoint and robustrun.dcp, with defaults from the environment."""

import os
from dataclasses import dataclass, replace
from typing import Any, Optional

DIRECTORY_VARIABLE = "ROBUSTRUN_CHECKPOINT_DIR"
RATE_VARIABLE = "ROBUSTRUN_CHECKPOINT_DRAIN_RATE"


@dataclass(frozen=True)
class SaveOptions:
    """The arguments of robustrun.checkpoint.save that most programs leave alone.

    Where:
    parity       number of directories that may be lost or damaged without loss; must be less than
                 the number of directories
    local        directories on each machine's own disks; default: ROBUSTRUN_CHECKPOINT_LOCAL. Data
                 is written there, and `directories` get the files that describe it. If there is no
                 room, the data goes to `directories` directly. `keep` counts checkpoints in
                 `directories`
    drain_every  of the saves to `local`, the first and then every drain_every-th are copied to
                 `directories` in the background, one at a time: a save that is to be copied waits
                 for the previous copy

    When:
    every_step   True: copy every save to memory and write only every disk_every-th copy. If the job
                 dies under robustrun, the newest copy that all ranks have is written as well
    disk_every   see every_step
    drain_rate   limit for background writes of this rank, in bytes per second, parity included;
                 default: ROBUSTRUN_CHECKPOINT_DRAIN_RATE, else no limit. It is lifted when
                 something waits for the data: a blocking save, a requested stop, the end of the
                 process
    """

    parity: int = 0
    local: Any = None
    drain_every: int = 1
    every_step: bool = False
    disk_every: int = 100
    drain_rate: Optional[float] = None

    def __post_init__(self):
        for name in ("drain_every", "disk_every"):
            if getattr(self, name) < 1:
                raise ValueError("%s=%r: must be at least 1" % (name, getattr(self, name)))

    def changed(self, keywords):
        """These options, with those that a call names itself."""
        unknown = [name for name in keywords if name not in self.__dataclass_fields__]
        if unknown:
            raise TypeError("save() got an unexpected keyword argument %r" % unknown[0])
        return replace(self, **keywords)


def folders(given, variable):
    """`given`, one path or several, as a tuple of absolute paths; if None, those in `variable`."""
    if given is None:
        given = [each for each in os.environ.get(variable, "").split(":") if each]
    if isinstance(given, (str, os.PathLike)):
        given = [given]
    return tuple(os.path.abspath(os.fspath(each)) for each in given)


def directories(given):
    """The checkpoint directories, at least one; the first is the home."""
    places = folders(given, DIRECTORY_VARIABLE)
    if not places:
        raise ValueError("no checkpoint directory: pass directories= or set "
                         + DIRECTORY_VARIABLE)
    return places


def rate(given):
    """The drain rate in bytes per second; 0: no limit."""
    if given is None:
        given = os.environ.get(RATE_VARIABLE) or 0
    try:
        number = int(float(given))
    except (ValueError, OverflowError):
        number = -1
    if number < 0:
        raise ValueError("drain rate %r: not a number of bytes per second" % (given,))
    return number


def own(given, dataloader):
    """The per-rank values, by name."""
    values = dict(given or {})
    if dataloader is not None:
        values["dataloader"] = dataloader
    if "random" in values:
        raise ValueError("own= cannot contain 'random': the generators' states have that name")
    return values
