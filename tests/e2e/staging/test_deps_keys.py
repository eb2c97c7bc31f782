"""Which dependencies are equal: by the content of all files that a command, a lock or a project
names, and by the folder where that content cannot be known."""

import os
import subprocess
import sys

import pytest
from staging.deps_site import (
    BUILD,
    TOOLS,
    Site,
    has_uv,
    make_wheel,
    setup_command,
    write_package,
)


@pytest.fixture
def uv_site(robustrun, plain):
    if not has_uv():
        pytest.fail("no uv in .venv: scripts/install-deps.sh test installs it")
    return Site(robustrun, plain, "uv")


@pytest.fixture
def pip_site(robustrun, plain):
    return Site(robustrun, plain, "pip")


def test_a_command_gets_what_the_files_of_its_own_folder_ask_for(pip_site):
    command = f"--setup-cmd={pip_site.variables['PYTHON_EXEC']} -m pip install -r requirements.txt"
    make_wheel(pip_site.wheels, "tiny", "2")
    for name, version in (("a", 1), ("b", 2), ("c", 2)):
        folder = pip_site.folder / name
        folder.mkdir()
        (folder / "requirements.txt").write_text(f"tiny=={version}\n")
        done = pip_site.run(command, script=pip_site.folder / "t.py", cwd=folder)
        assert done.code == 0, done.errors
        assert f"tiny {version} " in done.text
    assert len(pip_site.snapshots()) == 2  # equal dependencies of two folders are installed once
    (pip_site.folder / "b" / "requirements.txt").write_text("tiny==1\n")
    done = pip_site.run(command, script=pip_site.folder / "t.py", cwd=pip_site.folder / "b")
    assert "tiny 1 " in done.text, done.errors
    assert len(pip_site.snapshots()) == 2


def test_a_command_that_is_changed_or_runs_elsewhere_is_run_again(pip_site):
    option = setup_command(pip_site)
    other = pip_site.folder / "other"
    other.mkdir()
    for folder in (pip_site.folder, other):
        (folder / "go").touch()
        (folder / "build.py").write_text(BUILD)
        done = pip_site.run(option, script=pip_site.folder / "t.py", cwd=folder)
        assert "tiny 9 " in done.text, done.errors
        assert (folder / "count").read_text() == "x"
    pip_site.robustrun.write("build.py", BUILD.replace("'9'", "'10'"))
    assert "tiny 10 " in pip_site.run(option).text
    assert "tiny 10 " in pip_site.run(option).text
    assert (pip_site.folder / "count").read_text() == "xx"


def test_packages_beside_a_lock_are_copied_in_wherever_the_job_runs(uv_site):
    project = uv_site.folder / "project"
    write_package(project / "libs" / "tiny", "a")
    (project / "pyproject.toml").write_text(
        "[project]\nname = 'job'\nversion = '0'\ndependencies = ['tiny']\n"
        "requires-python = '>=3.8'\n"
        "[tool.uv.sources]\ntiny = { path = 'libs/tiny', editable = true }\n")
    subprocess.run([TOOLS / "uv", "lock", "--python", sys.executable], check=True, cwd=project,
                   env={**os.environ, **uv_site.variables})
    assert "editable = " in (project / "uv.lock").read_text()
    for name in ("uv.lock", "pyproject.toml"):
        for version in ("a", "b"):
            (project / "libs" / "tiny" / "tiny.py").write_text(f"VERSION = '{version}'\n")
            done = uv_site.run(f"--deps=project/{name}")
            assert done.code == 0, done.errors
            assert f"tiny {version} " in done.text
            assert f"{project}/" not in done.text
    assert len(uv_site.snapshots()) == 4
