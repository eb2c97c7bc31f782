"""`robustrun top` in a real terminal: it names the rank that holds a job up, follows keys and
sizes, and leaves the terminal as it was."""

import os
import pathlib
import re
import signal

import pytest
from helpers.fleet import rack_topology, start_fleet
from helpers.jobs import start_job
from helpers.processes import command_of, wait_for
from helpers.tmux import Terminal

FAULTY = pathlib.Path(__file__).parent / "diagnosis" / "faulty_job.py"
# Steps without torch, with texts that would command a terminal.
STEPS = r"""
import os, time
import robustrun
print("\x1b[2J\x1b]0;owned\x07 hostile \u202e", flush=True)
n, began = 0, os.path.getmtime("train.py")
while not os.path.exists("enough"):  # all ranks in step, by the clock
    n += 1
    robustrun.step(n, loss=1 / n)
    time.sleep(max(0, began + n / 20 - time.time()))
"""


@pytest.fixture
def terminal(robustrun):
    made = []

    def make(columns=80, rows=24, **options):
        made.append(Terminal(robustrun, columns, rows, **options))
        return made[-1]

    yield make
    for each in made:
        each.close()


def stepping(robustrun, *options):
    robustrun.write("train.py", STEPS)
    job = start_job(robustrun, "--launcher=processes", "--nnodes=2", "--hosts=alpha,beta",
                    "--nproc-per-node=2", *options, "train.py")
    job.wait(lambda: (job.run / "journal").exists(), "the run's journal")
    return job


def command(robustrun, *words):
    return " ".join(map(str, [robustrun.binary, "top", *words]))


def top_pid(robustrun):
    return next((pid for pid in robustrun.marked() if command_of(pid)[1:2] == [b"top"]), None)


@pytest.mark.parametrize(
    "size", [(80, 24), pytest.param((200, 60), marks=pytest.mark.nightly)])
def test_the_rank_that_hangs_is_seen_at_once(robustrun, terminal, size):
    job = start_job(robustrun, "--nproc-per-node=3", "--standby=off", "--hang-timeout=0", FAULTY,
                    "100000", "0.05", "sleep", "1", "60")
    job.wait(lambda: "hang: rank 1" in job.err(), "the hang", 150)
    shown = terminal(*size)
    shown.type(command(robustrun, job.run))
    screen = shown.wait("rank 1 on", "has blocked the job", "w B w", "has not entered", within_s=60)
    assert "2 ranks wait in all_reduce" in screen
    assert "faulty_job.py" in screen
    assert max(map(len, screen.splitlines())) <= size[0]
    shown.press("d")
    shown.wait("diagnosis", "evidence:")
    shown.press("q")
    shown.press("l")
    shown.wait("log of rank 1", "attempt_0/1/", ".log")
    shown.press("q")
    shown.wait("q quit")


def test_keys_sizes_and_texts(robustrun, terminal):
    job = stepping(robustrun)
    shown = terminal()
    shown.type(command(robustrun, job.run))
    screen = shown.wait("train.py  running", "all 4 ranks run", "steps/s", "loss", "hostile")
    assert re.search(r"alpha +· ·", screen) and re.search(r"beta +· ·", screen)
    assert "rank 0 on alpha" in screen
    assert "\\x1b]0;owned" in screen or "owned" in screen
    shown.press("Down")
    shown.wait("rank 2 on beta")
    shown.press("Right")
    shown.wait("rank 3 on beta")
    shown.press("/")
    shown.press("alp")
    shown.wait("/alp", "1 of 2 nodes")
    shown.press("Enter")
    assert "beta" not in shown.wait("rank 0 on alpha")
    shown.press("Escape")
    shown.wait("rank 2 on beta" if "rank 2 on beta" in shown.screen() else "beta")
    shown.wait("CPUs", "MB")
    shown.press("?")
    shown.wait("I, E, U and X ask first")
    shown.press("Escape")
    shown.press("t")
    shown.wait("timeline", "productive", " %")
    shown.press("Escape")
    shown.resize(120, 40)
    screen = wait_for(lambda: len(shown.screen().splitlines()) >= 39 and shown.screen(), 20,
                      "the larger picture")
    assert "q quit" in screen.splitlines()[-1]
    robustrun.write("enough", "")
    shown.wait("ended after", "exit code 0")
    assert shown.is_alternate()  # the last picture stays
    shown.press("q")
    wait_for(lambda: not shown.is_alternate(), 20, "the shell")
    assert job.process.wait(timeout=60) == 0


@pytest.mark.nightly
def test_it_works_over_ssh(robustrun, terminal, farm):
    client = farm(1).home.client
    job = stepping(robustrun)
    shown = terminal(120, 30)
    shown.type(f"{client} -t h1 {command(robustrun, job.run)}")
    shown.wait("train.py  running", "all 4 ranks run", "rank 0 on alpha")
    shown.press("Down")
    shown.wait("rank 2 on beta")
    shown.resize(80, 24)
    screen = wait_for(lambda: len(shown.screen().splitlines()) <= 24 and shown.screen(), 20,
                      "the smaller picture")
    assert "q quit" in screen.splitlines()[-1]
    shown.press("?")
    shown.wait("I, E, U and X ask first")
    shown.press("q")
    shown.press("q")
    wait_for(lambda: not shown.is_alternate(), 20, "the shell")


