"""Dependencies on machines with caches of their own: one installs, the others get its snapshot."""

import os
import subprocess
import sys

from helpers.jobs import start_job

SCRIPT = "import os, tiny\nprint('rank', os.environ['RANK'], tiny.VERSION, len(tiny.DATA))\n"
BUILD = """
import os, pathlib, time
with open({count!r}, "a") as count:
    count.write("x")
time.sleep({seconds})
prefix = pathlib.Path(os.environ["ROBUSTRUN_PREFIX"])
(prefix / "tiny.bin").write_bytes(os.urandom({size}))
(prefix / "tiny.py").write_text("import pathlib\\nVERSION = '9'\\n"
    "DATA = pathlib.Path(__file__).with_suffix('.bin').read_bytes()\\n")
"""
SIZE = 3 << 20


def prepare(runner, machines, seconds):
    cache, count = runner.folder / "cache", runner.folder / "count"
    cache.mkdir()
    for machine in machines.machines.values():
        subprocess.run(["nsenter", "-t", str(machine.init), "-m", "mount", "-t", "tmpfs", "-o",
                        "mode=700", "none", str(cache)], check=True)
    runner.write("train.py", SCRIPT)
    runner.write("build.py", BUILD.format(count=str(count), seconds=seconds, size=SIZE))
    return cache, count


def train(runner, machines, cache, hosts):
    job = start_job(
        runner, f"--hosts={hosts}", "--iface=eth0", "--nproc-per-node=1", f"--cache-dir={cache}",
        "--preflight=off", f"--setup-cmd={sys.executable} build.py", "train.py",
        env=machines.home.environment(), prefix=machines.prefix,
    )
    finished = job.finish(300)
    assert finished.code == 0, finished.errors
    return finished


def snapshots(machines, cache):
    return [sorted(os.listdir(f"/proc/{machine.init}/root{cache}/deps"))
            for machine in machines.machines.values()]


def test_one_of_several_machines_installs_and_the_others_get_its_snapshot(lab, robustrun):
    machines = lab(3)
    cache, count = prepare(robustrun, machines, 3)
    finished = train(robustrun, machines, cache, "h[1-3]")
    assert finished.text.count(f" 9 {SIZE}") == 3, finished.text
    assert count.read_text() == "x", finished.errors
    assert finished.errors.count("the dependencies came from other nodes") == 2
    first, *others = snapshots(machines, cache)
    assert first == others[0] == others[1] and len(first) == 2
    robustrun.expect_nothing_left()


def test_new_machines_get_the_snapshot_from_one_that_has_it(lab, robustrun):
    machines = lab(3)
    cache, count = prepare(robustrun, machines, 0)
    train(robustrun, machines, cache, "h2")
    finished = train(robustrun, machines, cache, "h[1-3]")
    assert finished.text.count(f" 9 {SIZE}") == 3, finished.text
    # A machine that needs more than two seconds to read its cache is skipped.
    assert count.read_text() in ("x", "xx"), finished.errors
    assert "the dependencies came from other nodes" in finished.errors
