"""Checkpoints of two ranks on this machine: sharded states, a copy in every step, restarts.

Sharded: 1 GiB as FSDP has it, over gloo, through robustrun.dcp; beside it DCP's FileSystemWriter
and a torch.save of each rank, both with fsync, and fio on the same directory, which is the limit.
The page cache is dropped before each restore. Copies: steps of a second, with a copy of 64 MiB on
each rank after each step. Warm restart: from SIGKILL of one rank until both ranks have their state
again, from copies in the agent's memory and from a checkpoint on disk, beside torchrun with
torch.save. torch.load finds its file in the page cache; robustrun reads past it. A torchrun whose
gloo connects to ports of the previous attempt waits for half an hour: it is absent.
"""

import json
import os
import signal
import socket
import statistics
import subprocess
import sys
import time

from harness import (
    PEER_LEAST_S,
    PYTHON,
    ROBUSTRUN,
    ROOT,
    TORCHRUN,
    Figure,
    Quick,
    Scratch,
    call,
    clean_environment,
    in_turns,
    kill_tree,
    next_line,
    or_absent,
    processes_shown,
    start,
    wait_for,
    with_peer,
    within,
)

from figures.checkpoint import Fio, ratio

BENCH = ROOT / "bench"
LIBRARY = ROBUSTRUN.parent.parent / "share" / "robustrun" / "librobustrun.so"
STALL_MAX_S = 0.01
COUNT, SIZE = 64, 16 << 20
RESTART_MIB = 512  # of each rank
PEER_WAIT_S = 60
ROUNDS, STEPS, RESTARTS = 20, 20, 10
QUICK_COUNT, QUICK_RESTART_MIB = 16, 128
QUICK = Quick(50, "1 pair of 256 MiB with fio and DCP and 1 restart with 128 MiB a rank, instead "
              "of 20 of 1 GiB and 10 with 512 MiB; neither torch.save nor a copy in every step")


VARIABLES = {"ROBUSTRUN_LIBRARY": LIBRARY, "PYTHONPATH": ROOT / "python", "OMP_NUM_THREADS": 1}


class Ranks:
    """sharded_job.py in two ranks."""

    def __init__(self, folder, count):
        self.bytes = count * SIZE
        with socket.socket() as chosen:
            chosen.bind(("127.0.0.1", 0))
            port = str(chosen.getsockname()[1])
        meeting = {"MASTER_ADDR": "127.0.0.1", "MASTER_PORT": port, "WORLD_SIZE": "2"}
        self.processes = [start(
            [PYTHON, BENCH / "sharded_job.py", folder, count, SIZE], folder,
            output=f"rank-{rank}.output", stdin=subprocess.PIPE, stdout=subprocess.PIPE,
            **VARIABLES, **meeting, RANK=rank) for rank in range(2)]

    def do(self, command):
        """The GB/s of a command of sharded_job.py."""
        print(command, file=self.processes[0].stdin, flush=True)
        line = next_line(self.processes[0], command)
        return self.bytes / json.loads(line)["seconds"] / 1e9

    def close(self):
        for each in self.processes:
            each.stdin.close()
        for each in self.processes:
            each.wait()


PEERS = {"dcp": "DCP", "torch": "torch.save of each rank"}


def sharded(rounds, pilot_rounds, peers, count):
    with Scratch() as folder:
        fio = Fio(folder / "fio", count * SIZE)
        fio.pilot(pilot_rounds)
        ranks = Ranks(folder, count)
        for command in ("save-ours", "load-ours"):
            ranks.do(command)
        pair = in_turns(rounds, lambda: ranks.do("save-ours"), fio.write)
        yield ratio("sharded over 2 ranks: save, fio", *pair, 0.9)
        fio.lay_out(fio.mode["read"])
        ranks.do("save-ours")
        pair = in_turns(rounds, lambda: ranks.do("load-ours"), fio.read)
        yield ratio("sharded over 2 ranks: restore, fio", *pair, 0.9)
        fio.clear()
        for peer, what in peers.items():
            pair = in_turns(rounds, lambda: ranks.do("save-ours"),
                            lambda peer=peer: ranks.do(f"save-{peer}"))
            yield ratio(f"sharded over 2 ranks: save, {what}", *pair, 2.5)
            ranks.do("save-ours")
            ranks.do(f"keep-{peer}")
            pair = in_turns(rounds, lambda: ranks.do("load-ours"),
                            lambda peer=peer: ranks.do(f"load-{peer}"))
            yield ratio(f"sharded over 2 ranks: restore, {what}", *pair, 1.5)
        ranks.close()


