"""Log throughput: lines per second of two workers, file and console, against torchrun's tee."""

import pathlib
import re

from harness import (
    HELPERS,
    ROBUSTRUN,
    TORCHRUN,
    Figure,
    Quick,
    Scratch,
    in_turns,
    median_ratio,
    timed,
)

WORKERS = 2
LINE_BYTES = 80
RATIO_MIN = 5
ROUNDS, LINES, QUICK_LINES = 10, 1_000_000, 400_000
QUICK = Quick(50, "2 rounds of 400,000 lines instead of 10 of a million", rounds=2)
SOURCE = HELPERS / "line_source"
NUMBER = re.compile(rb"line (\d+)")


def whole_lines(shown, prefix):
    """The lines of one worker; a partial line that waited too long is shown in several pieces."""
    line = b""
    for piece in shown:
        if piece.startswith(prefix):
            line += piece[len(prefix):].rstrip(b"\n")
            if len(line) >= LINE_BYTES - 1:
                yield line
                line = b""


def check_complete(console, logs, lines):
    """Every line of every worker arrived, in order, on the console and in its file."""
    for local_rank in range(WORKERS):
        prefix = b"[default%d]:" % local_rank
        with open(console, "rb") as shown:
            numbers = [int(NUMBER.match(line)[1]) for line in whole_lines(shown, prefix)]
        assert numbers == list(range(lines)), f"console: rank {local_rank} lost or reordered"
        (file,) = pathlib.Path(logs).glob(f"*/attempt_0/{local_rank}/stdout.log")
        with open(file, "rb") as kept:
            assert sum(1 for _ in kept) == lines, f"log file of rank {local_rank} is incomplete"


def seconds(command, lines):
    with Scratch() as folder:
        console = folder / "console"
        with open(console, "wb") as out:
            taken = timed([*command, "--no-python", "--nproc-per-node", str(WORKERS), "--tee", "3",
                           "--log-dir", str(folder / "logs"), SOURCE, str(lines), str(LINE_BYTES)],
                          folder, stdout=out)
        if lines:
            check_complete(console, folder / "logs", lines)
        return taken


def lines_per_second(command, lines):
    """In millions, without start-up: the time of the same run without a line is subtracted."""
    return WORKERS * lines / max(1e-3, seconds(command, lines) - seconds(command, 0)) / 1e6


def measure(quick):
    rounds, lines = (QUICK.rounds, QUICK_LINES) if quick else (ROUNDS, LINES)
    ours, peer = in_turns(rounds, lambda: lines_per_second([ROBUSTRUN], lines),
                          lambda: lines_per_second(TORCHRUN, lines))
    return [Figure("lines through tee", "M lines/s", ours, peer, f"at least {RATIO_MIN}",
                   median_ratio(ours, peer) >= RATIO_MIN, "none lost, none reordered")]
