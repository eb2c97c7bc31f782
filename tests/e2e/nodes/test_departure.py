"""Commands started by hand, as with torchrun, are told to end, or killed, while the others go on.

The script has no steps, like most scripts that are started this way: its uptime is the only measure
of progress. When it is told to end it needs a moment to save."""

import signal
import time

import pytest
from helpers.jobs import descendants
from helpers.processes import is_alive, wait_for
from nodes.meeting import Meeting

# Sockets join the ranks, as collectives would: a rank that loses a peer fails. "starts" has a line
# for each start, "saved" for each rank that was told to end and had enough time.
SCRIPT = r"""
import os, selectors, signal, socket, sys, time
rank, world = int(os.environ["RANK"]), int(os.environ["WORLD_SIZE"])
address = os.environ["MASTER_ADDR"]
port = "port.%s.%s" % (os.environ["MASTER_PORT"], os.environ["ROBUSTRUN_ATTEMPT"])  # a file
attempt, restarts = os.environ["ROBUSTRUN_ATTEMPT"], os.environ["TORCHELASTIC_RESTART_COUNT"]
name = f"{attempt} {rank} {world} {restarts} {os.getpid()}"

def note(file, text):
    with open(file, "a") as out:
        out.write(text + "\n")

def end(signum, frame):
    note("told", f"{name} {signum}")
    if "stubborn" in sys.argv:
        return
    time.sleep(0.5)
    note("saved", f"{name} {signum}")
    os._exit(0)

signal.signal(signal.SIGUSR1, lambda signum, frame: note("user", name))
signal.signal(signal.SIGUSR2, lambda signum, frame: note("second", name))
for signum in (signal.SIGTERM, signal.SIGINT):
    signal.signal(signum, end)
if rank == 0:
    server = socket.create_server(("", 0), backlog=64)
    with open(port + ".new", "w") as file:
        file.write(str(server.getsockname()[1]))
    os.replace(port + ".new", port)
    peers = [server.accept()[0] for _ in range(world - 1)]
else:
    until = time.monotonic() + 30
    while True:
        try:
            peers = [socket.create_connection((address, int(open(port).read())))]
            break
        except OSError:
            if time.monotonic() > until:
                raise
            time.sleep(0.02)
note("starts", name)
watch = selectors.DefaultSelector()
for peer in peers:
    watch.register(peer, selectors.EVENT_READ)
while True:
    if watch.select(0.05) and any(not peer.recv(1) for peer in peers):
        raise ConnectionError("Connection closed by peer")
"""
REGROWN_WITHIN_S = 12


class Elastic(Meeting):
    """One to three commands, a worker each."""

    def __init__(self, runner):
        super().__init__(runner)
        runner.write("steady.py", SCRIPT)

    def start(self, *options, script=()):
        return self.join("--rdzv-conf=last_call_timeout=1", "--shutdown-timeout=20", *options,
                         "steady.py", *script, nnodes="1:3")

    def notes(self, file):
        path = self.runner.folder / file
        return [line.split() for line in path.read_text().splitlines()] if path.exists() else []

    def ranks_of(self, world, after=-1):
        """Waits until the ranks of a group of that size have met in a later attempt; returns their
        notes."""

        def met():
            attempts = {}
            for note in self.notes("starts"):
                if int(note[2]) == world and int(note[0]) > after:
                    attempts.setdefault(int(note[0]), []).append(note)
            return next((ranks for ranks in attempts.values() if len(ranks) == world), None)

        return wait_for(met, 60, f"{world} ranks that have met")

    def worker_of(self, job, ranks):
        """The note of the rank that runs below this command."""
        below = set(descendants(job.pid))
        return next(note for note in ranks if int(note[4]) in below)


@pytest.fixture
def elastic(robustrun):
    return Elastic(robustrun)


def three(elastic, *options, script=()):
    jobs = [elastic.start(*options, script=script)]
    elastic.leader()
    jobs += [elastic.start(*options, script=script) for _ in range(2)]
    return jobs, elastic.ranks_of(3)


