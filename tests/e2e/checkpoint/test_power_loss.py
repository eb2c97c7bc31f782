"""Loss of power while a real process saves: finished saves are intact, and nothing is torn.

The process runs with tests/recorder's library in front of libc; the states that a loss of power
may leave are made from its log (helpers/power_loss.py) and checked by the engine.
"""

import filecmp
import os
import pathlib
import random
import shutil
import subprocess
import sys
import tempfile

import pytest
from helpers import power_loss
from helpers.packages import NEEDS_TORCH
from helpers.runner import BUILD, ROOT

pytestmark = NEEDS_TORCH
sys.path.insert(0, str(ROOT / "python"))
os.environ["ROBUSTRUN_BUILD_DIR"] = str(BUILD.resolve())
from robustrun._checkpoint import c_api  # noqa: E402

RECORDER = (BUILD / "test-helpers" / "disk_recorder.so").resolve()
SAVER = pathlib.Path(__file__).with_name("recorded_saver.py")
STATES = int(os.environ.get("ROBUSTRUN_TEST_ROUNDS", 40))
STEPS = 3


@pytest.fixture
def shm():
    with tempfile.TemporaryDirectory(dir="/dev/shm", prefix="rr-power-") as folder:
        yield pathlib.Path(folder)


@pytest.fixture
def seed():
    chosen = int(os.environ.get("ROBUSTRUN_TEST_SEED", random.randrange(2**32)))
    print("seed", chosen)
    return chosen


def record(shm, mode, mounts, lies=None):
    """The writes of a process that saved some steps: (records, its directories)."""
    places = [shm / "live" / name for name in "abc"[:mounts]]
    for place in places:
        place.mkdir(parents=True)
    kept = {name: value for name, value in os.environ.items() if not name.startswith("ROBUSTRUN_")}
    env = {**kept, "PYTHONPATH": str(ROOT / "python"), "OMP_NUM_THREADS": "1",
           "ROBUSTRUN_BUILD_DIR": str(BUILD.resolve()), "LD_PRELOAD": str(RECORDER),
           "DISK_RECORDER_LOG": str(shm / "log"), "DISK_RECORDER_ROOTS": ":".join(map(str, places))}
    if lies is not None:
        env["DISK_RECORDER_LIES"] = lies
    done = subprocess.run([sys.executable, SAVER, mode, str(STEPS), *places], env=env,
                          capture_output=True, text=True, timeout=600)
    assert done.returncode == 0, done.stderr
    return power_loss.read_log(shm / "log"), places


def promises(records, moment):
    """{step: digest} of all saves, and the newest step whose save had returned by then."""
    marks = [(i, record[3].decode().split()) for i, record in enumerate(records)
             if record[0] == "mark"]
    digests = {int(step): digest for _, (_, step, digest) in marks}
    return digests, max((int(words[1]) for i, words in marks if i < moment), default=0)


def wrong_in(records, moment, places):
    """The error in the remaining state, or None."""
    digests, promised = promises(records, moment)
    newest = 0
    for found in c_api.catalogue(places):
        if found.state == "damaged":
            return f"step {found.step} has a damaged manifest"
        if found.state != "committed":
            continue
        if newest == 0:
            newest = found.step
        if digests.get(found.step) != found.digest:
            return f"step {found.step} is not what was saved"
        with c_api.Checkpoint(places, found.attempt) as one:
            faults = one.verify()
        if faults:
            return f"step {found.step} is torn: {faults[0]}"
    return None if newest >= promised else f"step {newest} is the newest, not {promised}"


def first_fault(shm, records, roots, seed, count):
    """The first bad one of `count` random states; None if all are good."""
    shutil.rmtree(shm / "live")  # files are also expected at their old paths
    for number, (moment, disk, luck) in enumerate(power_loss.states(records, roots, seed, count)):
        left = shm / f"left-{number}"
        left.mkdir()
        disk.leave(luck, left)
        wrong = wrong_in(records, moment, [left / root.name for root in roots])
        shutil.rmtree(left)
        if wrong:
            return f"state {number}, {moment} of {len(records)} records, kept {luck.share}: {wrong}"
    return None


def differences(one, other):
    compared = filecmp.dircmp(one, other, ignore=[])
    found = [*compared.left_only, *compared.right_only]
    _, unlike, odd = filecmp.cmpfiles(one, other, compared.common_files, shallow=False)
    for name in compared.common_dirs:
        found += differences(os.path.join(one, name), os.path.join(other, name))
    return found + unlike + odd


@pytest.mark.parametrize("mode, mounts", [("plain", 2), ("parity", 3), ("keep", 2), ("staged", 2),
                                          ("dcp", 2), ("ranks", 2)])
def test_finished_saves_survive_any_loss_of_power(shm, seed, mode, mounts):
    records, roots = record(shm, mode, mounts)
    disk = power_loss.Disk(roots)
    for each in records:
        disk.apply(*each)
    (shm / "all").mkdir()
    disk.leave(power_loss.ALL, shm / "all")
    for root in roots:  # the recorder has seen all writes
        assert differences(root, shm / "all" / root.name) == []
    kinds = {each[0] for each in records}
    assert {"create", "write", "sync", "rename", "mkdir", "mark", "size"} <= kinds
    assert ("remove" in kinds) or mode != "keep"
    assert first_fault(shm, records, roots, seed, STATES) is None


@pytest.mark.parametrize("forgotten", [
    "/d-[^/]*$",            # data
    "/MANIFEST.tmp$",       # before it is renamed
    "/g[0-9]+-[0-9a-f]+$",  # the attempt's folder: names of its files
    "/step-[0-9]+$",        # the step's: the attempt's name
    "/live/[ab]$",          # a mount's: the step's name
])
def test_a_missing_sync_is_found(shm, seed, forgotten):
    records, roots = record(shm, "ranks", 2, lies=forgotten)
    assert first_fault(shm, records, roots, seed, 200) is not None
