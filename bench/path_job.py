"""A rank that trains; its restart notes when each part of its way back to a step was done.

    path_job.py MODE MIB FOLDER [MODULE…]

MODE: memory (robustrun.checkpoint), prepared (memory, with robustrun.prepare), torch (torch.save).

It imports the modules, too. The state is MIB of parameters; `saved.RANK` and `back.RANK` are the
notes, in the working folder.
"""

import time

marks = [("first line", time.monotonic_ns())]


def done(stage):
    marks.append((stage, time.monotonic_ns()))


import importlib  # noqa: E402
import os  # noqa: E402
import sys  # noqa: E402

import torch  # noqa: E402
import torch.distributed as dist  # noqa: E402

MODE, MIB, FOLDER = sys.argv[1], int(sys.argv[2]), sys.argv[3]
for module in sys.argv[4:]:
    importlib.import_module(module)
done("imports")

RANK = int(os.environ["RANK"])
ATTEMPT = int(os.environ.get("TORCHELASTIC_RESTART_COUNT", "0"))
OWN = f"{FOLDER}/rank-{RANK}.pt"
WIDTH = 1024  # a layer of 4 MiB


def note(name, text):
    path = f"{name}.{RANK}"
    with open(path + ".part", "w") as file:
        file.write(text)
    os.rename(path + ".part", path)


def save(state):
    if MODE == "torch":
        torch.save(state, OWN + ".part")
        os.rename(OWN + ".part", OWN)
        return
    from robustrun import checkpoint

    checkpoint.save(state, 1, directories=FOLDER, every_step=True, disk_every=10**6)


def load(state):
    if MODE == "torch":
        for name, tensor in torch.load(OWN, weights_only=True, mmap=True).items():
            state[name].copy_(tensor)
        return
    from robustrun import checkpoint

    checkpoint.load_latest(state, directories=FOLDER)


def train_step(model, optimizer):
    """All ranks meet in it."""
    loss = model(torch.ones(1, WIDTH)).square().mean()
    loss.backward()
    dist.all_reduce(loss.detach())
    optimizer.step()


torch.set_num_threads(1)
torch.manual_seed(1000 * ATTEMPT + RANK)
store, rank, size = next(dist.rendezvous("env://"))
done("store")
dist.init_process_group("gloo", store=dist.PrefixStore("job", store), rank=rank, world_size=size)
dist.barrier()
done("process group")
if MODE == "prepared":
    import robustrun

    model = robustrun.prepare("path_model:build", {"mib": MIB, "width": WIDTH})
else:
    import path_model

    model = path_model.build(MIB, WIDTH)
state = {name: tensor.detach() for name, tensor in model.named_parameters()}
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
done("model")
if ATTEMPT == 0:
    state["0.weight"].add_(RANK + 1)  # so that no later attempt begins with what is saved
    save(state)
    saved = float(state["0.weight"].sum())
    train_step(model, optimizer)
    note("saved", f"{os.getpid()} {saved!r}")
    while True:
        time.sleep(1)
load(state)
done("load")
loaded = float(state["0.weight"].sum())
train_step(model, optimizer)
done("first step")
with open(f"saved.{RANK}") as file:
    if repr(loaded) != file.read().split()[1]:
        sys.exit("the restored state differs from the saved one")
note("back", "\n".join(f"{at} {stage}" for stage, at in marks))
dist.barrier()
dist.destroy_process_group()
