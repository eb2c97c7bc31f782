"""Workers with an environment from a squashfs image: mounted from its file or served by blocks,
first on PATH or as the root of a container."""

import contextlib
import os
import pathlib
import shutil
import signal
import socket
import subprocess
import tempfile
import time

import pytest
from helpers.jobs import kill_at_once
from helpers.processes import HeldPort, command_of, is_alive, program_of, wait_for
from helpers.runner import BUILD
from image.block_server import BLOCK
from image.squash import NEEDS_MOUNTS, SYSTEM_PYTHON, packages_tree, squash, system_tree

pytestmark = NEEDS_MOUNTS
needs_bwrap = pytest.mark.skipif(not shutil.which("bwrap"), reason="no bwrap: install bubblewrap")
needs_system = pytest.mark.skipif(not SYSTEM_PYTHON.exists(), reason="no /usr/bin/python3 to copy")
needs_blocks = pytest.mark.skipif(not (BUILD / "bin" / "robustrun-blocks").exists(),
                                  reason="no robustrun-blocks: built without libfuse3 or libcurl")
needs_nginx = pytest.mark.skipif(not shutil.which("nginx"), reason="no nginx")

SCRIPT = """
import sys, subprocess, of_the_image
print("prefix", sys.prefix)
print("word", of_the_image.WORD)
print(subprocess.run(["image-tool"], capture_output=True, text=True).stdout)
open(of_the_image.__file__.replace("of_the_image.py", "data.bin"), "rb").read()
import robustrun
robustrun.step(1)
"""
WAITING = """
import os, signal, sys, time, robustrun
signal.signal(signal.SIGTERM, lambda *_: (print("asked to end", flush=True), sys.exit(5)))
robustrun.step(1)
print("stepped", flush=True)
open("ready", "w").close()
while True:
    time.sleep(0.05)
"""
# Reads unread parts of the image, again and again.
READING = """
import os, of_the_image, robustrun
path = of_the_image.__file__.replace("of_the_image.py", "data.bin")
robustrun.step(1)
open("ready", "w").close()
while True:
    with open(path, "rb", 0) as file:
        os.posix_fadvise(file.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)
        while file.read(1 << 16):
            pass
"""


@pytest.fixture(scope="session")
def packages_image(tmp_path_factory):
    folder = tmp_path_factory.mktemp("packages")
    return squash(packages_tree(folder / "tree"), folder / "packages.sqsh")


@pytest.fixture(scope="session")
def system_image(tmp_path_factory):
    folder = tmp_path_factory.mktemp("system")
    return squash(system_tree(folder / "tree"), folder / "system.sqsh")


def mounts_below(folder):
    table = pathlib.Path("/proc/self/mountinfo").read_text().splitlines()
    return [line.split()[4] for line in table if line.split()[4].startswith(f"{folder}/")]


@pytest.fixture
def run(robustrun):
    """robustrun with a private folder for sockets and mounts, whose path is short enough for
    sockets."""
    robustrun.runtime = pathlib.Path(tempfile.mkdtemp(prefix="rr-image-"))
    robustrun.environment["XDG_RUNTIME_DIR"] = str(robustrun.runtime)
    del robustrun.environment["PYTHON_EXEC"]  # a path of this machine, not of the image
    robustrun.mounts = lambda: mounts_below(robustrun.runtime)
    yield robustrun
    robustrun.close()
    for mount in reversed(robustrun.mounts()):
        subprocess.run(["umount", "-f", "-l", mount], check=False)
    shutil.rmtree(robustrun.runtime, ignore_errors=True)


@contextlib.contextmanager
def nginx(folder, root):
    held = HeldPort()
    port = held.number
    configuration = folder / "nginx.conf"
    configuration.write_text(f"""
daemon off; master_process off; pid {folder}/nginx.pid; error_log {folder}/nginx.log;
events {{}}
http {{ access_log off; client_body_temp_path {folder}/b; proxy_temp_path {folder}/p;
  fastcgi_temp_path {folder}/f; uwsgi_temp_path {folder}/u; scgi_temp_path {folder}/s;
  server {{ listen 127.0.0.1:{port}; root {root}; }} }}
""")
    server = subprocess.Popen(["nginx", "-c", configuration], stderr=subprocess.DEVNULL)
    try:
        wait_for(lambda: socket.socket().connect_ex(("127.0.0.1", port)) == 0, what="nginx")
        yield f"http://127.0.0.1:{port}"
    finally:
        server.kill()
        server.wait()
        held.close()


