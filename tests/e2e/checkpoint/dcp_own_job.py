"""As dcp_job.py, for the rank's own data beside the state."""

import dcp_job
import dcp_torch as dcp
import torch
from dcp_job import AsyncCheckpointerType, blank, check_same, load, state_of
from robustrun.dcp import RobustReader, RobustWriter


class Loader:
    """A dataloader that saves its position."""

    def __init__(self, at):
        self.at = at

    def state_dict(self):
        return {"at": self.at, "order": torch.arange(self.at)}

    def load_state_dict(self, state):
        assert torch.equal(state["order"], torch.arange(state["at"]))
        self.at = state["at"]


def save_own(folder, rank, world, seed, kind=None):
    """The rank's own data at the time of the save call."""
    loader, counts = Loader(10 * rank + int(seed)), {"rank": rank}
    torch.manual_seed(rank)
    writer = RobustWriter([folder, folder + "-2"], axes=[("dp", 1), ("tp", world)],
                          own={"counts": counts}, dataloader=loader, random=True)
    state = state_of(world, int(seed))
    if kind is None:
        dcp.save(state, storage_writer=writer, checkpoint_id=int(seed))
        return
    words = {"async_checkpointer_type": AsyncCheckpointerType[kind]}
    if kind == "THREAD":
        try:
            answer = dcp.async_save(state, storage_writer=writer, checkpoint_id=9, **words)
            getattr(answer, "upload_completion", answer).result()
        except BaseException as error:
            assert "call the writer's take_own()" in str(error) or rank > 0, error
        else:
            raise AssertionError("of which step would it be?")
    writer.take_own()
    answer = dcp.async_save(state, storage_writer=writer, checkpoint_id=int(seed), **words)
    loader.at, counts["rank"] = -1, -1
    torch.manual_seed(99)
    getattr(answer, "upload_completion", answer).result()


def reader_of_own(folder, **more):
    loader, counts = Loader(-1), {"nothing": 0}
    return loader, counts, RobustReader([folder, folder + "-2"], own={"counts": counts},
                                        dataloader=loader, random=True, **more)


def load_own(folder, rank, world, seed):
    loader, counts, reader = reader_of_own(folder, axes=[("dp", 1), ("tp", world)])
    state = blank(state_of(world, int(seed)))
    dcp.load(state, storage_reader=reader)
    check_same(state, state_of(world, int(seed)))
    assert loader.at == 10 * rank + int(seed) and counts == {"rank": rank}, (loader.at, counts)
    found = torch.rand(4)
    torch.manual_seed(rank)
    assert torch.equal(found, torch.rand(4))
    # A reader that does not resume need not take it.
    load(folder, rank, world, seed, read_only=True)


def load_own_elsewhere(folder, rank, world, seed):
    """Loads with another number of ranks, or other ranks: refused, or remapped."""
    def remap(name, values, rank, size):
        if name == "random":
            return None
        if name == "counts":
            return {"all": [each["rank"] for each in values]}
        at = sum(each["at"] for each in values)
        return {"at": at, "order": torch.arange(at)}

    axes = [("dp", world), ("tp", 1)]
    loader, counts, reader = reader_of_own(folder, axes=axes)
    state = blank(state_of(world, int(seed)))
    before = state["model"]["number"].clone()
    try:
        dcp.load(state, storage_reader=reader)
    except BaseException as error:
        assert "WorldChanged" in str(error) and "remap=" in str(error), error
    else:
        raise AssertionError("it was not refused")
    assert loader.at == -1 and torch.equal(state["model"]["number"], before)
    loader, counts, reader = reader_of_own(folder, axes=axes, remap=remap)
    dcp.load(state, storage_reader=reader)
    check_same(state, state_of(world, int(seed)))
    assert loader.at == 10 + 2 * int(seed) and counts == {"all": [0, 1]}, (loader.at, counts)


if __name__ == "__main__":
    dcp_job.main(globals())
