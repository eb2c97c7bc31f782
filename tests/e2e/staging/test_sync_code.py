"""Code that only the launcher's machine has reaches every machine."""

import os
import pathlib
import subprocess
import tempfile

import pytest
from helpers.jobs import kill_at_once, start_job
from helpers.processes import wait_for
from image.squash import NEEDS_MOUNTS, SYSTEM_PYTHON, squash, system_tree
from recovery.test_resume import kill_supervisor, resume
from slurm.jobs import Allocation

SCRIPT = """
import os, sys
import helper
print("rank", os.environ["RANK"], helper.VALUE, os.getcwd() == sys.path[0], len(helper.BLOB),
      flush=True)
"""


def write_code(folder, value="one", size=0):
    (folder / "lib").mkdir(parents=True, exist_ok=True)
    (folder / "train.py").write_text(SCRIPT)
    (folder / "helper.py").write_text(
        f"VALUE = {value!r}\nimport os\nBLOB = open(os.path.join("
        "os.path.dirname(__file__), 'lib/blob.bin'), 'rb').read()\n")
    (folder / "lib/blob.bin").write_bytes(os.urandom(size))


def hide(machines, folder):
    """Machines that do not see the folder, which only the launcher has."""
    for machine in machines.machines.values():
        subprocess.run(["nsenter", "-t", str(machine.init), "-m", "mount", "-t", "tmpfs", "none",
                        str(folder)], check=True)


def own_caches(machines, cache):
    cache.mkdir()
    for machine in machines.machines.values():
        subprocess.run(["nsenter", "-t", str(machine.init), "-m", "mount", "-t", "tmpfs", "-o",
                        "mode=700", "none", str(cache)], check=True)


def start(runner, machines, code, cache, *options):
    return start_job(
        runner, f"--hosts=h[1-{len(machines.machines)}]", "--iface=eth0", "--nproc-per-node=1",
        f"--cache-dir={cache}", "--sync-code=.", *options,
        "train.py", cwd=code, env=machines.home.environment(), prefix=machines.prefix,
    )


def test_code_that_only_the_launcher_has_runs_on_every_machine(lab, robustrun):
    machines = lab(3)
    code, cache = robustrun.folder / "code", robustrun.folder / "cache"
    write_code(code, size=3 << 20)
    own_caches(machines, cache)
    hide(machines, code)
    finished = start(robustrun, machines, code, cache).finish(300)
    assert finished.code == 0, finished.errors
    for rank in range(3):
        assert f"rank {rank} one True {3 << 20}" in finished.text, finished.text
    robustrun.expect_nothing_left()


def test_a_restart_keeps_the_code_of_the_start(robustrun):
    code, cache = robustrun.folder / "code", robustrun.folder / "cache"
    write_code(code)
    (code / ".venv").mkdir()
    (code / ".venv/pyvenv.cfg").write_text("home = /usr/bin\n")
    (code / ".venv/python").symlink_to("/usr/bin/python3")
    original = code / "helper.py"
    (code / "train.py").write_text(
        "import os, sys, helper\n"
        "print('attempt', os.environ['ROBUSTRUN_ATTEMPT'], helper.VALUE,"
        " os.path.exists('.venv'), flush=True)\n"
        "if os.environ['ROBUSTRUN_ATTEMPT'] == '0':\n"
        f"    open({str(original)!r}, 'w').write('VALUE = \"changed\"')\n"
        "    sys.exit(3)\n")
    finished = start_job(robustrun, "--sync-code=.", f"--cache-dir={cache}", "--max-restarts=1",
                         "train.py", cwd=code).finish()
    assert finished.code == 0, finished.errors
    assert "attempt 0 one False" in finished.text
    assert "attempt 1 one False" in finished.text
    assert original.read_text() == 'VALUE = "changed"'


