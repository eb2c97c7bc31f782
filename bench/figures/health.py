"""From a machine fault that the kernel or NVML reports until the order to evict the machine.

Three "nodes" of this machine, one of them a spare. The kernel log of each is a file, and an Xid
that no machine survives is written to one of them at a random moment. NVML is the mock of the
tests, with the real interface, on one node, which cannot be evicted; the decision about that is
made at the same place. There is no peer: torchrun has nothing like it, and would learn of the fault
by the time-out of a collective.
"""

import random
import signal
import subprocess
import time

import journal
from harness import ROBUSTRUN, ROOT, Figure, Quick, Scratch, in_turns, start, wait_for

ASKED_S = 2.5
ROUNDS = 20
QUICK = Quick(45, "3 faults of each kind instead of 20", rounds=3)
FALLEN = "4,1,1000000,-;NVRM: Xid (PCI:0000:3b:00): 79, pid=4711, GPU has fallen off the bus.\n"
JOB = "import time\nopen('runs.' + __import__('os').environ['RANK'], 'w')\ntime.sleep(1000)\n"
NODES = 2


def seconds_until(decided, folder, options, variables, make_known):
    """From `make_known()` to the first decision that `decided` accepts."""
    (folder / "job.py").write_text(JOB)
    run = folder / "run"
    process = start([ROBUSTRUN, "--run-dir", run, "--nproc-per-node=1", *options, "job.py"], folder,
                    **variables)
    try:
        wait_for((folder / "runs.0").exists, "the worker of rank 0")
        time.sleep(random.uniform(1, 3))  # at any time between two polls of the agent
        began = time.monotonic_ns()
        make_known()
        log = journal.Journal(run / "journal")

        def found():
            log.update()
            later = (one for one in log.of("Decision") if one.at > began)
            return next(filter(decided, later), None)

        return (wait_for(found, "the decision about the fault").at - began) / 1e9
    finally:
        process.send_signal(signal.SIGTERM)
        process.wait(60)


def by_the_kernel():
    with Scratch() as folder:
        logs = [folder / f"machine{node}" / "dev" / "kmsg" for node in range(NODES + 1)]
        for log in logs:
            log.parent.mkdir(parents=True)
            log.write_text("")

        def report_xid():
            with open(logs[1], "a") as log:
                log.write(FALLEN)

        return seconds_until(lambda one: one.rule == "NodeEvicted", folder,
                             ("--launcher=processes", f"--nnodes={NODES}", "--spares=1"),
                             {"ROBUSTRUN_HEALTH_ROOT": folder / "machine{node}"}, report_xid)


def by_nvml():
    with Scratch() as folder:
        subprocess.run(["cc", "-shared", "-fPIC", "-o", folder / "libnvidia-ml.so.1",
                        ROOT / "tests" / "e2e" / "health" / "nvml_mock.c"], check=True)
        devices = folder / "machine0" / "dev"
        devices.mkdir(parents=True)
        for name in ("kmsg", "nvidiactl"):
            (devices / name).write_text("")
        (folder / "gpus").write_text("550.54.15 1\n")
        events = folder / "events"
        events.write_text("")
        variables = {"ROBUSTRUN_HEALTH_ROOT": folder / "machine{node}", "NVML_EVENTS": events,
                     "LD_LIBRARY_PATH": folder, "NVML_MOCK": folder / "gpus"}
        return seconds_until(lambda one: "reported by NVML" in one.text, folder, (), variables,
                             lambda: events.write_text("0 79\n"))


def measure(quick):
    rounds = QUICK.rounds if quick else ROUNDS
    for name, once in (("Xid in the kernel's log, until the eviction", by_the_kernel),
                       ("Xid event of NVML, until the decision", by_nvml)):
        (took,) = in_turns(rounds, once)
        yield Figure(name, "s", took, [], f"all below {ASKED_S}", max(took) < ASKED_S,
                     f"at most {max(took):.2f} s")
