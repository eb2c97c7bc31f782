"""Fixtures: robustrun in a folder of the test's own, jobs, hosts and clusters."""

import ctypes
import os

import pytest
from helpers.jobs import start_job
from helpers.machines import Lab
from helpers.runner import Runner
from helpers.ssh_server import Farm
from slurm.cluster import Cluster

PR_CAPBSET_DROP, CAP_SYS_NICE = 24, 23  # linux/prctl.h, linux/capability.h


def pytest_configure(config):
    """As for most users, priorities may not be raised: standby workers then import at the normal
    one. At a low one they take minutes on a machine that has much else to do."""
    config.addinivalue_line("markers", "nightly: takes too long for every run of the tests")
    ctypes.CDLL(None).prctl(PR_CAPBSET_DROP, CAP_SYS_NICE, 0, 0, 0)


def pytest_collection_modifyitems(config, items):
    """Tests marked `nightly` run only with ROBUSTRUN_NIGHTLY=1; otherwise they are deselected."""
    if os.environ.get("ROBUSTRUN_NIGHTLY") == "1":
        return
    kept = [each for each in items if not each.get_closest_marker("nightly")]
    if len(kept) < len(items):
        config.hook.pytest_deselected(items=[each for each in items if each not in kept])
        items[:] = kept


@pytest.fixture
def robustrun(tmp_path):
    runner = Runner(tmp_path)
    yield runner
    runner.close()


@pytest.fixture
def nodes(robustrun):
    """Starts jobs of several nodes on this machine. Each node has an agent of its own, which
    connects over TLS as from another machine."""

    def start(*arguments, **options):
        return start_job(robustrun, "--launcher=processes", *arguments, **options)

    start.runner = robustrun
    return start


@pytest.fixture
def farm(robustrun):
    """Hosts with sshd on loopback; `farm(5)` starts five and returns them."""
    made = []

    def make(count, **options):
        made.append(Farm(robustrun.folder / f"farm{len(made)}", robustrun.marker, **options))
        return made[-1].add(count)

    yield make
    for one in made:
        one.close()


@pytest.fixture
def lab(robustrun):
    """Machines with a network of their own; `lab(4)` boots four and returns them."""
    made = []

    def make(count, **options):
        made.append(Lab(robustrun.folder / f"lab{len(made)}", robustrun.marker, **options))
        return made[-1].add(count)

    yield make
    for one in made:
        one.close()


@pytest.fixture
def slurm(robustrun):
    """A Slurm cluster on loopback; `slurm(4)` starts one of four nodes."""
    made = []

    def make(count, **options):
        made.append(Cluster(robustrun.marker, count, **options))
        return made[-1].start()

    yield make
    for one in made:
        one.close()
