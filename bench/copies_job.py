"""What a copy of a state costs its worker, beside memcpy and DCP's async_save; run by robustrun.

Arguments: ROUNDS MIB DCP_ROUNDS FOLDER. Prints one JSON object for each kind of state, with the
seconds of each round.
"""

import ctypes
import json
import os
import shutil
import sys
import threading
import time

import torch
import torch.distributed as dist
import torch.distributed.checkpoint as dcp
from robustrun._checkpoint import c_api, memory_copies

ROUNDS, MIB, DCP_ROUNDS = map(int, sys.argv[1:4])
FOLDER = sys.argv[4]
KINDS = {"16 MiB": (MIB // 16, 4 << 20), "1 tensor": (1, MIB << 18),
         "32 KiB": (min(20_000, MIB << 5), 8 << 10), "64 MiB in all": (4, 4 << 20)}


def seconds(action):
    began = time.monotonic()
    action()
    return time.monotonic() - began


def memcpy_of(tensors, targets):
    """The faster of libc's, one thread, and torch's, all threads."""
    def by_libc():
        for tensor, target in zip(tensors, targets, strict=True):
            ctypes.memmove(target.data_ptr(), tensor.data_ptr(), tensor.nbytes)

    def by_torch():
        for tensor, target in zip(tensors, targets, strict=True):
            target.copy_(tensor)

    return min(seconds(by_libc), seconds(by_torch))


def dcp_stall(state, folder, kind):
    began = time.monotonic()
    pending = dcp.async_save(state, checkpoint_id=folder, async_checkpointer_type=kind)
    stall = time.monotonic() - began
    getattr(pending, "upload_completion", pending).result()
    shutil.rmtree(folder)
    return stall


def dcp_kinds():
    try:
        from torch.distributed.checkpoint.state_dict_saver import AsyncCheckpointerType as kinds
    except ImportError:
        return {}
    return {"dcp thread": kinds.THREAD, "dcp process": kinds.PROCESS}


def measure(count, elements, folder):
    tensors = [torch.randn(elements) for _ in range(count)]
    targets = [torch.zeros(elements) for _ in range(count)]
    state = {"t%d" % i: tensor for i, tensor in enumerate(tensors)}
    structure = c_api.Structure(
        c_api.Shard("t%d" % i, "F32", 0, (elements,), (0,), (elements,), 4 * elements)
        for i in range(count))
    addresses = [tensor.data_ptr() for tensor in tensors]
    engine = c_api.Engine([folder], "bench")
    copies = memory_copies.Copies(engine, threading.Lock())
    readings = {"bytes": 4 * elements * count, "shared": None, "memcpy": [], "stage": [],
                "restore": [], "step": []}
    for kind in dcp_kinds():
        readings[kind] = []
    for number in range(ROUNDS + 2):  # the first ones touch memory and start processes
        readings["memcpy"].append(memcpy_of(tensors, targets))
        handle = copies.stage(number, ["w"], "w", structure, addresses)
        readings["stage"].append(copies.last_blocked_s)
        copies.drain(handle)
        handle.wait()
        with c_api.Checkpoint([folder]) as checkpoint:
            reads = [(i, 0, 4 * elements, target.data_ptr()) for i, target in enumerate(targets)]
            began = time.monotonic()
            found = copies.read(checkpoint, reads)
            readings["restore"].append(time.monotonic() - began)
            if found != readings["bytes"]:
                sys.exit("not restored from memory")
        copies.stage(1000 + number, ["w"], "w", structure, addresses)
        readings["step"].append(copies.last_blocked_s)
        for kind, value in dcp_kinds().items() if number < DCP_ROUNDS + 2 else ():
            readings[kind].append(dcp_stall(state, folder + "/dcp", value))
        shutil.rmtree(folder)
        os.mkdir(folder)
        engine = copies.engine = c_api.Engine([folder], "bench-%d" % number)
    readings["shared"] = copies.shared
    copies.close()
    return {key: value[2:] if isinstance(value, list) else value
            for key, value in readings.items()}


def main():
    dist.init_process_group("gloo")
    # DCP's process gets each tensor by a descriptor otherwise: 20,000 are more than it may have.
    torch.multiprocessing.set_sharing_strategy("file_system")
    for name, (count, elements) in KINDS.items():
        os.mkdir(FOLDER + "/saves")
        print(json.dumps({"kind": name, **measure(count, elements, FOLDER + "/saves")}), flush=True)
        shutil.rmtree(FOLDER + "/saves")


if __name__ == "__main__":
    main()