def test_a_tree_of_packages_comes_first_on_path(run, packages_image):
    done = run.run(f"--image={packages_image}", run.write("train.py", SCRIPT))
    assert done.code == 0, done.errors
    assert "word from the image" in done.text
    assert "tool of the image" in done.text
    assert f"prefix {run.runtime}/robustrun/mounts/" in done.text
    assert not run.mounts()
    assert not list((run.runtime / "robustrun" / "mounts").iterdir())
    run.expect_nothing_left()


def test_every_attempt_and_every_node_of_a_machine_has_the_image(run, packages_image):
    script = run.write("train.py", SCRIPT + """
import os
if os.environ["TORCHELASTIC_RESTART_COUNT"] == "0" and os.environ["RANK"] == "0":
    sys.exit(3)
""")
    done = run.run("--launcher=processes", "--nnodes=2", f"--image={packages_image}", script)
    assert done.code == 0, done.errors
    assert "/root" in done.text and "-1/root" in done.text  # two agents, two mounts
    assert not run.mounts()


def test_the_image_is_read_ahead_at_the_next_start(run, packages_image):
    script = run.write("train.py", SCRIPT)
    first = run.run(f"--image={packages_image}", "--prefetch=on", script)
    assert first.code == 0, first.errors
    (profile,) = (run.folder / "cache/robustrun/hot").glob("*.hot")
    files = [line.split(" ", 5)[5] for line in profile.read_text().splitlines()
             if line.startswith("file ")]
    assert files[0] == str(packages_image)  # the rest lies in it
    assert any(name.endswith("of_the_image.py") for name in files)
    recorded = profile.read_bytes()
    again = run.run(f"--image={packages_image}", "--prefetch=on", script)
    assert again.code == 0, again.errors
    assert profile.read_bytes() == recorded  # everything was found there, so nothing is made anew


@pytest.mark.parametrize("make, said", [
    (lambda path: path.write_bytes(b"x" * 8192), "it is no squashfs image"),
    (lambda path: path.write_bytes(b"hsqs"), "it is no squashfs image"),
    (None, "No such file or directory; check the path"),
])
def test_a_file_that_is_not_an_image_is_reported_and_not_retried(run, make, said):
    image = run.folder / "bad.sqsh"
    if make:
        make(image)
    done = run.run(f"--image={image}", run.write("train.py", "print(1)"))
    assert done.code != 0
    assert said in done.errors
    assert "bad.sqsh" in done.errors
    assert "restart 1" not in done.errors
    assert not run.mounts()


def test_a_truncated_image_is_reported_as_such(run, packages_image):
    image = run.folder / "half.sqsh"
    image.write_bytes(packages_image.read_bytes()[:100_000])
    done = run.run(f"--image={image}", run.write("train.py", "print(1)"))
    assert done.code != 0
    assert "it is cut short" in done.errors


def test_an_image_without_python_is_an_error(run):
    (run.folder / "tree/bin").mkdir(parents=True)
    (run.folder / "tree/bin/tool").write_text("#!/bin/sh\necho here\n")
    (run.folder / "tree/bin/tool").chmod(0o755)
    image = squash(run.folder / "tree", run.folder / "tool.sqsh")
    done = run.run(f"--image={image}", run.write("train.py", "print(1)"))
    assert "cannot find python3 in the image" in done.errors
    done = run.run(f"--image={image}", "--no-python", "tool")
    assert done.code == 0, done.errors
    assert "here" in done.text


def test_mounts_of_an_agent_that_was_killed_are_gone_after_the_next_start(run, packages_image):
    running = run.start(f"--image={packages_image}", run.write("wait.py", WAITING))
    wait_for((run.folder / "ready").exists, what="the first step")
    left = run.mounts()
    assert left
    kill_at_once([running.pid, running.agent()])  # otherwise another agent unmounts them
    running.finish()
    assert run.mounts() == left
    done = run.run(f"--image={packages_image}", run.write("train.py", SCRIPT))
    assert done.code == 0, done.errors
    assert not run.mounts()


