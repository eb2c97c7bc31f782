"""Files that workers read at their start are read ahead at the next start: a script, its modules
and its data on a FUSE file system, as on a cluster's shared storage."""

import ctypes
import mmap
import os
import pathlib
import shutil
import subprocess
import sys

import pytest
from helpers.processes import wait_for

pytestmark = [
    pytest.mark.skipif(os.geteuid() != 0, reason="mounting takes root"),
    pytest.mark.skipif(not os.access("/dev/fuse", os.W_OK), reason="no FUSE: /dev/fuse"),
]

MIB = 1 << 20
# Reads its module and a part of its weights, after a flag; then does its step.
SCRIPT = """
import os, time
while not os.path.exists({go!r}):
    time.sleep(0.01)
import settings
with open(os.path.join(os.path.dirname(__file__), "weights.bin"), "rb", 0) as file:
    os.posix_fadvise(file.fileno(), 0, 0, os.POSIX_FADV_RANDOM)
    os.pread(file.fileno(), 2 * {mib}, 4 * {mib})
open(os.path.join(os.path.dirname(__file__), "vocabulary.txt")).read()
try:
    import robustrun
    robustrun.step(1)
except ImportError:
    pass  # not there with --compat=torchrun
print("stepped")
"""


class Storage:
    """A folder of this machine behind FUSE: its read pages are cached until the next mount."""

    def __init__(self, folder):
        self.below = folder / "storage"
        self.path = folder / "shared"
        self.below.mkdir()
        self.path.mkdir()

    def mount(self):
        assert shutil.which("bindfs"), "no bindfs: scripts/install-deps.sh test installs it"
        subprocess.run(["bindfs", "-o", "kernel_cache", "--no-allow-other", self.below, self.path],
                       check=True)

    def unmount(self):
        # The last reader may still be ending.
        wait_for(lambda: subprocess.run(["umount", self.path]).returncode == 0,
                 what="the end of its readers")

    def resident(self, name):
        """Pages of the file in the page cache."""
        libc = ctypes.CDLL(None, use_errno=True)
        with open(self.path / name, "rb") as file:
            view = mmap.mmap(file.fileno(), 0, mmap.MAP_PRIVATE, mmap.PROT_READ | mmap.PROT_WRITE)
        pages = (len(view) + mmap.PAGESIZE - 1) // mmap.PAGESIZE
        answer = (ctypes.c_ubyte * pages)()
        anchor = ctypes.c_char.from_buffer(view)
        failed = libc.mincore(ctypes.c_void_p(ctypes.addressof(anchor)),
                              ctypes.c_size_t(len(view)), answer)
        del anchor
        view.close()
        assert not failed, os.strerror(ctypes.get_errno())
        return {page for page in range(pages) if answer[page] & 1}


@pytest.fixture
def storage(robustrun):
    made = Storage(robustrun.folder)
    go = robustrun.folder / "go"
    (made.below / "train.py").write_text(SCRIPT.format(go=str(go), mib=MIB))
    (made.below / "settings.py").write_text("rate = 0.1\n")
    (made.below / "weights.bin").write_bytes(os.urandom(16 * MIB))
    (made.below / "vocabulary.txt").write_text("word " * 10000)
    made.mount()
    made.go = go
    yield made
    robustrun.close()
    made.unmount()


def profiles(robustrun):
    return sorted((robustrun.folder / "cache" / "robustrun" / "hot").glob("*.hot"))


def record(robustrun, storage, *options):
    """A first start, from which the profile comes."""
    storage.go.touch()
    done = robustrun.run(*options, str(storage.path / "train.py"))
    assert done.code == 0, done.errors
    storage.go.unlink()
    return profiles(robustrun)


def files_of(profile):
    lines = profile.read_text().splitlines()
    assert lines[0] == "robustrun-hot 1"
    entries = [line.split(" ", 5) for line in lines if line.startswith("file ")]
    return {pathlib.Path(entry[5]).name: entry[4] for entry in entries}


def test_the_second_start_finds_the_files_of_the_first_one_in_memory(robustrun, storage):
    (profile,) = record(robustrun, storage)
    files = files_of(profile)
    assert {"train.py", "weights.bin", "vocabulary.txt"} <= set(files)
    assert any(name.startswith("settings") for name in files)
    assert not any("torch" in name or name.startswith("python3") for name in files)  # of this disk

    storage.unmount()
    storage.mount()
    assert not storage.resident("vocabulary.txt")
    running = robustrun.start(str(storage.path / "train.py"))
    wanted = {page for page in range(4 * MIB // 4096, 6 * MIB // 4096)}
    wait_for(lambda: wanted <= storage.resident("weights.bin"), what="the reading ahead")
    wait_for(lambda: storage.resident("vocabulary.txt"), what="the reading ahead")
    # Only those parts of the large file that the first start had read.
    assert len(storage.resident("weights.bin")) < 10 * MIB // 4096
    storage.go.touch()
    done = running.finish()
    assert done.code == 0 and b"stepped" in done.out


def test_a_remote_environment_is_recorded_though_its_python_is_a_local_link(robustrun, storage):
    (storage.below / "bin").mkdir()
    (storage.below / "bin" / "python").symlink_to(sys.executable)
    script = robustrun.write("t.py", "import settings, robustrun\nrobustrun.step(1)\n")
    done = robustrun.run(script, env={"PYTHON_EXEC": str(storage.path / "bin" / "python"),
                                      "PYTHONPATH": str(storage.path)})
    assert done.code == 0, done.errors
    (profile,) = profiles(robustrun)
    files = files_of(profile)
    assert files and all(name.startswith("settings") for name in files)


def test_several_workers_make_one_profile(robustrun, storage):
    (profile,) = record(robustrun, storage, "--nproc-per-node=3")
    assert list(files_of(profile)).count("weights.bin") == 1


def test_changed_files_are_recorded_again(robustrun, storage):
    (profile,) = record(robustrun, storage)
    with open(storage.below / "train.py", "a") as script:
        script.write("# another one\n")
    storage.unmount()
    storage.mount()
    # One file in five has changed: this start notices it, if it lasts long enough.
    running = robustrun.start(str(storage.path / "train.py"))
    wait_for(lambda: profile.read_text().splitlines()[1] == "made 0", what="the note of it")
    storage.go.touch()
    assert running.finish().code == 0
    storage.go.unlink()
    record(robustrun, storage)
    assert profile.read_text().splitlines()[1] != "made 0"
    size = (storage.below / "train.py").stat().st_size
    assert f"file {size} " in profile.read_text()


@pytest.mark.parametrize("option", ["--prefetch=off", "--compat=torchrun"])
def test_with_prefetch_off_nothing_is_recorded(robustrun, storage, option):
    assert record(robustrun, storage, option) == []


def test_a_program_on_a_local_disk_is_recorded_only_on_request(robustrun):
    robustrun.write("t.py", "import robustrun\nrobustrun.step(1)\n")
    assert robustrun.run("t.py").code == 0
    assert profiles(robustrun) == []
    assert robustrun.run("--prefetch=on", "t.py").code == 0
    (profile,) = profiles(robustrun)
    assert "t.py" in files_of(profile)


def test_a_cache_that_cannot_be_written_fails_no_start(robustrun, storage):
    storage.go.touch()
    done = robustrun.run("--cache-dir=/proc/none", str(storage.path / "train.py"))
    assert done.code == 0, done.errors
