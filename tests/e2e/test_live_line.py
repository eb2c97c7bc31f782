"""The line about the run and the progress bars at the bottom of a terminal."""

import re

import pytest
from helpers.processes import wait_for
from helpers.tmux import Terminal

STEPS = r"""
import os, time
import robustrun
n, rank = 0, os.environ["RANK"]
while not os.path.exists("enough"):
    n += 1
    robustrun.step(n, loss=1 / n)
    if n % 20 == 0:
        print(f"rank {rank} did {n}", flush=True)
    if rank == "1" and os.path.exists("fail") and os.environ["TORCHELASTIC_RESTART_COUNT"] == "0":
        raise SystemExit(3)
    time.sleep(0.02)
"""
BARS = r"""
import os, sys, time
import tqdm
for _ in tqdm.tqdm(iter(lambda: os.path.exists("enough"), True), desc="train", mininterval=0.05):
    time.sleep(0.02)
print("trained", flush=True)
"""
RICH = r"""
import os, time
from rich.progress import Progress
with Progress() as progress:
    task = progress.add_task("train", total=10**6)
    while not os.path.exists("enough"):
        progress.advance(task)
        time.sleep(0.02)
        if os.path.exists("say"):
            progress.console.print(f"over the bar of {os.environ['RANK']}")
            open(f"said.{os.environ['RANK']}", "w").close()
            while os.path.exists("say"):
                time.sleep(0.02)
    progress.update(task, completed=10**6)
print("trained", flush=True)
"""
LINE = re.compile(r"^job\.py  step \d+/100000  [\d.]+ steps/s  loss \S+  (1 restart  )?ETA [\d:]+$")


@pytest.fixture
def terminal(robustrun):
    opened = []

    def open_it(columns=100, rows=24, **env):
        opened.append(Terminal(robustrun, columns, rows, {"CI": "", **env}))
        return opened[-1]

    yield open_it
    for one in opened:
        one.close()


def command(robustrun, *words):
    return " ".join([str(robustrun.binary), "--nproc-per-node=2", "--standby=off", *words,
                     "job.py"])


def last_line(terminal, rows=24):
    """The lowest row, empty or not."""
    lines = terminal.screen().split("\n")
    return lines[rows - 1] if len(lines) >= rows else ""


def assert_whole_screen_scrolls(terminal, rows=24):
    terminal.type("clear; seq 500")
    terminal.wait("500\n$")
    lines = terminal.screen().rstrip("\n").split("\n")
    assert lines == [str(n) for n in range(502 - rows, 501)] + ["$"]


def test_the_line_stays_below_the_output_and_leaves_with_the_run(robustrun, terminal):
    robustrun.write("job.py", STEPS)
    screen = terminal()
    screen.type(command(robustrun, "--stop-after-steps=100000", "--max-restarts=1"))
    wait_for(lambda: LINE.match(last_line(screen)), 60, "the line")
    # Equal lines are one; other output scrolls above the line.
    screen.type("")
    screen.wait("did 400")
    assert LINE.match(last_line(screen)), screen.screen()
    assert screen.screen().count("job.py  step") == 1
    (robustrun.folder / "fail").touch()
    wait_for(lambda: "1 restart  ETA" in last_line(screen), 60, "the line after a restart")
    screen.resize(90, 20)
    wait_for(lambda: LINE.match(last_line(screen, 20)), 30, "the line at the new bottom")
    screen.resize(100, 24)
    (robustrun.folder / "enough").touch()
    screen.wait("job.py succeeded after")
    assert "job.py  step" not in last_line(screen)
    assert_whole_screen_scrolls(screen)


def test_the_bottom_is_given_back_when_the_user_interrupts(robustrun, terminal):
    robustrun.write("job.py", STEPS)
    screen = terminal()
    screen.type(command(robustrun, "--stop-after-steps=100000"))
    wait_for(lambda: LINE.match(last_line(screen)), 60, "the line")
    screen.press("C-c")
    screen.wait("job.py stopped", "\n$")
    assert_whole_screen_scrolls(screen)


