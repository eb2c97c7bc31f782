"""Arguments of robustrun.checkpoint and robustrun.dcp, with defaults from the environment."""

import os

DIRECTORY_VARIABLE = "ROBUSTRUN_CHECKPOINT_DIR"
RATE_VARIABLE = "ROBUSTRUN_CHECKPOINT_DRAIN_RATE"


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
