"""Saves and restores tensors by commands on stdin, a line each, for bench/figures/checkpoint.py.

    checkpoint_job.py FOLDER COUNT BYTES

Answers each command with a line of JSON: the seconds until all data are on the disk or in the
tensors, CPU seconds of this process, and the rise of its peak memory. Commands: save-ours,
save-parity, save-torch, save-dcp, load-ours, load-torch; keep-torch saves without removing the
other files. Tensors are random and touched before the first command.
"""

import json
import os
import pathlib
import resource
import shutil
import sys
import time

import torch
import torch.distributed.checkpoint as dcp
from page_cache import drop_cache

ROOT = pathlib.Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "python"))
from robustrun._checkpoint import c_api  # noqa: E402

WRITERS = ("rank-0",)
PARITY_FOLDERS = 10


def sync_tree(folder):
    for path in [*folder.rglob("*"), folder]:
        fd = os.open(path, os.O_RDONLY)
        os.fsync(fd)
        os.close(fd)


def memory_kb(field):
    for line in pathlib.Path("/proc/self/status").read_text().splitlines():
        if line.startswith(field):
            return int(line.split()[1])
    raise LookupError(field)


class Job:
    def __init__(self, folder, count, size):
        generator = torch.Generator().manual_seed(1)
        self.tensors = {f"layer.{i}.weight": torch.randint(-2**62, 2**62, (size // 8,),
                                                           generator=generator)
                        for i in range(count)}
        self.targets = {name: torch.zeros_like(t) for name, t in self.tensors.items()}
        self.size = size
        self.folder = pathlib.Path(folder)
        self.ours = self.folder / "ours"
        self.ours.mkdir()
        shards = [c_api.Shard(name, "I64", 0, (size // 8,), (0,), (size // 8,), size)
                  for name in self.tensors]
        self.structure = c_api.Structure(shards)
        self.engine = c_api.Engine([self.ours], "bench")
        self.step = 0
        self.protected = [self.folder / f"parity-{number}" for number in range(PARITY_FOLDERS)]
        self.protected_engine = None

    def save_ours(self):
        self.save_into(self.engine)

    def save_into(self, engine):
        self.step += 1
        with engine.begin(self.step, WRITERS) as save:
            save.write("rank-0", self.structure, [t.data_ptr() for t in self.tensors.values()])
            if not save.commit() or save.notes:
                sys.exit(f"our save failed: {save.notes}")

    def save_parity(self):
        if self.protected_engine is None:
            for each in self.protected:
                each.mkdir()
            self.protected_engine = c_api.Engine(self.protected, "bench", workers=1)
            self.protected_engine.use_parity(2)
        self.save_into(self.protected_engine)

    def save_torch(self):
        path = self.folder / "state.pt"
        torch.save(self.tensors, path)
        sync_tree(self.folder)

    def save_dcp(self):
        writer = dcp.FileSystemWriter(self.folder / "dcp", sync_files=True, thread_count=2)
        dcp.save(self.tensors, storage_writer=writer, no_dist=True)
        sync_tree(self.folder / "dcp")

    def load_ours(self):
        with c_api.Checkpoint([self.ours]) as checkpoint:
            places = {shard.name: i for i, shard in enumerate(checkpoint.shards)}
            checkpoint.read([(places[name], 0, self.size, t.data_ptr())
                             for name, t in self.targets.items()])

    def load_torch(self):
        self.loaded = torch.load(self.folder / "state.pt", weights_only=True)

    def check(self, loaded):
        for name, tensor in self.tensors.items():
            if not torch.equal(tensor, loaded[name]):
                sys.exit(f"{name} differs from the saved tensor")

    def run(self, command):
        kind, library = command.split("-")
        if kind == "keep":
            kind = "save"
        elif kind == "save":  # makes room; the peers would overwrite their own files
            shutil.rmtree(self.folder / "dcp", ignore_errors=True)
            (self.folder / "state.pt").unlink(missing_ok=True)
            for each in (self.ours, *self.protected):
                for old in each.glob("step-*"):
                    shutil.rmtree(old)
        drop_cache(self.folder)
        pathlib.Path("/proc/self/clear_refs").write_text("5")  # resets VmHWM
        before = memory_kb("VmRSS")
        cpu = resource.getrusage(resource.RUSAGE_SELF)
        start = time.monotonic()
        getattr(self, f"{kind}_{library}")()
        seconds = time.monotonic() - start
        after = resource.getrusage(resource.RUSAGE_SELF)
        peak = memory_kb("VmHWM")
        if kind == "load":
            self.check(self.targets if library == "ours" else self.loaded)
            for tensor in self.targets.values():
                tensor.zero_()
            self.loaded = None
        return {"seconds": seconds, "extra_mib": (peak - before) / 1024,
                "cpu": after.ru_utime + after.ru_stime - cpu.ru_utime - cpu.ru_stime}


def main():
    folder, count, size = sys.argv[1:]
    job = Job(folder, int(count), int(size))
    print(json.dumps("ready"), flush=True)
    for line in sys.stdin:
        print(json.dumps(job.run(line.strip())), flush=True)


main()
