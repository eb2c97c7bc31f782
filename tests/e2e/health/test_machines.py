"""What agents notice about their machines, from files that the test writes to the supervisor's
journal."""

import contextlib
import ctypes
import os

import pytest
from helpers.jobs import lockstep, start_job
from helpers.processes import open_files_of

NODE_HEALTH = 20
FALLEN = "NVRM: Xid (PCI:0000:3b:00): 79, pid=4711, GPU has fallen off the bus."
SOURCE_GPU, SOURCE_NETWORK, SOURCE_DISK = 1, 2, 3
# Sooner than the next regular poll (agent/health/limits.h).
BEFORE_LINKS_S, BEFORE_GPUS_S = 4.5, 9.5


class Machines:
    """Folders in place of /dev, /proc and /sys of each node."""

    def __init__(self, folder, count=1):
        self.folder = folder
        for node in range(count):
            self.write("dev/kmsg", "", node)

    @property
    def variables(self):
        return {"ROBUSTRUN_HEALTH_ROOT": f"{self.folder}/machine{{node}}"}

    def path(self, name, node=0):
        return self.folder / f"machine{node}" / name

    def write(self, name, text, node=0):
        path = self.path(name, node)
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
        return path

    def say(self, text, node=0):
        """A line of the kernel's log."""
        with open(self.path("dev/kmsg", node), "a") as log:
            log.write(f"4,1,1000000,-;{text}\n")

    def link(self, name, up, downs):
        at = f"sys/class/net/{name}"
        self.write(f"{at}/device/vendor", "0x15b3\n")
        self.write(f"{at}/carrier_down_count", f"{downs}\n")
        self.write(f"{at}/operstate", "up\n" if up else "down\n")
        self.write(f"{at}/carrier", "1\n" if up else "0\n")


def findings(job):
    """(node, source, subject, line, xid, over) of all reports."""
    return [
        (record.node, record.number(1), record.text(2), record.text(3), record.number(4),
         bool(record.number(5)))
        for record in job.records(NODE_HEALTH)
    ]


def told(job, words, deadline_s=60.0):
    """Waits for a report whose line has the words."""
    def find():
        return next((one for one in findings(job) if words in one[3]), None)

    return job.wait(find, f"a finding with '{words}'", deadline_s)


@pytest.fixture
def start(robustrun):
    """Starts a job that goes on for ever, and waits until it runs."""
    def started(machines, *options, env=None):
        job = start_job(robustrun, *options, *lockstep(robustrun),
                        env={**machines.variables, **(env or {})})
        job.moves()
        return job

    return started


def test_a_line_of_the_kernel_log_is_reported_at_once(robustrun, start):
    machines = Machines(robustrun.folder)
    job = start(machines)
    machines.say("usb 1-1: new high-speed USB device")
    machines.say(FALLEN)
    assert told(job, "Xid") == (0, 0, "GPU 0000:3b:00", FALLEN, 79, False)
    job.says("GPU unavailable, fallen off the bus (Xid 79)")
    machines.say(FALLEN)  # the same again, within ten seconds
    machines.say("nfs: server filer-1 not responding, still trying")
    told(job, "not responding")
    machines.say("nfs: server filer-1 OK")
    assert told(job, "OK")[5]
    assert len(findings(job)) == 3
    assert FALLEN in job.stop().errors
    robustrun.expect_nothing_left()


def test_the_log_may_be_a_fifo(robustrun, start):
    machines = Machines(robustrun.folder)
    fifo = machines.path("dev/kmsg")
    fifo.unlink()
    os.mkfifo(fifo)
    job = start(machines)
    with open(fifo, "w") as log:
        log.write("4,1,1,-;I/O error, dev sda, sector 8 op 0x0:(READ)\n SUBSYSTEM=block\n")
        log.flush()
        assert told(job, "I/O error")[2] == "sda"
    job.stop()


def test_each_node_reports_about_itself(robustrun, start):
    machines = Machines(robustrun.folder, 2)
    job = start(machines, "--launcher=processes", "--nnodes=2", "--nproc-per-node=1")
    machines.say("nfs: server filer-1 not responding, still trying", node=1)
    assert told(job, "filer-1")[:3] == (1, 0, "filer-1")
    assert [one[0] for one in findings(job)] == [1]
    job.stop()


def test_a_machine_whose_gpu_is_gone_is_evicted(robustrun, start):
    machines = Machines(robustrun.folder, 3)
    job = start(machines, "--launcher=processes", "--nnodes=2", "--spares=1", "--nproc-per-node=1")
    assert job.group() == [0, 1]
    before = len(job.decisions())
    machines.say(FALLEN, node=1)
    job.wait(lambda: any("Xid" in text for text in job.decisions()[before:]), "the order")
    job.wait(lambda: job.group() == [0, 2], "a group without the machine")
    job.moves()
    job.stop()
    robustrun.expect_nothing_left()


