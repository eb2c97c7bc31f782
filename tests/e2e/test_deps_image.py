"""Dependencies on top of an image: installed by its interpreter, once for all its mounts."""

import os
import subprocess
import sys

import pytest
from deps_site import make_wheel
from images import NEEDS_MOUNTS, SYSTEM_PYTHON, squash, system_tree

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


@pytest.mark.skipif(not SYSTEM_PYTHON.exists(), reason="no /usr/bin/python3 to copy")
def test_dependencies_are_not_installed_into_containers(run, tmp_path):
    image = squash(system_tree(tmp_path / "tree"), tmp_path / "system.sqsh")
    done = run.run(f"--image={image}", "--deps=requirements.txt", "train.py")
    assert done.code != 0
    assert "dependencies cannot be installed into a container" in done.errors
    done = run.run(f"--image={image}", "--container-runtime=bwrap", "--deps=requirements.txt",
                   "train.py")
    assert done.code == 2
    assert "belong into the image" in done.errors
