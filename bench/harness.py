"""What all measurements share: programs, processes, rounds, the deadline of --quick, the table."""

import contextlib
import dataclasses
import json
import os
import pathlib
import select
import signal
import statistics
import subprocess
import sys
import tempfile
import time

BENCH = pathlib.Path(__file__).resolve().parent
ROOT = BENCH.parent
sys.path.append(str(ROOT / "tests" / "e2e"))
from helpers.processes import children_of, command_of  # noqa: E402

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
    peer: list            # empty: an absolute figure, or a peer that never came back
    target: str
    met: bool | None      # None: there is nothing to compare with
    note: str = ""

    def row(self):
        if not self.ours:
            return [self.name, "-", "", "", self.target, self.verdict()]
        ours = statistics.median(self.ours)
        if not self.peer:
            return [self.name, f"{ours:.4g} {self.unit}", "", "", self.target, self.verdict()]
        peer = statistics.median(self.peer)
        ratios = ratio_interval(self.ours, self.peer)
        return [self.name, f"{ours:.4g} {self.unit}", f"{peer:.4g} {self.unit}",
                "{:.3g} ({:.3g} to {:.3g})".format(*ratios), self.target, self.verdict()]

    def verdict(self):
        verdict = {True: "met", False: "MISSED", None: "not compared"}[self.met]
        return verdict + (f"; {self.note}" if self.note else "")


def ratio_interval(ours, peer):
    """Median, least and greatest of the ratios of the pairs."""
    ratios = sorted(a / b for a, b in zip(ours, peer, strict=True))
    return statistics.median(ratios), ratios[0], ratios[-1]


def median_ratio(ours, peer):
    return ratio_interval(ours, peer)[0]


@dataclasses.dataclass(frozen=True)
class Absent:
    """In place of a reading: what was waited for did not come within `seconds`. It is false."""

    seconds: float
    what: str = "did not come back"

    def __bool__(self):
        return False


def with_peer(ours, peer, name):
    """The readings of the rounds in which the peer came back, and a note about the others; all of
    ours and none of the peer's if it never did. Ours may be absent, too: such a round is dropped.
    """
    absent = [reading for reading in peer if not reading]
    note = ""
    if absent:
        longest = max(absent, key=lambda one: one.seconds)
        note = f"{name} {longest.what} within {longest.seconds:.0f} s"
        note += f" in {len(absent)} of {len(peer)} rounds" if len(peer) > 1 else ""
    both = [(a, b) for a, b in zip(ours, peer, strict=True) if a and b]
    if len(absent) == len(peer):
        return [a for a in ours if a], [], note
    return [a for a, _ in both], [b for _, b in both], note


def in_turns(rounds, *measures):
    """Readings of each measure, taken in turns, so that a noisy minute hits all of them. With
    --quick no round begins that would not end in time, but for the first one; a later one for
    which the time was too short is dropped."""
    readings = tuple([] for _ in measures)
    longest = 0.0
    for number in range(rounds):
        began = time.monotonic()
        try:
            if DEADLINE.is_before(began + longest):
                raise OutOfTime("no time is left for it")
            for turn in range(len(measures)):
                which = (number + turn) % len(measures)
                readings[which].append(measures[which]())
        except OutOfTime:
            if not number:
                raise
            print(f"  {number} of {rounds} rounds: no time for more", flush=True)
            return tuple(taken[:number] for taken in readings)
        longest = max(longest, time.monotonic() - began)
    return readings


def or_absent(measure):
    """The peer's reading; Absent if the time of --quick ends before there is one."""
    began = time.monotonic()
    try:
        return measure()
    except OutOfTime:
        return Absent(time.monotonic() - began, "did not get so far")


QUICK_MAX_S = 60
END_S = 4            # of that, for ending the processes
PEER_LEAST_S = 5     # less is no time for a peer to come back
PEER_END_S = 3       # a peer that does not come back is given up that long before the deadline


class OutOfTime(SystemExit):
    """The time of --quick is over."""


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


def place_of(frame):
    """The function of bench/ that runs, for a measurement that waits for no process."""
    while frame and (BENCH not in (at := pathlib.Path(frame.f_code.co_filename)).parents
                     or at.samefile(__file__)):
        frame = frame.f_back
    return f", in {frame.f_code.co_name} ({at.name}, line {frame.f_lineno})" if frame else ""


