"""What the checks of the drill share: the machine, NCCL, jobs under robustrun, their reports."""

import contextlib
import functools
import glob
import importlib.util
import json
import os
import pathlib
import re
import subprocess
import sys
import time

import harness

from drill.frame import Skip, Wrong

FOLDER = pathlib.Path(__file__).resolve().parent
TRAIN, COLLECTIVES = FOLDER / "train.py", FOLDER / "collectives.py"
MULTI_RANK_NCCL = 23100  # NCCL 2.31 takes several ranks on one GPU
SHARE = harness.BIN.parent / "share" / "robustrun"
PLUGIN = SHARE / "librobustrun_tracer.so"
CUDA_LIBRARIES = "/usr/local/cuda/lib64"
PLAYER = harness.HELPERS / "nccl_player"
RECORDER = PLAYER.with_name("libnccl-profiler-recorder.so")


def output_of(*command, seconds=30, env=None):
    """The standard output of a command, or None if it fails, hangs or does not exist."""
    try:
        done = subprocess.run(list(map(str, command)), capture_output=True, text=True,
                              errors="replace", timeout=seconds, env=env)
    except (OSError, subprocess.TimeoutExpired):
        return None
    return done.stdout if done.returncode == 0 else None


def version_words(number):
    """"2.31.2" for NCCL's 23102."""
    return f"{number // 10_000}.{number // 100 % 100}.{number % 100}"


def count_gpus():
    """The GPUs that nvidia-smi shows."""
    return len(re.findall(r"^GPU \d+:", output_of("nvidia-smi", "-L") or "", re.M))


class Drill:
    """What a check gets: where its findings go, and what the command line asked for."""

    def __init__(self, finding, cpu=False, nccl=None):
        self.finding, self.cpu = finding, cpu
        self.given_nccl = nccl.resolve() if nccl else None
        self.claim, self.figure, self.record = finding.claim, finding.figure, finding.record

    def need_gpu(self):
        if self.cpu:
            raise Skip("there is nothing to play without a GPU")
        if self.gpus == 0:
            raise Skip("nvidia-smi shows no GPU")

    def need_nccl(self):
        self.need_gpu()
        if self.nccl is None:
            raise Skip("there is no libnccl.so.2 beside torch or in /usr/lib: give one with --nccl")

    @functools.cached_property
    def gpus(self):
        return count_gpus()

    @functools.cached_property
    def packages(self):
        """The folder of the interpreter's packages from NVIDIA, or None."""
        torch = importlib.util.find_spec("torch")
        if torch is None or not torch.origin:
            return None
        found = pathlib.Path(torch.origin).parents[1] / "nvidia"
        return found if found.is_dir() else None

    @functools.cached_property
    def nccl(self):
        """The libnccl.so.2 that the jobs use, or None."""
        if self.given_nccl:
            return self.given_nccl
        own = sorted(self.packages.glob("*/lib/libnccl.so.2")) if self.packages else []
        system = sorted(map(pathlib.Path, glob.glob("/usr/lib/*/libnccl.so.2")))
        return (own + system + [None])[0]

    @functools.cached_property
    def nccl_version(self):
        if self.nccl is None:
            return 0
        said = output_of(sys.executable, "-c", "import ctypes, sys\nv = ctypes.c_int()\n"
                         "ctypes.CDLL(sys.argv[1]).ncclGetVersion(ctypes.byref(v))\n"
                         "print(v.value)", self.nccl, env=self.library_environment())
        return int(said) if said else 0

    @functools.cached_property
    def profiler_versions(self):
        """The versions of the profiler's interface that the library looks for."""
        if self.nccl is None:
            return []
        with open(self.nccl, "rb") as file:
            found = set(re.findall(rb"ncclProfiler_v(\d+)\0", file.read()))
        return sorted(map(int, found))

    def library_environment(self):
        """For programs that need CUDA's libraries without importing torch."""
        folders = [str(each) for each in sorted(self.packages.glob("*/lib"))] if self.packages \
            else []
        given = os.environ.get("LD_LIBRARY_PATH", "")
        return {**os.environ, "LD_LIBRARY_PATH": ":".join(
            filter(None, [*folders, CUDA_LIBRARIES, given]))}

    def need_ranks(self, count):
        """Skips the check unless NCCL joins `count` ranks here."""
        if self.cpu:
            return
        self.need_nccl()
        if self.gpus < count and self.nccl_version < MULTI_RANK_NCCL:
            raise Skip(f"NCCL {version_words(self.nccl_version)} refuses {count} ranks on "
                       f"{self.gpus} GPU: give a libnccl.so.2 of 2.31 or newer with --nccl")

    def variables(self):
        """The environment of jobs."""
        if self.cpu:
            return {"RR_DRILL_DEVICE": "cpu"}
        found = {"RR_DRILL_DEVICE": "cuda", "NCCL_MULTI_RANK_GPU_ENABLE": "1",
                 "RR_DRILL_NCCL": str(self.nccl or "")}
        if self.given_nccl:
            found["LD_LIBRARY_PATH"] = ":".join(filter(None, [
                str(self.given_nccl.parent), os.environ.get("LD_LIBRARY_PATH", "")]))
        return found


