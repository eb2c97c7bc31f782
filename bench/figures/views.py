"""What looking at a run costs: `robustrun top` of 1,024 nodes with 8 ranks each, ten of them at
once, and the page of a run with many incidents.

The agents are simulated (fleet.py), and their ranks do a step a second. `top` runs in a terminal of
80 x 24 whose other end is read here: its first picture counts from the start of its process, its
processor time and bytes are those of its own process. The supervisor's delay is the time until it
refuses a command that it does not know, asked for 50 times a second: what its loop has to do
otherwise delays the answer. The simulated agents run at the lowest priority.
"""

import contextlib
import fcntl
import json
import os
import pty
import select
import socket
import statistics
import struct
import subprocess
import termios
import threading
import time

from fleet import Run, Simulation, cpu_seconds, memory_mib
from harness import ROBUSTRUN, Figure, Quick, Scratch, clean_environment

AGENTS, RANKS = 1024, 8
ROWS, COLUMNS = 24, 80
VIEWERS = 10
SECONDS, QUICK_SECONDS = 30, 6
INCIDENTS, QUICK_INCIDENTS = 1000, 100
FIRST_MAX_MS = 300
DELAY_MAX_MS = 10
POLL_S = 0.5  # of top
PAGE_MAX_S = 2
PICTURE = b"a cell is"
KEY_MAX_MS = 50
HELP, BACK = (b"?", b"distinct"), (b"q", b"diagnose")  # keys, and what they show
QUICK = Quick(50, "6 s of each load instead of 30 s, and a page of 100 incidents")


class Viewer:
    """A `robustrun top` in a terminal of its own, which is read as fast as it writes."""

    def __init__(self, run_directory):
        self.bytes, self.first_ms = 0, None
        self._awaited, self._shown = b"", threading.Event()
        self._terminal, end = pty.openpty()
        fcntl.ioctl(end, termios.TIOCSWINSZ, struct.pack("HHHH", ROWS, COLUMNS, 0, 0))
        began = time.monotonic()
        self.process = subprocess.Popen(
            [ROBUSTRUN, "top", run_directory], stdin=end, stdout=end, stderr=end,
            start_new_session=True, preexec_fn=lambda: fcntl.ioctl(0, termios.TIOCSCTTY, 0),
            env=clean_environment(TERM="xterm-256color", LANG="C.UTF-8"))
        os.close(end)
        self._stop = threading.Event()
        self._reader = threading.Thread(target=self._read, args=(began,))
        self._reader.start()

    def _read(self, began):
        seen = b""
        while not self._stop.is_set():
            if not select.select([self._terminal], [], [], 0.1)[0]:
                continue
            try:
                piece = os.read(self._terminal, 1 << 16)
            except OSError:  # its end is closed
                return
            self.bytes += len(piece)
            seen = (seen + piece)[-1 << 16:]
            if self.first_ms is None and PICTURE in seen:
                self.first_ms = (time.monotonic() - began) * 1e3
            if self._awaited and self._awaited in seen:
                seen, self._awaited = b"", b""
                self._shown.set()

    def press(self, key, text):
        """Milliseconds from the key to the text, which is not on the screen before."""
        self._shown.clear()
        self._awaited = text
        began = time.monotonic()
        os.write(self._terminal, key)
        assert self._shown.wait(20), f"no {text} after {key}"
        return (time.monotonic() - began) * 1e3

    def wait_for_picture(self):
        end = time.monotonic() + 20
        while self.first_ms is None and time.monotonic() < end:
            time.sleep(0.005)
        assert self.first_ms is not None, f"no picture; it ended with {self.process.poll()}"
        return self.first_ms

    def close(self):
        self.process.terminate()
        self.process.wait(20)
        self._stop.set()
        self._reader.join()
        os.close(self._terminal)


class Question:
    """Asks the supervisor, as other commands do."""

    def __init__(self, run_directory):
        path = (run_directory / "control").read_text().splitlines()[0]
        self._socket = socket.socket(socket.AF_UNIX)
        self._socket.connect(path)

    def ask(self, **members):
        message = json.dumps(members).encode()
        self._socket.sendall(struct.pack("<I", len(message)) + message)
        return self._take(struct.unpack("<I", self._take(4))[0])

    def _take(self, size):
        data = b""
        while len(data) < size:
            piece = self._socket.recv(size - len(data))
            assert piece, "the supervisor has closed the connection"
            data += piece
        return data

    def delays(self, seconds):
        found, end = [], time.monotonic() + seconds
        while time.monotonic() < end:
            began = time.monotonic()
            self.ask(command="none")
            found.append((time.monotonic() - began) * 1e3)
            time.sleep(0.02)
        return found

    def changes(self, seconds):
        """Bytes of the first answer to a viewer, and of those that follow in a second."""
        first, version, rest, count = 0, "0", 0, 0
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            answer = self.ask(command="changes", since=version, rank="0")
            version = str(json.loads(answer)["changes"]["version"])
            first, rest, count = first or len(answer), rest + len(answer), count + 1
            time.sleep(POLL_S)
        return first, (rest - first) / ((count - 1) * POLL_S)


