"""What all measurements share: where the programs are, taking turns, the table and the JSON."""

import dataclasses
import json
import os
import pathlib
import shutil
import statistics
import subprocess
import sys
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parents[1]
BIN = pathlib.Path(os.environ.get("ROBUSTRUN_BUILD_DIR", ROOT / "build")) / "bin"
ROBUSTRUN = BIN / "robustrun"
VENV_PYTHON = ROOT / ".venv" / "bin" / "python"
PYTHON = str(VENV_PYTHON if VENV_PYTHON.exists() else sys.executable)
TORCHRUN = [PYTHON, "-m", "torch.distributed.run"]
FOREIGN = ("PET_", "TORCHELASTIC_", "ROBUSTRUN_", "OMP_NUM_THREADS", "MASTER_", "LOGLEVEL")


@dataclasses.dataclass
class Figure:
    """One claim: readings of ours and of the peer, and what was asked for."""

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
    """Readings of each, one after the other, so that a noisy minute hits all."""
    readings = tuple([] for _ in measures)
    for number in range(rounds):
        for turn in range(len(measures)):
            which = (number + turn) % len(measures)
            readings[which].append(measures[which]())
    return readings


def clean_environment(**extra):
    environment = {k: v for k, v in os.environ.items() if not k.startswith(FOREIGN)}
    environment["PYTHON_EXEC"] = PYTHON
    environment["ROBUSTRUN_NODE_HISTORY"] = "off"  # faults here are no news of this machine
    environment.update({k: str(v) for k, v in extra.items()})
    return environment


class Scratch:
    """A folder for one measurement, gone afterwards."""

    def __enter__(self):
        self.path = pathlib.Path(tempfile.mkdtemp(prefix="robustrun-bench-"))
        return self.path

    def __exit__(self, *_):
        shutil.rmtree(self.path, ignore_errors=True)


def timed(command, folder, stdout=subprocess.DEVNULL, **env):
    """Wall seconds of a command that must succeed."""
    start = time.monotonic()
    finished = subprocess.run(command, cwd=folder, env=clean_environment(**env), stdout=stdout,
                              stderr=subprocess.PIPE, stdin=subprocess.DEVNULL)
    seconds = time.monotonic() - start
    if finished.returncode != 0:
        errors = finished.stderr.decode(errors="replace")
        sys.exit(f"{command} failed with {finished.returncode}:\n{errors}")
    return seconds


def empty_memory():
    """Of all files. Takes root."""
    subprocess.run(["sync"], check=True)
    pathlib.Path("/proc/sys/vm/drop_caches").write_text("3\n")


def wait_for(condition, seconds=60):
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        value = condition()
        if value:
            return value
        time.sleep(0.002)
    sys.exit("a measurement did not come to its end in time")


def show(figures):
    rows = [["figure", "robustrun", "peer", "ratio (range)", "asked for", ""]]
    rows += [figure.row() for figure in figures]
    widths = [max(len(row[i]) for row in rows) for i in range(len(rows[0]))]
    for row in rows:
        cells = [cell.ljust(width) for cell, width in zip(row, widths, strict=True)]
        print("  " + "  ".join(cells).rstrip())
    print(flush=True)


def save(name, figures, quick, load):
    """`load`: of the machine, before."""
    folder = ROOT / "bench" / "results"
    folder.mkdir(exist_ok=True)
    content = {"bench": name, "quick": quick, "cpus": os.cpu_count(),
               "load_before": round(load, 2),
               "figures": [dataclasses.asdict(figure) for figure in figures]}
    (folder / f"{name}.json").write_text(json.dumps(content, indent=1) + "\n")
