"""The training of the drill: all_reduce steps over NCCL (RR_DRILL_DEVICE=cuda) or gloo (cpu).

Every rank notes what it does in files NAME.RANK.ATTEMPT of the working directory. A fault happens
in the first attempt only:

    sleep     the rank sleeps before a collective
    skip      it leaves one all_reduce out, and goes on with an all_gather
    kernel    its GPU computes for ever before a collective (without a GPU: the process does)
    slow      it is late for every collective
    assert, illegal, oom     an error of CUDA
"""

import argparse
import ctypes
import importlib
import os
import sys
import time

parser = argparse.ArgumentParser()
parser.add_argument("--steps", type=int, default=40)       # of an attempt
parser.add_argument("--pace", type=float, default=0.02)
parser.add_argument("--fault", default="")
parser.add_argument("--rank", type=int, default=1)         # the one with the fault
parser.add_argument("--at", type=int, default=30)
parser.add_argument("--dump-after", type=float, default=0)  # s after the fault: dumps of torch
parser.add_argument("--hold", type=float, default=0)       # share of the GPU's memory
parser.add_argument("--model", type=int, default=0)        # MiB of state
parser.add_argument("--save", choices=("", "memory", "torch"), default="")
parser.add_argument("--folder", default="saves")
parser.add_argument("--import", dest="imports", default="")
parser.add_argument("--wait", action="store_true")         # in the first attempt, after the steps
parser.add_argument("--alone", action="store_true")        # no process group
options = parser.parse_args()

CUDA = os.environ["RR_DRILL_DEVICE"] == "cuda"
RANK, WORLD = int(os.environ["RANK"]), int(os.environ["WORLD_SIZE"])
ATTEMPT = int(os.environ.get("TORCHELASTIC_RESTART_COUNT", "0"))
NCCL = os.environ.get("RR_DRILL_NCCL", "")
FOREVER = 1 << 60  # cycles


def note(name, *words, data=None):
    path = f"{name}.{RANK}.{ATTEMPT}"
    with open(path + ".part", "wb") as file:
        file.write(data if data is not None else " ".join(map(str, words)).encode())
    os.rename(path + ".part", path)


note("first-line", time.monotonic_ns())
if CUDA and NCCL and "torch" not in sys.modules:
    ctypes.CDLL(NCCL, ctypes.RTLD_GLOBAL)  # torch then takes this one, by its name
import torch  # noqa: E402
import torch.distributed as dist  # noqa: E402

for module in filter(None, options.imports.split(",")):
    importlib.import_module(module)
note("imported", time.monotonic_ns())
try:
    import robustrun
except ImportError:  # under torchrun
    robustrun = None

torch.set_num_threads(1)
DEVICE = torch.device("cpu")
if CUDA:
    torch.cuda.set_device(int(os.environ["LOCAL_RANK"]) % torch.cuda.device_count())
    DEVICE = torch.device("cuda", torch.cuda.current_device())


def loaded_nccl():
    """The paths of all that is loaded of NCCL."""
    with open("/proc/self/maps") as maps:
        found = {line.split()[-1] for line in maps if "libnccl" in line}
    return ":".join(sorted(found)) or "-"


def hold_memory():
    """The rank's share of the GPU's memory, written to; on the CPU 64 MiB."""
    size = 64 << 20
    if CUDA:
        size = int(torch.cuda.mem_get_info()[1] * options.hold)
    held = torch.empty(size, dtype=torch.uint8, device=DEVICE)
    held.fill_(1)
    if CUDA:
        torch.cuda.synchronize()
    return held


def launch_wild_store():
    """Starts a kernel that writes to an address that nothing has."""
    source = b"""
.version 7.0
.target sm_70
.address_size 64
.visible .entry wild()
{
  .reg .b64 %rd<2>;
  .reg .b32 %r<2>;
  mov.u64 %rd1, 0xdead0000;
  mov.u32 %r1, 1;
  st.global.u32 [%rd1], %r1;
  ret;
}
"""
    cuda = ctypes.CDLL("libcuda.so.1")
    module, function = ctypes.c_void_p(), ctypes.c_void_p()
    for code in (cuda.cuModuleLoadData(ctypes.byref(module), source),
                 cuda.cuModuleGetFunction(ctypes.byref(function), module, b"wild"),
                 cuda.cuLaunchKernel(function, 1, 1, 1, 1, 1, 1, 0, None, None, None)):
        if code:
            sys.exit(f"CUDA's driver refuses the kernel: {code}")


def fail():
    """An error of CUDA, or on the CPU one with its text."""
    texts = {"assert": "CUDA error: device-side assert triggered",
             "illegal": "CUDA error: an illegal memory access was encountered",
             "oom": "CUDA out of memory. Tried to allocate 1024.00 TiB."}
    if not CUDA:
        raise RuntimeError(texts[options.fault])
    if options.fault == "assert":
        values = torch.zeros(4, device=DEVICE)
        values[torch.tensor([10], device=DEVICE)] += 1
    elif options.fault == "illegal":
        torch.zeros(1, device=DEVICE)
        launch_wild_store()
    else:
        torch.empty(1 << 50, dtype=torch.uint8, device=DEVICE)
    torch.cuda.synchronize()
    sys.exit("the GPU reported no error")


