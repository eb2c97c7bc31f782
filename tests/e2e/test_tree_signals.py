"""A signal to all processes of a run (docker stop, systemd, the end of a CI job) is one order to
end it, whichever process gets it first: the ranks have their time to save."""

import contextlib
import json
import os
import signal
import time

import pytest
from helpers.jobs import descendants
from helpers.processes import command_of, wait_for

# A rank takes a second to save, and may get the signal twice: from the sender and from its agent.
SAVES = r"""
import os, signal, time
rank = os.environ["RANK"]
told = []  # not an Event: its lock may be held where the handler runs
for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP, signal.SIGQUIT):
    signal.signal(number, lambda *_: told.append(True))
open("started." + rank, "w").close()
while not told:
    time.sleep(0.05)
open("told." + rank, "w").close()
time.sleep(1)
open("saved." + rank, "w").close()
"""
RANKS = 3
ANSWER_MAX_S = 6  # longer than the agent waits for an answer (kAnswerMax)


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


def start_with_words(robustrun, *options):
    with (robustrun.folder / "err").open("wb") as err:
        return start(robustrun, *options, stderr=err)


def words(robustrun):
    """What the run has written, where standard error is the file "err"."""
    return (robustrun.folder / "err").read_text()


def await_words(robustrun, expected):
    wait_for(lambda: expected in words(robustrun), what=expected)


def ends_well(robustrun, running, code):
    finished = running.finish(60)
    errors = words(robustrun) if (robustrun.folder / "err").exists() else finished.errors
    assert finished.code == code, errors
    assert len(files(robustrun, "saved")) == RANKS, errors
    assert "killing all workers" not in errors, errors
    assert "restart" not in errors, errors
    robustrun.expect_nothing_left()


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT, signal.SIGHUP, signal.SIGQUIT],
                         ids=lambda number: number.name)
def test_the_agent_gets_the_signal_first(robustrun, number):
    running = start_with_words(robustrun)
    os.kill(running.agent(), number)
    await_words(robustrun, f"stopping ({number.name} from its agent)")
    os.kill(running.pid, number)  # is the same order
    ends_well(robustrun, running, 128 + number)


def test_a_second_signal_to_the_supervisor_is_one_although_the_agent_got_the_first(robustrun):
    running = start_with_words(robustrun, "--shutdown-timeout=600")
    for pid in running.workers(RANKS):
        os.kill(pid, signal.SIGSTOP)  # it cannot save
    os.kill(running.agent(), signal.SIGTERM)
    await_words(robustrun, "stopping (SIGTERM from its agent)")
    os.kill(running.pid, signal.SIGTERM)
    wait_for(lambda: not pending(running.pid, signal.SIGTERM), what="the first signal's receipt")
    os.kill(running.pid, signal.SIGTERM)
    assert running.finish(60).code == 143
    assert "SIGTERM again: killing all workers" in words(robustrun)
    robustrun.expect_nothing_left()


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


@pytest.mark.parametrize("number, option, around", [
    (signal.SIGTERM, "--signals-to-handle=SIGINT", []),
    (signal.SIGHUP, "--signals-to-handle=SIGTERM,SIGINT,SIGHUP,SIGQUIT", ["/usr/bin/nohup"]),
], ids=["not handled", "nohup"])
def test_a_signal_that_does_not_end_the_run_does_not_end_it_at_the_agent(robustrun, number, option,
                                                                         around):
    robustrun.write("saves.py", SAVES)
    options = [f"--nproc-per-node={RANKS}", option, "saves.py"]
    if around:
        running = robustrun.start(robustrun.binary, *options, argv0=around[0])
    else:
        running = robustrun.start(*options)
    running.workers(RANKS)
    await_files(robustrun, "started")
    agent = running.agent()
    for _ in range(2):  # the second one ends nothing, either
        os.kill(agent, number)
        wait_for(lambda: not pending(agent, number), what="the signal's receipt")
        time.sleep(0.5)  # for the supervisor's answer
    time.sleep(ANSWER_MAX_S)  # nothing shows that nothing happens
    assert running.agent() == agent
    assert not files(robustrun, "told")
    os.kill(running.pid, signal.SIGINT)
    ends_well(robustrun, running, 130)


@pytest.mark.parametrize("number", [signal.SIGHUP, signal.SIGQUIT], ids=lambda number: number.name)
def test_a_signal_that_the_supervisor_may_ignore_is_only_passed_on(robustrun, number):
    running = start(robustrun)
    agent = running.agent()
    os.kill(running.pid, signal.SIGSTOP)
    for _ in range(2):
        os.kill(agent, number)
        wait_for(lambda: not pending(agent, number), what="the signal's receipt")
    time.sleep(ANSWER_MAX_S)
    assert not files(robustrun, "told")
    os.kill(running.pid, signal.SIGCONT)
    ends_well(robustrun, running, 128 + number)


def test_a_late_order_of_the_supervisor_is_answered_with_the_ranks_exits(robustrun):
    """While the supervisor could not answer, a rank has ended, and others have not."""
    robustrun.write("saves.py", SAVES.replace("time.sleep(1)", "time.sleep(int(rank) * 600)"))
    running = robustrun.start(f"--nproc-per-node={RANKS}", "--shutdown-timeout=1",
                              "--events=events.jsonl", "saves.py")
    ranks = running.workers(RANKS)
    await_files(robustrun, "started")
    agent = running.agent()
    os.kill(running.pid, signal.SIGSTOP)
    os.kill(agent, signal.SIGTERM)
    wait_for(lambda: not set(ranks) <= set(robustrun.marked()), what="the end of rank 0")
    os.kill(running.pid, signal.SIGCONT)
    finished = running.finish(60)
    assert finished.code == 143, finished.errors
    assert "restart" not in finished.errors, finished.errors
    events = [json.loads(line) for line in (robustrun.folder / "events.jsonl").open()]
    exited = [event["rank"] for event in events if event["event"] == "worker_exited"]
    assert sorted(exited) == list(range(RANKS))
    robustrun.expect_nothing_left()
