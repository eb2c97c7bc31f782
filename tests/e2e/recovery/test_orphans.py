"""Nothing survives: after the death of any one process of ours, all workers and their descendants
are gone soon (within two seconds on an idle machine), and no other process is ever signalled."""

import contextlib
import os
import signal

import pytest
from helpers.processes import is_alive, wait_for

# Each worker has descendants outside of its process group: children in sessions of their own, and
# grandchildren whose parents have died.
FAMILY = r"""
import os, signal, sys, time
def hide():
    if os.fork() == 0:
        os.setsid()
        if os.fork() == 0:
            os.execvp("sleep", ["sleep", "300"])
        if os.fork() == 0:
            os.setsid()
            signal.signal(signal.SIGTERM, signal.SIG_IGN)
            while True:
                time.sleep(10)
        os._exit(0)
for _ in range(3):
    hide()
open("ready." + os.environ["RANK"], "w").close()
if "stubborn" in sys.argv:
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
time.sleep(300)
"""

WORKERS = 2
FAMILY_SIZE = 1 + 3 * 2
GONE_WITHIN_S = 15


@pytest.fixture
def family(robustrun):
    """A run whose workers have six hidden descendants each."""
    robustrun.write("family.py", FAMILY)
    running = robustrun.start("--nproc-per-node", str(WORKERS), "--max-restarts", "0", "family.py")
    for rank in range(WORKERS):
        wait_for((robustrun.folder / f"ready.{rank}").exists, what=f"rank {rank}")
    wait_for(lambda: len(robustrun.marked()) >= WORKERS * FAMILY_SIZE, what="the whole family")
    return running


def kill(pid, how=signal.SIGKILL):
    os.kill(pid, how)


@pytest.mark.parametrize("how", [signal.SIGTERM, signal.SIGINT, signal.SIGKILL])
def test_nothing_survives_the_supervisor(robustrun, family, how):
    kill(family.pid, how)
    robustrun.expect_nothing_left()


def test_nothing_survives_the_agent(robustrun, family):
    agent, workers = family.agent(), family.workers(WORKERS)
    kill(agent)
    wait_for(lambda: not any(map(is_alive, workers)), GONE_WITHIN_S, "the end of the workers")
    # The agent restarts in place with a new attempt, which has other descendants.
    family.process.terminate()
    family.finish()
    robustrun.expect_nothing_left()


def test_nothing_survives_a_shim(robustrun, family):
    shims, workers = family.shims(WORKERS), family.workers(WORKERS)
    kill(shims[0])
    wait_for(lambda: not any(map(is_alive, workers)), GONE_WITHIN_S, "the end of the workers")
    # A lost shim is not the script's fault: the group restarts.
    family.process.terminate()
    family.finish()
    robustrun.expect_nothing_left()


def test_nothing_survives_a_worker(robustrun, family):
    kill(family.workers(WORKERS)[0])
    assert family.finish().code == 128 + signal.SIGKILL
    robustrun.expect_nothing_left()


@pytest.mark.parametrize(
    "pair", ["supervisor+agent", "supervisor+shim", "agent+shim", "agent+worker", "shim+shim"]
)
def test_nothing_survives_two_at_once(robustrun, family, pair):
    shims, workers = family.shims(WORKERS), family.workers(WORKERS)
    victims = {
        "supervisor": [family.pid],
        "agent": [family.agent()],
        "shim": shims[:1],
        "worker": workers[:1],
    }
    pids = shims if pair == "shim+shim" else [p for name in pair.split("+") for p in victims[name]]
    for pid in pids:
        os.kill(pid, signal.SIGSTOP)  # so that neither can react to the other's death
    for pid in pids:
        with contextlib.suppress(ProcessLookupError):  # the first one's death took it along
            kill(pid)
    if "supervisor" not in pair:
        wait_for(lambda: not any(map(is_alive, workers)), GONE_WITHIN_S, "the end of the workers")
        family.process.terminate()
        family.finish()
    robustrun.expect_nothing_left()


def test_processes_that_we_did_not_start_are_left_alone(robustrun):
    """robustrun replaces a shell that already has a child. That child is not ours, even when the
    process that is now its parent cleans up after an agent."""
    robustrun.write("wait.py", "import time; open('ready', 'w').close(); time.sleep(300)")
    script = f"sleep 300 > /dev/null 2>&1 & echo $! > foreign.pid; exec {robustrun.binary} wait.py"
    running = robustrun.start("-c", script, argv0="/bin/sh")
    wait_for((robustrun.folder / "ready").exists, what="the worker")
    foreign = int((robustrun.folder / "foreign.pid").read_text())
    kill(running.agent())
    wait_for(lambda: (robustrun.folder / "ready").unlink(missing_ok=True) or running.workers(1))
    running.process.terminate()
    running.finish()
    assert is_alive(foreign)
    kill(foreign)


def test_a_worker_that_ignores_sigterm_is_killed_after_the_grace(robustrun):
    robustrun.write("family.py", FAMILY)
    running = robustrun.start("--shutdown-timeout", "1", "family.py", "stubborn")
    wait_for((robustrun.folder / "ready.0").exists, what="the worker")
    running.process.terminate()
    assert running.finish(90).code == 128 + signal.SIGTERM
    robustrun.expect_nothing_left()


BOMB = r"""
import os, time
# Eight chains: every process starts its successor in a new session and dies soon after, so that
# the number alive stays small and any list of them is outdated.
for _ in range(8):
    if os.fork() == 0:
        while True:
            if os.fork() != 0:
                time.sleep(0.01)
                os._exit(0)
            os.setsid()
open("ready", "w").close()
time.sleep(300)
"""


def test_a_chain_of_forking_grandchildren_ends(robustrun):
    robustrun.write("bomb.py", BOMB)
    running = robustrun.start("--max-restarts", "0", "bomb.py")
    wait_for((robustrun.folder / "ready").exists, what="the worker")
    running.process.send_signal(signal.SIGTERM)
    running.finish(90)
    robustrun.expect_nothing_left()


def test_no_descriptor_of_ours_reaches_a_worker(robustrun):
    robustrun.write("fds.py", "import os; print(sorted(os.listdir('/proc/self/fd')))")
    finished = robustrun.run("--inject", "off", "fds.py")
    # 3 is the listing's own.
    assert finished.text.strip() == str(["0", "1", "2", "3"]), finished.errors


def test_a_hung_agent_does_not_outlive_the_run(robustrun):
    """A stopped agent does not answer: the run ends without it, and kills it."""
    robustrun.write("wait.py", "import time; open('ready', 'w').close(); time.sleep(300)")
    running = robustrun.start("--shutdown-timeout", "1", "wait.py")
    wait_for((robustrun.folder / "ready").exists, what="the worker")
    kill(running.agent(), signal.SIGSTOP)
    running.process.terminate()
    assert running.finish().code == 128 + signal.SIGTERM
    robustrun.expect_nothing_left()
