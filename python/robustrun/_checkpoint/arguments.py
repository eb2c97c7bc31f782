"""What callers of robustrun.checkpoint and robustrun.dcp say, or leave to the environment."""

import os

DIRECTORY_VARIABLE = "ROBUSTRUN_CHECKPOINT_DIR"
RATE_VARIABLE = "ROBUSTRUN_CHECKPOINT_DRAIN_RATE"


def folders(given, variable):
    """Absolute ones, from the variable of the environment where None is given; () for none."""
    if given is None:
        given = [each for each in os.environ.get(variable, "").split(":") if each]
    if isinstance(given, (str, os.PathLike)):
        given = [given]
    return tuple(os.path.abspath(os.fspath(each)) for each in given)


def directories(given):
    """The first is the home."""
    places = folders(given, DIRECTORY_VARIABLE)
    if not places:
        raise ValueError("where are the checkpoints? Give directories=, or set "
                         + DIRECTORY_VARIABLE)
    return places


def rate(given):
    """Bytes a second; 0: no limit."""
    if given is None:
        given = os.environ.get(RATE_VARIABLE) or 0
    try:
        number = int(float(given))
    except (ValueError, OverflowError):
        number = -1
    if number < 0:
        raise ValueError("how many bytes a second may copies be written with? Not %r" % (given,))
    return number


def own(given, dataloader):
    """What each rank keeps for itself, by name."""
    values = dict(given or {})
    if dataloader is not None:
        values["dataloader"] = dataloader
    if "random" in values:
        raise ValueError("own= cannot have a 'random': that is the generators' own name")
    return values
