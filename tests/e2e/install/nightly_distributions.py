"""Debian 11, 12 and 13, each in a folder: what is installed there runs, reaches other hosts, and
leaves nothing.

Each has a glibc of its own (2.31, 2.36, 2.41), its Python, and nothing that a minimal system lacks.
"""

import contextlib
import itertools
import os
import pathlib
import shutil
import sys
import sysconfig
import tempfile
import time

import pytest
from install.roots import USER, USER_ID, Root, Servers

SUITES = ("bullseye", "bookworm", "trixie")
# "In under a minute", for both commands of a new user.
SECONDS_MAX = 60
DEMO_SECONDS_MAX = 30
TORCH = "/srv/torch"
pytestmark = [
    pytest.mark.skipif(os.geteuid() != 0, reason="chroot needs root"),
    pytest.mark.skipif(not shutil.which("debootstrap"), reason="no debootstrap"),
]

# Rank 1 fails once, so that the restart is seen, too.
DIES_ONCE = """\
import os, platform, sys
import robustrun
if os.environ["TORCHELASTIC_RESTART_COUNT"] == "0" and os.environ["RANK"] == "1":
    sys.exit(3)
print("rank", os.environ["RANK"], "of", os.environ["WORLD_SIZE"], "libc", platform.libc_ver()[1])
"""


@pytest.fixture(scope="module")
def roots():
    """Makes each system when it is first asked for."""
    made = {}
    # sshd needs folders above that others cannot write, unlike /tmp.
    with tempfile.TemporaryDirectory(dir=pathlib.Path.home(), prefix="robustrun-") as folder:
        pathlib.Path(folder).chmod(0o755)

        def root(suite):
            if suite not in made:
                made[suite] = Root(pathlib.Path(folder) / suite, suite)
            return made[suite]

        yield root


@pytest.fixture(params=SUITES)
def root(roots, request):
    return roots(request.param)


@pytest.fixture
def venv(root):
    """A virtual environment of the user."""
    root.run(f"python3 -m venv /home/{USER}/venv", USER)
    yield f"/home/{USER}/venv"
    shutil.rmtree(root.home / "venv")


@pytest.fixture
def servers(tmp_path):
    """`servers(login, roots)`: the user of `login` can reach these over SSH, as h1, h2, …"""
    with contextlib.ExitStack() as stack:
        def start(login, roots):
            started = Servers(tmp_path, login, roots)
            stack.callback(started.close)
            return started

        yield start


def write_job(root, text):
    """Writes the script of a job into the user's folder "job"."""
    folder = root.home / "job"
    folder.mkdir(exist_ok=True)
    (folder / "train.py").write_text(text)
    os.chown(folder, USER_ID, USER_ID)


def test_the_wheel(root):
    root.run("python3 -m venv /srv/venv")
    before = root.content()
    root.run("/srv/venv/bin/pip install --no-index /packages/*.whl; /srv/venv/bin/pip check")
    root.expect_two_ranks("robustrun", "/srv/venv/bin:$PATH")
    root.run("cd /job; /srv/venv/bin/python -c "
             "'from robustrun._checkpoint import c_api; c_api._load()'")
    root.run("/srv/venv/bin/pip uninstall -y robustrun")
    assert root.content() - before == set()
    root.run("rm -rf /srv/venv")


def test_the_tarball(root):
    root.run("tar xf /packages/*.tar.gz -C /opt")
    root.expect_two_ranks("/opt/robustrun-*/bin/robustrun")
    root.run("rm -rf /opt/robustrun-*")


def test_the_debian_package(root):
    before = root.content()
    root.run("dpkg -i /packages/*.deb")
    root.expect_two_ranks("robustrun")
    root.run("python3 -c 'from robustrun._checkpoint import c_api; c_api._load()'")
    removed = root.run("dpkg -P robustrun 2>&1")
    assert "not empty" not in removed
    assert root.content() - before == set()


