"""Errors of CUDA, produced for real, and what robustrun makes of them."""

import contextlib
import os
import re

from drill.frame import Check
from drill.tools import TRAIN, job, last_lines

# Names of rows of configs/faults.toml.
WANTED = {"oom": "out of GPU memory", "assert": "assertion in a kernel",
          "illegal": "illegal memory access"}


class KernelLog:
    """The lines of /dev/kmsg from now on."""

    def __init__(self):
        try:
            self.file = os.open("/dev/kmsg", os.O_RDONLY | os.O_NONBLOCK)
            os.lseek(self.file, 0, os.SEEK_END)
        except OSError:
            self.file = None

    def lines(self):
        found = []
        with contextlib.suppress(OSError):
            while self.file is not None:
                found.append(os.read(self.file, 8192).decode(errors="replace"))
        return found


def look_at(drill, fault):
    """Plays one error; returns the name that robustrun gives it."""
    with job(drill, "--standby=off", "--max-restarts=0", TRAIN, "--alone", "--fault", fault,
             "--rank=0", "--at=3") as running:
        code = running.ended(60)
        incident = (running.report().get("incidents") or [{}])[0]
        console = running.errors
    looks = incident.get("looks_like") or {}
    drill.record(f"errors/{fault}.txt", "\n".join(incident.get("stderr_tail", []))
                 or last_lines(console, 30))
    drill.figure(fault, {"exit_code": code, "looks_like": looks,
                         "exception": incident.get("exception", ""),
                         "message": incident.get("error_message", ""),
                         "xid": re.findall(r".*Xid.*", console)[:3]})
    drill.claim(f"{fault} is named {WANTED[fault]!r}", looks.get("name") == WANTED[fault],
                looks or last_lines(console))
    return looks.get("name")


def errors(drill):
    """a device-side assert, an illegal access and a lack of GPU memory get their names"""
    if not drill.cpu:
        drill.need_gpu()
    log = KernelLog()
    # One after the other: the kernel's log speaks about the GPU, not about a job.
    names = [f"{fault}: {look_at(drill, fault)}" for fault in WANTED]
    lines = [line for line in log.lines() if "NVRM" in line]
    drill.figure("the kernel's log can be read", log.file is not None)
    drill.figure("Xid lines of the kernel's log", lines[:20])
    if lines:
        drill.record("errors/kmsg.txt", "".join(lines))
    return "; ".join(names) + f"; {len(lines)} Xid lines"


CHECKS = [Check("errors", errors, 120, 20)]
