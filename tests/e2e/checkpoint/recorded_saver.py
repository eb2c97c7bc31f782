"""Saves some steps under disk_recorder.so and marks in its log when each save has returned.

    python recorded_saver.py MODE STEPS DIRECTORY...

MODE: plain; parity; keep (removes old ones); staged (from a copy in memory); dcp (torch's own
distributed checkpoints); ranks (two writers of the engine, without torch).
"""

import array
import ctypes
import sys

from robustrun._checkpoint import c_api


def saver(mode, places):
    """save(step), which returns when the step is on disk."""
    if mode == "ranks":
        writers = ["rank-0", "rank-1"]
        engines = [c_api.Engine(places, "run", 0) for _ in writers]

        def save(step):
            values = array.array("f", [step + i for i in range(300_000)])
            shard = c_api.Shard("w", "F32", 0, (len(values),), (0,), (len(values),),
                                  4 * len(values))
            for engine, writer in zip(engines, writers, strict=True):
                with engine.begin(step, writers, 2) as one:
                    one.write(writer, [shard], [values.buffer_info()[0]], ())
                    one.commit()

        return save

    import torch
    import torch.distributed.checkpoint as dcp
    from robustrun import checkpoint
    from robustrun.dcp import RobustWriter

    def save(step):
        state = {"w": torch.arange(300_000, dtype=torch.float32) + step,
                 "b": torch.full((17,), float(step)), "step": step}
        if mode == "dcp":
            dcp.save(state, storage_writer=RobustWriter(places, step=step), no_dist=True)
        elif mode == "staged":
            checkpoint.save(state, step, directories=places, blocking=False).wait()
        else:
            checkpoint.save(state, step, directories=places, parity=1 if mode == "parity" else 0,
                            keep=1 if mode == "keep" else None)

    return save


def main():
    mode, steps, places = sys.argv[1], int(sys.argv[2]), sys.argv[3:]
    mark = ctypes.CDLL(None).disk_recorder_mark
    save = saver(mode, places)
    for step in range(1, steps + 1):
        save(step)
        newest = c_api.catalogue(places)[0]
        assert newest.step == step and newest.state == "committed"
        mark(f"saved {step} {newest.digest}".encode())


main()
