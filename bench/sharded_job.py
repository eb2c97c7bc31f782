"""Two ranks over gloo with a sharded state, as FSDP has it, that save and restore it by commands.

    sharded_job.py FOLDER COUNT BYTES        under a launcher; commands on rank 0's stdin

Answers each command ({save,load}-{ours,dcp,torch}) with a line of JSON: seconds until the last rank
was done. torch: a file of each rank's own shards.
"""

import json
import os
import pathlib
import shutil
import sys
import time

import torch
import torch.distributed as dist
import torch.distributed.checkpoint as dcp
from page_cache import drop_cache
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.tensor import DTensor, Shard

ROOT = pathlib.Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "python"))
from robustrun.dcp import RobustReader, RobustWriter  # noqa: E402

COLUMNS = 1024


class Job:
    def __init__(self, folder, count, size):
        self.folder = pathlib.Path(folder)
        self.rank = dist.get_rank()
        self.ours, self.dcp = str(self.folder / "ours"), str(self.folder / "dcp")
        self.own = self.folder / f"rank-{self.rank}.pt"
        mesh = init_device_mesh("cpu", (dist.get_world_size(),))
        rows = size // COLUMNS // 8 // dist.get_world_size()
        generator = torch.Generator().manual_seed(self.rank)
        self.state = {f"layer.{i}.weight": DTensor.from_local(
            torch.randint(-2**62, 2**62, (rows, COLUMNS), generator=generator), mesh, [Shard(0)])
            for i in range(count)}
        self.sums = self.digest()
        self.writer, self.step = None, 0

    def digest(self):
        return [int(each.to_local().sum()) for each in self.state.values()]

    def locals(self):
        return {name: each.to_local() for name, each in self.state.items()}

    def save_ours(self):
        self.step += 1
        self.writer = self.writer or RobustWriter(self.ours)
        dcp.save(self.state, storage_writer=self.writer, checkpoint_id=self.step)

    def save_dcp(self):
        dcp.save(self.state, storage_writer=dcp.FileSystemWriter(self.dcp, sync_files=True,
                                                                 thread_count=2))
        if self.rank == 0:
            sync_folder(self.dcp)

    def save_torch(self):
        torch.save(self.locals(), self.own)
        sync_folder(self.own)
        sync_folder(self.folder)

    def load_ours(self):
        dcp.load(self.state, storage_reader=RobustReader(self.ours))

    def load_dcp(self):
        dcp.load(self.state, storage_reader=dcp.FileSystemReader(self.dcp))

    def load_torch(self):
        for name, tensor in torch.load(self.own, weights_only=True).items():
            self.state[name].to_local().copy_(tensor)

    def prepare(self, kind):
        if kind == "save" and self.rank == 0:  # room for a new one
            for old in pathlib.Path(self.ours).glob("step-*"):
                shutil.rmtree(old)
            shutil.rmtree(self.dcp, ignore_errors=True)
            for old in self.folder.glob("*.pt"):
                old.unlink()
        if kind == "load":
            for tensor in self.locals().values():
                tensor.zero_()
            if self.rank == 0:
                drop_cache(self.folder)
        dist.barrier()

    def run(self, command):
        kind, library = command.split("-")
        self.prepare("save" if kind == "save" else kind)
        began = time.monotonic()
        getattr(self, f"{'save' if kind == 'keep' else kind}_{library}")()
        dist.barrier()
        seconds = time.monotonic() - began
        if self.digest() != self.sums:
            sys.exit(f"{command}: not what was saved")
        return {"seconds": seconds}


def sync_folder(path):
    fd = os.open(path, os.O_RDONLY)
    os.fsync(fd)
    os.close(fd)


def main():
    folder, count, size = sys.argv[1:]
    dist.init_process_group("gloo")
    if dist.get_rank() == 0:
        os.mkdir(os.path.join(folder, "ours"))
    dist.barrier()
    job = Job(folder, int(count), int(size))
    while True:
        told = [sys.stdin.readline().strip() if dist.get_rank() == 0 else None]
        dist.broadcast_object_list(told, 0)
        if not told[0]:
            break
        answer = job.run(told[0])
        if dist.get_rank() == 0:
            print(json.dumps(answer), flush=True)


main()