def every_step(steps):
    with Scratch() as folder:
        ran = call([ROBUSTRUN, "--nproc-per-node=2", "--max-restarts=0", BENCH / "stall_job.py",
                    steps, 64, folder], folder, clean_environment(**VARIABLES), check=True)
    lines = [line.partition("{") for line in ran.stdout.splitlines() if '"stall"' in line]
    found = [json.loads(brace + rest) for _, brace, rest in lines]
    ours = [value for each in found for value in each["ours"]]
    theirs = [value for each in found for value in each["dcp"]]
    note = "" if all(each["shared"] for each in found) else "not the agent's memory"
    return [Figure("a copy of 64 MiB behind each step of 1 s, 2 ranks; DCP's async_save", "s", ours,
                   theirs, f"at most {STALL_MAX_S} s",
                   statistics.median(ours) <= STALL_MAX_S and not note, note)]


def noted(folder, name):
    """The words that both ranks noted in the same attempt; None while there are none."""
    for first in folder.glob(f"{name}.0.*"):
        paths = [first, folder / f"{name}.1{first.suffix}"]
        if first.suffix != ".part" and paths[1].exists():
            return [[int(word) for word in path.read_text().split()] for path in paths]
    return None


def back(process, folder, *, is_peer):
    """What both ranks noted of their restored state; Absent if torchrun hangs, which is ended."""
    def look():
        return noted(folder, "restored") or process.poll() is not None

    if is_peer and not (found := within(look, PEER_WAIT_S, least_s=PEER_LEAST_S)):
        kill_tree(process)
        return found
    wait_for(look, "the state of both ranks", 300)
    return noted(folder, "restored") or sys.exit(
        f"the ranks did not restore their state\n{processes_shown()}")


def restored_s(launcher, mode, mib):
    """Seconds from SIGKILL of rank 1 until both ranks have their state, in however many restarts:
    in the first, torchrun's gloo often connects to the port of the dead rank."""
    with Scratch() as folder:
        saves = folder / "saves"
        saves.mkdir()
        words = [str(BENCH / "warm_job.py"), mode, str(mib), str(saves)]
        process = start([*launcher, "--nproc-per-node=2", "--max-restarts=5", *words], folder,
                        **VARIABLES)
        saved = wait_for(lambda: noted(folder, "saved"), "the save of both ranks", 300)
        time.sleep(2)
        killed = time.monotonic_ns()
        os.kill(saved[1][0], signal.SIGKILL)
        restored = back(process, folder, is_peer=mode == "torch")
        if not restored:
            return restored
        if process.wait() != 0:
            sys.exit(f"warm_job.py {mode} failed")
        from_memory = [words[1] for words in restored]
        if (mode == "memory") != (min(from_memory) == mib << 20):
            sys.exit(f"{mode}: {from_memory} bytes came from memory")
        return (max(words[0] for words in restored) - killed) / 1e9


def restarts(rounds, mib):
    memory, disk, torchrun = in_turns(
        rounds, lambda: restored_s([ROBUSTRUN], "memory", mib),
        lambda: restored_s([ROBUSTRUN], "disk", mib),
        lambda: or_absent(lambda: restored_s([*TORCHRUN, "--standalone"], "torch", mib)))
    of = f"failure to state restored, {mib} MiB a rank"
    return [beside_torchrun(f"{of}: copies in memory, torchrun", memory, torchrun),
            beside_torchrun(f"{of}: from disk, torchrun", disk, torchrun),
            Figure(f"{of}: copies in memory, from disk", "s", memory,
                   disk, "reported", True,
                   "the copy on disk lacks what came after its save")]


def beside_torchrun(name, ours, torchrun):
    ours, peer, absent = with_peer(ours, torchrun, "torchrun")
    met = statistics.median(ours) < statistics.median(peer) if peer else None
    return Figure(name, "s", ours, peer, "less", met, absent)


def measure(quick):
    """In parts: what there is no time for with --quick is left out."""
    if quick:
        yield from sharded(QUICK.rounds, 0, {"dcp": PEERS["dcp"]}, QUICK_COUNT)
        yield from restarts(1, QUICK_RESTART_MIB)
        return
    yield from sharded(ROUNDS, 3, PEERS, COUNT)
    yield from every_step(STEPS)
    yield from restarts(RESTARTS, RESTART_MIB)