class Deadline:
    """The moment at which a quick measurement is given up; infinite without --quick."""

    def __init__(self):
        self.at = float("inf")
        self.is_held = False

    def is_before(self, moment):
        return self.at < moment

    @contextlib.contextmanager
    def of(self, quick, spent_s=0.0):
        """Gives the `with` block `quick.limit_s` seconds, of which the last END_S are for ending
        its processes and `spent_s` are over; then the measurement ends with an error that shows
        its processes."""
        def give_up(_, frame):
            if self.is_held:
                signal.setitimer(signal.ITIMER_REAL, 0.02)
                return
            raise OutOfTime(f"not over after {seconds:.3g} s{place_of(frame)}\n"
                            f"{processes_shown()}")

        seconds = max(0.1, quick.limit_s - END_S - spent_s)
        self.at = time.monotonic() + seconds
        before = signal.signal(signal.SIGALRM, give_up)
        signal.setitimer(signal.ITIMER_REAL, seconds)
        try:
            yield
        finally:
            signal.setitimer(signal.ITIMER_REAL, 0)
            signal.signal(signal.SIGALRM, before)
            self.at = float("inf")

    @contextlib.contextmanager
    def held(self):
        """The measurement is not given up before the end of the `with` block."""
        self.is_held = True
        try:
            yield
        finally:
            self.is_held = False


DEADLINE = Deadline()


@dataclasses.dataclass(frozen=True)
class Load:
    """What other programs take of this machine before a measurement."""

    used: float      # processors
    average: float   # of the last minute
    count: int       # processors of the machine

    @classmethod
    def now(cls, seconds=0.5):
        def ticks():
            words = pathlib.Path("/proc/stat").read_text().split("\n", 1)[0].split()[1:9]
            user, nice, system, _, _, *interrupts = map(int, words)
            return user + nice + system + sum(interrupts)

        before, began = ticks(), time.monotonic()
        time.sleep(seconds)
        used = (ticks() - before) / os.sysconf("SC_CLK_TCK") / (time.monotonic() - began)
        return cls(used, os.getloadavg()[0], os.cpu_count())

    def __str__(self):
        """Empty for a quiet machine."""
        if self.used < BUSY_SHARE * self.count:
            return ""
        return (f"the machine is busy: other programs use {self.used:.1f} of {self.count} "
                f"processors, load {self.average:.1f}")


BUSY_SHARE = 1 / 4


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
        command = " ".join(map(str, self.process.args))
        return "\n".join([f"  process {self.process.pid} {state}: {command}",
                          *last_lines(self.output)])


STARTED = []
LINES_SHOWN = 8


def last_lines(path):
    lines = path.read_text(errors="replace").splitlines()[-LINES_SHOWN:]
    return [f"    {line}" for line in lines or ["(no output)"]]


def other_shown(pid, known):
    """A child process that start() did not start, with its last lines if its stderr is a file that
    is not among the `known` ones; adds it to them."""
    lines = [f"  process {pid} still runs: {b' '.join(command_of(pid)).decode(errors='replace')}"]
    with contextlib.suppress(OSError):
        path = pathlib.Path(f"/proc/{pid}/fd/2")
        file = path.stat().st_dev, path.stat().st_ino
        if path.is_file() and file not in known:
            lines += last_lines(path)
        known.add(file)
    return "\n".join(lines)


def start(command, folder, output="output", stdout=None, stdin=subprocess.DEVNULL, **variables):
    """Starts a process in a folder, with clean_environment(**variables). Its output goes to the
    file `output` in the folder (only its stderr if `stdout` is given); a measurement that fails
    shows its last lines. The folder's Scratch ends the process."""
    path = pathlib.Path(folder) / output
    with open(path, "ab") as file, DEADLINE.held():
        process = subprocess.Popen(list(map(str, command)), cwd=folder, stdin=stdin, text=True,
                                   stdout=file if stdout is None else stdout, stderr=file,
                                   env=clean_environment(**variables))
        STARTED.append(Started(process, pathlib.Path(folder), path))
    return process


def processes_shown():
    """The running processes of the measurement and the newest one, with their last lines."""
    pids = {one.process.pid for one in STARTED}
    shown = [one for one in STARTED if one.process.poll() is None or one is STARTED[-1]]
    others = [pid for pid in children_of(os.getpid()) if pid not in pids]
    own = os.stat("/proc/self/fd/2")
    known = {(own.st_dev, own.st_ino)}
    return "\n".join([*(one.shown() for one in shown),
                      *(other_shown(pid, known) for pid in others)])


def below(pid):
    """A process and its descendants, parents first."""
    found = [pid]
    for parent in found:
        found += children_of(parent)
    return found


def kill_tree(process):
    """SIGKILL of a child process and its descendants, the youngest first."""
    for pid in reversed(below(process.pid) if process.poll() is None else []):
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)
    process.wait()


def patience(seconds):
    """How long to wait for the end of a process: less once the time of --quick is over."""
    return max(0.5, min(seconds, DEADLINE.at + END_S / 2 - time.monotonic()))


def end_tree(process, seconds=30):
    """Ends a child process: SIGTERM; SIGKILL, to its descendants too, after `seconds` or soon after
    the deadline of --quick. Returns its exit code."""
    if process.poll() is None:
        process.terminate()
    try:
        return process.wait(patience(seconds))
    except subprocess.TimeoutExpired:
        kill_tree(process)
        return process.returncode


