"""A whole node killed in a 4-node gloo training, until all ranks run user code again; torchrun.

Ours: over SSH, each node an sshd with an address of its own, four nodes and a warm spare that takes
the place of the lost one. The fault kills that sshd and everything below it. Theirs: c10d with
--nnodes 3:4, three restarts (with none, its default, the job would end) and defaults otherwise, so
the three other nodes go on. The fault kills an agent with its worker, not the one that holds the
store. "User code" is the first line of the script, "first step" the first step of all ranks.
"""

import os
import pathlib
import signal
import statistics
import time

import journal
from harness import (
    ROBUSTRUN,
    ROOT,
    TORCHRUN,
    Figure,
    Quick,
    Scratch,
    in_turns,
    median_ratio,
    start,
    wait_for,
)
from sshd import LoopbackHosts, free_port

NODES = 4
JOB = ROOT / "bench" / "ddp_job.py"
RATIO_MAX = 1 / 5
SECONDS_MAX = 300
STEP_SECONDS_MAX = 60   # from user code; a broken group never does a step
ROUNDS = 10
QUICK = Quick(55, "1 round instead of 10")


def below(pid):
    """A process and its descendants, parents first."""
    found = [pid]
    for parent in found:
        try:
            for task in pathlib.Path(f"/proc/{parent}/task").glob("*/children"):
                found += [int(child) for child in task.read_text().split()]
        except OSError:
            continue  # it has ended
    return found


def kill_node(agent):
    """Stops all of its processes, so that none sees another end; then kills them."""
    pids = below(agent)
    at = time.monotonic_ns()
    for which in (signal.SIGSTOP, signal.SIGKILL):
        for pid in pids:
            try:
                os.kill(pid, which)
            except ProcessLookupError:
                continue
    return at


def all_at(folder, event, ranks, after=0):
    """When the last of `ranks` ranks noted the event after a moment; None while one has not."""
    newest = {}
    for path in folder.glob(f"{event}.*.*[0-9]"):
        rank, at = path.name.split(".")[1], int(path.read_text())
        if at > after:
            newest[rank] = max(newest.get(rank, 0), at)
    return max(newest.values()) if len(newest) == ranks else None


def recovery(start_job, ranks_after):
    """Seconds until user code, until the first step (None: never), and our phases.

    `start_job` returns the process whose tree is the node to kill, and a function that ends the
    job.
    """
    with Scratch() as folder:
        marks = folder / "marks"
        marks.mkdir()
        victim, end = start_job(folder, [JOB, marks])
        try:
            wait_for(lambda: all_at(marks, "step", NODES), "the first step of all ranks",
                     SECONDS_MAX)
            time.sleep(1)
            killed = kill_node(victim)
            user = wait_for(lambda: all_at(marks, "user", ranks_after, killed),
                            f"user code on {ranks_after} ranks after the kill", SECONDS_MAX)
            step = first_step(marks, ranks_after, killed)
        finally:
            end()
        return (user - killed) / 1e9, step and (step - killed) / 1e9, phases(folder, killed)


def first_step(marks, ranks, killed):
    deadline = time.monotonic() + STEP_SECONDS_MAX
    while time.monotonic() < deadline:
        if step := all_at(marks, "step", ranks, killed):
            return step
        time.sleep(0.01)
    return None


def phases(folder, killed):
    """Of our own run, in ms after the kill: noticed, stopped, group formed, workers started."""
    path = folder / "run" / "journal"
    if not path.exists():
        return None
    later = [record for record in journal.read(path).records if record.at > killed]

    def last(kind, rule=None):
        at = [r.at for r in later if r.kind == kind and (rule is None or r.rule == rule)]
        return (at[-1] - killed) / 1e6 if at else None

    noticed = next((r.at for r in later if r.kind == "Decision"), killed)
    return {"noticed": (noticed - killed) / 1e6, "stopped": last("Decision", "Restart"),
            "formed": last("GroupFormed"), "started": last("WorkerStarted")}


def start_ours(folder, script):
    hosts = LoopbackHosts(folder, NODES + 1, apart=True).__enter__()
    process = start(
        [ROBUSTRUN, "--hosts", hosts.names, "--spares", "1", "--ssh-transport", "libssh2",
         "--nproc-per-node", "1", "--run-dir", folder / "run", *script], folder,
        PATH=hosts.path())

    def end():
        process.send_signal(signal.SIGTERM)
        process.wait(60)
        hosts.__exit__()

    return hosts.servers[NODES - 1].pid, end


def start_torchrun(folder, script):
    port = free_port()
    processes = [
        start(
            [*TORCHRUN, "--nnodes", f"{NODES - 1}:{NODES}", "--nproc-per-node", "1",
             "--max-restarts", "3", "--rdzv-backend", "c10d", "--rdzv-id", "bench",
             "--rdzv-endpoint", f"127.0.0.1:{port}",
             "--rdzv-conf", f"is_host={int(number == 0)}", *script], folder)
        for number in range(NODES)]

    def end():
        for process in processes:
            for pid in reversed(below(process.pid)):
                try:
                    os.kill(pid, signal.SIGKILL)
                except ProcessLookupError:
                    continue
            process.wait(60)

    return processes[-1].pid, end


def measure(quick):
    ours, peer = in_turns(QUICK.rounds if quick else ROUNDS, lambda: recovery(start_ours, NODES),
                          lambda: recovery(start_torchrun, NODES - 1))
    user = [reading[0] for reading in ours], [reading[0] for reading in peer]
    parts = [reading[2] for reading in ours]
    note = ", ".join(f"{name} {statistics.median(part[name] for part in parts):.4g} ms"
                     for name in ("noticed", "stopped", "formed", "started"))
    theirs = [f"{reading[1]:.3g} s" if reading[1] else "never" for reading in peer]
    return [
        Figure("node killed, until user code", "s", *user, f"at most 1/{round(1 / RATIO_MAX)}",
               median_ratio(*user) <= RATIO_MAX, note),
        Figure("node killed, until first step", "s", [reading[1] for reading in ours], [], "-",
               True, "torchrun's: " + ", ".join(theirs)),
    ]
