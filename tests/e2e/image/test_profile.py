"""The profile of the blocks that a start reads is kept beside the image, so a node with an empty
cache begins with what another node has learned."""

import os
import subprocess

import pytest
from helpers.runner import BUILD
from image.squash import NEEDS_MOUNTS, packages_tree, squash

pytestmark = [*NEEDS_MOUNTS, pytest.mark.skipif(
    not (BUILD / "bin" / "robustrun-blocks").exists(),
    reason="no robustrun-blocks: built without libfuse3 or libcurl")]
READING = """
import of_the_image, robustrun
open(of_the_image.__file__.replace("of_the_image.py", "data.bin"), "rb").read()
robustrun.step(1)
"""


def runs_of(profile):
    """First block, count, and how many recordings in a row have missed it."""
    lines = profile.read_text().splitlines()
    return [[int(word) for word in line.split()[1:]] for line in lines if line.startswith("run ")]


@pytest.fixture
def start(robustrun, tmp_path):
    del robustrun.environment["PYTHON_EXEC"]  # a path of this machine, not of the image
    images = tmp_path / "images"
    images.mkdir()
    tree = packages_tree(tmp_path / "tree")
    # Never all there: the kernel would read far ahead then, as if the script did.
    (tree / "cold.bin").write_bytes(os.urandom(48 << 20))
    robustrun.image = squash(tree, images / "packages.sqsh")

    def run(cache, script):
        done = robustrun.run(f"--image={robustrun.image}", "--image-mode=blocks",
                             f"--cache-dir={tmp_path / cache}",
                             robustrun.write("train.py", script))
        assert done.code == 0, done.errors
        (profile,) = (tmp_path / cache / "hot").glob("*.blocks")
        return runs_of(profile)

    run.image = robustrun.image
    run.beside = images / "packages.sqsh.hot"
    return run


def test_a_node_with_an_empty_cache_begins_with_the_profile_of_another(start):
    learned = start("a", READING)
    assert runs_of(start.beside) == learned
    assert not any(missed for _, _, missed in learned)
    assert [path.name for path in start.beside.parent.iterdir()
            if path != start.image] == [start.beside.name]
    # It reads less; the unread blocks stay in the profile as missed once.
    begun_with = start("b", "import robustrun\nrobustrun.step(1)\n")
    missed = sum(count for _, count, missed in begun_with if missed == 1)
    assert missed * 128 << 10 > 2 << 20


def test_an_image_in_a_read_only_folder_can_be_used(start):
    folder = start.image.parent
    subprocess.run(["mount", "--bind", folder, folder], check=True)
    try:
        subprocess.run(["mount", "-o", "remount,bind,ro", folder], check=True)
        assert start("a", READING)
        assert not start.beside.exists()
    finally:
        subprocess.run(["umount", "-l", folder], check=True)


def test_a_profile_of_another_version_is_replaced_but_a_foreign_file_is_not(start):
    start.beside.write_text("robustrun-blocks 1\n")
    learned = start("a", READING)
    assert runs_of(start.beside) == learned
    start.beside.write_text("notes")
    start("b", READING)
    assert start.beside.read_text() == "notes"