class Scratch:
    """A folder for one measurement; at its end its processes are ended and it is removed. An
    error that ends the measurement shows them."""

    def __enter__(self):
        self.path = pathlib.Path(tempfile.mkdtemp(prefix="robustrun-bench-"))
        return self.path

    def __exit__(self, _, error, __):
        with DEADLINE.held():
            if isinstance(error, FAILURES):
                error.add_note(processes_shown())
            for one in [one for one in STARTED if one.folder.is_relative_to(self.path)]:
                end_tree(one.process)
                STARTED.remove(one)
            subprocess.run(["rm", "-rf", self.path], stderr=subprocess.DEVNULL)


# What ends a measurement besides sys.exit().
FAILURES = (subprocess.SubprocessError, OSError, AssertionError)


def timed(command, folder, stdout=None, **variables):
    """Wall seconds of a command that must succeed."""
    began = time.monotonic()
    process = start(command, folder, stdout=stdout, **variables)
    code = process.wait()
    seconds = time.monotonic() - began
    if code != 0:
        sys.exit(f"a command failed\n{processes_shown()}")
    return seconds


def call(command, cwd=None, env=None, *, check=False, seconds=None):
    """Runs a command; returns what subprocess.run() does, with its output as text. A measurement
    that fails meanwhile shows its last lines, as one does that fails because of it: with `check`
    or after `seconds`."""
    with tempfile.TemporaryDirectory(prefix="robustrun-bench-") as place:
        folder = pathlib.Path(place)
        out, err = folder / "out", folder / "err"
        with open(out, "wb") as to_out, open(err, "wb") as to_err, DEADLINE.held():
            process = subprocess.Popen(list(map(str, command)), cwd=cwd, env=env, stdout=to_out,
                                       stderr=to_err, stdin=subprocess.DEVNULL)
            STARTED.append(Started(process, folder, err))
        try:
            try:
                code = process.wait(seconds)
            except subprocess.TimeoutExpired:
                sys.exit(f"a command was not over after {seconds} s\n{processes_shown()}")
            if check and code != 0:
                sys.exit(f"a command failed\n{processes_shown()}")
            return subprocess.CompletedProcess(process.args, process.returncode, out.read_text(),
                                               err.read_text())
        finally:
            end_tree(process)
            STARTED[:] = [one for one in STARTED if one.process is not process]


def empty_memory():
    """Drops all files from the page cache. Takes root."""
    subprocess.run(["sync"], check=True)
    pathlib.Path("/proc/sys/vm/drop_caches").write_text("3\n")


def within(condition, seconds, spare_s=PEER_END_S, least_s=0):
    """The condition's first true value; Absent after `seconds`, or `spare_s` before the deadline of
    --quick. If that leaves less than `least_s`, the time of --quick is over."""
    began = time.monotonic()
    end = min(began + seconds, DEADLINE.at - spare_s)
    if least_s and DEADLINE.at - spare_s < began + least_s:
        raise OutOfTime(f"no {least_s} s are left to wait\n{processes_shown()}")
    while True:
        asked = time.monotonic()
        if value := condition():
            return value
        now = time.monotonic()
        if now >= end:
            return Absent(now - began)
        time.sleep(max(0.002, 4 * (now - asked)))  # so that asking takes no processor from the job


def wait_for(condition, what, seconds=60):
    """The condition's first true value. After `seconds`, or at the deadline of --quick, the
    measurement ends with an error that shows its processes and their last lines."""
    value = within(condition, seconds, spare_s=0.1)
    if value:
        return value
    if value.seconds >= seconds:
        sys.exit(f"waited {value.seconds:.0f} s for {what}\n{processes_shown()}")
    signal.setitimer(signal.ITIMER_REAL, 0)
    raise OutOfTime(f"waited {value.seconds:.0f} s for {what}\n{processes_shown()}")


def next_line(process, what, seconds=600):
    """The next line of a process's stdout; the measurement ends if it has no more."""
    wait_for(lambda: select.select([process.stdout], [], [], 0)[0], what, seconds)
    line = process.stdout.readline()
    if not line:
        process.wait()
        sys.exit(f"a process ended before {what}\n{processes_shown()}")
    return line


def show(figures):
    rows = [["figure", "robustrun", "peer", "ratio (range)", "target", ""]]
    rows += [figure.row() for figure in figures]
    widths = [max(len(row[i]) for row in rows) for i in range(len(rows[0]))]
    for row in rows:
        cells = [cell.ljust(width) for cell, width in zip(row, widths, strict=True)]
        print("  " + "  ".join(cells).rstrip())
    print(flush=True)


def save(name, figures, quick, load):
    """Writes bench/results/NAME.json; `load` is the Load before the measurement."""
    folder = ROOT / "bench" / "results"
    folder.mkdir(exist_ok=True)
    content = {"bench": name, "quick": quick, "cpus": os.cpu_count(),
               "load_before": round(load.average, 2),
               "processors_used_before": round(load.used, 2),
               "figures": [dataclasses.asdict(figure) for figure in figures]}
    (folder / f"{name}.json").write_text(json.dumps(content, indent=1) + "\n")
