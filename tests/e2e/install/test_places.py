"""Where users put it: read-only homes, a /tmp without programs, folders of any name, no root."""

import json
import os
import pathlib
import shutil
import subprocess
import tempfile

import pytest
from helpers.builds import installed_copy
from helpers.ssh_server import NEEDS_ROOT
from install.packages import SCRIPT

USER = 65534
# A worker that dies once, so that the restart is seen as well, and a checkpoint.
DIES_ONCE = """\
import os, sys
import robustrun
from robustrun._checkpoint import c_api
c_api._load()
if os.environ["TORCHELASTIC_RESTART_COUNT"] == "0" and os.environ["RANK"] == "1":
    sys.exit(3)
print("rank", os.environ["RANK"], "of", os.environ["WORLD_SIZE"], "by", sys.prefix)
"""


class Place:
    """An installation and a working folder of an unprivileged user, below a folder of any name.
    /tmp is the user's own, and no program runs from there; HOME cannot be written."""

    def __init__(self, folder):
        self.folder = folder
        folder.chmod(0o755)
        inner = folder / "Größe 2 – 日本"
        inner.mkdir()
        self.program = installed_copy(inner / "robustrun")
        self.home = folder / "home"
        self.home.mkdir(mode=0o555)
        self.work = inner / "mein Projekt"
        self.work.mkdir()
        os.chown(self.work, USER, USER)

    def run(self, *arguments, **variables):
        mount = 'mount -t tmpfs -o noexec,mode=1777 none /tmp; exec setpriv "$@"'
        command = ["unshare", "--mount", "--propagation=private", "/bin/sh", "-ec", mount, "sh",
                   f"--reuid={USER}", f"--regid={USER}", "--clear-groups", self.program]
        return subprocess.run(
            [*map(str, command), *map(str, arguments)], cwd=self.work, capture_output=True,
            text=True, timeout=300,
            env={"HOME": str(self.home), "PATH": "/usr/bin:/bin", "LANG": "C.UTF-8", **variables})


@pytest.fixture
def place():
    # Not below /tmp, which is another one for the user.
    with tempfile.TemporaryDirectory(dir="/var/tmp", prefix="robustrun-") as name:
        yield Place(pathlib.Path(name))


def below(folder):
    return sorted(path.name for path in folder.rglob("*"))


@NEEDS_ROOT
def test_a_user_without_root_or_home_runs_it_from_any_folder(place):
    (place.work / "mein Skript.py").write_text(DIES_ONCE)
    done = place.run("--nproc-per-node=2", "mein Skript.py")
    assert done.returncode == 0, done.stderr
    assert done.stdout.count(" of 2 by ") >= 2, done.stdout
    assert "noexec" not in done.stderr and "Permission denied" not in done.stderr, done.stderr
    assert below(place.home) == []
    assert below(place.work / "robustrun-runs")
    report = place.run("report", "--json")
    assert report.returncode == 0 and len(json.loads(report.stdout)["incidents"]) == 1


@NEEDS_ROOT
def test_the_doctor_finds_nothing_bad_there(place):
    done = place.run("doctor", "--json")
    checks = {check["name"]: check for check in json.loads(done.stdout)["checks"]}
    assert checks["robustrun"]["state"] == "ok", checks["robustrun"]
    assert str(place.program.parents[1]) in checks["robustrun"]["found"]
    assert checks["Python"]["state"] == "ok", checks["Python"]


@NEEDS_ROOT
def test_several_nodes_start_there(place):
    (place.work / "script.py").write_text(SCRIPT)
    done = place.run("--launcher=processes", "--nnodes=2", "--nproc-per-node=1", "script.py")
    assert done.returncode == 0, done.stderr
    assert done.stdout.count(" of 2 by ") == 2, done.stdout
    assert below(place.home) == []


@NEEDS_ROOT
@pytest.mark.parametrize("variable", ["TMPDIR", "XDG_RUNTIME_DIR"])
def test_a_folder_of_a_variable_that_is_missing_or_closed_is_done_without(place, variable):
    (place.work / "script.py").write_text(SCRIPT)
    closed = place.folder / "closed"
    closed.mkdir(mode=0o700)
    for folder in (closed, place.folder / "missing"):
        done = place.run("--nproc-per-node=2", "script.py", **{variable: str(folder)})
        assert done.returncode == 0, (folder, done.stderr)
        assert done.stdout.count(" of 2 by ") == 2


@NEEDS_ROOT
def test_a_wheels_environment_may_have_any_name(place):
    """pip writes the interpreter's path into the first line of scripts; ours are programs."""
    venv = place.work / "Umgebung ü"
    subprocess.run(["/usr/bin/python3", "-m", "venv", "--without-pip", venv], check=True)
    for name in ("bin", "share"):
        for path in (place.program.parents[1] / name).iterdir():
            target = venv / name / path.name
            target.parent.mkdir(exist_ok=True)
            (shutil.copytree if path.is_dir() else shutil.copy2)(path, target)
    place.program = venv / "bin" / "robustrun"
    (place.work / "script.py").write_text(SCRIPT)
    done = place.run("--nproc-per-node=2", "script.py", VIRTUAL_ENV=str(venv))
    assert done.returncode == 0, done.stderr
    assert done.stdout.count(f" of 2 by {venv}") == 2, done.stdout
