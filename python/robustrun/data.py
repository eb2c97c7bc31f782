"""Training data: the right samples on every rank, each once (docs/data.md).

    from robustrun import data
    loader = data.loader("data.toml")
    loader.load_state_dict(saved)                  # after a restart
    for batch in loader:
        loss = model(batch["tokens"], batch["positions"], batch["cu_seqlens"])
    state = loader.state_dict()                    # the same on every rank

Which samples a step has depends on the specification and the step alone, not on the number of
ranks. Works under robustrun, under torchrun and in a single process.

DataLoader and DistributedSampler, used in place of torch's, give the same guarantees for map-style
datasets, without packing.
"""

from ._data.loader import Loader
from ._data.map_style import DataLoader, DistributedSampler
from ._data.spec import DataError

__all__ = ["DataError", "DataLoader", "DistributedSampler", "Loader", "loader"]


def loader(spec, rank=None, ranks=None):
    """The batches of one rank. `spec`: the path of a TOML file, or its contents as a dictionary.
    `rank` of `ranks`: among those that get different data (data parallelism); RANK and WORLD_SIZE
    if not given.
    """
    return Loader(spec, rank, ranks)