def test_bars_of_several_ranks_are_one_line(robustrun, terminal):
    pytest.importorskip("tqdm")
    robustrun.write("job.py", BARS)
    screen = terminal()
    screen.type(command(robustrun))
    bar = re.compile(r"^\[rank [01]\] train: \d+it .*  and 1 other rank$", re.MULTILINE)
    wait_for(lambda: bar.search(screen.screen()), 60, "the bar")
    for _ in range(5):
        before = screen.screen()
        wait_for(lambda before=before: screen.screen() != before, 30, "the next state")
        assert len(re.findall("train: ", screen.screen())) == 1, screen.screen()
    (robustrun.folder / "enough").touch()
    after = screen.wait("job.py succeeded after")
    assert len(re.findall(r"^\[rank 0\] train: \d+it", after, re.MULTILINE)) == 1, after
    assert "[rank 1] train:" not in after
    assert "[ranks 0-1] trained" in after or "[rank 1] trained" in after


def test_displays_of_rich_of_several_ranks_are_one_line(robustrun, terminal):
    pytest.importorskip("rich")
    robustrun.write("job.py", RICH)
    screen = terminal(columns=110)
    screen.type(command(robustrun))
    bar = re.compile(r"^\[rank [01]\] train ━.*  and 1 other rank$", re.MULTILINE)
    wait_for(lambda: bar.search(screen.screen()), 60, "the bar")
    for _ in range(5):
        before = screen.screen()
        wait_for(lambda before=before: screen.screen() != before, 30, "the next state")
        assert len(re.findall("train ━", screen.screen())) == 1, screen.screen()
    (robustrun.folder / "say").touch()
    wait_for(lambda: all((robustrun.folder / f"said.{rank}").exists() for rank in (0, 1)), 30,
             "both ranks' words")
    (robustrun.folder / "say").unlink()
    for rank in (0, 1):
        screen.wait(f"[rank {rank}] over the bar of {rank}\n")
    assert len(re.findall("train ━", screen.screen())) == 1, screen.screen()
    (robustrun.folder / "enough").touch()
    after = screen.wait("job.py succeeded after")
    assert len(re.findall(r"train ━+ 100%", after)) == 1, after
    assert "[ranks 0-1] trained" in after or "[rank 1] trained" in after
    assert_whole_screen_scrolls(screen)


def test_rich_in_a_pipe_is_a_line_for_each_rank_at_most(robustrun):
    pytest.importorskip("rich")
    robustrun.write("job.py", RICH)
    (robustrun.folder / "enough").touch()
    finished = robustrun.run("--nproc-per-node=2", "job.py", env={"TERM": "xterm-256color"})
    assert finished.code == 0, finished.errors
    assert "\x1b" not in finished.text
    assert 1 <= finished.text.count("train ━") <= 2, finished.text


def test_who_wants_no_redrawing_in_rich_gets_none(robustrun, terminal):
    robustrun.write("job.py", "import os\nprint('is', os.environ.get('TTY_COMPATIBLE'))\n")
    screen = terminal()
    for setting, value in (("", "1"), ("TTY_COMPATIBLE=0 ", "0"), ("FORCE_COLOR= ", "None")):
        screen.type("clear; " + setting + command(robustrun))
        screen.wait(f"is {value}", "job.py succeeded after")


@pytest.mark.parametrize("without", ["TERM=dumb", "CI=true", "--live-line=off", "--quiet"])
def test_no_line_where_it_is_not_wanted(robustrun, terminal, without):
    robustrun.write("job.py", STEPS)
    screen = terminal()
    is_option = without.startswith("-")
    screen.type(("" if is_option else without + " ") +
                command(robustrun, without if is_option else "--line-prefix=on"))
    screen.wait("[rank 0] rank 0 did 40")
    assert "job.py  " not in screen.screen()
    (robustrun.folder / "enough").touch()
    screen.wait("\n$")


def test_pipes_get_no_escape_sequence(robustrun):
    robustrun.write("job.py", STEPS)
    (robustrun.folder / "enough").touch()
    finished = robustrun.run("--nproc-per-node=2", "job.py", env={"TERM": "xterm-256color"})
    assert finished.code == 0
    assert "\x1b" not in finished.text + finished.errors
