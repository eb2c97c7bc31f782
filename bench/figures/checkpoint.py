"""Saving and restoring random tensors over one directory of a disk: until durable, until verified.

Adjacent pairs, with fio on the same directory (the limit; a pilot chooses its mode), torch.save
with fsync and torch.load, and torch's FileSystemWriter (DCP). The page cache is dropped before each
restore. A ratio is met when the 95 % interval of its median reaches the target; fewer than six
pairs have no such interval, and their range stands in.
"""

import json
import math
import statistics
import subprocess

import harness
from sshd import tool

JOB = harness.ROOT / "bench" / "checkpoint_job.py"
SHAPES = {"64 x 16 MiB": (64, 16 << 20), "1 x 1 GiB": (1, 1 << 30),
          "20,000 x 32 KiB": (20_000, 32 << 10)}
QUICK_BYTES = 256 << 20
QUICK_SHAPES = {"16 x 16 MiB": (16, 16 << 20)}
MEDIAN_PAIRS_MIN = 6  # for a 95 % interval of the median
FIO_MODES = [("psync", 1, 1), ("psync", 1, 2), ("psync", 1, 4), ("io_uring", 8, 1),
             ("libaio", 8, 1)]
EXTRA_MIB_MAX = 48  # of the arena: 16 for writing, 32 for reading, and the header of the file
ROUNDS, PILOT_ROUNDS = 20, 5
QUICK = harness.Quick(35, "2 pairs of 256 MiB in one shape instead of 20 of 1 GiB in three; fio's "
                      "first mode, without a pilot; no parity", rounds=2)


class Tensors:
    """checkpoint_job.py with tensors of one shape."""

    def __init__(self, folder, count, size):
        self.folder = folder
        self.bytes = count * size
        folder.mkdir()
        self.process = harness.start(
            [harness.PYTHON, JOB, folder, count, size], folder.parent, stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            ROBUSTRUN_LIBRARY=harness.BIN.parent / "share" / "robustrun" / "librobustrun.so")
        self.answer("the start of the job")
        self.readings = []

    def answer(self, what):
        return json.loads(harness.next_line(self.process, what))

    def do(self, command):
        """The GB/s of a command of checkpoint_job.py."""
        print(command, file=self.process.stdin, flush=True)
        reading = self.answer(command)
        self.readings.append((command, reading))
        return self.bytes / reading["seconds"] / 1e9

    def of(self, command, field):
        return [reading[field] for name, reading in self.readings if name == command]

    def close(self):
        self.process.stdin.close()
        self.process.wait()


class Fio:
    def __init__(self, folder, size):
        self.folder = folder
        self.size = size
        self.program = tool("fio")
        folder.mkdir()
        self.mode = {}

    def run(self, direction, mode):
        engine, depth, jobs = mode
        if direction == "write":
            self.clear()
        finished = harness.call(
            [self.program, "--name=limit", f"--directory={self.folder}",
             f"--size={self.size // jobs}", f"--numjobs={jobs}", "--bs=8m", f"--rw={direction}",
             "--direct=1", "--end_fsync=1",
             f"--ioengine={engine}", f"--iodepth={depth}", "--output-format=json", "--thread"])
        if finished.returncode != 0:
            return 0.0
        jobs_done = json.loads(finished.stdout)["jobs"]
        return self.size / max(job["job_runtime"] for job in jobs_done) / 1e6

    def clear(self):
        for path in self.folder.iterdir():
            path.unlink()

    def pilot(self, rounds):
        """Chooses the fastest mode for each direction; the first one if there are no rounds."""
        if not rounds:
            self.mode = {"write": FIO_MODES[0], "read": FIO_MODES[0]}
            self.lay_out(self.mode["read"])
            return
        for direction in ("write", "read"):
            speeds = {}
            for _ in range(rounds):
                for mode in FIO_MODES:
                    if direction == "read":
                        self.lay_out(mode)
                    speeds.setdefault(mode, []).append(self.run(direction, mode))
            self.mode[direction] = max(speeds, key=lambda mode: statistics.median(speeds[mode]))
            print(f"  fio's best for {direction}: engine, depth and jobs {self.mode[direction]}, "
                  + ", ".join(f"{statistics.median(s):.2f}" for s in speeds.values()) + " GB/s",
                  flush=True)
        self.lay_out(self.mode["read"])

    def lay_out(self, mode):
        """Writes the files that will be read, one for each job."""
        self.run("write", ("psync", 1, mode[2]))

    def write(self):
        return self.run("write", self.mode["write"])

    def read(self):
        if not any(self.folder.iterdir()):
            self.lay_out(self.mode["read"])
        return self.run("read", self.mode["read"])


