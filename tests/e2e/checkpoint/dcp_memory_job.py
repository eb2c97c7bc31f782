"""As dcp_job.py: saves that do not wait for the disk."""

import traceback

import dcp_job
import dcp_torch as dcp
from dcp_job import AsyncCheckpointerType, blank, load, state_of
from robustrun._checkpoint import memory_copies
from robustrun.dcp import RobustWriter
from torch.distributed.checkpoint.default_planner import DefaultSavePlanner


def writer_of(folder, **more):
    return RobustWriter([folder, folder + "-2"], **more)


def save_copies(folder, rank, world, every):
    """Writes each `every`-th copy, which takes weeks, and a save that waits for the disk."""
    every = int(every)
    writer = writer_of(folder, drain_rate=1, blocking=False) if every == 1 else \
        writer_of(folder, drain_rate=1, every_step=True, disk_every=every)
    for seed in range(1, 3 * every - every // 2):
        state = state_of(world, seed)
        dcp.save(state, storage_writer=writer, checkpoint_id=seed)
        assert writer.handle.step == seed and not writer.handle.done()
        blank(state)  # training goes on
    last = 3 if every == 1 else 5
    dcp.save(state_of(world, last), storage_writer=writer_of(folder), checkpoint_id=last)
    assert writer.handle.done()
    writer.wait()
    load(folder, rank, world, last)


class Bare(DefaultSavePlanner):
    """A saver that reports its copies to no agent."""

    def create_global_plan(self, plans):
        answer = super().create_global_plan(plans)
        del self.metadata
        return answer


class Fickle(DefaultSavePlanner):
    def finish_plan(self, plan):
        if self.is_coordinator:
            self.metadata = type(self.metadata)({}, planner_data={"other": ("other",)})
        return super().finish_plan(plan)


def save_refused(folder, rank, world, way):
    writer = writer_of(folder, blocking=False)
    state, stage = state_of(world, 1), memory_copies.Copies.stage

    def stage_and_change(self, *arguments):
        handle = stage(self, *arguments)
        if rank == 1:
            state["model"]["columns"].to_local().add_(1)
        return handle

    if way == "torn":
        memory_copies.Copies.stage = stage_and_change
    planner = {"planner": Bare, "finish": Fickle}.get(way, DefaultSavePlanner)()
    try:
        dcp.save(state, storage_writer=writer, checkpoint_id=1, planner=planner)
    except BaseException:
        traceback.print_exc()
    else:
        raise AssertionError("it was not refused")
    memory_copies.Copies.stage = stage
    dcp.save(state_of(world, 2), storage_writer=writer, checkpoint_id=2)
    writer.wait()


def save_async_copy(folder, rank, world, kind):
    words = {"async_checkpointer_type": AsyncCheckpointerType[kind]}
    try:
        answer = dcp.async_save(state_of(world, 1), checkpoint_id=1,
                                storage_writer=writer_of(folder, blocking=False), **words)
        getattr(answer, "upload_completion", answer).result()
    except BaseException:
        traceback.print_exc()
    else:
        raise AssertionError("it was not refused")


if __name__ == "__main__":
    dcp_job.main(globals())
