"""A gloo training with faults that no signal can cause.

    faulty_job.py STEPS PACE_S [FAULT RANK STEP]...

Data-parallel, with the pauses of healthy trainings: rank 0 evaluates and saves now and then (see
the environment below), and the others wait for it. FAULT, at that rank and step:

    sleep         sleeps before a collective
    spin          computes for ever instead of entering it
    loader        its data set sleeps
    gil           a C call that keeps the interpreter's lock
    skip          leaves one all-reduce out, and goes on
    size          calls it with another number of elements
    order         calls a broadcast in its place
    inversion     uses two groups in the opposite order
    crash         raises an exception
    slow          is late for every collective from then on (SLOW_S); with SLOW_MACHINE=FILE,
                  which it makes, the ranks that run on its machine later are late instead
    input         waits for standard input, as in a debugger

A rank that sleeps, computes or waits for its data set goes on when there is a file "over.FAULT" in
the working directory, and may have other faults later; all faults are of one rank.

Environment: PAUSES="checkpoint,evaluation,straggler,pause" (healthy ones), PAUSE_EVERY (steps),
PAUSE_S, SEED; PAYLOAD (MB that each step also reduces, to load the links); GLOO_TIMEOUT_S instead
of torch's 30 minutes.
"""

import ctypes
import datetime
import os
import random
import sys
import time

import light_torch  # noqa: F401
import torch
import torch.distributed as dist

# Before there is a group, which its functions would keep beyond destroy_process_group: gloo's
# threads would run on while the interpreter ends, which can abort it (pytorch#190489).
import torch.distributed.nn  # noqa: F401

STEPS, PACE_S = int(sys.argv[1]), float(sys.argv[2])
FAULTS = {int(step): kind for kind, step in zip(sys.argv[3::3], sys.argv[5::3], strict=True)}
AT, FAULT = next(iter(FAULTS.items()), (-1, ""))
VICTIM = int(sys.argv[4]) if FAULTS else -1
PAUSES = [word for word in os.environ.get("PAUSES", "").split(",") if word]
PAUSE_EVERY = int(os.environ.get("PAUSE_EVERY", "20"))
PAUSE_S = float(os.environ.get("PAUSE_S", "3"))
PAYLOAD = float(os.environ.get("PAYLOAD", "0"))
RANK, WORLD = int(os.environ["RANK"]), int(os.environ["WORLD_SIZE"])


def wait_until_over():
    while not os.path.exists("over." + FAULT):
        time.sleep(1)


class Samples(torch.utils.data.Dataset):
    def __init__(self):
        self.stalls = False

    def __len__(self):
        return 1 << 20

    def __getitem__(self, index):
        if self.stalls:
            self.stalls = False
            wait_until_over()
        return torch.full((16,), float(index % 7)), torch.zeros(1)


def evaluate(model):
    with torch.no_grad():
        end = time.monotonic() + PAUSE_S
        while time.monotonic() < end:
            model(torch.ones(4, 16))
            time.sleep(0.05)


def save_checkpoint(model, path):
    torch.save(model.state_dict(), path)
    with open(path, "rb+") as file:
        os.fsync(file.fileno())
        slow_storage(PAUSE_S)


def slow_storage(seconds):
    """Stands for a slow file system: called while the checkpoint is saved."""
    time.sleep(seconds)


def pause(step, model, rng):
    """The pauses of healthy jobs. All ranks draw the same numbers; one of them pauses."""
    if not PAUSES or step == 0 or step % PAUSE_EVERY:
        return
    kind, pausing = rng.choice(PAUSES), rng.randrange(WORLD)
    if kind == "evaluation" and RANK == 0:
        evaluate(model)
    elif kind == "checkpoint" and RANK == 0:
        save_checkpoint(model, "checkpoint-%d.pt" % os.getpid())
    elif kind == "straggler" and pausing == RANK:
        time.sleep(PAUSE_S / 2)
    elif kind == "pause":
        time.sleep(PAUSE_S)


def reduce_metrics(step, groups, strays):
    """One collective of each group, in the same order on all ranks but the faulty one."""
    value = torch.ones(64)
    first, second = groups
    if strays and FAULT == "skip":
        return
    if strays and FAULT == "size":
        value = torch.ones(128)
    if strays and FAULT == "order":
        dist.broadcast(value, 0)
        return
    if strays and FAULT == "inversion":
        first, second = second, first
    dist.all_reduce(value, group=first)
    dist.all_reduce(torch.ones(32), group=second)


def err(samples):
    """The faults that need no collective of their own."""
    if FAULT in ("sleep", "input"):
        sys.stdout.flush()
        if FAULT == "input":
            os.read(os.pipe()[0], 1)
        wait_until_over()
    elif FAULT == "spin":
        while time.time() % 1 > 0.01 or not os.path.exists("over.spin"):
            torch.ones(8, 8) @ torch.ones(8, 8)
    elif FAULT == "loader":
        samples.stalls = True
    elif FAULT == "gil":
        # Locked twice: unlike a sleep, no signal ends this.
        library, mutex = ctypes.PyDLL(None), ctypes.create_string_buffer(64)
        library.pthread_mutex_lock(mutex)
        library.pthread_mutex_lock(mutex)
    elif FAULT == "crash":
        raise RuntimeError("an error on purpose")


def machine():
    """The machine, if agents stand for machines: the agent's process, the parent of our shim."""
    with open("/proc/%d/stat" % os.getppid()) as file:
        return file.read().rpartition(")")[2].split()[1]


def is_slow(step, is_victim):
    path = os.environ.get("SLOW_MACHINE")
    if FAULT != "slow" or (path and not is_victim and not os.path.exists(path)):
        return False
    if is_victim and step < AT:
        return False
    if not path:
        return is_victim
    if is_victim and step == AT:
        with open(path + ".new", "w") as file:
            file.write(machine())
        os.rename(path + ".new", path)
    with open(path) as file:
        return file.read() == machine()


def main():
    global FAULT
    seconds = float(os.environ.get("GLOO_TIMEOUT_S", "0"))
    timeout = datetime.timedelta(seconds=seconds) if seconds else None
    dist.init_process_group("gloo", timeout=timeout)
    groups = [dist.new_group(list(range(WORLD))) for _ in range(2)]
    model = torch.nn.parallel.DistributedDataParallel(torch.nn.Linear(16, 1))
    optimizer = torch.optim.SGD(model.parameters(), lr=1e-3)
    samples = Samples()
    loader = iter(torch.utils.data.DataLoader(samples, batch_size=4))
    rng = random.Random(int(os.environ.get("SEED", "1")))
    payload = torch.ones(int(PAYLOAD * 1e6 / 4)) if PAYLOAD else None
    is_victim = RANK == VICTIM and os.environ["TORCHELASTIC_RESTART_COUNT"] == "0"
    for step in range(STEPS):
        strays = is_victim and step in FAULTS
        if strays:
            FAULT = FAULTS[step]
            print("fault", FAULT, RANK, step, time.time(), flush=True)
            err(samples)
        if is_slow(step, is_victim):
            time.sleep(float(os.environ.get("SLOW_S", "0.2")))
        inputs, targets = next(loader)
        torch.nn.functional.mse_loss(model(inputs), targets).backward()
        optimizer.step()
        optimizer.zero_grad()
        reduce_metrics(step, groups, strays)
        if payload is not None:
            dist.all_reduce(payload)
            payload.fill_(1)
        pause(step, model, rng)
        if PACE_S:
            time.sleep(PACE_S)
    dist.barrier()
    del model, optimizer
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
