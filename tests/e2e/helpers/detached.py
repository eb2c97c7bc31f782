"""Detached runs for the tests of daily operations."""

import json

from helpers.processes import wait_for

# Ranks that count, report their steps, and end on request.
SCRIPT = r"""
import os, sys, time
import robustrun
rank, attempt = int(os.environ["RANK"]), os.environ["TORCHELASTIC_RESTART_COUNT"]
print(f"hello from {rank}, attempt {attempt}", flush=True)
n = 0
while not os.path.exists("enough"):
    n += 1
    robustrun.step(n)
    print(f"out {rank} {n}", flush=True)
    if n % 10 == 0:
        print(f"err {rank} {n}", file=sys.stderr, flush=True)
    if os.path.exists(f"fail.{rank}"):
        os.unlink(f"fail.{rank}")
        sys.exit(3)
    time.sleep(0.05)
print(f"bye from {rank}", flush=True)
sys.exit(int(open("enough").read() or 0))
"""
# In the script: all ranks of an attempt go on together.
BARRIER = r"""
open(f"ready.{rank}", "w").close()
while len([f for f in os.listdir(".") if f.startswith("ready.")]) < int(os.environ["WORLD_SIZE"]):
    time.sleep(0.005)
"""
# Prints as fast as it can, for slow readers.
FLOOD = r"""
import os, time
block = ("x" * 99 + "\n") * 1000
n = 0
while not os.path.exists("enough"):
    n += 1000
    print(block, end="", flush=True)
    with open("count.new", "w") as count:
        count.write(str(n))
    os.replace("count.new", "count")
"""
SEVERAL = ("--launcher=processes", "--nnodes=2", "--hosts=alpha,beta,gamma", "--nproc-per-node=2")


class Detached:
    def __init__(self, robustrun, *arguments, script=SCRIPT):
        self.robustrun = robustrun
        self.folder = robustrun.folder
        robustrun.write("job.py", script)
        self.began = robustrun.run("--detach", *arguments, "job.py")
        assert self.began.code == 0, self.began.errors
        self.name = self.began.text.removesuffix("\n")
        self.directory = self.folder / "robustrun-runs" / self.name

    def do(self, *words):
        return self.robustrun.run(words[0], self.name, *words[1:])

    def status(self):
        done = self.do("status", "--json")
        assert done.code in (0, 1), done.errors
        return json.loads(done.text)

    def wait_state(self, state):
        def look():
            now = self.status()
            return now["state"] == state and now

        return wait_for(look, what=f"the state {state}")

    def steps(self, count=5):
        return wait_for(lambda: self.status()["steps"] >= count, 120, f"{count} steps")

    def console(self):
        return (self.directory / "console.log").read_text(errors="replace")

    def attach(self, *words, **options):
        return self.robustrun.start("attach", self.name, *words, **options)

    def enough(self, code=0):
        temporary = self.folder / "enough.new"
        temporary.write_text(str(code))
        temporary.rename(self.folder / "enough")

    def wait_end(self):
        wait_for(lambda: self.status()["supervisor"] == "ended", what="the run's end")
        self.robustrun.expect_nothing_left()