def test_a_folder_with_a_link_to_the_outside_is_refused(robustrun):
    code = robustrun.folder / "code"
    write_code(code)
    (code / "data").symlink_to("/etc")
    finished = start_job(robustrun, "--sync-code=.", f"--cache-dir={robustrun.folder / 'cache'}",
                         "train.py", cwd=code).finish()
    assert finished.code == 2
    assert "data" in finished.errors and "outside" in finished.errors


def test_files_ignored_by_git_are_not_copied(robustrun):
    code, cache = robustrun.folder / "code", robustrun.folder / "cache"
    write_code(code)
    subprocess.run(["git", "init", "-q", str(code)], check=True)
    (code / ".gitignore").write_text("*.log\nout/\n")
    (code / "noise.log").write_text("x")
    (code / "out").mkdir()
    (code / "out/big.bin").write_text("x")
    (code / "train.py").write_text("import os\nprint(sorted(os.listdir('.')))\n")
    finished = start_job(robustrun, "--sync-code=.", f"--cache-dir={cache}",
                         "train.py", cwd=code).finish()
    assert finished.code == 0, finished.errors
    assert "['.gitignore', 'helper.py', 'lib', 'train.py']" in finished.text, finished.text


def test_a_successor_gives_the_code_to_machines_that_lost_it(lab, robustrun):
    machines = lab(2)
    code, cache = robustrun.folder / "code", robustrun.folder / "cache"
    write_code(code)
    with open(code / "train.py", "a") as script:
        script.write("import time\nwhile os.environ['ROBUSTRUN_ATTEMPT'] == '0': time.sleep(0.1)\n")
    own_caches(machines, cache)
    hide(machines, code)
    job = start(robustrun, machines, code, cache, "--max-restarts=3")
    wait_for(lambda: job.out().count(" one True ") == 2, 150, "the workers")
    kill_supervisor(job)
    for machine in machines.machines.values():
        kill_at_once(machine.agents())
        wait_for(lambda m=machine: not m.workers("train.py"), what="the end of the workers")
        subprocess.run(["nsenter", "-t", str(machine.init), "-m", "sh", "-c", f"rm -rf {cache}/*"],
                       check=True)
    again = resume(job, env=machines.home.environment(), prefix=machines.prefix)
    finished = again.finish()
    assert finished.code == 0, finished.errors
    for rank in range(2):
        assert f"rank {rank} one True 0" in finished.text, finished.text


def test_code_is_sent_inside_slurm(slurm, robustrun):
    code = robustrun.folder / "code"
    write_code(code)
    ended = Allocation(slurm(2), 2).run(
        robustrun, "--sync-code=.", f"--cache-dir={robustrun.folder / 'cache'}",
        "--nproc-per-node=1", "train.py", cwd=code)
    assert ended.code == 0, ended.errors
    for rank in range(2):
        assert f"rank {rank} one True 0" in ended.text, ended.text


@pytest.mark.skipif(not SYSTEM_PYTHON.exists(), reason="no /usr/bin/python3 to copy")
class TestInAnImage:
    pytestmark = NEEDS_MOUNTS

    @pytest.mark.parametrize("runtime", ["none", "bwrap"])
    def test_code_is_sent_to_workers_in_an_image(self, robustrun, runtime):
        code, cache = robustrun.folder / "code", robustrun.folder / "cache"
        write_code(code, size=7)
        image = squash(system_tree(robustrun.folder / "tree"), robustrun.folder / "system.sqsh")
        del robustrun.environment["PYTHON_EXEC"]  # a path of this machine, not of the image
        with tempfile.TemporaryDirectory(prefix="rr-sync-") as runtime_folder:
            robustrun.environment["XDG_RUNTIME_DIR"] = runtime_folder
            done = start_job(robustrun, "--sync-code=.", f"--cache-dir={cache}",
                             f"--image={image}", f"--container-runtime={runtime}", "train.py",
                             cwd=code).finish()
            assert done.code == 0, done.errors
            assert "rank 0 one True 7" in done.text, done.text
            mounts = pathlib.Path("/proc/self/mountinfo").read_text()
            assert f" {runtime_folder}/" not in mounts
