"""The cost of robustrun itself while its workers are idle."""

import pathlib
import statistics
import time

from helpers.processes import wait_for

WORKERS = 8
WINDOWS, WINDOW_S = 5, 3
SLEEP = (
    "import os, time\nopen('up.' + os.environ['RANK'], 'w').close()\ntime.sleep(600)\n"
)
# Polling each worker ten times a second takes one read each; everything else takes far less.
READS_PER_SECOND_MAX = 2 * 10 * WORKERS
# Supervisor and agent wake up for their clocks, not for each worker.
WAKE_UPS_PER_SECOND_MAX = 30
# Of a core, by supervisor, agent and shims together. It is 0.15 % on an idle machine, as under
# torchrun; where others use the processors, the same work takes longer.
CPU_PERCENT_MAX = 0.3


def reads_of(pid):
    text = pathlib.Path(f"/proc/{pid}/io").read_text()
    return int(text.partition("syscr: ")[2].split()[0])


def tasks_of(pid):
    return pathlib.Path(f"/proc/{pid}/task").iterdir()


def wake_ups_of(pid):
    return sum(
        int((task / "status").read_text().partition("\nvoluntary_ctxt_switches:")[2].split()[0])
        for task in tasks_of(pid)
    )


def cpu_s_of(pid):
    """User and system time, to the nanosecond: utime and stime of /proc/PID/stat have steps of 10
    ms, which is most of a window's."""
    return sum(int((task / "schedstat").read_text().split()[0]) for task in tasks_of(pid)) / 1e9


def test_polling_sleeping_workers_is_cheap(robustrun):
    robustrun.write("sleep.py", SLEEP)
    running = robustrun.start("--nproc-per-node", str(WORKERS), "sleep.py")
    folder = robustrun.folder
    wait_for(lambda: len(list(folder.glob("up.*"))) == WORKERS, what="all workers")
    agent = running.agent()
    time.sleep(2)  # one-time work of the start
    own = [running.pid, agent, *running.shims(WORKERS)]

    def rates():
        def counts():
            return (reads_of(agent), wake_ups_of(agent) + wake_ups_of(running.pid),
                    100 * sum(map(cpu_s_of, own)))

        before, begin = counts(), time.monotonic()
        time.sleep(WINDOW_S)
        return [(b - a) / (time.monotonic() - begin) for a, b in zip(before, counts(), strict=True)]

    windows = [rates() for _ in range(WINDOWS)]
    reads, wake_ups, cpu_percent = map(statistics.median, zip(*windows, strict=True))
    assert reads < READS_PER_SECOND_MAX
    assert wake_ups < WAKE_UPS_PER_SECOND_MAX
    assert cpu_percent < CPU_PERCENT_MAX, windows
    running.process.terminate()
    running.finish()
