"""Replacement of a node by a warm spare: from SIGKILL of a whole node (its agent and all below it)
until every rank of the new attempt has done its first step, in a gloo job that imports torch.

Beside it, in turns: the same without standby workers; the same with more spares than can be needed;
and the whole job stopped and launched again (from SIGTERM on, so without any detection). A lost
agent is first restarted in place (docs/recovery.md), so each run loses its node twice.
"""

import contextlib
import math
import os
import pathlib
import time

import harness
from harness import (
    DEADLINE,
    ROBUSTRUN,
    Figure,
    Scratch,
    below,
    in_turns,
    median_ratio,
    wait_for,
)

from figures.nodeloss import kill_node

NODES = 2
# Notes its first step with all ranks; waits to be stopped.
SCRIPT = """
import os, time
import torch
import torch.distributed as dist
rank, attempt = os.environ["RANK"], os.environ["TORCHELASTIC_RESTART_COUNT"]
dist.init_process_group("gloo")
weight = torch.nn.Parameter(torch.ones(1))
optimizer = torch.optim.SGD([weight], lr=0.1)
weight.sum().backward()
dist.all_reduce(weight.grad)
optimizer.step()
with open(f"step.{rank}.{attempt}.part", "w") as note:
    note.write(f"{os.getpid()} {time.monotonic_ns()}")
os.rename(f"step.{rank}.{attempt}.part", f"step.{rank}.{attempt}")
while True:
    time.sleep(1)
"""
FASTER_THAN_RELAUNCH, SLOWER_THAN_UNLIMITED = 5, 1.1
UNLIMITED = 3
SETTLED_S = 3.0  # after the start, before the fault
ROUNDS = 10
STOP_S = 30


def notes(folder, attempt):
    """For each rank: its pid, and when it had done its step."""
    def read():
        try:
            return [[int(word) for word in (folder / f"step.{rank}.{attempt}").read_text().split()]
                    for rank in range(NODES)]
        except OSError:
            return None

    return wait_for(read, f"the first step of {NODES} ranks in attempt {attempt}", 120)


def done_at(folder, attempt):
    return max(at for _, at in notes(folder, attempt))


def agent_of(worker):
    """worker ← shim ← agent"""
    for _ in range(2):
        status = pathlib.Path(f"/proc/{worker}/stat").read_text()
        worker = int(status.rpartition(")")[2].split()[1])
    return worker


def hurry(pid):
    """Gives a process, and its session, the priority of this one."""
    for thread in os.listdir(f"/proc/{pid}/task"):
        os.setpriority(os.PRIO_PROCESS, int(thread), os.getpriority(os.PRIO_PROCESS, 0))
    # Empty for a process that has no session's group: one that the kernel's first process started.
    own = pathlib.Path("/proc/self/autogroup").read_text().split()
    session = pathlib.Path(f"/proc/{pid}/autogroup")
    if session.read_text():
        session.write_text(own[-1] if own else "0")


def waiting_standbys(top):
    """How many standby workers below a process have imported torch and wait for an order. With
    --quick they need not do so at the lowest priority, for which a busy machine has no time."""
    found = 0
    for pid in below(top):
        entry = pathlib.Path(f"/proc/{pid}")
        try:
            if b"ROBUSTRUN_STANDBY_SOCKET=" not in (entry / "environ").read_bytes():
                continue
            if DEADLINE.at < math.inf:
                with contextlib.suppress(OSError):
                    hurry(pid)
            waits = (entry / "wchan").read_text() == "unix_stream_read_generic" or \
                (entry / "syscall").read_text().startswith("45 ")
            found += waits and "libtorch_cpu" in (entry / "maps").read_text()
        except OSError:
            continue
    return found


def start(folder, *options):
    return harness.start([ROBUSTRUN, "--launcher=processes", f"--nnodes={NODES}",
                          "--nproc-per-node=1", *options, "job.py"], folder)


def stop(process):
    process.terminate()
    process.wait(STOP_S)


def replacement_ms(spares, *options):
    """A node is lost for good, and a spare takes its place."""
    with Scratch() as folder:
        (folder / "job.py").write_text(SCRIPT)
        process = start(folder, f"--spares={spares}", *options)
        kill_node(agent_of(notes(folder, 0)[-1][0]))
        victim = agent_of(notes(folder, 1)[-1][0])
        if "--standby=off" not in options:
            wait_for(lambda: waiting_standbys(process.pid) == NODES + spares,
                     f"{NODES + spares} standby workers that have imported torch", 120)
        time.sleep(SETTLED_S)
        killed = kill_node(victim)
        done = done_at(folder, 2)
        stop(process)
        return (done - killed) / 1e6


def relaunch_ms():
    """The job is stopped, and the same is launched again."""
    with Scratch() as folder:
        (folder / "job.py").write_text(SCRIPT)
        process = start(folder, "--standby=off")
        notes(folder, 0)
        time.sleep(SETTLED_S)
        stopped = time.monotonic_ns()
        stop(process)
        for path in folder.glob("step.*"):
            path.unlink()
        process = start(folder, "--standby=off")
        done = done_at(folder, 0)
        stop(process)
        return (done - stopped) / 1e6


def measure():
    warm, unlimited, cold, relaunched = in_turns(
        ROUNDS, lambda: replacement_ms(1), lambda: replacement_ms(UNLIMITED),
        lambda: replacement_ms(1, "--standby=off"), relaunch_ms)
    name = "warm spare until first step, beside "
    share = median_ratio(warm, relaunched)
    excess = median_ratio(warm, unlimited)
    return [
        Figure(name + "stop and relaunch", "ms", warm, relaunched,
               f"at least {FASTER_THAN_RELAUNCH} times faster", share <= 1 / FASTER_THAN_RELAUNCH),
        Figure(name + f"{UNLIMITED} spares", "ms", warm, unlimited, "within 10 %",
               excess <= SLOWER_THAN_UNLIMITED),
        Figure(name + "--standby=off", "ms", warm, cold, "faster", median_ratio(warm, cold) < 1),
    ]
