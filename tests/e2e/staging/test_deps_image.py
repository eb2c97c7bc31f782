"""Dependencies on top of an image: installed by its interpreter, once for all its mounts."""

import os
import shutil
import subprocess
import sys

import pytest
from image.squash import NEEDS_MOUNTS, SYSTEM_PYTHON, squash, system_tree
from staging.deps_site import make_wheel

pytestmark = NEEDS_MOUNTS
SCRIPT = "import sys, tiny\nprint('tiny', tiny.VERSION, sys.prefix)\n"


@pytest.fixture
def run(robustrun):
    folder = robustrun.folder
    make_wheel(folder / "wheels", "tiny", "1")
    robustrun.write("requirements.txt", "tiny==1\n")
    robustrun.write("train.py", SCRIPT)
    robustrun.environment.update({
        "PATH": ":".join(path for path in os.environ["PATH"].split(":")
                         if not os.path.exists(f"{path}/uv")),
        "PIP_NO_INDEX": "1", "PIP_FIND_LINKS": str(folder / "wheels"), "PIP_NO_CACHE_DIR": "1"})
    del robustrun.environment["PYTHON_EXEC"]  # a path of this machine, not of the image
    return robustrun


def test_dependencies_of_an_image_are_installed_once_for_all_its_mounts(run, tmp_path):
    subprocess.run([sys.executable, "-m", "venv", tmp_path / "tree"], check=True)
    image = squash(tmp_path / "tree", tmp_path / "tools.sqsh")
    for number, mode in enumerate(("pagecache", "blocks", "blocks")):  # each mounts it elsewhere
        done = run.run(f"--image={image}", f"--image-mode={mode}", "--deps=requirements.txt",
                       "train.py")
        assert done.code == 0, done.errors
        assert "tiny 1 " in done.text and "/mounts/image-" in done.text
        assert ("installing the dependencies" in done.errors) == (number == 0), done.errors
    run.expect_nothing_left()


@pytest.fixture(scope="module")
def image(tmp_path_factory):
    tmp_path = tmp_path_factory.mktemp("image")
    tree = system_tree(tmp_path / "tree")
    subprocess.run([sys.executable, "-m", "venv", tmp_path / "env"], check=True)
    (pip,) = (tmp_path / "env").glob("lib/python3*/site-packages/pip")
    (library,) = (tree / "usr/lib").glob("python3*")
    shutil.copytree(pip, library / "pip")
    return squash(tree, tmp_path / "system.sqsh")


@pytest.mark.skipif(not SYSTEM_PYTHON.exists(), reason="no /usr/bin/python3 to copy")
@pytest.mark.skipif(not shutil.which("bwrap"), reason="no bwrap: install bubblewrap")
class TestContainer:
    # A file system whose mounts reach other namespaces, as most machines have it, and one whose
    # mounts do not, as in most containers.
    @pytest.mark.parametrize("propagation", [
        "shared", pytest.param("private", marks=pytest.mark.nightly)])
    def test_its_interpreter_installs_once_for_all_containers(self, run, image, propagation):
        run.write("train.py", SCRIPT + "import subprocess\n"
                  "print(open('/etc/os-release').read(), subprocess.run(['tiny'], "
                  "capture_output=True))\n")
        make_wheel(run.folder / "wheels", "tiny", "1", program=True)
        for number in range(2):
            done = run.run("--mount", f"--propagation={propagation}", run.binary,
                           f"--image={image}", "--deps=requirements.txt", "--nproc-per-node=2",
                           "train.py", argv0="unshare")
            assert done.code == 0, done.errors
            assert "tiny 1 /usr" in done.text and "image of a test" in done.text
            assert "b'program 1" in done.text
            assert ("installing the dependencies" in done.errors) == (number == 0), done.errors
            is_mounted = propagation == "shared"  # otherwise it is unpacked
            assert ("/mounts/deps-" in done.errors) == is_mounted, done.errors
        run.expect_nothing_left()

    def test_a_command_runs_in_the_container(self, run, image):
        run.write("build.py", "import os, sys\n"
                  "assert 'image of a test' in open('/etc/os-release').read()\n"
                  "open(os.environ['ROBUSTRUN_PREFIX'] + '/tiny.py', 'w').write('VERSION = 9')\n")
        done = run.run(f"--image={image}", "--setup-cmd=/usr/bin/python3 build.py", "train.py")
        assert done.code == 0, done.errors
        assert "tiny 9 /usr" in done.text

    def test_a_failure_in_the_container_is_reported(self, run, image):
        run.write("requirements.txt", "no-such-package==1\n")
        done = run.run(f"--image={image}", "--deps=requirements.txt", "--max-restarts=0",
                       "train.py")
        assert done.code != 0
        assert "no-such-package" in done.errors.partition("its last lines")[2], done.errors

    @pytest.mark.parametrize("runtime", ["apptainer", "enroot"])
    def test_other_runtimes_are_refused(self, run, image, runtime):
        done = run.run(f"--image={image}", f"--container-runtime={runtime}",
                       "--deps=requirements.txt", "train.py")
        assert done.code == 2
        assert "must be part of the image; bwrap supports both" in done.errors
