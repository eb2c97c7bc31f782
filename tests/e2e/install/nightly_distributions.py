"""Debian 11, 12 and 13, each in a folder: what is installed there runs, and leaves nothing.

Each has a glibc of its own (2.31, 2.36, 2.41), its Python, and nothing that a minimal system lacks.
"""

import os
import pathlib
import shutil
import subprocess
import tempfile

import pytest
from install import packages

SUITES = ("bullseye", "bookworm", "trixie")
ARCHIVE = "http://deb.debian.org/debian"
pytestmark = [
    pytest.mark.skipif(os.geteuid() != 0, reason="chroot needs root"),
    pytest.mark.skipif(not shutil.which("debootstrap"), reason="no debootstrap"),
]


def run(*command, **options):
    done = subprocess.run([str(part) for part in command], capture_output=True, text=True,
                          timeout=1200, **options)
    assert done.returncode == 0, (command, done.stdout[-4000:], done.stderr[-4000:])
    return done.stdout


class Root:
    """A system of its own below `folder`, with /proc, /dev and our packages."""

    def __init__(self, folder, suite):
        self.folder = folder
        run("debootstrap", "--variant=minbase", "--include=python3-venv", suite, folder, ARCHIVE)
        (folder / "packages").mkdir()
        for path in (packages.wheel(), packages.tarball(), packages.debian_package()):
            shutil.copy(path, folder / "packages")
        (folder / "work").mkdir()
        (folder / "work" / "script.py").write_text(packages.SCRIPT)

    def run(self, script):
        # Mounts in a namespace of its own: none is left, however a test ends.
        mounts = "; ".join(f'mount --rbind /{name} "$0/{name}"' for name in ("proc", "dev"))
        return run("unshare", "--mount", "--propagation=private", "/bin/sh", "-ec",
                   mounts + '; exec chroot "$0" /bin/sh -ec "$1"', self.folder, script, env={
            "PATH": "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin",
            "HOME": "/root", "LANG": "C.UTF-8", "DEBIAN_FRONTEND": "noninteractive"})

    def expect_two_ranks(self, robustrun, path="$PATH"):
        out = self.run(f'PATH="{path}"; export PATH; cd /work; '
                       f"{robustrun} --nproc-per-node=2 script.py")
        assert out.count(" of 2 by ") == 2, out

    def libc(self):
        out = self.run("python3 -c 'import platform; print(platform.libc_ver()[1])'")
        return out.strip()

    def content(self):
        """The files of the folders that belong to the system; pip leaves an empty share/."""
        return {str(path.relative_to(self.folder)) for name in ("usr", "opt", "srv", "root")
                for path in (self.folder / name).rglob("*")
                if (path.is_symlink() or not path.is_dir())
                and "__pycache__" not in path.parts and ".cache" not in path.parts}


@pytest.fixture(scope="module", params=SUITES)
def root(request):
    # sshd chroots only where no folder above can be written by others, as /tmp can.
    with tempfile.TemporaryDirectory(dir=pathlib.Path.home(), prefix="robustrun-") as folder:
        pathlib.Path(folder).chmod(0o755)
        yield Root(pathlib.Path(folder) / request.param, request.param)


def test_the_wheel(root):
    root.run("python3 -m venv /srv/venv")
    before = root.content()
    root.run("/srv/venv/bin/pip install --no-index /packages/*.whl; /srv/venv/bin/pip check")
    root.expect_two_ranks("robustrun", "/srv/venv/bin:$PATH")
    root.run("cd /work; /srv/venv/bin/python -c "
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


def test_a_run_of_two_nodes_over_ssh(root, farm, robustrun):
    """One host is the other system, and has nothing of ours: it gets this build."""
    prefix = packages.unpack(robustrun.folder)
    robustrun.binary = prefix / "bin" / "robustrun"
    hosts = farm(2, options=["MaxStartups 512", f"ChrootDirectory {root.folder}"])
    inside = root.folder / str(robustrun.folder).lstrip("/")
    inside.mkdir(parents=True)
    mounts = "".join(f"mount --rbind /{name} {root.folder}/{name} && " for name in ("proc", "dev"))
    mounts += f"mount --bind {robustrun.folder} {inside} && "
    # It is hidden there: the path of this build holds nothing.
    mounts += f"mount -t tmpfs none {inside}/{prefix.name} && "
    hosts["h2"].restart_under("unshare", "--mount", first=mounts)
    hosts.options = ["MaxStartups 512"]
    hosts["h1"].die()
    hosts["h1"].boot()
    script = robustrun.write("script.py", "import os, platform\nimport robustrun\n"
                             "print('rank', os.environ['RANK'], 'libc', platform.libc_ver()[1])\n")
    done = robustrun.run("--hosts=h[1-2]", script, timeout=600,
                         env={**hosts.home.environment(), "PYTHON_EXEC": "/usr/bin/python3"})
    assert done.code == 0, done.errors
    libcs = dict(line.split(" libc ") for line in done.text.splitlines())
    assert libcs["rank 1"] == root.libc(), done.text
    assert "does not have this build: pushing it" in done.errors
    hosts.expect_empty()


def test_a_source_over_http_without_libcurl_is_refused_in_words(root):
    root.run("tar xf /packages/*.tar.gz -C /opt")
    out = root.run("cd /work; mkdir -p mount cache; /opt/robustrun-*/bin/robustrun-blocks serve "
                   "--source http://127.0.0.1:9/image.sqsh --mount mount --cache cache "
                   "--socket socket --retry-budget 1 2>&1 || true")
    assert "libcurl cannot be loaded" in out and "install it: libcurl4 on Debian" in out
    root.run("rm -rf /opt/robustrun-*")
