"""Saving and restoring random tensors over one directory of a disk: until durable, until verified.

In pairs, one right after the other: fio on the same directory (the limit; its mode is chosen in a
pilot), torch.save with fsync and torch.load, torch's FileSystemWriter (DCP). The page cache is
dropped before each restore. A ratio is met when the 95 % interval of its median reaches the target.
"""

import json
import statistics
import subprocess
import sys

import harness

JOB = harness.ROOT / "bench" / "checkpoint_job.py"
SHAPES = {"64 x 16 MiB": (64, 16 << 20), "1 x 1 GiB": (1, 1 << 30),
          "20,000 x 32 KiB": (20_000, 32 << 10)}
FIO_MODES = [("psync", 1, 1), ("psync", 1, 2), ("psync", 1, 4), ("io_uring", 8, 1),
             ("libaio", 8, 1)]
# Ranks (from 1) of the sorted ratios that bound the median with at least 95 % (binomial).
MEDIAN_RANKS = {10: (2, 9), 20: (6, 15)}
EXTRA_MIB_MAX = 48  # of the arena: 16 for writing, 32 for reading, and the header of the file


class Tensors:
    """checkpoint_job.py with tensors of one shape."""

    def __init__(self, folder, count, size):
        self.folder = folder
        self.bytes = count * size
        folder.mkdir()
        self.process = subprocess.Popen(
            [harness.PYTHON, JOB, folder, str(count), str(size)], stdin=subprocess.PIPE,
            stdout=subprocess.PIPE, text=True, env=harness.clean_environment(
                ROBUSTRUN_LIBRARY=harness.BIN.parent / "share" / "robustrun" / "librobustrun.so"))
        self.answer()
        self.readings = []

    def answer(self):
        line = self.process.stdout.readline()
        if not line:
            sys.exit(f"{JOB.name} ended with {self.process.wait()}")
        return json.loads(line)

    def do(self, command):
        """GB/s."""
        print(command, file=self.process.stdin, flush=True)
        reading = self.answer()
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
        folder.mkdir()
        self.mode = {}

    def run(self, direction, mode):
        engine, depth, jobs = mode
        if direction == "write":
            self.clear()
        finished = subprocess.run(
            ["fio", "--name=limit", f"--directory={self.folder}", f"--size={self.size // jobs}",
             f"--numjobs={jobs}", "--bs=8m", f"--rw={direction}", "--direct=1", "--end_fsync=1",
             f"--ioengine={engine}", f"--iodepth={depth}", "--output-format=json", "--thread"],
            stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
        if finished.returncode != 0:
            return 0.0
        jobs_said = json.loads(finished.stdout)["jobs"]
        return self.size / max(job["job_runtime"] for job in jobs_said) / 1e6

    def clear(self):
        for path in self.folder.iterdir():
            path.unlink()

    def pilot(self, rounds):
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
        """Files to read that were written, one for each job."""
        self.run("write", ("psync", 1, mode[2]))

    def write(self):
        return self.run("write", self.mode["write"])

    def read(self):
        if not any(self.folder.iterdir()):
            self.lay_out(self.mode["read"])
        return self.run("read", self.mode["read"])


def median_interval(ours, peer):
    ratios = sorted(a / b for a, b in zip(ours, peer, strict=True))
    low, high = MEDIAN_RANKS[len(ratios)]
    return ratios[low - 1], ratios[high - 1]


def ratio(name, ours, peer, target, note=""):
    low, high = median_interval(ours, peer)
    text = f"95 % interval {low:.2f} to {high:.2f}" + (f"; {note}" if note else "")
    return harness.Figure(name, "GB/s", ours, peer, f">= {target}x", high >= target, text)


def limits(shape, tensors, fio, rounds, figures):
    small = shape.startswith("20,000")
    ours, limit = harness.in_turns(rounds, lambda: tensors.do("save-ours"), fio.write)
    again = harness.in_turns(rounds, fio.write, fio.write)
    itself = "fio against itself {:.2f} to {:.2f}".format(*median_interval(*again))
    figures.append(ratio(f"{shape}: save, fio", ours, limit, 0.7 if small else 0.9, itself))
    fio.lay_out(fio.mode["read"])
    tensors.do("save-ours")
    ours, limit = harness.in_turns(rounds, lambda: tensors.do("load-ours"), fio.read)
    figures.append(ratio(f"{shape}: verified restore, fio", ours, limit, 0.7 if small else 0.9))
    fio.clear()


def peers(shape, tensors, rounds, figures):
    small = shape.startswith("20,000")
    ours, dcp = harness.in_turns(rounds, lambda: tensors.do("save-ours"),
                                 lambda: tensors.do("save-dcp"))
    figures.append(ratio(f"{shape}: save, DCP", ours, dcp, 5 if small else 2.5))
    ours, plain = harness.in_turns(rounds, lambda: tensors.do("save-ours"),
                                   lambda: tensors.do("save-torch"))
    figures.append(ratio(f"{shape}: save, torch.save", ours, plain, 2.5))

    def load(who):
        return lambda: tensors.do(f"load-{who}")

    # Both lie there: a save of one kind removes all others.
    tensors.do("save-ours")
    tensors.do("keep-torch")
    ours, plain = harness.in_turns(rounds, load("ours"), load("torch"))
    figures.append(ratio(f"{shape}: restore, torch.load", ours, plain, 1.5))


def parity(shape, tensors, fio, rounds, figures):
    """As over ten disks of which two may be lost: here all are folders of one, which takes 1.25
    bytes for each of data. The limit is fio's, of data alone."""
    tensors.do("save-parity")
    ours, limit = harness.in_turns(rounds, lambda: tensors.do("save-parity"), fio.write)
    figures.append(ratio(f"{shape}: save with parity 8 + 2, fio without", ours, limit, 0.72,
                         "ten folders of one disk"))
    fio.clear()


def costs(shape, tensors, figures):
    gigabytes = tensors.bytes / 1e9
    for kind in ("save", "load"):
        cpu = [seconds / gigabytes for seconds in tensors.of(f"{kind}-ours", "cpu")]
        figures.append(harness.Figure(f"{shape}: CPU of a {kind}", "s/GB", cpu, [], "<= 0.4",
                                      statistics.median(cpu) <= 0.4))
        extra = tensors.of(f"{kind}-ours", "extra_mib")
        figures.append(harness.Figure(f"{shape}: peak extra memory of a {kind}", "MiB", extra, [],
                                      f"<= {EXTRA_MIB_MAX}", max(extra) <= EXTRA_MIB_MAX))


def measure(quick):
    rounds = 10 if quick else 20
    figures = []
    with harness.Scratch() as scratch:
        fio = Fio(scratch / "fio", 1 << 30)
        fio.pilot(3 if quick else 5)
        for number, (shape, (count, size)) in enumerate(SHAPES.items()):
            tensors = Tensors(scratch / f"tensors-{number}", count, size)
            for command in ("save-ours", "load-ours"):  # the first touches memory
                tensors.do(command)
            tensors.readings.clear()
            limits(shape, tensors, fio, rounds, figures)
            costs(shape, tensors, figures)
            if number == 0:
                parity(shape, tensors, fio, rounds, figures)
            peers(shape, tensors, rounds, figures)
            tensors.close()
    return figures
