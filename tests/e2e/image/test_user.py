"""Images of a user without root: mounted by squashfuse and fusermount3, in every mode."""

import os
import pathlib
import shutil
import stat
import subprocess
import tempfile

import pytest
from helpers.runner import BUILD
from image.squash import SYSTEM_PYTHON, squash, system_tree

pytestmark = [
    pytest.mark.skipif(os.geteuid() != 0, reason="becoming another user takes root"),
    pytest.mark.skipif(not os.path.exists("/dev/fuse"), reason="no FUSE: /dev/fuse"),
    pytest.mark.skipif(not SYSTEM_PYTHON.exists(), reason="no /usr/bin/python3 to copy"),
]
PLAIN_UID = 65534
FUSE = os.makedev(10, 229)
SCRIPT = """
import os, robustrun, sys
print("uid", os.getuid(), "interpreter", sys.executable, os.path.exists("/opt/in_image.py"))
robustrun.step(1)
"""


@pytest.fixture
def plain_user():
    """A folder of another user, and the prefix of commands that run as that user."""
    folder = pathlib.Path(tempfile.mkdtemp(prefix="rr-user-"))
    (folder / "runtime").mkdir(mode=0o700)
    device = folder / "fuse"  # for all users, as distributions have it
    os.mknod(device, stat.S_IFCHR | 0o666, FUSE)
    device.chmod(0o666)
    for path in (folder, folder / "runtime"):
        os.chown(path, PLAIN_UID, PLAIN_UID)
    prefix = ["unshare", "--mount", "sh", "-c", f'mount --bind {device} /dev/fuse && exec "$@"',
              "sh", "setpriv", f"--reuid={PLAIN_UID}", f"--regid={PLAIN_UID}", "--clear-groups"]
    reach = subprocess.run([*prefix, BUILD / "bin" / "robustrun", "--version"], capture_output=True)
    try:
        if reach.returncode != 0:
            pytest.skip(f"a user cannot run {BUILD / 'bin/robustrun'}: {reach.stderr.decode()}")
        yield folder, prefix
    finally:
        shutil.rmtree(folder)


@pytest.fixture(scope="module")
def image(tmp_path_factory):
    folder = tmp_path_factory.mktemp("system")
    return squash(system_tree(folder / "tree"), folder / "system.sqsh")


@pytest.mark.parametrize("mode", ["pagecache", "blocks"])
@pytest.mark.parametrize("runtime", ["none", "bwrap"])
def test_an_image_needs_no_root(plain_user, image, mode, runtime):
    folder, prefix = plain_user
    shutil.copy(image, folder / "image.sqsh")
    (folder / "image.sqsh").chmod(0o644)
    (folder / "train.py").write_text(SCRIPT)
    # Its mounts are visible only from within.
    look = 'cd "$0" && "$@"; code=$?; grep "$0" /proc/self/mounts; exit $code'
    done = subprocess.run(
        [*prefix, "sh", "-c", look, folder, BUILD / "bin" / "robustrun",
         f"--image={folder}/image.sqsh", f"--image-mode={mode}", f"--container-runtime={runtime}",
         "train.py"],
        env={"PATH": "/usr/bin:/bin", "HOME": str(folder),
             "XDG_RUNTIME_DIR": str(folder / "runtime")},
        stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr
    interpreter = f"{folder}/runtime/robustrun" if runtime == "none" else "/usr/bin/python3"
    assert f"uid {PLAIN_UID} interpreter {interpreter}" in done.stdout
    assert done.stdout.split()[-1] == str(runtime == "bwrap"), "a mount is left"
