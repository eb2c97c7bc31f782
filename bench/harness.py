"""What all measurements share: programs, processes, rounds, the deadline of --quick, the table."""

import contextlib
import dataclasses
import json
import os
import pathlib
import shutil
import signal
import statistics
import subprocess
import sys
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parents[1]
sys.path.append(str(ROOT / "tests" / "e2e"))
from helpers.processes import children_of, command_of, end  # noqa: E402

BIN = pathlib.Path(os.environ.get("ROBUSTRUN_BUILD_DIR", ROOT / "build")) / "bin"
ROBUSTRUN = BIN / "robustrun"
HELPERS = BIN.parent / "test-helpers"
# What is built from source and started by some measurement, beside robustrun and what it brings.
PROGRAMS = [ROBUSTRUN, BIN / "test_agent", BIN / "test_tracer", *(HELPERS / name for name in (
    "checkpoint_saver", "decision_times", "libnccl-profiler-recorder.so", "line_source",
    "nccl_player", "simulated_agents", "standby_times"))]
VENV_PYTHON = ROOT / ".venv" / "bin" / "python"
PYTHON = str(VENV_PYTHON if VENV_PYTHON.exists() else sys.executable)
TORCHRUN = [PYTHON, "-m", "torch.distributed.run"]
FOREIGN = ("PET_", "TORCHELASTIC_", "ROBUSTRUN_", "OMP_NUM_THREADS", "MASTER_", "LOGLEVEL")


@dataclasses.dataclass
class Figure:
    """One claim: readings of ours and of the peer, and the target."""

    name: str
    unit: str
    ours: list
    peer: list            # empty: an absolute figure
    target: str
    met: bool
    note: str = ""

    def row(self):
        ours = statistics.median(self.ours)
        if not self.peer:
            return [self.name, f"{ours:.4g} {self.unit}", "", "", self.target, self.verdict()]
        peer = statistics.median(self.peer)
        ratios = ratio_interval(self.ours, self.peer)
        return [self.name, f"{ours:.4g} {self.unit}", f"{peer:.4g} {self.unit}",
                "{:.3g} ({:.3g} to {:.3g})".format(*ratios), self.target, self.verdict()]

    def verdict(self):
        return ("met" if self.met else "MISSED") + (f"; {self.note}" if self.note else "")


def ratio_interval(ours, peer):
    """Median, least and greatest of the ratios of the pairs."""
    ratios = sorted(a / b for a, b in zip(ours, peer, strict=True))
    return statistics.median(ratios), ratios[0], ratios[-1]


def median_ratio(ours, peer):
    return ratio_interval(ours, peer)[0]


def in_turns(rounds, *measures):
    """Readings of each measure, taken in turns, so that a noisy minute hits all of them. With
    --quick no round begins that would not end in time; the first one always does."""
    readings = tuple([] for _ in measures)
    longest = 0.0
    for number in range(rounds):
        began = time.monotonic()
        if number and DEADLINE.is_before(began + longest):
            print(f"  {number} of {rounds} rounds: no time for more", flush=True)
            break
        for turn in range(len(measures)):
            which = (number + turn) % len(measures)
            readings[which].append(measures[which]())
        longest = max(longest, time.monotonic() - began)
    return readings


QUICK_MAX_S = 60


@dataclasses.dataclass(frozen=True)
class Quick:
    """What --quick makes of a measurement: QUICK of each module in figures/."""

    seconds: int       # that it takes on two quiet cores
    takes: str         # what is measured, and what is left out
    rounds: int = 1
    longer: str = ""   # why it cannot end within QUICK_MAX_S

    def __str__(self):
        return f"{self.takes}; {self.seconds} s" + (f": {self.longer}" if self.longer else "")

    @property
    def limit_s(self):
        return 2 * self.seconds if self.longer else QUICK_MAX_S


class Deadline:
    """The moment at which a quick measurement is given up; infinite without --quick."""

    def __init__(self):
        self.at = float("inf")

    def is_before(self, moment):
        return self.at < moment

    @contextlib.contextmanager
    def of(self, quick):
        """Gives the `with` block `quick.limit_s` seconds; then the measurement ends with an error
        that shows its processes."""
        def give_up(*_):
            sys.exit(f"not over after {quick.limit_s} s\n{processes_shown()}")

        self.at = time.monotonic() + quick.limit_s
        before = signal.signal(signal.SIGALRM, give_up)
        signal.setitimer(signal.ITIMER_REAL, quick.limit_s)
        try:
            yield
        finally:
            signal.setitimer(signal.ITIMER_REAL, 0)
            signal.signal(signal.SIGALRM, before)
            self.at = float("inf")


