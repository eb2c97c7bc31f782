"""The frame of bench/gpu_drill: runs checks within a budget, one process for each, and keeps what
they found.

A check that fails, hangs or dies does not disturb the others: its process and everything below it
is ended when its time is over. Checks run in the order of their worth; those that take no times
run several at once.
"""

import contextlib
import ctypes
import dataclasses
import json
import os
import pathlib
import signal
import subprocess
import sys
import time
import traceback

from helpers.processes import children_of

PR_SET_CHILD_SUBREAPER = 36
END_S = 8              # from SIGTERM to SIGKILL
AT_ONCE = max(1, min(6, (os.cpu_count() or 1) // 2))
RECORDING_BYTES_MAX = 200_000
LOG_BYTES_MAX = 400_000
TEXT_BYTES_MAX = 4_000


class Skip(Exception):
    """The check cannot be made here; the text says why."""


class Wrong(Exception):
    """A claim is wrong; the text says what was seen instead."""


@dataclasses.dataclass(frozen=True)
class Check:
    """One check; the first line of `body`'s docstring says what it shows.

    `body(drill)` returns the line for people. It raises Skip or Wrong, or any other error."""

    name: str
    body: object
    limit_s: float
    least_s: float      # with less than this left it is not begun
    alone: bool = True  # nothing else runs meanwhile: it takes times, or much of the GPU

    @property
    def title(self):
        return self.body.__doc__.strip().splitlines()[0]


class Finding:
    """What one check has found so far. It is written after each change, so that a check that is
    killed leaves it."""

    def __init__(self, path, recordings):
        self.path, self.recordings = pathlib.Path(path), pathlib.Path(recordings)
        self.content = {"state": "FAIL", "line": "", "why": "", "claims": [], "figures": {},
                        "recordings": []}

    def write(self):
        part = self.path.with_suffix(".part")
        part.write_text(json.dumps(self.content, indent=1) + "\n")
        part.rename(self.path)

    def claim(self, text, holds, seen=""):
        """Notes whether a claim of the documents holds, and what was seen."""
        self.content["claims"].append({"claim": text, "holds": bool(holds),
                                       "seen": str(seen)[:TEXT_BYTES_MAX]})
        self.write()
        return bool(holds)

    def figure(self, name, value):
        self.content["figures"][name] = value
        self.write()

    def record(self, name, data):
        """Keeps `data` (bytes or text) as a file that may become a fixture."""
        data = data.encode() if isinstance(data, str) else data
        if len(data) > RECORDING_BYTES_MAX:
            self.figure(f"{name} is cut, its bytes", len(data))
            data = data[:RECORDING_BYTES_MAX]
        path = self.recordings / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data)
        self.content["recordings"].append(name)
        self.write()

    def wrong_claims(self):
        return [each for each in self.content["claims"] if not each["holds"]]


def subreap():
    """Orphans below this process become its children."""
    ctypes.CDLL(None).prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)


def descendants(pid):
    return [each for child in children_of(pid) for each in (child, *descendants(child))]


def kill_all(pids):
    for pid in pids:
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)


def perform(check, drill, finding):
    """Runs a check in this process, which is its own; returns the state."""
    def give_up(*_):
        sys.exit("not over in time")

    subreap()
    signal.signal(signal.SIGTERM, give_up)
    content = finding.content
    try:
        content["line"] = check.body(drill) or ""
        wrong = finding.wrong_claims()
        content["state"] = "FAIL" if wrong else "PASS"
        content["why"] = "; ".join(f"{each['claim']}: {each['seen']}" for each in wrong)
    except Skip as why:
        content["state"], content["why"] = "SKIP", str(why)
    except Wrong as why:
        content["why"] = str(why)
    except SystemExit as why:  # of harness.wait_for and others
        content["why"] = str(why.code)
    except Exception:
        content["why"] = traceback.format_exc()[-TEXT_BYTES_MAX:]
    finding.write()
    kill_all(descendants(os.getpid()))
    return content["state"]