def median_interval(ours, peer):
    """The bounds of the median ratio with at least 95 % (order statistics, binomial)."""
    ratios = sorted(a / b for a, b in zip(ours, peer, strict=True))
    count, beyond, tail = len(ratios), 0, 0.0
    while (tail := tail + math.comb(count, beyond) / 2**count) <= 0.025:
        beyond += 1
    low = max(0, beyond - 1)
    return ratios[low], ratios[count - 1 - low]


def ratio(name, ours, peer, target, note=""):
    low, high = median_interval(ours, peer)
    bounds = "95 % interval" if len(ours) >= MEDIAN_PAIRS_MIN else "range"
    text = f"{bounds} {low:.2f} to {high:.2f}" + (f"; {note}" if note else "")
    return harness.Figure(name, "GB/s", ours, peer, f">= {target}x", high >= target, text)


def limits(shape, tensors, fio, rounds, quick):
    small = shape.startswith("20,000")
    ours, limit = harness.in_turns(rounds, lambda: tensors.do("save-ours"), fio.write)
    itself = ""
    if not quick:
        again = harness.in_turns(rounds, fio.write, fio.write)
        itself = "fio against itself {:.2f} to {:.2f}".format(*median_interval(*again))
    yield ratio(f"{shape}: save, fio", ours, limit, 0.7 if small else 0.9, itself)
    fio.lay_out(fio.mode["read"])
    tensors.do("save-ours")
    ours, limit = harness.in_turns(rounds, lambda: tensors.do("load-ours"), fio.read)
    yield ratio(f"{shape}: verified restore, fio", ours, limit, 0.7 if small else 0.9)
    fio.clear()


def peers(shape, tensors, rounds):
    small = shape.startswith("20,000")
    ours, dcp = harness.in_turns(rounds, lambda: tensors.do("save-ours"),
                                 lambda: tensors.do("save-dcp"))
    yield ratio(f"{shape}: save, DCP", ours, dcp, 5 if small else 2.5)
    ours, plain = harness.in_turns(rounds, lambda: tensors.do("save-ours"),
                                   lambda: tensors.do("save-torch"))
    yield ratio(f"{shape}: save, torch.save", ours, plain, 2.5)

    def load(kind):
        return lambda: tensors.do(f"load-{kind}")

    # keep-torch leaves ours in place; any other save removes the files of all kinds.
    tensors.do("save-ours")
    tensors.do("keep-torch")
    ours, plain = harness.in_turns(rounds, load("ours"), load("torch"))
    yield ratio(f"{shape}: restore, torch.load", ours, plain, 1.5)


def parity(shape, tensors, fio, rounds):
    """Ten folders of one disk stand for ten disks of which two may be lost; it writes 1.25 bytes
    for each byte of data. The limit is fio writing the data alone."""
    tensors.do("save-parity")
    ours, limit = harness.in_turns(rounds, lambda: tensors.do("save-parity"), fio.write)
    yield ratio(f"{shape}: save with parity 8 + 2, fio without", ours, limit, 0.72,
                "ten folders of one disk")
    fio.clear()


def costs(shape, tensors):
    gigabytes = tensors.bytes / 1e9
    for kind in ("save", "load"):
        cpu = [seconds / gigabytes for seconds in tensors.of(f"{kind}-ours", "cpu")]
        yield harness.Figure(f"{shape}: CPU of a {kind}", "s/GB", cpu, [], "<= 0.4",
                             statistics.median(cpu) <= 0.4)
        extra = tensors.of(f"{kind}-ours", "extra_mib")
        yield harness.Figure(f"{shape}: peak extra memory of a {kind}", "MiB", extra, [],
                             f"<= {EXTRA_MIB_MAX}", max(extra) <= EXTRA_MIB_MAX)


def measure(quick):
    rounds = QUICK.rounds if quick else ROUNDS
    with harness.Scratch() as scratch:
        fio = Fio(scratch / "fio", QUICK_BYTES if quick else 1 << 30)
        fio.pilot(0 if quick else PILOT_ROUNDS)
        shapes = QUICK_SHAPES if quick else SHAPES
        for number, (shape, (count, size)) in enumerate(shapes.items()):
            tensors = Tensors(scratch / f"tensors-{number}", count, size)
            for command in ("save-ours", "load-ours"):  # the first touches memory
                tensors.do(command)
            tensors.readings.clear()
            yield from limits(shape, tensors, fio, rounds, quick)
            yield from costs(shape, tensors)
            if number == 0 and not quick:
                yield from parity(shape, tensors, fio, rounds)
            yield from peers(shape, tensors, rounds)
            tensors.close()
