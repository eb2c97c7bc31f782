"""A machine whose /dev/shm has 1 MiB: DataLoader gives batches of 2 MiB, and after a SIGKILL
nothing lies there."""

import os
import pathlib
import re
import signal
import subprocess
import sys

import pytest
from helpers.processes import children_of, end, is_alive, wait_for
from helpers.runner import BUILD

JOB = pathlib.Path(__file__).parent / "shm_job.py"
BATCHES = 40
# Once the job has ended and a line was read, shows what is left.
SCRIPT = """
mount -t tmpfs -o size=1m tmpfs /dev/shm || exit 1
"$@" <&3 &
echo $!
wait $!
echo "ended with $?"
read line
ls -A /dev/shm
"""


def start(*command):
    """(process, descriptor of the job's input): the job's pid is the first line of the output."""
    there, here = os.pipe()
    process = subprocess.Popen(
        ["unshare", "--mount", "--propagation=private", "/bin/bash", "-c",
         f"exec 3<&{there}; " + SCRIPT, "bash", *command],
        pass_fds=[there], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
        text=True, env=dict(os.environ, PYTHONPATH=str(BUILD / "share/robustrun/python"),
                            OMP_NUM_THREADS="1"))
    os.close(there)
    return process, here


def left_after(is_killed):
    process, its_input = start(sys.executable, JOB, str(BATCHES))
    try:
        job = process.stdout.readline()
        if not job:
            _, why = process.communicate()
            assert re.search("^(mount|unshare): ", why, re.M), why
            pytest.skip(f"cannot mount a small /dev/shm here: {why.strip()}")
        job = int(job)
        ready = process.stdout.readline()
        workers = children_of(job)
        if is_killed:
            assert ready == "ready\n" and len(workers) == 2
            for pid in (job, *workers):
                os.kill(pid, signal.SIGKILL)
        os.close(its_input)
        its_input = None
        if ready == "ready\n":
            ended = process.stdout.readline()
        else:  # the job failed, and this is the line about its end
            ready, ended = "", ready
        wait_for(lambda: not any(map(is_alive, workers)), what="the end of the loader processes")
        left, errors = process.communicate("\n", timeout=60)
        return ready, ended, left, errors
    finally:
        if its_input is not None:
            os.close(its_input)
        end(process)


def test_large_batches_need_no_room_in_shm():
    ready, ended, left, errors = left_after(is_killed=False)
    assert (ready, ended) == ("ready\n", "ended with 0\n"), errors
    assert left == ""


def test_after_a_sigkill_nothing_is_left_in_shm():
    ready, ended, left, errors = left_after(is_killed=True)
    assert ended == "ended with 137\n", errors
    assert left == ""