@dataclasses.dataclass
class Running:
    check: Check
    process: subprocess.Popen
    result: pathlib.Path
    log: pathlib.Path
    began: float
    end: float
    told: bool = False

    def push(self, now):
        """Ends a check whose time is over: SIGTERM, then SIGKILL for all below it."""
        if now > self.end and not self.told:
            self.told = True
            self.process.terminate()
        if now > self.end + END_S:
            below = descendants(self.process.pid)
            self.process.kill()
            kill_all(below)


class Frame:
    """Runs checks. `command(check, result)` is the command line of a check's process."""

    def __init__(self, checks, command, out, budget_s):
        self.checks, self.command, self.out = list(checks), command, pathlib.Path(out)
        self.began = time.monotonic()
        self.end = self.began + budget_s
        self.results = {}
        self.running = []
        for folder in ("logs", "recordings", "results"):
            (self.out / folder).mkdir(parents=True, exist_ok=True)

    def run(self, after_each):
        """Runs all checks in order; calls `after_each()` when one has ended."""
        subreap()
        left = list(self.checks)
        try:
            while left or self.running:
                while left and self.may_begin(left[0]):
                    self.begin(left.pop(0), after_each)
                self.reap(after_each)
                time.sleep(0.02)
        finally:
            self.stop()

    def may_begin(self, check):
        if not self.running:
            return True
        return not check.alone and len(self.running) < AT_ONCE and \
            not any(one.check.alone for one in self.running)

    def begin(self, check, after_each):
        now = time.monotonic()
        left_s = self.end - now - END_S
        if left_s < check.least_s:
            why = (f"no time: it takes {check.least_s:.0f} s, {max(left_s, 0):.0f} s of the "
                   "budget are left")
            return self.note(check, {"state": "SKIP", "why": why}, 0, after_each)
        result = self.out / "results" / f"{check.name}.json"
        result.unlink(missing_ok=True)
        log = self.out / "logs" / f"{check.name}.log"
        with open(log, "wb") as file:
            process = subprocess.Popen(self.command(check, result), stdin=subprocess.DEVNULL,
                                       stdout=file, stderr=file, start_new_session=True)
        self.running.append(Running(check, process, result, log, now,
                                    now + min(check.limit_s, left_s)))

    def reap(self, after_each):
        now = time.monotonic()
        for one in list(self.running):
            one.push(now)
            code = one.process.poll()
            if code is None:
                continue
            self.running.remove(one)
            kill_all(self.orphans())
            self.note(one.check, self.found(one, code), now - one.began, after_each)

    def orphans(self):
        known = {one.process.pid for one in self.running}
        own = [pid for pid in children_of(os.getpid()) if pid not in known]
        return [each for pid in own for each in (pid, *descendants(pid))]

    def found(self, one, code):
        try:
            content = json.loads(one.result.read_text())
        except (OSError, ValueError):
            content = {"state": "FAIL", "why": ""}
        text = one.log.read_bytes()
        if len(text) > LOG_BYTES_MAX:
            one.log.write_bytes(text[-LOG_BYTES_MAX:])
        if one.told:
            content["state"] = "FAIL"
            content["why"] = f"not over after {time.monotonic() - one.began:.0f} s; " \
                + content.get("why", "")
        elif not content.get("why") and content["state"] == "FAIL":
            last = text.decode(errors="replace").strip().splitlines()[-3:]
            content["why"] = f"its process ended with {code}: " + " | ".join(last)
        return content

    def note(self, check, content, seconds, after_each):
        self.results[check.name] = {"name": check.name, "title": check.title, **content,
                                    "seconds": round(seconds, 1)}
        shown = content.get("line") if content["state"] == "PASS" else content.get("why", "")
        lines = (shown or "").strip().splitlines() or [""]
        shown = lines[-1] if lines[0].startswith("Traceback") else lines[0]
        print(f"{content['state']:5} {check.name:16}{seconds:6.1f} s  {shown[:400]}", flush=True)
        after_each()

    def stop(self):
        """Ends what runs; for an interrupted drill."""
        for one in self.running:
            one.process.terminate()
        end = time.monotonic() + END_S
        while any(one.process.poll() is None for one in self.running) and time.monotonic() < end:
            time.sleep(0.02)
        kill_all(descendants(os.getpid()))