def test_the_demo(root, venv):
    """With torch where the system's Python is that of the tests."""
    root.run(f"{venv}/bin/pip install --no-index /packages/*.whl", USER)
    demo = f"PATH={venv}/bin:$PATH; cd /job; robustrun demo"
    if root.python() != sys.version_info[:2]:
        done = root.attempt(demo, USER)
        assert done.returncode == 2
        assert f"{venv}/bin/python3 has no torch; `pip install torch` into it" in done.stderr
        return
    (site,) = (root.home / "venv").glob("lib/python3*/site-packages")
    (site / "torch.pth").write_text(TORCH)
    began = time.monotonic()
    done = root.attempt(demo, USER, {TORCH: os.path.realpath(sysconfig.get_path("purelib"))})
    seconds = time.monotonic() - began
    assert done.returncode == 0, done.stderr
    assert "rank 1 kills itself with SIGKILL" in done.stdout
    assert "steps done again after the restart, each with the same loss" in done.stderr
    assert seconds < DEMO_SECONDS_MAX


def test_a_user_without_root_goes_from_nothing_to_two_nodes_with_two_commands(root, venv, servers):
    hosts = servers(root, [root, root])
    before = root.content()
    write_job(root, DIES_ONCE)
    began = time.monotonic()
    root.run(f"{venv}/bin/pip install --no-index /packages/*.whl", USER)
    done = root.attempt(f"PATH={venv}/bin:$PATH; cd ~/job; robustrun --hosts=h[1-2] train.py", USER)
    seconds = time.monotonic() - began
    assert done.returncode == 0, done.stderr
    assert sorted(set(done.stdout.splitlines())) == [
        f"rank {rank} of 2 libc {root.libc()}" for rank in (0, 1)], done.stdout
    assert "restart 1 of 3" in done.stderr
    assert seconds < SECONDS_MAX
    hosts.expect_empty()
    root.run(f"{venv}/bin/pip uninstall -y robustrun", USER)
    shutil.rmtree(root.home / "job")
    assert root.content() - before == set()


@pytest.mark.parametrize("here, there", list(itertools.permutations(SUITES, 2)))
def test_an_agent_of_this_build_is_pushed_to_another_distribution(roots, here, there, servers):
    """The other host has nothing of ours: it gets what the login node runs. The check before the
    first start would leave it out, as its Python is another one."""
    root, other = roots(here), roots(there)
    hosts = servers(root, [root, other])
    for each in (root, other):
        write_job(each, DIES_ONCE)
    root.run("mkdir ~/tool; tar xf /packages/*.tar.gz -C ~/tool --strip-components=1", USER)
    done = root.attempt("cd ~/job; PYTHON_EXEC=/usr/bin/python3 "
                        "~/tool/bin/robustrun --hosts=h[1-2] --preflight=off train.py", USER)
    assert done.returncode == 0, done.stderr
    ranks = {f"rank 0 of 2 libc {root.libc()}", f"rank 1 of 2 libc {other.libc()}"}
    assert ranks <= set(done.stdout.splitlines()), done.stdout
    assert done.stderr.count("does not have this build: pushing it") == 1, done.stderr
    assert "restart 1 of 3" in done.stderr
    hosts.expect_empty()
    (copy,) = (other.home / ".cache" / "robustrun").iterdir()
    shutil.rmtree(copy.parent)
    for folder in (root.home / "tool", root.home / "job", other.home / "job"):
        shutil.rmtree(folder)


def test_a_source_over_http_without_libcurl_is_refused_in_words(root):
    root.run("tar xf /packages/*.tar.gz -C /opt")
    out = root.run(
        "cd /job; mkdir -p mount cache; /opt/robustrun-*/libexec/robustrun-blocks serve "
        "--source http://127.0.0.1:9/image.sqsh --mount mount --cache cache --socket socket "
        "--retry-budget 1 2>&1 || true")
    assert "libcurl cannot be loaded" in out and "install it: libcurl4 on Debian" in out
    root.run("rm -rf /opt/robustrun-*")
