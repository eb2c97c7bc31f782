"""A loader process is killed: how long the rank waits for a batch; and what lies in /dev/shm.

robustrun.data.DataLoader with 2 loader processes beside torch's. A process is killed in the middle
of a step of 50 or 500 ms; the figure is the longest wait for one of the next 6 batches. Then both
read batches of 2 MiB where /dev/shm has 1 MiB, and all processes are killed; this takes root.
"""

import json
import statistics
import subprocess

from harness import PYTHON, ROOT, Figure, Quick, Scratch, start

KILLS, QUICK_KILLS = 20, 5
BATCHES = 200
QUICK = Quick(50, "5 kills at each length of a step instead of 20")
PACKAGE = ROOT / "build" / "share" / "robustrun" / "python"
# Length of a step in seconds: at most so many for the median and the longest wait.
TARGETS = {0.05: (0.3, 1.0), 0.5: (0.001, 0.001)}
SMALL_SHM = """
mount -t tmpfs -o size=1m tmpfs /dev/shm || exit 1
"$@"
ls -A /dev/shm > left
"""


def waits(kind, folder, step_s, kills):
    """After each kill, in ms; None if the rank ended."""
    result = folder / f"{kind}.{step_s}"
    running = start([PYTHON, ROOT / "bench" / "loader_kill_job.py", kind, step_s, kills, result],
                    folder, PYTHONPATH=PACKAGE)
    if running.wait() != 0:
        return None
    return [1e3 * wait for wait in json.loads(result.read_text())]


def small_shm(kind, folder):
    """(right batches, files that are left)"""
    running = start(["unshare", "--mount", "--propagation=private", "/bin/sh", "-c", SMALL_SHM,
                     "sh", PYTHON, ROOT / "bench" / "small_shm_job.py", kind, BATCHES], folder,
                    stdout=subprocess.PIPE, PYTHONPATH=PACKAGE)
    shown, _ = running.communicate()
    if running.returncode != 0:
        raise SystemExit("a small /dev/shm cannot be mounted here\n"
                         + (folder / "output").read_text())
    return len(shown.splitlines()), len((folder / "left").read_text().splitlines())


def measure(quick):
    kills = QUICK_KILLS if quick else KILLS
    with Scratch() as folder:
        for step_s, (median, worst) in TARGETS.items():
            ours = waits("ours", folder, step_s, kills)
            if ours is None:
                raise SystemExit("the rank ended\n" + (folder / "output").read_text())
            dies = waits("torch", folder, step_s, 1) is None
            name = f"{kills} loader processes killed, steps of {1e3 * step_s:.0f} ms"
            yield Figure(f"{name}: wait, median", "ms", [statistics.median(ours)], [],
                         f"at most {1e3 * median:.0f} ms", statistics.median(ours) <= 1e3 * median,
                         "torch: the rank ends" if dies else "torch: the rank goes on")
            yield Figure(f"{name}: the longest wait", "ms", [max(ours)], [],
                         f"at most {1e3 * worst:.0f} ms", max(ours) <= 1e3 * worst)
        read, left = small_shm("ours", folder)
        peer_read, peer_left = small_shm("torch", folder)
    yield Figure("batches of 2 MiB that are read with 1 MiB in /dev/shm", "", [read], [],
                 f"all {BATCHES}", read == BATCHES, f"torch: {peer_read}")
    yield Figure("files left in /dev/shm after SIGKILL", "", [left], [], "0", left == 0,
                 f"torch: {peer_left}")