def dump_recorder():
    """What torch's Flight Recorder has, in both forms."""
    from torch._C import _distributed_c10d as c10d

    time.sleep(options.dump_after)
    if CUDA:
        note("trace-json", data=c10d._dump_nccl_trace_json(True, False))
        note("trace-pickle", data=c10d._dump_nccl_trace(True, True, False))
    else:
        note("trace-json", data=c10d._dump_fr_trace_json(True, False))
        note("trace-pickle", data=c10d._dump_fr_trace(True, True, False))


def begin_dump():
    """In a thread of its own: the fault keeps this one."""
    import threading

    if options.dump_after:
        threading.Thread(target=dump_recorder, daemon=True).start()


class Store:
    """The state, and how it is saved."""

    def __init__(self):
        generator = torch.Generator(device=DEVICE).manual_seed(7)
        self.wanted = [torch.rand(options.model << 14, device=DEVICE, generator=generator)
                       for _ in range(16)]
        self.state = {f"t{i}": torch.zeros_like(tensor) for i, tensor in enumerate(self.wanted)}
        self.stalls = []
        os.makedirs(options.folder, exist_ok=True)
        self.path = f"{options.folder}/rank-{RANK}.pt"

    def fill(self, step):
        """What the state is after a step."""
        for tensor, wanted in zip(self.state.values(), self.wanted, strict=True):
            torch.add(wanted, step, out=tensor)

    def is_as_after(self, step):
        return all(bool(torch.equal(tensor, wanted + step)) for tensor, wanted
                   in zip(self.state.values(), self.wanted, strict=True))

    def save(self, step):
        if CUDA:
            torch.cuda.synchronize()
        began = time.monotonic()
        if options.save == "torch":
            torch.save({"step": step, "state": self.state}, self.path + ".part")
            with open(self.path + ".part", "rb") as file:
                os.fsync(file.fileno())
            os.rename(self.path + ".part", self.path)
        else:
            from robustrun import checkpoint

            checkpoint.save(self.state, step, directories=options.folder, every_step=True,
                            disk_every=10**6)
        self.stalls.append(time.monotonic() - began)

    def load(self):
        """The saved step, or 0, and how many bytes came from memory."""
        if options.save == "torch":
            if not os.path.exists(self.path):
                return 0, 0
            saved = torch.load(self.path, weights_only=True, map_location=DEVICE)
            for name, tensor in saved["state"].items():
                self.state[name].copy_(tensor)
            return saved["step"], 0
        from robustrun import checkpoint

        step = checkpoint.load_latest(self.state, directories=options.folder)
        return step or 0, checkpoint.last_load().from_memory if step else 0


def take_fault(tensor):
    """Returns True if this step's all_reduce is to be left out."""
    note("fault", time.monotonic_ns())
    begin_dump()
    if options.fault == "sleep":
        time.sleep(10_000)
    if options.fault == "kernel":
        if not CUDA:
            while True:
                pass
        torch.cuda._sleep(FOREVER)
    if options.fault in ("assert", "illegal", "oom"):
        fail()
    return options.fault == "skip"


def train(first, store):
    values = torch.ones(256, device=DEVICE)
    parts = [torch.empty_like(values) for _ in range(WORLD)]
    faulty = options.fault and ATTEMPT == 0
    for step in range(first + 1, first + options.steps + 1):
        time.sleep(options.pace)
        skipped = False
        if faulty and step >= options.at and options.fault == "slow":
            if RANK == options.rank:
                time.sleep(options.pace * 4)
        elif faulty and step == options.at:
            if RANK == options.rank:
                skipped = take_fault(values)
            else:
                begin_dump()
        if dist.is_initialized():
            if not skipped:
                dist.all_reduce(values)
            if options.fault == "skip":
                dist.all_gather(parts, values)
            values.fill_(1)
        total = values.sum().item()
        if total != values.numel():
            sys.exit(f"a sum is wrong: {total}")
        if store:
            store.fill(step)
            store.save(step)
        if robustrun:
            robustrun.step(step)
        if step == first + 1:
            note("first-step", time.monotonic_ns(), step)
        if step == first + 5:
            note("steps", time.monotonic_ns())


def main():
    held = hold_memory() if options.hold else None
    if held is not None:
        note("held", time.monotonic_ns(), held.numel())
    if not options.alone:
        dist.init_process_group("nccl" if CUDA else "gloo")
    note("place", os.getpid(), os.environ.get("NCCL_RAS_ADDR", "-"),
         os.environ.get("ROBUSTRUN_RECORD", "-"), loaded_nccl())
    store, first = None, 0
    if options.save:
        store = Store()
        first, from_memory = store.load()
        if CUDA:
            torch.cuda.synchronize()
        note("loaded", time.monotonic_ns(), first, from_memory,
             "equal" if first == 0 or store.is_as_after(first) else "different")
    train(first, store)
    if store:
        note("stalls", *store.stalls)
    note("trained", time.monotonic_ns())
    while options.wait and ATTEMPT == 0:
        time.sleep(1)
    if dist.is_initialized():
        dist.destroy_process_group()
    del held


main()