@pytest.mark.parametrize("way", ["q", pytest.param("ctrl-c", marks=pytest.mark.nightly), "SIGTERM"])
def test_the_terminal_is_restored(robustrun, terminal, way):
    job = stepping(robustrun)
    shown = terminal()
    shown.type(f"stty -a > before; {command(robustrun, job.run)}; echo code $?; stty -a > after")
    shown.wait("train.py  running")
    assert shown.is_alternate()
    if way == "SIGTERM":
        os.kill(wait_for(lambda: top_pid(robustrun), what="the view"), signal.SIGTERM)
    else:
        shown.press("C-c" if way == "ctrl-c" else "q")
    shown.wait("code 143" if way == "SIGTERM" else "code 0")
    assert not shown.is_alternate()
    before, after = (robustrun.folder / "before", robustrun.folder / "after")
    wait_for(lambda: after.exists() and after.read_text(), 20, "stty")
    assert before.read_text() == after.read_text()
    assert job.process.poll() is None  # the run goes on


def test_a_supervisor_that_is_gone_is_told_and_the_picture_stays(robustrun, terminal):
    job = stepping(robustrun)
    shown = terminal()
    shown.type(command(robustrun, job.run))
    shown.wait("all 4 ranks run")
    os.kill(job.process.pid, signal.SIGSTOP)
    shown.wait("no answer for", "trying again", "this is the last picture", "alpha", "beta")
    shown.press("?")
    shown.wait("I, E, U and X ask first", within_s=5)  # keys go on
    shown.press("q")
    os.kill(job.process.pid, signal.SIGCONT)
    shown.wait("all 4 ranks run")


def test_orders_are_given_after_a_yes(robustrun, terminal):
    robustrun.write("train.py", STEPS)
    job = start_job(robustrun, "--launcher=processes", "--nnodes=2", "--hosts=alpha,beta,gamma",
                    "--nproc-per-node=1", "--standby=off", "train.py")
    job.wait(lambda: (job.run / "journal").exists(), "the run's journal")
    shown = terminal(100)
    shown.type(command(robustrun, job.run))
    shown.wait("all 2 ranks run", "rank 0 on alpha", "1 spare")
    shown.press("E")
    shown.wait("evict alpha?")
    shown.press("n")
    shown.wait("q quit")
    shown.press("E")
    shown.wait("evict alpha?")
    shown.press("y")
    shown.wait("alpha is being evicted")
    job.wait(lambda: "alpha is evicted: a user's order" in job.err(), "the eviction", 60)
    shown.wait("all 2 ranks run", "1 out of the run", "rank 0 on gamma")
    shown.press("I")
    shown.wait("fault for rank")
    shown.press("kill", "Enter")
    shown.wait("inject kill into rank")
    shown.press("y")
    shown.wait("injected: ")
    job.wait(lambda: "restart 1 of 3" in job.err(), "the restart", 60)
    shown.wait("2 restarts", "all 2 ranks run", "rank 0 on gamma")
    shown.press("E")  # there is no spare left
    shown.wait("evict gamma?")
    shown.press("y")
    shown.wait("cannot evict", "needed")
    shown.press("X", "y")
    shown.wait("ended after")
    assert job.process.wait(timeout=60) == 143


def test_an_update_is_typed_and_confirmed(robustrun, terminal):
    job = stepping(robustrun)
    shown = terminal(120)
    shown.type(command(robustrun, job.run))
    shown.wait("all 4 ranks run")
    shown.press("U")
    shown.wait("update: ", "--env NAME=VALUE")
    shown.type("--env LR=0.0003 --now")
    shown.wait("update: env LR=0.0003? the workers restart at once")
    shown.press("y")
    job.wait(lambda: "version 1" in job.err(), "the update", 60)
    shown.wait("all 4 ranks run", "1 restart")
    shown.press("S")
    shown.wait("stack of rank", "train.py", within_s=30)


@pytest.mark.nightly
def test_1024_nodes_are_seen_by_rack_and_the_rank_behind_is_named(robustrun, terminal):
    robustrun.write("net.toml", rack_topology(1024, 64))
    job = start_fleet(robustrun, 1024, 8, "--topology=net.toml", laggard=531)
    shown = terminal(80, 24)
    shown.type(command(robustrun, job.run))
    screen = shown.wait("on sim-531: steps behind", "a cell is a rack", "rack18 b", within_s=120)
    assert screen.count("rack") >= 64
    assert max(map(len, screen.splitlines())) <= 80
    assert "on sim-531 in rack18" in screen  # chosen by itself
    shown.press("Enter")
    shown.wait("of 1025 nodes", "sim-531", "b · · · · · · ·")
    shown.press("Escape")
    shown.resize(200, 60)
    screen = shown.wait("a cell is a node", "on sim-531 in rack18", within_s=20)
    assert max(map(len, screen.splitlines())) <= 200


def test_without_colours_the_letters_stay(robustrun, terminal):
    job = stepping(robustrun)
    shown = terminal(env={"NO_COLOR": "1", "LANG": "C"})
    shown.type(command(robustrun, job.run))
    shown.wait("all 4 ranks run", "alpha  . .")
    screen = shown.screen(colours=True)
    assert not re.search(r"\x1b\[[0-9;]*[34][0-7]m", screen)
    assert all(ord(character) < 128 for character in screen)


@pytest.mark.parametrize("kind", ["dumb", "pipe"])
def test_without_a_terminal_it_says_what_to_use(robustrun, terminal, kind):
    words = "top needs a terminal that can move its cursor; use robustrun status --watch"
    if kind == "pipe":
        done = robustrun.run("top")
        assert (done.code, done.out) == (2, b"")
        assert words in done.errors
        return
    shown = terminal(200)
    shown.type(f"TERM=dumb {command(robustrun)}; echo code $?")
    shown.wait(words, "code 2")
