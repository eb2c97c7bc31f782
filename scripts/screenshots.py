"""Writes the pictures of the documentation into docs/pictures/: the page of a run with two
failures at three widths, `robustrun top` while a rank hangs and of 1,024 simulated nodes, the page
of a placement of 1,024 nodes, the page of a diagnosis, and the chart of a simulation.

Everything in them is real output of this build; `make screenshots` calls it. It needs Chromium,
tmux and a Python with torch and pytest (scripts/install-deps.sh test), and takes some minutes. The
helpers are those of tests/e2e, which is on PYTHONPATH.
"""

import html
import os
import pathlib
import re
import signal
import tempfile

from helpers.browser import Browser
from helpers.fleet import rack_topology, start_fleet
from helpers.jobs import start_job
from helpers.processes import wait_for
from helpers.runner import Runner
from helpers.tmux import Terminal

ROOT = pathlib.Path(__file__).resolve().parents[1]
PICTURES = ROOT / "docs" / "pictures"
BYTES_MAX = 300_000
HANG = ROOT / "tests" / "e2e" / "diagnosis" / "faulty_job.py"
# Four ranks without torch: a loss that falls, a checkpoint's step from which a restart goes on, and
# an exception of rank 2 once. The other failure comes from outside.
TRAIN = """
import math, os, time
import robustrun
rank, attempt = int(os.environ["RANK"]), int(os.environ["TORCHELASTIC_RESTART_COUNT"])
first = int(open("step").read()) if os.path.exists("step") else 0
for step in range(first + 1, 241):
    time.sleep(0.05)
    if rank == 0 and step % 20 == 0:
        open("step.new", "w").write(str(step))
        os.rename("step.new", "step")
    robustrun.step(step, loss=2.2 * math.exp(-step / 60) + 0.05 * math.sin(step * 1.7) + 0.3)
    if rank == 2 and attempt == 0 and step == 70:
        raise ValueError(f"bad batch at step {step}: 3 labels are out of range")
"""
COLOURS = ("#2e3436", "#d9472b", "#4e9a06", "#c4a000", "#3465a4", "#a55a9a", "#06989a", "#d3d7cf")


def report_page(runner, folder):
    runner.write("train.py", TRAIN)
    running = runner.start("--launcher=processes", "--hosts=node01,node02", "--nproc-per-node=2",
                           "--standby=off", "train.py")
    second = wait_for(lambda: len(list(runner.folder.glob(
        "robustrun-runs/*/logs/node*/attempt_1"))) == 2 or running.process.poll() is not None,
        60, "the second attempt")
    assert second and running.process.poll() is None
    wait_for(lambda: int((runner.folder / "step").read_text()) >= 160, 60, "step 160")
    shims = [pid for pid in runner.marked() if is_worker(pid, "3")]
    os.kill(shims[0], signal.SIGKILL)
    finished = running.finish()
    assert finished.code == 0, finished.errors
    page = folder / "report.html"
    assert runner.run("report", "--html", str(page)).code == 0
    return page


def is_worker(pid, rank):
    words = pathlib.Path(f"/proc/{pid}/environ").read_bytes().split(b"\0")
    line = pathlib.Path(f"/proc/{pid}/cmdline").read_bytes()
    return f"RANK={rank}".encode() in words and b"train.py" in line and b"shim" not in line


def plan_page(runner, folder):
    parts = []
    for pod in range(4):
        parts.append(f'[[switch]]\nname = "pod{pod}"\nlevel = "pod"\n'
                     f'switches = ["leaf[{pod * 16:02}-{pod * 16 + 15:02}]"]\n')
    # Host names run across the leaves, as where racks were filled row by row.
    for leaf in range(64):
        names = ", ".join(f'"node{leaf + 1 + i * 64:04}"' for i in range(16))
        parts.append(f'[[switch]]\nname = "leaf{leaf:02}"\nnodes = [{names}]\n')
    runner.write("cluster.toml", "".join(parts))
    page = folder / "plan.html"
    done = runner.run("plan", "--topology=cluster.toml", "--hosts=node[0001-1024]",
                      "--nnodes=1008", "--spares=8", "--nproc-per-node=8",
                      "--parallel=tp=8,pp=8", "--html", str(page))
    assert done.code == 0, done.errors
    return page


