"""From `pip install` of the wheel to the first line of a worker; the wheel's size; quick commands.

Ours: `pip install --no-index` of dist/'s wheel into a fresh environment that sees the torch
of .venv, then a run of two workers until one prints. Torch is there in all cases, so torchrun has
nothing to install: its time is the start alone. ft_launcher is installed from files that were
downloaded before. Quick commands are those of the installed wheel.
"""

import os
import subprocess
import time

from ft_peer import PACKAGES
from harness import (
    PYTHON,
    ROOT,
    Figure,
    Quick,
    Scratch,
    in_turns,
    median_ratio,
    processes_shown,
    start,
    timed,
    wait_for,
)

SECONDS_MAX = 60
WHEEL_MIB_MAX = 15
COMMANDS = {"--version": 15, "--help": 20, "completion bash": 50}  # ms at most
SCRIPT = "print('first line', flush=True)\n"
ROUNDS, COMMAND_ROUNDS, QUICK_COMMAND_ROUNDS = 5, 20, 7
QUICK = Quick(20, "1 install instead of 5, 7 starts of each command instead of 20; no ft_launcher")


def the_wheel():
    # dist/ may have that of another processor, too.
    wheels = list((ROOT / "dist").glob(f"robustrun-*_{os.uname().machine}.whl"))
    if len(wheels) != 1:
        raise SystemExit("no wheel in dist/: make wheel")
    return wheels[0]


def fresh_environment(folder):
    """A virtual environment in which the packages of .venv are found; gives its Python."""
    venv = folder / "venv"
    subprocess.run([PYTHON, "-m", "venv", venv], check=True)
    site = subprocess.run([PYTHON, "-c", "import sysconfig; print(sysconfig.get_path('purelib'))"],
                          check=True, capture_output=True, text=True).stdout
    (target,) = venv.glob("lib/python3*/site-packages")
    (target / "torch.pth").write_text(site)
    return venv / "bin" / "python"


def pip_install(python, folder, *words):
    return timed([python, "-m", "pip", "--disable-pip-version-check", "install", "--quiet",
                  "--no-index", *words], folder)


def first_line_s(command, folder, **variables):
    """Seconds from the command's start until a worker's first line."""
    (folder / "script.py").write_text(SCRIPT)
    began = time.monotonic()
    process = start([*command, "--nproc-per-node", 2, "script.py"], folder, **variables)
    wait_for(lambda: "first line" in (folder / "output").read_text(errors="replace"), "a line")
    seconds = time.monotonic() - began
    if process.wait(60) != 0:
        raise SystemExit(f"a run failed\n{processes_shown()}")
    return seconds


def ours_s():
    with Scratch() as folder:
        python = fresh_environment(folder)
        installed = pip_install(python, folder, the_wheel())
        return installed, first_line_s([python.parent / "robustrun"], folder, PYTHON_EXEC=python)


def torchrun_s():
    with Scratch() as folder:
        python = fresh_environment(folder)
        return first_line_s([python, "-m", "torch.distributed.run"], folder)


class FtLauncher:
    """nvidia-resiliency-ext, from files; `missing` is why it cannot be compared."""

    def __init__(self, folder):
        self.folder = folder / "wheels"
        done = subprocess.run([PYTHON, "-m", "pip", "download", "--quiet", "--no-deps", "--dest",
                               self.folder, *PACKAGES], capture_output=True, text=True, timeout=180)
        self.missing = "" if done.returncode == 0 else "pip cannot download it"
        if not self.missing:
            try:
                self.seconds()
            except SystemExit:
                self.missing = "it does not run here"

    def seconds(self):
        with Scratch() as folder:
            python = fresh_environment(folder)
            installed = pip_install(python, folder, "--no-deps", *self.folder.iterdir())
            return installed + first_line_s(
                [python, "-m", "nvidia_resiliency_ext.fault_tolerance.launcher",
                 "--ignore-missing-fault-tol-cfg"], folder)


def compared(quick):
    """The figures of installing and starting."""
    rounds = QUICK.rounds if quick else ROUNDS
    with Scratch() as folder:
        peer = None if quick else FtLauncher(folder)
        has_peer = peer is not None and not peer.missing
        ours, torchrun, *rest = in_turns(rounds, ours_s, torchrun_s,
                                         *([peer.seconds] if has_peer else []))
    whole = [installed + started for installed, started in ours]
    started = [started for _, started in ours]
    worst = max(whole)
    figures = [
        Figure("pip install until the first line", "s", whole, torchrun, f"below {SECONDS_MAX} s",
               worst < SECONDS_MAX, "torchrun is installed already"),
        Figure("start until the first line", "s", started, torchrun, "never slower",
               median_ratio(started, torchrun) <= 1),
    ]
    if has_peer:
        figures.append(Figure("pip install until the first line, ft_launcher", "s", whole, rest[0],
                              "never slower", median_ratio(whole, rest[0]) <= 1))
    else:
        figures[0].note += "; ft_launcher is not compared: " + (
            peer.missing if peer else "left out by --quick")
    return figures


def commands(rounds):
    """Milliseconds of the commands that shells and people call often."""
    figures = []
    with Scratch() as folder:
        python = fresh_environment(folder)
        pip_install(python, folder, the_wheel())
        for words, limit in COMMANDS.items():
            command = [python.parent / "robustrun", *words.split()]
            (ours,) = in_turns(rounds, lambda command=command: timed(command, folder) * 1e3)
            figures.append(Figure(f"robustrun {words}", "ms", ours, [], f"at most {limit} ms",
                                  sorted(ours)[len(ours) // 2] <= limit))
    return figures


def measure(quick):
    mib = the_wheel().stat().st_size / (1 << 20)
    return [
        *compared(quick),
        Figure("the wheel", "MiB", [mib], [], f"below {WHEEL_MIB_MAX} MiB", mib < WHEEL_MIB_MAX),
        *commands(QUICK_COMMAND_ROUNDS if quick else COMMAND_ROUNDS),
    ]