@pytest.mark.parametrize("mode", ["native", "compat"])
def test_commands_told_to_end_leave_after_their_workers_have_saved(elastic, robustrun, mode):
    options = ["--max-restarts=0"] + (["--compat=torchrun"] if mode == "compat" else [])
    jobs, ranks = three(elastic, *options)
    leader, guests = jobs[0], jobs[1:]
    for left, guest in enumerate(reversed(guests), 1):
        worker = elastic.worker_of(guest, ranks)
        attempt = int(worker[0])
        guest.process.send_signal(signal.SIGTERM)
        assert guest.end(60) == (1 if mode == "compat" else 143), guest.err()
        assert "ended by a signal" not in guest.err()
        assert [*worker, str(int(signal.SIGTERM))] in elastic.notes("saved")
        ranks = elastic.ranks_of(3 - left, after=attempt)
        # torchrun counts restarts taken from --max-restarts: none.
        count = "0" if mode == "compat" else ranks[0][0]
        assert {note[3] for note in ranks} == {count}
    assert leader.process.poll() is None
    assert leader.stop().code == (1 if mode == "compat" else 143)
    assert "restart 1 of" not in leader.err()
    robustrun.expect_nothing_left()


def test_a_command_that_is_interrupted_leaves_with_130(elastic):
    jobs, ranks = three(elastic)
    worker = elastic.worker_of(jobs[2], ranks)
    jobs[2].process.send_signal(signal.SIGINT)
    assert jobs[2].end(60) == 130
    assert [*worker, str(int(signal.SIGINT))] in elastic.notes("saved")
    elastic.ranks_of(2)
    jobs[0].stop()


def test_a_worker_that_does_not_end_is_killed_after_the_shutdown_timeout(elastic):
    jobs, ranks = three(elastic, "--shutdown-timeout=1", script=["stubborn"])
    worker = elastic.worker_of(jobs[2], ranks)
    jobs[2].process.send_signal(signal.SIGTERM)
    assert jobs[2].end(60) == 143
    assert not is_alive(int(worker[4]))
    assert [*worker, str(int(signal.SIGTERM))] in elastic.notes("told")
    elastic.ranks_of(2)
    jobs[0].stop()


def test_a_user_signal_to_one_command_reaches_its_own_workers(elastic):
    jobs, ranks = three(elastic)
    mine = elastic.worker_of(jobs[2], ranks)
    jobs[2].process.send_signal(signal.SIGUSR1)
    wait_for(lambda: elastic.notes("user"), what="a worker that got the signal")
    # To the command that leads the run: to all.
    jobs[0].process.send_signal(signal.SIGUSR2)
    wait_for(lambda: len(elastic.notes("second")) == 3, what="all workers that got the signal")
    assert sorted(elastic.notes("second")) == sorted(ranks)
    assert elastic.notes("user") == [mine]
    jobs[0].stop()


def test_a_user_signal_to_all_commands_reaches_each_worker_once(elastic):
    jobs, ranks = three(elastic)
    for job in jobs:
        job.process.send_signal(signal.SIGUSR1)
    wait_for(lambda: len(elastic.notes("user")) >= 3, what="all workers that got the signal")
    # The leader's first signal has arrived everywhere before its second one does.
    jobs[0].process.send_signal(signal.SIGUSR2)
    wait_for(lambda: len(elastic.notes("second")) == 3, what="the second signal")
    assert sorted(elastic.notes("user")) == sorted(ranks)
    jobs[0].stop()


def test_workers_may_save_even_if_the_leader_does_not_answer(elastic):
    jobs, ranks = three(elastic)
    worker = elastic.worker_of(jobs[2], ranks)
    jobs[0].process.send_signal(signal.SIGSTOP)
    try:
        jobs[2].process.send_signal(signal.SIGTERM)
        assert jobs[2].end(60) == 143
        assert [*worker, str(int(signal.SIGTERM))] in elastic.notes("saved")
    finally:
        jobs[0].process.send_signal(signal.SIGCONT)
    elastic.ranks_of(2)
    jobs[0].stop()


# `waits`: whether the group has shrunk before the command is started again.
@pytest.mark.parametrize("waits", [
    (True, False, True), pytest.param((True, *6 * [False]), marks=pytest.mark.nightly)])
def test_the_group_grows_soon_after_a_killed_command_came_back(elastic, robustrun, waits):
    jobs, ranks = three(elastic, "--max-restarts=0")
    for has_shrunk in waits:
        jobs[-1].process.kill()
        jobs[-1].end()
        last = int(ranks[0][0])
        if has_shrunk:
            last = int(elastic.ranks_of(2, after=last)[0][0])
        began = time.monotonic()
        jobs.append(elastic.start("--max-restarts=0"))
        ranks = elastic.ranks_of(3, after=last)
        # The script has no steps: a minute of uptime would be its first progress.
        assert time.monotonic() - began < REGROWN_WITHIN_S
    # The peers' failures were not their own.
    assert "restart 1 of" not in jobs[0].err()
    jobs[0].stop()
    robustrun.expect_nothing_left()