def top_page(runner, folder):
    job = start_job(runner, "--launcher=processes", "--hosts=node01,node02", "--nnodes=2",
                    "--nproc-per-node=4", "--standby=off", "--hang-timeout=0", HANG, "100000",
                    "0.1", "loader", "5", "60")
    terminal = Terminal(runner, 100, 26)
    try:
        job.wait(lambda: "hang: rank 5" in job.err(), "the hang", 200)
        terminal.type(f"{runner.binary} top {job.run}")
        terminal.wait("has blocked the job", "CPUs", "rank 5 on", within_s=60)
        screen = terminal.screen(colours=True)
    finally:
        terminal.close()
    return terminal_page(screen, folder)


def fleet_page(runner, folder):
    runner.write("net.toml", rack_topology(1024, 64))
    job = start_fleet(runner, 1024, 8, "--topology=net.toml", laggard=531)
    terminal = Terminal(runner, 100, 26)
    try:
        terminal.type(f"{runner.binary} top {job.run}")
        terminal.wait("on sim-531: steps behind", "a cell is a rack", within_s=120)
        screen = terminal.screen(colours=True)
    finally:
        terminal.close()
    return terminal_page(screen, folder)


def hang_page(runner, folder):
    dumps = ROOT / "tests/fixtures/flight_recorder"
    page = folder / "hang.html"
    names = sorted(each.name for each in dumps.glob("nccl-2.10.json.*"))
    done = runner.run("diagnose", "--from", *names, "--html", str(page), cwd=dumps)
    assert done.code == 0, done.errors
    return page


def sim_picture(runner, folder):
    picture = folder / "sim.svg"
    done = runner.run("sim", "--nodes=1250", "--preset=byterobust-dense", "--spares=auto",
                      "--svg", str(picture))
    assert done.code == 0, done.errors
    return picture


def terminal_page(screen, folder):
    page = folder / "top.html"
    page.write_text(page_of(screen))
    return page


def page_of(screen):
    """A terminal's screen with SGR sequences as HTML."""
    style = {}
    out = []
    for part in re.split("(\x1b\\[[0-9;]*m)", screen):
        if not part.startswith("\x1b["):
            if part:
                out.append(f'<span style="{css_of(style)}">{html.escape(part)}</span>')
            continue
        for code in map(int, (part[2:-1] or "0").split(";")):
            if code == 0:
                style.clear()
            elif code in (1, 2, 7):
                style[code] = True
            elif 30 <= code <= 37 or 40 <= code <= 47:
                style[code // 10] = COLOURS[code % 10]
            elif code in (39, 49):
                style.pop(code // 10, None)
    return ('<!doctype html><meta charset="utf-8"><body style="margin:0;background:#15181b">'
            '<pre id="screen" style="display:inline-block;margin:0;padding:14px 18px;'
            'color:#d8dadd;font:15px/1.3 DejaVu Sans Mono,monospace">'
            f'{"".join(out).rstrip()}</pre>')


def css_of(style):
    front, back = style.get(3, "#d8dadd"), style.get(4, "transparent")
    if style.get(7):
        front, back = "#15181b", style.get(3, "#d8dadd")
    return (f"color:{front};background:{back};font-weight:{700 if style.get(1) else 400};"
            f"opacity:{0.65 if style.get(2) else 1}")


def main():
    PICTURES.mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory() as scratch:
        folder = pathlib.Path(scratch)
        pages = {}
        for name, make in MAKERS.items():
            (folder / name).mkdir()
            runner = Runner(folder / name)
            try:
                pages[name] = make(runner, folder / name)
            finally:
                runner.close()
        with Browser(folder / "profile") as browser:
            for name, source, width, height, dark in SHOTS:
                browser.open(pages[source], width, 900, dark=dark)
                picture = browser.screenshot(SELECTORS.get(source), height)
                assert len(picture) < BYTES_MAX, (name, len(picture))
                (PICTURES / f"{name}.png").write_bytes(picture)
                print(f"docs/pictures/{name}.png: {len(picture) // 1000} kB")


MAKERS = {"report": report_page, "plan": plan_page, "top": top_page, "top-1024": fleet_page,
          "hang": hang_page, "sim": sim_picture}
SELECTORS = {"top": "#screen", "top-1024": "#screen", "sim": "svg"}
# Name, source, width and height, and whether in dark.
SHOTS = (("report", "report", 1200, 1750, False), ("report-800", "report", 800, 1750, True),
         ("report-400", "report", 400, 1750, False), ("plan", "plan", 1200, 1500, False),
         ("top", "top", 1200, None, False), ("top-1024", "top-1024", 1200, None, False),
         ("hang", "hang", 1200, 900, False), ("sim", "sim", 860, None, False))

if __name__ == "__main__":
    main()
