"""NCCL without torch, through ctypes and CUDA's driver: starts in a second, and takes any libnccl.

    collectives.py calls|latency|bandwidth COUNT

calls: COUNT rounds of all_reduce, all_gather, reduce_scatter, broadcast, and a send to the next
rank with a receive from the one before. latency: COUNT all_reduce of 1 KiB, one by one and in
batches. bandwidth: COUNT batches of all_reduce of 1 MiB, at most 20 a second. Every rank writes
result.RANK, and a copy of its progress record to record.RANK.
"""

import ctypes
import json
import os
import shutil
import statistics
import sys
import time

MODE, COUNT = sys.argv[1], int(sys.argv[2])
RANK, WORLD = int(os.environ["RANK"]), int(os.environ["WORLD_SIZE"])
FLOAT, SUM, ID_BYTES = 7, 0, 128
ELEMENTS = 256  # 1 KiB
BATCH = 50
BATCH_PAUSE_S = 0.05
BYTES = 1 << 20

cuda = ctypes.CDLL("libcuda.so.1")
nccl = ctypes.CDLL(os.environ["RR_DRILL_NCCL"])


class UniqueId(ctypes.Structure):
    _fields_ = [("bytes", ctypes.c_char * ID_BYTES)]


def cu(name, *arguments):
    code = getattr(cuda, name)(*arguments)
    if code:
        sys.exit(f"rank {RANK}: {name} failed with {code}")


nccl.ncclGetErrorString.restype = ctypes.c_char_p
nccl.ncclGetLastError.restype = ctypes.c_char_p


def nc(name, *arguments):
    code = getattr(nccl, name)(*arguments)
    if code:
        sys.exit(f"rank {RANK}: {name} failed: {nccl.ncclGetErrorString(code).decode()}; "
                 f"{nccl.ncclGetLastError(None).decode()}")


def size(count):
    return ctypes.c_size_t(count)


def open_gpu():
    cu("cuInit", 0)
    count, device, context = ctypes.c_int(), ctypes.c_int(), ctypes.c_void_p()
    cu("cuDeviceGetCount", ctypes.byref(count))
    cu("cuDeviceGet", ctypes.byref(device), RANK % count.value)
    cu("cuDevicePrimaryCtxRetain", ctypes.byref(context), device)
    cu("cuCtxSetCurrent", context)
    stream = ctypes.c_void_p()
    cu("cuStreamCreate", ctypes.byref(stream), 1)
    buffers = []
    for _ in range(2):
        buffer = ctypes.c_uint64()
        cu("cuMemAlloc_v2", ctypes.byref(buffer), size(BYTES))
        cu("cuMemsetD8_v2", buffer, 0, size(BYTES))
        buffers.append(ctypes.c_void_p(buffer.value))
    return stream, buffers


def unique_id():
    """Rank 0 makes it; the others read it from a file of the attempt."""
    one, path = UniqueId(), "id." + os.environ.get("MASTER_PORT", "0")
    if RANK == 0:
        nc("ncclGetUniqueId", ctypes.byref(one))
        with open(path + ".part", "wb") as file:
            file.write(bytes(one))
        os.rename(path + ".part", path)
    end = time.monotonic() + 60
    while not os.path.exists(path):
        if time.monotonic() > end:
            sys.exit("rank 0 made no id")
        time.sleep(0.005)
    with open(path, "rb") as file:
        ctypes.memmove(ctypes.byref(one), file.read(), ID_BYTES)
    return one


class Ring:
    def __init__(self):
        self.stream, (self.source, self.target) = open_gpu()
        self.comm = ctypes.c_void_p()
        began = time.monotonic()
        nc("ncclCommInitRank", ctypes.byref(self.comm), WORLD, unique_id(), RANK)
        self.joined_s = time.monotonic() - began

    def wait(self):
        cu("cuStreamSynchronize", self.stream)

    def reduce(self, count=ELEMENTS):
        nc("ncclAllReduce", self.source, self.target, size(count), FLOAT, SUM, self.comm,
           self.stream)

    def round(self):
        self.reduce()
        nc("ncclAllGather", self.source, self.target, size(ELEMENTS), FLOAT, self.comm, self.stream)
        nc("ncclReduceScatter", self.source, self.target, size(ELEMENTS), FLOAT, SUM, self.comm,
           self.stream)
        nc("ncclBroadcast", self.source, self.target, size(ELEMENTS), FLOAT, 0, self.comm,
           self.stream)
        nc("ncclGroupStart")
        nc("ncclSend", self.source, size(ELEMENTS), FLOAT, (RANK + 1) % WORLD, self.comm,
           self.stream)
        nc("ncclRecv", self.target, size(ELEMENTS), FLOAT, (RANK - 1) % WORLD, self.comm,
           self.stream)
        nc("ncclGroupEnd")
        self.wait()


def latencies(ring):
    """Microseconds of one all_reduce: alone, and as a part of a batch."""
    alone, batched = [], []
    for number in range(COUNT + COUNT // 10):
        began = time.perf_counter_ns()
        ring.reduce()
        ring.wait()
        if number >= COUNT // 10:
            alone.append((time.perf_counter_ns() - began) / 1e3)
    for _ in range(max(COUNT // BATCH, 4)):
        began = time.perf_counter_ns()
        for _ in range(BATCH):
            ring.reduce()
        ring.wait()
        batched.append((time.perf_counter_ns() - began) / 1e3 / BATCH)
    return {"alone_us": statistics.median(alone), "batched_us": statistics.median(batched),
            "alone_p99_us": sorted(alone)[len(alone) * 99 // 100]}


def bandwidth(ring):
    """Bytes per second of all_reduce, as nccl-tests counts them: the median of the batches."""
    rates = []
    for _ in range(COUNT):
        began = time.perf_counter_ns()
        for _ in range(BATCH):
            ring.reduce(BYTES // 4)
        ring.wait()
        rates.append(BYTES * BATCH * 1e9 / (time.perf_counter_ns() - began))
        time.sleep(BATCH_PAUSE_S)
    return {"algorithm_bytes_per_s": statistics.median(rates), "batches": len(rates)}


def main():
    ring = Ring()
    result = {"joined_s": ring.joined_s}
    if MODE == "calls":
        for _ in range(COUNT):
            ring.round()
    else:
        result.update(latencies(ring) if MODE == "latency" else bandwidth(ring))
    with open("/proc/self/maps") as maps:
        text = maps.read()
    result["plugin_is_loaded"] = "robustrun_tracer" in text or "drill-plugin" in text
    record = os.environ.get("ROBUSTRUN_RECORD", "")
    time.sleep(0.3)  # stops of kernels arrive a moment later
    if record and os.path.exists(record):
        shutil.copy(record, f"record.{RANK}")
    with open(f"result.{RANK}.part", "w") as file:
        json.dump(result, file)
    os.rename(f"result.{RANK}.part", f"result.{RANK}")
    nc("ncclCommDestroy", ring.comm)


main()
