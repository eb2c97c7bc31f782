"""A whole node killed in a 4-node gloo training, until all ranks run user code again; torchrun.

Ours: over SSH, each node an sshd with an address of its own, four nodes and a warm spare that takes
the place of the lost one. The fault kills that sshd and everything below it. Theirs: c10d with
--nnodes 3:4, three restarts (with none, its default, the job would end) and defaults otherwise, so
the three other nodes go on. The fault kills an agent with its worker, not the one that holds the
store. "User code" is the first line of the script, "first step" the first step of all ranks.
"""

import os
import signal
import statistics
import time

import journal
from harness import (
    PEER_LEAST_S,
    ROBUSTRUN,
    ROOT,
    TORCHRUN,
    Figure,
    Quick,
    Scratch,
    below,
    end_tree,
    in_turns,
    kill_tree,
    median_ratio,
    or_absent,
    start,
    wait_for,
    with_peer,
    within,
)
from sshd import LoopbackHosts, free_port

NODES, QUICK_NODES = 4, 3
JOB = ROOT / "bench" / "ddp_job.py"
RATIO_MAX = 1 / 5
SECONDS_MAX = 300
STEP_SECONDS_MAX = 60   # from user code; a broken group never does a step
ROUNDS = 10
QUICK = Quick(55, "1 round with 3 nodes instead of 10 with 4; torchrun gets what is left of the "
              "time to come back")


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


def recovery(start_job, nodes, *, is_peer=False):
    """Seconds until user code, until the first step (or Absent), and our phases. A peer, which goes
    on with a node less, is Absent if it does not get to user code.

    `start_job` returns the process whose tree is the node to kill, and a function that ends the
    job.
    """
    with Scratch() as folder:
        marks = folder / "marks"
        marks.mkdir()
        victim, end = start_job(folder, nodes, [JOB, marks])
        ranks_after = nodes - is_peer
        try:
            wait_for(lambda: all_at(marks, "step", nodes), "the first step of all ranks",
                     SECONDS_MAX)
            time.sleep(1)
            killed = kill_node(victim)
            if is_peer:
                user = within(lambda: all_at(marks, "user", ranks_after, killed), SECONDS_MAX,
                              least_s=PEER_LEAST_S)
                if not user:
                    return user
            else:
                user = wait_for(lambda: all_at(marks, "user", ranks_after, killed),
                                f"user code on {ranks_after} ranks after the kill", SECONDS_MAX)
            step = within(lambda: all_at(marks, "step", ranks_after, killed), STEP_SECONDS_MAX)
        finally:
            end()
        return (user - killed) / 1e9, step and (step - killed) / 1e9, phases(folder, killed)


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


def start_ours(folder, nodes, script):
    hosts = LoopbackHosts(folder, nodes + 1, apart=True).__enter__()
    process = start(
        [ROBUSTRUN, "--hosts", hosts.names, "--spares", "1", "--ssh-transport", "libssh2",
         "--nproc-per-node", "1", "--run-dir", folder / "run", *script], folder,
        PATH=hosts.path())

    def end():
        end_tree(process, 60)
        hosts.__exit__()

    return hosts.servers[nodes - 1].pid, end


def start_torchrun(folder, nodes, script):
    port = free_port()
    processes = [
        start(
            [*TORCHRUN, "--nnodes", f"{nodes - 1}:{nodes}", "--nproc-per-node", "1",
             "--max-restarts", "3", "--rdzv-backend", "c10d", "--rdzv-id", "bench",
             "--rdzv-endpoint", f"127.0.0.1:{port}",
             "--rdzv-conf", f"is_host={int(number == 0)}", *script], folder)
        for number in range(nodes)]

    def end():
        for process in processes:
            kill_tree(process)

    return processes[-1].pid, end


def measure(quick):
    nodes = QUICK_NODES if quick else NODES
    ours, peer = in_turns(QUICK.rounds if quick else ROUNDS, lambda: recovery(start_ours, nodes),
                          lambda: or_absent(lambda: recovery(start_torchrun, nodes, is_peer=True)))
    return figures(ours, peer)


def figures(ours, peer):
    paired, theirs, absent = with_peer(ours, peer, "torchrun")
    user = [reading[0] for reading in paired], [reading[0] for reading in theirs]
    parts = [reading[2] for reading in ours]
    note = ", ".join(f"{name} {statistics.median(part[name] for part in parts):.4g} ms"
                     for name in ("noticed", "stopped", "formed", "started"))
    stepped = [reading[1] for reading in ours if reading[1]]
    lost = len(ours) - len(stepped)
    told = [steps_in_words(reading and reading[1]) for reading in peer]
    if lost:
        told.append(f"robustrun's: none in {lost} of {len(ours)}")
    return [
        Figure("node killed, until user code", "s", *user, f"at most 1/{round(1 / RATIO_MAX)}",
               median_ratio(*user) <= RATIO_MAX if theirs else None,
               "; ".join(filter(None, (absent, note)))),
        Figure("node killed, until first step", "s", stepped, [], "-", not lost,
               "torchrun's: " + ", ".join(told)),
    ]


def steps_in_words(step):
    return f"{step:.3g} s" if step else f"none: it {step.what} within {step.seconds:.0f} s"