class Job:
    """A job under robustrun in a folder of its own."""

    def __init__(self, drill, folder, *words, peer=False, **variables):
        self.drill, self.folder = drill, folder
        self.run_dir = folder / "run"
        variables = {**drill.variables(), "RR_BENCH_MARKER": folder.name, **variables}
        command = [*harness.TORCHRUN] if peer else [harness.ROBUSTRUN, "--run-dir", self.run_dir]
        self.began = time.monotonic()
        self.process = harness.start([*command, *words], folder, output="err",
                                     **variables)

    @property
    def errors(self):
        return (self.folder / "err").read_text(errors="replace")

    def ask(self, *words):
        said = output_of(harness.ROBUSTRUN, *words, seconds=60)
        return json.loads(said) if said else None

    def report(self):
        return self.ask("report", "--json", self.run_dir) or {}

    def ended(self, seconds):
        """The exit code; the check fails if the job is not over after `seconds`."""
        harness.wait_for(lambda: self.process.poll() is not None, "the end of the job", seconds)
        return self.process.returncode

    def note(self, name, seconds=60):
        """The words of a file that a worker leaves, as soon as it is there."""
        path = self.folder / name

        def ready():
            if path.exists():
                return True
            if self.process.poll() is not None:
                raise Wrong(f"the job ended with {self.process.returncode} before {name} was "
                            f"written: {last_lines(self.errors)}")
            return False

        harness.wait_for(ready, f"{name} of the job", seconds)
        return path.read_text().split()

    def says(self, pattern, seconds):
        """The moment and the match of the first line of robustrun that fits, or None."""
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            over = self.process.poll() is not None
            found = re.search(pattern, self.errors)
            if found or over:
                return (time.monotonic(), found) if found else None
            time.sleep(0.02)
        return None


def last_lines(text, count=4):
    return " | ".join(text.strip().splitlines()[-count:])[-1500:]


@contextlib.contextmanager
def job(drill, *words, peer=False, **variables):
    """A job that is ended, and its folder removed, at the end of the `with` block. Its console is
    kept in the logs."""
    with harness.Scratch() as folder:
        running = Job(drill, folder, *words, peer=peer, **variables)
        try:
            yield running
        finally:
            print(f"---- {' '.join(map(str, words))}\n{running.errors[-30_000:]}", flush=True)
            harness.end_tree(running.process)


def waiting_standbys(running):
    """Pids of a job's standby workers that have imported torch and wait for an order."""
    marker, found = running.folder.name.encode(), []
    for entry in pathlib.Path("/proc").iterdir():
        if not entry.name.isdigit():
            continue
        with contextlib.suppress(OSError):
            variables = (entry / "environ").read_bytes()
            if marker not in variables or b"ROBUSTRUN_STANDBY_SOCKET=" not in variables:
                continue
            waits = (entry / "wchan").read_text() == "unix_stream_read_generic" or \
                (entry / "syscall").read_text().startswith("45 ")
            if waits and "libtorch_cpu" in (entry / "maps").read_text():
                found.append(int(entry.name))
    return found
