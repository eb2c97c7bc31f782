"""Reports of failures that look like something else, and of time without training: real jobs over
gloo, none of which imports robustrun."""

import json
import os
import pathlib
import re

import pytest
from helpers.jobs import start_job
from helpers.packages import NEEDS_TORCH

pytestmark = NEEDS_TORCH

HELPERS = str(pathlib.Path(__file__).parent.parent / "helpers")
TRAIN = f"""
import os, signal, sys, time
sys.path.append({HELPERS!r})
import light_torch
import torch, torch.distributed as dist
dist.init_process_group("gloo")
rank, attempt = dist.get_rank(), int(os.environ["TORCHELASTIC_RESTART_COUNT"])
model = torch.nn.parallel.DistributedDataParallel(torch.nn.Linear(8, 8))
optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
def step():
    optimizer.zero_grad()
    model(torch.ones(4, 8)).sum().backward()
    optimizer.step()
    time.sleep(0.02)
"""

ENDS_EARLY = TRAIN + """
for n in range(60):
    if rank == 1 and n == 30:
        sys.exit(0)
    step()
    dist.all_reduce(torch.ones(2))
"""

STARTS_OVER = TRAIN + """
for n in range(60):
    if rank == 1 and n == 40 and attempt == 0:
        os.kill(os.getpid(), signal.SIGKILL)
    step()
dist.destroy_process_group()
"""

RESUMES = TRAIN + """
first = 0
if os.path.exists("saved.pt"):
    saved = torch.load("saved.pt")
    optimizer.load_state_dict(saved["optimizer"])
    first = saved["step"]
for n in range(first, 60):
    if rank == 1 and n == 40 and attempt == 0:
        os.kill(os.getpid(), signal.SIGKILL)
    step()
    if rank == 0 and n == 29:
        torch.save({"optimizer": optimizer.state_dict(), "step": n + 1}, "saved.new")
        os.rename("saved.new", "saved.pt")
dist.destroy_process_group()
"""

HANGS = TRAIN + """
for n in range(100000):
    if rank == 1 and n == 60:
        time.sleep(3600)
    step()
"""

LINGERS = TRAIN + """
import atexit, ctypes
for n in range(20):
    step()
dist.destroy_process_group()
if rank == 0 and "handler" in sys.argv:
    atexit.register(time.sleep, 3600)
elif rank == 0:
    # The C library runs this when the interpreter is gone.
    libc = ctypes.CDLL(None)
    libc.__cxa_atexit(libc.pause, None, None)
"""

LOADER = """
import os, signal, sys, torch
class Data(torch.utils.data.Dataset):
    def __len__(self): return 1000
    def __getitem__(self, i):
        if i == 200:
            if "fill" in sys.argv:
                kept = [b"x" * (1 << 20) for _ in range(8192)]
            os.kill(os.getpid(), signal.SIGKILL)
        return i
if __name__ == "__main__":
    for _ in torch.utils.data.DataLoader(Data(), num_workers=2, batch_size=2, collate_fn=list):
        pass
"""


def incident(robustrun, index=0):
    return robustrun.report()["incidents"][index]


def test_a_rank_that_ends_early_is_blamed_and_not_the_one_that_waits_for_it(robustrun):
    robustrun.write("job.py", ENDS_EARLY)
    finished = robustrun.run("--standby=off", "--nproc-per-node=2", "--max-restarts=0", "job.py")
    assert finished.code != 0
    # Rank 0 is in the backward pass, or in the all-reduce that follows.
    assert "rank 1 ended with 0 at step 30 while rank 0 waited in all_reduce" in finished.errors
    assert "lost its peer" not in finished.errors
    assert incident(robustrun)["looks_like"]["name"] == "a worker ended while others continued"
    assert incident(robustrun)["cause"].startswith("rank 1 ended with 0 at step 30")


def test_a_process_that_does_not_end_is_named_and_ended_without_a_restart(robustrun):
    robustrun.write("job.py", LINGERS)
    finished = robustrun.run("--standby=off", "--nproc-per-node=2", "--hang-timeout=25s", "job.py",
                             timeout=200)
    assert finished.code == 0, finished.errors
    assert re.search(r"rank 0 \(.*\) has not ended, \d\d\.\d s after its script returned and its "
                     r"exit handlers had run.*; the other rank has ended; will be ended in \d+ s",
                     finished.errors), finished.errors
    assert "all 2 workers finished; rank 0 did not end by itself and is stopped" in finished.errors
    assert "restart" not in finished.errors


