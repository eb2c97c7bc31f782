"""A signal to all processes of a run (docker stop, systemd, the end of a CI job) is one order to
end it, whichever process gets it first: the ranks have their time to save."""

import contextlib
import os
import signal

import pytest
from helpers.jobs import descendants
from helpers.processes import command_of, wait_for

# A rank takes a second to save, and may get the signal twice: from the sender and from its agent.
SAVES = r"""
import os, signal, threading, time
rank = os.environ["RANK"]
told = threading.Event()
for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP, signal.SIGQUIT):
    signal.signal(number, lambda *_: told.set())
open("started." + rank, "w").close()
while not told.wait(0.05):
    pass
open("told." + rank, "w").close()
time.sleep(1)
open("saved." + rank, "w").close()
"""
RANKS = 3


def files(robustrun, kind):
    return sorted(path.name for path in robustrun.folder.glob(kind + ".*"))


def await_files(robustrun, kind, within_s=60):
    wait_for(lambda: len(files(robustrun, kind)) == RANKS, within_s, f"{RANKS} files {kind}.*")


def start(robustrun, *options, **around):
    robustrun.write("saves.py", SAVES)
    running = robustrun.start(f"--nproc-per-node={RANKS}", *options, "saves.py", **around)
    running.workers(RANKS)
    await_files(robustrun, "started")
    return running


def is_told(robustrun):
    """Whether the supervisor has taken the order: the ranks have it."""
    return len(files(robustrun, "told")) == RANKS


def ends_well(robustrun, running, code):
    finished = running.finish(60)
    assert finished.code == code, finished.errors
    assert len(files(robustrun, "saved")) == RANKS, finished.errors
    assert "killing all workers" not in finished.errors, finished.errors
    assert "restart" not in finished.errors, finished.errors
    robustrun.expect_nothing_left()


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT, signal.SIGHUP, signal.SIGQUIT],
                         ids=lambda number: number.name)
def test_the_agent_gets_the_signal_first(robustrun, number):
    running = start(robustrun)
    os.kill(running.agent(), number)
    wait_for(lambda: is_told(robustrun), what="the stop order")
    os.kill(running.pid, number)  # is the same order
    ends_well(robustrun, running, 128 + number)


def test_the_supervisor_gets_the_signal_first(robustrun):
    running = start(robustrun)
    agent = running.agent()
    os.kill(running.pid, signal.SIGTERM)
    wait_for(lambda: is_told(robustrun), what="the stop order")
    os.kill(agent, signal.SIGTERM)
    ends_well(robustrun, running, 143)


@pytest.mark.parametrize("mode, code", [("native", 143), ("torchrun", 1)])
def test_both_get_the_signal_and_the_ranks_do_not(robustrun, mode, code):
    running = start(robustrun, f"--compat={mode}")
    for pid in running.agent(), running.pid:
        os.kill(pid, signal.SIGTERM)
    ends_well(robustrun, running, code)


@pytest.mark.parametrize("order", ["the ranks last", "the ranks first"])
def test_all_processes_get_the_signal(robustrun, order):
    running = start(robustrun)
    everyone = [running.pid, *descendants(running.pid)]
    ranks = running.workers(RANKS)
    assert set(ranks) < set(everyone)
    others = [pid for pid in everyone if pid not in ranks]
    for pid in others + ranks if order == "the ranks last" else ranks + others[::-1]:
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, signal.SIGTERM)
    ends_well(robustrun, running, 143)


def test_a_second_signal_to_the_agent_does_not_wait_for_the_ranks(robustrun):
    running = start(robustrun, "--shutdown-timeout=600")
    agent = running.agent()
    for pid in running.workers(RANKS):
        os.kill(pid, signal.SIGSTOP)  # it cannot save
    os.kill(running.pid, signal.SIGSTOP)  # no order comes
    os.kill(agent, signal.SIGTERM)
    wait_for(lambda: not pending(agent, signal.SIGTERM), what="the first signal's receipt")
    os.kill(agent, signal.SIGTERM)
    wait_for(lambda: not any(b"saves.py" in command_of(pid) for pid in robustrun.marked()
                             if pid != running.pid), what="the ranks' end")
    os.kill(running.pid, signal.SIGCONT)
    finished = running.finish(60)
    assert finished.code == 143, finished.errors
    robustrun.expect_nothing_left()


def pending(pid, number):
    with open(f"/proc/{pid}/status", encoding="ascii") as status:
        lines = dict(line.split(":", 1) for line in status)
    return any(int(lines[kind], 16) >> (number - 1) & 1 for kind in ("SigPnd", "ShdPnd"))


def test_without_an_answer_of_the_supervisor_the_agent_stops_the_ranks_itself(robustrun):
    running = start(robustrun)
    os.kill(running.pid, signal.SIGSTOP)
    os.kill(running.agent(), signal.SIGTERM)
    await_files(robustrun, "saved", 30)
    os.kill(running.pid, signal.SIGCONT)
    # The ranks have ended with 0, but not because they were done.
    ends_well(robustrun, running, 143)


def test_when_the_supervisor_does_not_end_by_the_signal_its_ranks_are_not_done(robustrun):
    """Ranks that end with 0 because their agent stopped them have not done the job."""
    err = (robustrun.folder / "err").open("wb")
    running = start(robustrun, "--signals-to-handle=SIGINT", "--max-restarts=0", stderr=err)
    err.close()
    os.kill(running.agent(), signal.SIGTERM)
    await_files(robustrun, "saved", 30)
    wait_for(lambda: "free restart" in (robustrun.folder / "err").read_text(), what="a restart")
    os.kill(running.pid, signal.SIGINT)
    assert running.finish(60).code == 130
    robustrun.expect_nothing_left()
