"""The cost of robustrun itself while its workers are idle."""

import pathlib
import time

from helpers.processes import wait_for

WORKERS = 8
SECONDS = 10
SLEEP = (
    "import os, time\nopen('up.' + os.environ['RANK'], 'w').close()\ntime.sleep(600)\n"
)
# Polling each worker ten times a second takes one read each; everything else takes far less.
READS_PER_SECOND_MAX = 2 * 10 * WORKERS
# Supervisor and agent wake up for their clocks, not for each worker.
WAKE_UPS_PER_SECOND_MAX = 30


def reads_of(pid):
    text = pathlib.Path(f"/proc/{pid}/io").read_text()
    return int(text.partition("syscr: ")[2].split()[0])


def wake_ups_of(pid):
    statuses = (task / "status" for task in pathlib.Path(f"/proc/{pid}/task").iterdir())
    return sum(
        int(status.read_text().partition("\nvoluntary_ctxt_switches:")[2].split()[0])
        for status in statuses
    )


def test_polling_sleeping_workers_is_cheap(robustrun):
    robustrun.write("sleep.py", SLEEP)
    running = robustrun.start("--nproc-per-node", str(WORKERS), "sleep.py")
    folder = robustrun.folder
    wait_for(lambda: len(list(folder.glob("up.*"))) == WORKERS, what="all workers")
    agent = running.agent()
    time.sleep(2)  # one-time work of the start

    def rates(seconds):
        def counts():
            return reads_of(agent), wake_ups_of(agent) + wake_ups_of(running.pid)

        before, begin = counts(), time.monotonic()
        time.sleep(seconds)
        return [(b - a) / (time.monotonic() - begin) for a, b in zip(before, counts(), strict=True)]

    reads, wake_ups = rates(SECONDS)
    assert reads < READS_PER_SECOND_MAX
    assert wake_ups < WAKE_UPS_PER_SECOND_MAX
    running.process.terminate()
    running.finish()