def test_a_flapping_and_a_lost_link_are_reported(robustrun, start):
    machines = Machines(robustrun.folder)
    machines.link("eth7", True, 3)
    job = start(machines)
    machines.link("eth7", True, 4)
    assert told(job, "flap")[1:3] == (SOURCE_NETWORK, "eth7")
    machines.link("eth7", False, 5)
    machines.say("mlx5_core 0000:3b:00.0 eth7: Link down")  # makes the agent poll at once
    assert not told(job, "its link is down", BEFORE_LINKS_S)[5]
    machines.link("eth7", True, 5)
    machines.say("mlx5_core 0000:3b:00.0 eth7: Link up")
    assert told(job, "its link is up again", BEFORE_LINKS_S)[5]
    job.stop()


@contextlib.contextmanager
def dead_mount(folder):
    """A FUSE file system whose server never answers; returns a function that ends it."""
    if os.geteuid() != 0:
        pytest.skip("mounting takes root")
    if not os.access("/dev/fuse", os.W_OK):
        pytest.skip("no FUSE: /dev/fuse cannot be opened")
    libc = ctypes.CDLL(None, use_errno=True)
    device = os.open("/dev/fuse", os.O_RDWR)
    options = f"fd={device},rootmode=40000,user_id={os.getuid()},group_id={os.getgid()}"
    if libc.mount(b"dead", os.fsencode(folder), b"fuse", 0, options.encode()) != 0:
        os.close(device)
        pytest.fail(f"cannot mount {folder}: {os.strerror(ctypes.get_errno())}")
    left = contextlib.ExitStack()
    left.callback(os.close, device)
    try:
        yield left.close
    finally:
        left.close()
        libc.umount2(os.fsencode(folder), 2)  # MNT_DETACH


def test_a_dead_mount_is_reported_and_blocks_nothing(robustrun, start):
    machines = Machines(robustrun.folder)
    folder = machines.path("dev/shm")
    folder.mkdir()
    with dead_mount(folder) as end:
        job = start(machines)
        found = told(job, "/dev/shm does not answer for 5 s")
        assert found[1:3] == (SOURCE_DISK, "/dev/shm")
        machines.say(FALLEN)
        told(job, "Xid", 10)  # and not when the mount answers
        job.moves()
        end()
        assert told(job, "/dev/shm answers again")[5]
        told(job, "/dev/shm cannot be read: Transport endpoint is not connected")
        job.stop()
    robustrun.expect_nothing_left()


def test_a_dead_mount_does_not_delay_the_end_of_the_run(robustrun, start):
    machines = Machines(robustrun.folder)
    folder = machines.path("dev/shm")
    folder.mkdir()
    with dead_mount(folder):
        job = start(machines)
        told(job, "does not answer")
        job.stop(timeout=90)
        robustrun.expect_nothing_left()


def test_events_and_sensors_of_gpus_are_reported_once(robustrun, start, nvml):
    machines = Machines(robustrun.folder)
    machines.write("dev/nvidiactl", "")
    events = robustrun.write("events", "")
    sensors = robustrun.write("sensors", "throttled 0 64\n")
    job = start(machines, env={
        "LD_LIBRARY_PATH": str(nvml), "NVML_MOCK": str(robustrun.write("gpus", "550.54.15 3\n")),
        "NVML_EVENTS": str(events), "NVML_SENSORS": str(sensors)})
    assert told(job, "GPU is lost")[1:3] == (SOURCE_GPU, "GPU 1")
    events.write_text("0 48\n")
    assert told(job, "Xid", BEFORE_GPUS_S) == (
        0, SOURCE_GPU, "GPU 0", "NVRM: Xid (PCI:0000:3b:00): 48, reported by NVML", 48, False)
    machines.say("NVRM: Xid (PCI:0000:3b:00): 48, pid=1, DBE")  # the same, in the driver's words
    machines.say("NVRM: Xid (PCI:0000:3d:00): 63, pid=1, Row Remapper")
    assert told(job, "Row Remapper")[2] == "GPU 2"
    sensors.write_text("throttled 0 64\ntemperature 0 95\n")
    told(job, "GPU 0 is at 95 C")
    assert told(job, "hardware thermal slowdown")[2] == "GPU 0"
    assert len([one for one in findings(job) if one[4] == 48]) == 1
    assert "reported by NVML" in job.stop().errors
    robustrun.expect_nothing_left()


@pytest.mark.parametrize("option", ["--health=off", "--compat=torchrun"])
def test_with_health_off_nothing_is_read(robustrun, option):
    machines = Machines(robustrun.folder)
    robustrun.write("wait.py", "import time\nopen('begun', 'w')\ntime.sleep(1000)\n")
    job = start_job(robustrun, option, "wait.py", env=machines.variables)
    job.wait((robustrun.folder / "begun").exists, "the worker's start")
    assert str(machines.path("dev/kmsg")) not in open_files_of(job.agent())
    job.stop()
    robustrun.expect_nothing_left()


def test_a_full_check_reports_an_unreadable_kernel_log(robustrun):
    machines = Machines(robustrun.folder)

    def check():
        return robustrun.run("check", "--preflight=full", env=machines.variables).errors

    words = f"cannot read {machines.path('dev/kmsg')}"
    assert words not in check()
    machines.path("dev/kmsg").unlink()
    assert words in check()
