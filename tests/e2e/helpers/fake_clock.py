"""CLOCK_REALTIME that jumps for some processes while they run, by libfaketime. The monotonic clock
and the kernel's own time stay unchanged, as when a machine's clock is set.
"""

import datetime
import os
import pathlib
import subprocess
import sys

import pytest

LIBRARY = next(pathlib.Path("/usr/lib").glob("*/faketime/libfaketime.so.1"), None)
DAY_S = 24 * 3600
HOUR_S = 3600


class FakeClock:
    def __init__(self, folder):
        if LIBRARY is None:
            pytest.fail("no libfaketime: scripts/install-deps.sh test installs it")
        self.file = folder / "clock"
        # libfaketime's clock_nanosleep fails for Python's time.sleep, so workers do not have it.
        self.python = folder / "python-in-true-time"
        self.python.write_text(f'#!/bin/sh\nunset LD_PRELOAD\nexec {sys.executable} "$@"\n')
        self.python.chmod(0o755)
        self.set(0)

    def environment(self):
        """Of the processes whose clock it is."""
        return {
            "LD_PRELOAD": str(LIBRARY),
            "FAKETIME_TIMESTAMP_FILE": str(self.file),
            "FAKETIME_NO_CACHE": "1",
            "FAKETIME_DONT_FAKE_MONOTONIC": "1",
            "FAKETIME_DISABLE_SHM": "1",
            "PYTHON_EXEC": str(self.python),
        }

    def set(self, offset_s):
        """Jumps at once, to `seconds` from the true time."""
        fresh = self.file.with_suffix(".new")
        fresh.write_text(f"{offset_s:+d}\n")
        os.replace(fresh, self.file)

    def seen_by_programs(self):
        """Seconds by which a fresh program with this environment is off."""
        shown = subprocess.run(
            ["date", "+%s"], env={**os.environ, **self.environment()}, capture_output=True,
            check=True,
        ).stdout
        return int(shown) - datetime.datetime.now().timestamp()


def is_under(pid):
    """Whether this process has the library."""
    return LIBRARY.name in pathlib.Path(f"/proc/{pid}/maps").read_text()


def log_offset(line):
    """Seconds by which a line of robustrun's log, written just now, is off (modulo a day)."""
    logged = datetime.datetime.strptime(line.split()[0], "%H:%M:%S.%f")
    now = datetime.datetime.now()
    seconds = (logged - logged.replace(hour=0, minute=0, second=0, microsecond=0)).total_seconds()
    today = (now - now.replace(hour=0, minute=0, second=0, microsecond=0)).total_seconds()
    return (seconds - today + DAY_S / 2) % DAY_S - DAY_S / 2
