"""The same hang under torchrun, whose collectives have a time-out, and under robustrun."""

import re
import subprocess
import threading
import time

import hang_campaign as campaign
from harness import TORCHRUN, Figure, Scratch, clean_environment, wait_for

TIMEOUT_S = 20
RANKS, VICTIM, STEP = 4, 2, 60
FAULT = (10**6, 0.02, "sleep", VICTIM, STEP)


class Lines:
    """The lines of a stream, with the time of each."""

    def __init__(self, stream):
        self.seen = []
        self.thread = threading.Thread(target=self.read, args=(stream,))
        self.thread.start()

    def read(self, stream):
        for line in stream:
            self.seen.append((time.time(), line.rstrip()))

    def after(self, moment):
        return [(at, line) for at, line in list(self.seen) if at > moment and line]


def fault_time(text):
    found = re.search(r"fault \w+ \d+ \d+ ([\d.]+)", text)
    return found and float(found[1])


def torch_alone():
    """Seconds from the fault to torch's first line, its error, and whether that names the rank."""
    command = [*TORCHRUN, f"--nproc-per-node={RANKS}", campaign.SCRIPT, *FAULT]
    with Scratch() as folder, open(folder / "out", "wb") as out:
        process = subprocess.Popen(
            list(map(str, command)), cwd=folder, stdin=subprocess.DEVNULL, stdout=out,
            env=clean_environment(GLOO_TIMEOUT_S=TIMEOUT_S, OMP_NUM_THREADS=1),
            stderr=subprocess.PIPE, text=True, errors="replace")
        lines = Lines(process.stderr)
        try:
            at = wait_for(lambda: fault_time((folder / "out").read_text(errors="replace")),
                          "the fault of the script", 120)
            wait_for(lambda: process.poll() is not None, "the end of torchrun", 6 * TIMEOUT_S)
        finally:
            process.terminate()
            process.wait(60)
            lines.thread.join(60)
    said = lines.after(at)
    errors = [line for _, line in said if re.search(r"RuntimeError|[Tt]imed out", line)]
    names = any(re.search(rf"\brank:? ?{VICTIM}\b", line, re.IGNORECASE) for line in errors)
    return said[0][0] - at, errors[0] if errors else said[0][1], names


def robustrun():
    """Seconds from the fault until its rank is named."""
    with Scratch() as folder, campaign.Job(folder, RANKS, "--hang-timeout=0", script=FAULT) as job:
        wait_for(lambda: b"fault" in job.out.read_bytes(), "the fault of the script", 120)
        job.says(rf"hang: .*rank {VICTIM}\b", campaign.NAMED_WITHIN_S)
        job.process.terminate()
        job.process.wait(60)
        at = fault_time(job.out.read_text(errors="replace")) - job.report()["started_s"]
        line = campaign.judged("sleep", VICTIM, RANKS, at, float("inf"), job.report(), "")
    return line["named_s"]


def measure():
    first_word, error, names = torch_alone()
    print(f"    torch, {first_word:.1f} s after the fault: {error}")
    named = robustrun()
    met = named is not None and named < first_word
    note = "names " + ("it" if names else "no rank") + f", time-out set to {TIMEOUT_S} s"
    return Figure("a hung rank named; torch's first line", "s",
                  [float("inf") if named is None else named], [first_word],
                  "before torch's first line", met, f"torch {note}")
