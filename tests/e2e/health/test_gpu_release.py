"""New workers wait for the GPU memory of the previous ones, for a limited time."""

import os
import signal

from helpers.jobs import start_job
from helpers.processes import command_of

# Notes its pid, and waits.
SCRIPT = r"""
import os, time
import robustrun
robustrun.step(1)
attempt = os.environ["TORCHELASTIC_RESTART_COUNT"]
with open(f"pid.{attempt}.part", "w") as file:
    file.write(str(os.getpid()))
os.replace(f"pid.{attempt}.part", f"pid.{attempt}")
time.sleep(1000)
"""
DEAD = 2**31 - 1  # no process has such a number
FREE, HELD = "process 0 0\n", f"process 0 {DEAD}\n"


def test_gpu_memory_of_the_dead_is_waited_for_and_its_holder_named(robustrun, nvml):
    robustrun.write("job.py", SCRIPT)
    (robustrun.folder / "machine" / "dev").mkdir(parents=True)
    (robustrun.folder / "machine" / "dev" / "nvidiactl").touch()
    sensors = robustrun.write("sensors", FREE)

    def say(text):
        robustrun.write("sensors.part", text)
        os.replace(robustrun.folder / "sensors.part", sensors)

    def worker(attempt):
        note = robustrun.folder / f"pid.{attempt}"
        job.wait(note.exists, note.name)
        return int(note.read_text())

    looked = robustrun.folder / "looked"
    job = start_job(robustrun, "--max-restarts=5", "job.py", env={
        "LD_LIBRARY_PATH": str(nvml), "NVML_SENSORS": str(sensors),
        "NVML_DONE": str(looked), "NVML_MOCK": str(robustrun.write("gpus", "550.54.15 1\n")),
        "ROBUSTRUN_HEALTH_ROOT": str(robustrun.folder / "machine")})
    first = worker(0)
    job.wait(lambda: looked.exists() and not any(
        b"--gpu-states" in command_of(pid) for pid in robustrun.marked()), "the first look")
    os.kill(first, signal.SIGKILL)
    second = worker(1)
    assert "GPU memory" not in job.err()

    say(HELD)
    os.kill(second, signal.SIGKILL)
    job.says(f"held: GPU 0 by pid {DEAD}, which has ended", 60)
    worker(2)
    job.stop()
    robustrun.expect_nothing_left()