DEADLINE = Deadline()


def clean_environment(**extra):
    environment = {k: v for k, v in os.environ.items() if not k.startswith(FOREIGN)}
    environment["PYTHON_EXEC"] = PYTHON
    environment["ROBUSTRUN_NODE_HISTORY"] = "off"  # faults here are no news of this machine
    environment.update({k: str(v) for k, v in extra.items()})
    return environment


@dataclasses.dataclass
class Started:
    """A process of the measurement, the folder it runs in, and the file that has its output."""

    process: subprocess.Popen
    folder: pathlib.Path
    output: pathlib.Path

    def shown(self):
        code = self.process.poll()
        state = "still runs" if code is None else f"ended with {code}"
        lines = self.output.read_text(errors="replace").splitlines()[-LINES_SHOWN:]
        command = " ".join(map(str, self.process.args))
        return "\n".join([f"  process {self.process.pid} {state}: {command}",
                          *(f"    {line}" for line in lines or ["(no output)"])])


STARTED = []
LINES_SHOWN = 8


def start(command, folder, output="output", stdout=None, **variables):
    """Starts a process in a folder, with clean_environment(**variables). Its output goes to the
    file `output` in the folder (only its stderr if `stdout` is given); a measurement that fails
    shows its last lines. The folder's Scratch ends the process."""
    path = pathlib.Path(folder) / output
    with open(path, "ab") as file:
        process = subprocess.Popen(list(map(str, command)), cwd=folder, stdin=subprocess.DEVNULL,
                                   stdout=file if stdout is None else stdout, stderr=file,
                                   env=clean_environment(**variables))
    STARTED.append(Started(process, pathlib.Path(folder), path))
    return process


def processes_shown():
    """The running processes of the measurement and the newest one, with their last lines."""
    pids = {one.process.pid for one in STARTED}
    shown = [one for one in STARTED if one.process.poll() is None or one is STARTED[-1]]
    others = [f"  process {pid} still runs: {b' '.join(command_of(pid)).decode(errors='replace')}"
              for pid in children_of(os.getpid()) if pid not in pids]
    return "\n".join([*(one.shown() for one in shown), *others])


class Scratch:
    """A folder for one measurement; at its end its processes are ended and it is removed."""

    def __enter__(self):
        self.path = pathlib.Path(tempfile.mkdtemp(prefix="robustrun-bench-"))
        return self.path

    def __exit__(self, *_):
        for one in [one for one in STARTED if one.folder.is_relative_to(self.path)]:
            end(one.process)
            STARTED.remove(one)
        shutil.rmtree(self.path, ignore_errors=True)


def timed(command, folder, stdout=None, **variables):
    """Wall seconds of a command that must succeed."""
    began = time.monotonic()
    process = start(command, folder, stdout=stdout, **variables)
    code = process.wait()
    seconds = time.monotonic() - began
    if code != 0:
        sys.exit(f"a command failed\n{processes_shown()}")
    return seconds


def empty_memory():
    """Drops all files from the page cache. Takes root."""
    subprocess.run(["sync"], check=True)
    pathlib.Path("/proc/sys/vm/drop_caches").write_text("3\n")


def wait_for(condition, what, seconds=60):
    """The condition's first true value. After `seconds`, or at the deadline of --quick, the
    measurement ends with an error that shows its processes and their last lines."""
    began = now = time.monotonic()
    while now < began + seconds and not DEADLINE.is_before(now):
        value = condition()
        if value:
            return value
        time.sleep(0.002)
        now = time.monotonic()
    sys.exit(f"waited {now - began:.0f} s for {what}\n{processes_shown()}")


def show(figures):
    rows = [["figure", "robustrun", "peer", "ratio (range)", "target", ""]]
    rows += [figure.row() for figure in figures]
    widths = [max(len(row[i]) for row in rows) for i in range(len(rows[0]))]
    for row in rows:
        cells = [cell.ljust(width) for cell, width in zip(row, widths, strict=True)]
        print("  " + "  ".join(cells).rstrip())
    print(flush=True)


def save(name, figures, quick, load):
    """Writes bench/results/NAME.json; `load` is the machine's before the measurement."""
    folder = ROOT / "bench" / "results"
    folder.mkdir(exist_ok=True)
    content = {"bench": name, "quick": quick, "cpus": os.cpu_count(),
               "load_before": round(load, 2),
               "figures": [dataclasses.asdict(figure) for figure in figures]}
    (folder / f"{name}.json").write_text(json.dumps(content, indent=1) + "\n")