def test_foreign_mounts_stay(run, packages_image):
    other = run.folder / "other"
    other.mkdir()
    subprocess.run(["mount", "-t", "squashfs", "-o", "loop,ro", packages_image, other], check=True)
    try:
        done = run.run(f"--image={packages_image}", run.write("train.py", SCRIPT))
        assert done.code == 0, done.errors
        assert (other / "bin/python3").is_symlink()
    finally:
        subprocess.run(["umount", other], check=True)


@needs_bwrap
@needs_system
class TestContainer:
    def test_the_image_is_the_workers_root(self, run, system_image):
        script = run.write("train.py", """
import os, sys, robustrun
print(open("/etc/os-release").read(), sys.executable, os.getcwd())
open("written", "w").write("by rank " + os.environ["RANK"])
print("there" if os.path.exists("/usr/bin/git") else "no git here")
print(os.listdir("/dev/shm") is not None, os.path.exists(os.environ["ROBUSTRUN_RECORD"]))
robustrun.step(1)
""")
        done = run.run(f"--image={system_image}", script)
        assert done.code == 0, done.errors
        assert "image of a test" in done.text
        assert f"/usr/bin/python3 {run.folder}" in done.text
        assert "no git here" in done.text
        assert "True True" in done.text
        assert (run.folder / "written").read_text() == "by rank 0"
        assert "reached step 1" in done.errors, done.errors
        assert not run.mounts()
        run.expect_nothing_left()

    def test_a_script_in_the_image_is_found(self, run, system_image):
        done = run.run(f"--image={system_image}", "/opt/in_image.py")
        assert done.code == 0, done.errors
        assert "a script of the image" in done.text

    @pytest.mark.parametrize("line, code", [
        ("import sys; sys.exit(7)", 7),
        ("import os, signal; os.kill(os.getpid(), signal.SIGSEGV)", 128 + signal.SIGSEGV),
    ])
    def test_the_exit_code_is_that_of_the_script(self, run, system_image, line, code):
        done = run.run(f"--image={system_image}", "--max-restarts=0", run.write("end.py", line))
        assert done.code == code, done.errors
        if code > 128:
            assert "SIGSEGV" in done.errors

    def test_a_stop_reaches_the_script(self, run, system_image):
        running = run.start(f"--image={system_image}", run.write("wait.py", WAITING))
        wait_for((run.folder / "ready").exists, what="the first step")
        os.kill(running.pid, signal.SIGTERM)
        done = running.finish()
        assert "asked to end" in done.text
        assert not run.mounts()
        run.expect_nothing_left()

    def test_no_stray_outlives_a_worker(self, run, system_image):
        script = run.write("stray.py", """
import os, subprocess, sys
subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)"], start_new_session=True)
os._exit(0)
""")
        done = run.run(f"--image={system_image}", script)
        assert done.code == 0, done.errors
        run.expect_nothing_left()

    def test_requested_mounts_are_there(self, run, system_image):
        data = run.folder / "data"
        data.mkdir()
        (data / "file").write_text("payload")
        script = run.write("train.py", """
print(open("/mnt/data/file").read())
try:
    open("/mnt/data/new", "w")
except OSError as error:
    print("not written:", error.strerror)
""")
        done = run.run(f"--image={system_image}", f"--container-mounts={data}:/mnt/data:ro", script)
        assert done.code == 0, done.errors
        assert "payload" in done.text
        assert "not written: Read-only file system" in done.text

    def test_a_missing_runtime_is_an_error(self, run, system_image):
        programs = run.folder / "programs"
        programs.mkdir()
        (programs / "python3").symlink_to(SYSTEM_PYTHON)
        done = run.run(f"--image={system_image}", run.write("train.py", "print(1)"),
                       env={"PATH": str(programs)})
        assert done.code != 0
        assert "bwrap is not on this machine; install bubblewrap" in done.errors