def p99(values):
    return sorted(values)[max(0, -(-99 * len(values) // 100) - 1)]


def of_one_viewer(directory, seconds):
    viewer = Viewer(directory)
    try:
        first = viewer.wait_for_picture()
        before = cpu_seconds(viewer.process.pid), viewer.bytes, time.monotonic()
        time.sleep(seconds)
        took = time.monotonic() - before[2]
        found = {"first": first, "cpu": (cpu_seconds(viewer.process.pid) - before[0]) / took * 100,
                 "bytes": (viewer.bytes - before[1]) / took,
                 "memory": memory_mib(viewer.process.pid)}
        keys = [viewer.press(*each) for each in [HELP, BACK] * (seconds // 2)]
        return {**found, "keys": keys}
    finally:
        viewer.close()


def with_viewers(directory, question, seconds):
    with contextlib.ExitStack() as stack:
        for _ in range(VIEWERS):
            viewer = Viewer(directory)
            stack.callback(viewer.close)
            viewer.wait_for_picture()
        return question.delays(seconds)


def at_full_size(seconds, firsts):
    with Scratch() as folder, Simulation(folder, AGENTS, RANKS) as fleet:
        fleet.started(0)
        # On machines of their own they would not take turns with the supervisor.
        for thread in os.listdir(f"/proc/{fleet.agents_process.pid}/task"):
            os.setpriority(os.PRIO_PROCESS, int(thread), 19)
        time.sleep(3)
        directory = folder / "run"
        first = []
        for _ in range(firsts):
            viewer = Viewer(directory)
            try:
                first.append(viewer.wait_for_picture())
            finally:
                viewer.close()
        found = of_one_viewer(directory, seconds)
        question = Question(directory)
        alone = question.delays(seconds)
        whole, changes = question.changes(min(seconds, 10))
        return {**found, "firsts": [*first, found["first"]], "whole": whole, "changes": changes,
                "alone": alone, "watched": with_viewers(directory, question, seconds)}


def page_of(incidents):
    """Seconds to write the page of a run whose worker failed so often, and its size in kB."""
    with Scratch() as folder:
        run = Run(folder, 1, "--compat", "torchrun", "--max-restarts", str(incidents - 1),
                  "--nproc-per-node", "1", program=("--no-python", "/bin/false"))
        run.process.wait(600)
        began = time.monotonic()
        subprocess.run([ROBUSTRUN, "report", folder / "run", "--html", folder / "page.html"],
                       check=True, capture_output=True, env=clean_environment())
        took = time.monotonic() - began
        report = json.loads(subprocess.run([ROBUSTRUN, "report", folder / "run", "--json"],
                                           check=True, capture_output=True,
                                           env=clean_environment()).stdout)
        assert len(report["incidents"]) == incidents, len(report["incidents"])
        return took, (folder / "page.html").stat().st_size / 1000


def measure(quick):
    seconds = QUICK_SECONDS if quick else SECONDS
    incidents = QUICK_INCIDENTS if quick else INCIDENTS
    found = at_full_size(seconds, 2 if quick else 9)
    took, size = page_of(incidents)
    size_note = f"{AGENTS} nodes of {RANKS} ranks, {COLUMNS} x {ROWS}"
    return [
        Figure("first picture of top", "ms", found["firsts"], [], f"below {FIRST_MAX_MS} ms",
               statistics.median(found["firsts"]) < FIRST_MAX_MS,
               f"{size_note}; slowest {max(found['firsts']):.4g}"),
        Figure("a key until its picture", "ms", found["keys"], [], f"below {KEY_MAX_MS} ms",
               max(found["keys"]) < KEY_MAX_MS, f"slowest {max(found['keys']):.3g}"),
        Figure("processor of top", "% of a core", [found["cpu"]], [], "-", True, size_note),
        Figure("memory of top", "MiB", [found["memory"]], [], "-", True, size_note),
        Figure("bytes written by top", "B/s", [found["bytes"]], [], "-", True, size_note),
        Figure("bytes that a viewer gets", "B/s", [found["changes"]], [], "-", True,
               f"first answer {found['whole'] / 1000:.0f} kB"),
        Figure("supervisor's delay without viewers", "ms", found["alone"], [], "-", True,
               f"p99 {p99(found['alone']):.3g}"),
        Figure(f"supervisor's delay with {VIEWERS} viewers", "ms", found["watched"], [],
               f"p99 below {DELAY_MAX_MS} ms", p99(found["watched"]) < DELAY_MAX_MS,
               f"p99 {p99(found['watched']):.3g}"),
        Figure(f"page of {incidents} incidents", "s", [took], [], f"below {PAGE_MAX_S} s",
               took < PAGE_MAX_S, f"{size:.0f} kB"),
    ]
