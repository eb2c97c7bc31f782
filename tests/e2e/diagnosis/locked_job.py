"""Rank 1 keeps the interpreter's lock in a C call, before its first collective."""

import ctypes
import os

import light_torch  # noqa: F401
import torch
import torch.distributed as dist

dist.init_process_group("gloo")
if os.environ["RANK"] == "1":
    library, mutex = ctypes.PyDLL(None), ctypes.create_string_buffer(64)
    library.pthread_mutex_lock(mutex)
    library.pthread_mutex_lock(mutex)
gathered = [torch.zeros(1) for _ in range(dist.get_world_size())]
dist.all_gather(gathered, torch.ones(1))
dist.destroy_process_group()
