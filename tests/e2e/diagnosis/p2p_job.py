"""A chain of ranks that pass a tensor on over gloo, point to point, of which torch keeps no record.

    p2p_job.py STEPS PACE_S STYLE [FAULT RANK STEP]

STYLE: blocking (send, recv), requests (isend, irecv, wait) or batch (batch_isend_irecv); with
"-stepless" appended, no optimizer steps, so that the job has no visible progress. FAULT, at that
rank and step, of the first attempt: sleep, pause (a sleep of PAUSE_S), or gil (a C call that keeps
the interpreter's lock).
"""

import ctypes
import os
import sys
import time

import light_torch  # noqa: F401
import torch
import torch.distributed as dist

STEPS, PACE_S, STYLE = int(sys.argv[1]), float(sys.argv[2]), sys.argv[3]
FAULT, VICTIM, AT = (sys.argv[4], int(sys.argv[5]), int(sys.argv[6])) if len(sys.argv) > 6 else (
    "", -1, -1)
PAUSE_S = 40
RANK, WORLD = int(os.environ["RANK"]), int(os.environ["WORLD_SIZE"])


def take(x):
    if STYLE.startswith("blocking"):
        dist.recv(x, src=RANK - 1)
    elif STYLE.startswith("requests"):
        request = dist.irecv(x, src=RANK - 1)
        request.wait()
    else:
        for work in dist.batch_isend_irecv([dist.P2POp(dist.irecv, x, RANK - 1)]):
            work.wait()


def give(x):
    if STYLE.startswith("blocking"):
        dist.send(x, dst=RANK + 1)
    else:
        request = dist.isend(x, dst=RANK + 1)
        request.wait()


def err():
    print("fault", FAULT, RANK, time.time(), flush=True)
    if FAULT == "sleep":
        time.sleep(3600)
    elif FAULT == "pause":
        time.sleep(PAUSE_S)
        print("fault over", flush=True)
    elif FAULT == "gil":
        library, mutex = ctypes.PyDLL(None), ctypes.create_string_buffer(64)
        library.pthread_mutex_lock(mutex)
        library.pthread_mutex_lock(mutex)


def main():
    dist.init_process_group("gloo")
    model = torch.nn.Linear(4, 1)
    optimizer = None if STYLE.endswith("-stepless") else torch.optim.SGD(model.parameters())
    first = os.environ["TORCHELASTIC_RESTART_COUNT"] == "0"
    for step in range(STEPS):
        if first and RANK == VICTIM and step == AT:
            err()
        x = torch.ones(1 << 18)  # more than a socket holds
        if RANK > 0:
            take(x)
        time.sleep(PACE_S)
        if RANK + 1 < WORLD:
            give(x)
        if optimizer:
            model(torch.ones(1, 4)).sum().backward()
            optimizer.step()
            optimizer.zero_grad()
    dist.barrier()
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