@needs_blocks
class TestBlocks:
    @needs_nginx
    def test_an_image_at_a_url_is_served_by_blocks(self, run, packages_image):
        with nginx(run.folder, packages_image.parent) as origin:
            url = f"{origin}/{packages_image.name}"
            done = run.run(f"--image={url}", run.write("train.py", SCRIPT))
            assert done.code == 0, done.errors
            assert "word from the image" in done.text
        assert list((run.folder / "cache/robustrun/blocks").iterdir())
        assert not run.mounts()
        run.expect_nothing_left()

    @needs_nginx
    def test_an_image_that_the_server_lacks_is_an_error(self, run, packages_image):
        with nginx(run.folder, packages_image.parent) as origin:
            done = run.run(f"--image={origin}/gone.sqsh", run.write("train.py", "print(1)"),
                           "--max-restarts=0")
        assert done.code != 0
        assert "gone.sqsh" in done.errors and "404" in done.errors
        assert not run.mounts()

    def test_blocks_of_a_path_work_as_well(self, run, packages_image):
        done = run.run(f"--image={packages_image}", "--image-mode=blocks",
                       run.write("train.py", SCRIPT))
        assert done.code == 0, done.errors
        assert "word from the image" in done.text

    @pytest.mark.parametrize("prefetch", ["on", "off"])
    def test_the_profile_has_the_reads_until_the_first_step(self, run, tmp_path, prefetch):
        tree = packages_tree(tmp_path / "tree")
        (site,) = tree.glob("lib/python3*/site-packages")
        for name, size in (("before", 8 << 20), ("cold", 64 << 20), ("after", 16 << 20)):
            (site / name).write_bytes(os.urandom(size))
        image = squash(tree, tmp_path / "sizes.sqsh")
        profiles = run.folder / "cache/robustrun/hot"
        script = run.write("train.py", f"""
import glob, time, of_the_image, robustrun
def read(name):
    open(of_the_image.__file__.replace("of_the_image.py", name), "rb").read()
read("before")
robustrun.step(1)
while not glob.glob("{profiles}/*.blocks"):
    time.sleep(0.01)
read("after")
""")
        done = run.run(f"--image={image}", "--image-mode=blocks", f"--prefetch={prefetch}", script)
        assert done.code == 0, done.errors
        (profile,) = profiles.glob("*.blocks")
        runs = [line.split() for line in profile.read_text().splitlines() if line[:3] == "run"]
        blocks = sum(int(run[2]) for run in runs)
        assert 8 << 20 <= blocks * BLOCK < 16 << 20
        (data,) = (run.folder / "cache/robustrun/blocks").glob("*/data")
        if prefetch == "off":
            assert data.stat().st_blocks * 512 < 64 << 20

    def servers(self, run):
        return [pid for pid in run.marked() if program_of(pid) == b"robustrun-blocks"]

    def test_readers_of_a_stopped_server_can_be_killed(self, run, packages_image):
        running = run.start(f"--image={packages_image}", "--image-mode=blocks",
                            "--shutdown-timeout=1", run.write("read.py", READING))
        wait_for((run.folder / "ready").exists, what="the first step")
        (server,) = self.servers(run)
        (worker,) = running.workers()
        os.kill(server, signal.SIGSTOP)
        began = time.monotonic()
        os.kill(running.pid, signal.SIGTERM)
        done = running.finish(timeout=90)
        print(f"gone after {time.monotonic() - began:.2f} s")
        assert not is_alive(worker)
        assert "left behind" not in done.errors
        assert not run.mounts()
        run.expect_nothing_left()

    def test_the_next_attempt_has_a_new_server_when_it_died(self, run, packages_image):
        script = run.write("read.py", """
import os, sys
if os.environ["TORCHELASTIC_RESTART_COUNT"] == "1":
    import of_the_image
    print(of_the_image.WORD)
    sys.exit(0)
""" + READING.replace("while True:", """
import time
while not os.path.exists("go"):  # what is in memory by then is read without a server
    time.sleep(0.01)
while True:""", 1))
        running = run.start(f"--image={packages_image}", "--image-mode=blocks", "--cache-max=7",
                            script)
        wait_for((run.folder / "ready").exists, what="the first step")
        (server,) = self.servers(run)
        assert b"--cache-max 7" in b" ".join(command_of(server))
        os.kill(server, signal.SIGKILL)
        (run.folder / "go").touch()
        done = running.finish()
        assert done.code == 0, done.errors
        assert "from the image" in done.text
        assert "the block server" in done.errors or "is lost on this machine" in done.errors