def test_a_process_that_lingers_in_an_exit_handler_is_named_and_left_alone(robustrun):
    robustrun.write("job.py", LINGERS)
    job = start_job(robustrun, "--standby=off", "--nproc-per-node=2", "--hang-timeout=25s",
                    "job.py", "handler")
    job.says("its exit handlers may still save or upload something", 150)
    assert "rank 0 (" in job.err() and "; the other rank has ended" in job.err()
    verdict = json.loads(robustrun.run("diagnose", str(job.run), "--json").text)
    assert verdict["finding"] == "not ended" and verdict["culprits"] == [0]
    job.stop()


def test_a_restart_from_the_beginning_is_reported_first_and_counts_lost_steps(robustrun):
    robustrun.write("job.py", STARTS_OVER)
    finished = robustrun.run("--standby=off", "--nproc-per-node=2", "job.py")
    assert finished.code == 0, finished.errors
    assert "the script did not resume: step 0 after 40" in finished.errors
    report = robustrun.run("report", str(robustrun.newest_run())).text
    assert report.index("did not resume") < report.index("workers ")
    failed = incident(robustrun)
    assert failed["steps_lost"] == 40
    spent = {share["spent"]: share["duration_s"] for share in robustrun.report()["time"]["shares"]}
    assert spent["recomputing"] > 0.5


def test_a_restart_from_a_checkpoint_counts_as_resumed(robustrun):
    robustrun.write("job.py", RESUMES)
    finished = robustrun.run("--standby=off", "--nproc-per-node=2", "job.py")
    assert finished.code == 0, finished.errors
    assert "did not resume" not in finished.errors
    assert incident(robustrun)["steps_lost"] == 10


def test_an_open_hang_at_the_end_does_not_count_as_training(robustrun):
    robustrun.write("job.py", HANGS)
    job = start_job(robustrun, "--standby=off", "--nproc-per-node=2", "job.py")
    job.says("hang: rank 1 ", 150)
    job.stop()
    time = robustrun.report(job.run)["time"]
    spent = [stretch["spent"] for stretch in time["timeline"]]
    assert spent[:3] == ["starting", "productive", "stalled"]
    assert spent[-1] == "ending"


def test_without_steps_productive_time_is_unknown(robustrun):
    robustrun.write("job.py", "import time\ntime.sleep(0.5)\n")
    finished = robustrun.run("job.py")
    assert finished.code == 0
    assert "productive: unknown (no steps)" in finished.errors
    assert "% productive" not in finished.errors
    assert robustrun.report()["time"]["ettr"] is None


def test_a_killed_process_of_a_data_loader_is_not_reported_as_out_of_memory(robustrun):
    robustrun.write("job.py", LOADER)
    assert robustrun.run("--max-restarts=0", "job.py").code == 1
    looks = incident(robustrun)["looks_like"]
    # By chance, torch notices the signal or that the process is gone.
    assert looks["name"] in ("data loader worker killed by a signal",
                             "data loader worker ended")
    assert "OOM" not in looks["symptom"]
    assert incident(robustrun)["ended"] == "exit code 1"


@pytest.fixture
def memory_cgroup():
    """A cgroup of 1 GiB: options of Popen that start a process in it."""
    if os.geteuid() != 0:
        pytest.skip("making a memory cgroup takes root")
    parent = pathlib.Path("/sys/fs/cgroup/memory")
    if not parent.is_dir():
        parent = parent.parent
    if not os.access(parent, os.W_OK):
        pytest.skip(f"{parent} is read-only: this machine gives no memory cgroups")
    group = parent / f"robustrun-test-{os.getpid()}"
    group.mkdir()
    try:
        limits = [group / name for name in ("memory.limit_in_bytes", "memory.max")
                  if (group / name).exists()]
        if not limits:
            pytest.skip(f"{parent} has no memory controller")
        limits[0].write_text(str(1 << 30))
        yield {"preexec_fn": lambda: (group / "cgroup.procs").write_text("0")}
    finally:
        group.rmdir()


def test_a_data_loaders_process_that_the_kernel_killed_ran_out_of_memory(robustrun, memory_cgroup):
    robustrun.write("job.py", LOADER)
    assert robustrun.run("--max-restarts=0", "job.py", "fill", **memory_cgroup).code == 1
    looks = incident(robustrun)["looks_like"]
    assert (looks["symptom"], looks["confidence"]) == ("CPU OOM", "high")
    assert looks["name"] == "data loader worker killed by the OOM killer"


@pytest.mark.parametrize(("line", "name"), [
    ("breakpoint()", "a breakpoint without a terminal"),
    ("input('go on? ')", "input() without a terminal"),
])
def test_a_script_that_waits_for_a_terminal_is_reported_as_such(robustrun, line, name):
    robustrun.write("job.py", f"x = 1\n{line}\nprint(x)\n")
    finished = robustrun.run("--max-restarts=0", "job.py")
    assert finished.code == 1
    assert incident(robustrun)["looks_like"]["name"] == name
    assert "--stdin=RANK" in incident(robustrun)["looks_like"]["advice"]
