"""index_job.py DATA OUT: writes how much memory each rank's index takes while all ranks have it."""

import os
import re
import sys

import light_torch  # noqa: F401
import torch.distributed as dist
from robustrun import data

dist.init_process_group("gloo")
loader = data.loader(sys.argv[1])
loader.state_dict()  # its fingerprint reads the whole index
batch = next(loader)
dist.barrier()
with open("/proc/self/smaps") as file:
    text = file.read()
dist.barrier()
at = re.search(r"^\S+ r--s \S+ \S+ (\d+) +(\S*/data-index-[0-9a-f]{16})$", text, re.MULTILINE)
pss = at and int(re.search(r"^Pss: +(\d+) kB", text[at.end():], re.MULTILINE)[1])
name = "%s.%s.%s" % (sys.argv[2], os.environ["RANK"], os.environ["ROBUSTRUN_ATTEMPT"])
with open(name + ".new", "w") as file:
    print(at and at[1], pss, batch["step_loss_tokens"], file=file)
os.rename(name + ".new", name)
dist.barrier()
if os.environ["ROBUSTRUN_ATTEMPT"] == "0" and os.environ["RANK"] == "1":
    os.kill(os.getpid(), 9)
dist.barrier()
