"""What users install: it needs an old glibc alone, runs where it is put, and leaves nothing."""

import os
import pathlib
import re
import subprocess
import sys
import tempfile
import zipfile

import pytest
from helpers.builds import has_static_busybox, root_without_glibc
from install import packages

WHEEL_BYTES_MAX = 15 << 20


def interpreters():
    """One of each version from 3.8 on that is at hand; nightly_distributions.py has others."""
    found = {}
    for folder in [*pathlib.Path.home().glob(".pyenv/versions/*/bin"), pathlib.Path("/usr/bin")]:
        for path in folder.glob("python3.*"):
            minor = re.fullmatch(r"python3\.(\d+)", path.name)
            if minor and int(minor[1]) >= 8:
                found[int(minor[1])] = str(path)
    return [found[minor] for minor in sorted(found)]


@pytest.fixture(scope="module")
def prefix(tmp_path_factory):
    return packages.unpack(tmp_path_factory.mktemp("tarball"))


def clean_environment(home, path):
    """A shell of a user without an activated environment."""
    return {"HOME": str(home), "PATH": str(path), "LANG": "C.UTF-8"}


def run(*command, **options):
    done = subprocess.run([str(part) for part in command], capture_output=True, text=True,
                          timeout=300, **options)
    assert done.returncode == 0, (command, done.stdout, done.stderr)
    return done.stdout


def run_two_ranks(robustrun, folder, environment):
    """Both ranks report; gives the prefix of their interpreter."""
    script = folder / "two ranks.py"
    script.write_text(packages.SCRIPT)
    out = run(robustrun, "--nproc-per-node=2", script, cwd=folder, env=environment)
    lines = sorted(line for line in out.splitlines() if "rank" in line and " of 2 by " in line)
    assert len(lines) == 2, out
    return lines[0].rpartition(" by ")[2]


def content(folder):
    return {path.relative_to(folder) for path in folder.rglob("*") if not path.is_dir()}


def test_no_symbol_is_newer_than_the_oldest_glibc_and_nothing_else_is_needed(prefix):
    packages.expect_old_glibc_alone(prefix)


def test_the_wheel_is_small_and_for_any_python(prefix):
    wheel = packages.wheel()
    assert "-py3-none-manylinux_2_28_" in wheel.name
    assert wheel.stat().st_size < WHEEL_BYTES_MAX
    names = set(zipfile.ZipFile(wheel).namelist())
    data = wheel.name[:wheel.name.index("-py3")] + ".data/"
    for name in map(str, content(prefix)):
        if name.startswith("libexec/robustrun"):
            assert data + "scripts/" + name[len("libexec/"):] in names
        elif name.startswith("share/robustrun/"):
            assert data + "data/" + name in names
    assert {"robustrun/__init__.py", "robustrun/checkpoint.py"} <= names


@pytest.mark.parametrize("python", interpreters(), ids=lambda path: pathlib.Path(path).name)
def test_the_wheel_runs_in_a_fresh_environment_and_leaves_nothing(tmp_path, python):
    venv = tmp_path / "venv"
    run(python, "-m", "venv", venv)
    pip = [venv / "bin" / "python", "-m", "pip", "--disable-pip-version-check"]
    before = content(venv)
    run(*pip, "install", "--no-index", packages.wheel())
    run(*pip, "check")
    environment = clean_environment(tmp_path, f"{venv}/bin:/usr/bin:/bin")
    assert run("robustrun", "--version", env=environment).startswith("robustrun ")
    assert run_two_ranks("robustrun", tmp_path, environment) == str(venv)
    # The library of checkpoints is found, too.
    run(venv / "bin" / "python", "-c", "from robustrun._checkpoint import c_api; c_api._load()",
        cwd=tmp_path)
    run(*pip, "uninstall", "-y", "robustrun")
    left = {path for path in content(venv) - before if "site-packages/pip/" not in str(path)}
    assert left == set()


def test_a_tools_own_environment_gives_no_interpreter(tmp_path):
    """As pipx and uv install tools: an environment of robustrun's own, a link to it on PATH."""
    tool = tmp_path / "venvs" / "robustrun"
    run(sys.executable, "-m", "venv", tool)
    run(tool / "bin" / "python", "-m", "pip", "install", "--no-index", packages.wheel())
    (tool / "pipx_metadata.json").write_text("{}")
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin" / "robustrun").symlink_to(tool / "bin" / "robustrun")
    mine = tmp_path / "mine"
    run(sys.executable, "-m", "venv", "--without-pip", mine)
    activated = clean_environment(tmp_path, f"{tmp_path}/bin:{mine}/bin:/usr/bin:/bin")
    assert run_two_ranks("robustrun", tmp_path, activated) == str(mine)
    foremost = clean_environment(tmp_path, f"{tool}/bin:{mine}/bin:/usr/bin:/bin")
    assert run_two_ranks("robustrun", tmp_path, foremost) == str(mine)
    chosen = {**foremost, "VIRTUAL_ENV": str(mine)}
    assert run_two_ranks("robustrun", tmp_path, chosen) == str(mine)


def test_uv_installs_it_as_a_tool(tmp_path):
    uv = pathlib.Path(sys.executable).with_name("uv")
    if not uv.exists():
        pytest.skip("no uv")
    tools = {**os.environ, "UV_OFFLINE": "1", "UV_TOOL_DIR": str(tmp_path / "tools"),
             "UV_TOOL_BIN_DIR": str(tmp_path / "bin"), "UV_CACHE_DIR": str(tmp_path / "cache")}
    run(uv, "tool", "install", "--python", sys.executable, packages.wheel(), env=tools)
    mine = tmp_path / "mine"
    run(sys.executable, "-m", "venv", "--without-pip", mine)
    environment = clean_environment(tmp_path, f"{tmp_path}/bin:{mine}/bin:/usr/bin:/bin")
    assert run_two_ranks("robustrun", tmp_path, environment) == str(mine)
    run(uv, "tool", "uninstall", "robustrun", env=tools)
    assert content(tmp_path / "tools") | content(tmp_path / "bin") <= {
        pathlib.Path(name) for name in (".lock", ".gitignore")}


@pytest.mark.parametrize("platform", ["musllinux_1_2_x86_64", "musllinux_1_2_aarch64",
                                      "manylinux_2_27_x86_64", "manylinux_2_34_riscv64"])
def test_pip_refuses_the_wheel_for_other_systems(tmp_path, platform):
    done = subprocess.run(
        [sys.executable, "-m", "pip", "install", "--no-index", "--only-binary=:all:", "--no-deps",
         "--platform", platform, "--target", tmp_path / "target", packages.wheel()],
        capture_output=True, text=True)
    assert done.returncode != 0
    assert "is not a supported wheel on this platform" in done.stderr
    assert not (tmp_path / "target").exists()


def test_the_tarball_runs_in_a_folder_with_any_name(tmp_path):
    folder = tmp_path / "Größe 2 – 日本"
    folder.mkdir()
    prefix = packages.unpack(folder)
    environment = clean_environment(tmp_path, "/usr/bin:/bin")
    assert run(prefix / "bin/robustrun", "--version", env=environment).startswith("robustrun ")
    run_two_ranks(prefix / "bin/robustrun", tmp_path, environment)
    moved = prefix.rename(tmp_path / "moved")
    run_two_ranks(moved / "bin/robustrun", tmp_path, environment)


@pytest.mark.skipif(os.geteuid() != 0 or not has_static_busybox(),
                    reason="takes root and busybox-static")
def test_where_no_glibc_or_another_processor_is_the_tarball_says_so(tmp_path):
    root = tmp_path / "root"
    root_without_glibc(root)
    program = packages.unpack(root) / "bin" / "robustrun"

    def refusal(*around):
        done = subprocess.run(
            [*around, "chroot", root, f"/{program.relative_to(root)}", "--version"],
            capture_output=True, text=True)
        assert done.returncode == 1 and not done.stdout
        return done.stderr

    assert "this system has no glibc (/lib" in refusal()
    # The kernel then names another processor.
    assert f"this package is for {packages.HERE}, and this machine is " in refusal(
        "setarch", "linux32")


def test_the_tarball_is_found_through_links_and_under_torchruns_name(prefix, tmp_path):
    environment = clean_environment(tmp_path, "/usr/bin:/bin")
    (tmp_path / "chain").symlink_to(prefix / "bin" / "robustrun")
    (tmp_path / "robustrun").symlink_to("chain")
    (tmp_path / "torchrun").symlink_to(prefix / "bin" / "robustrun")
    (tmp_path / "current").symlink_to(prefix)
    version = run(prefix / "bin" / "robustrun", "--version", env=environment)
    for command in ([tmp_path / "robustrun"], [tmp_path / "current" / "bin" / "robustrun"],
                    ["sh", "robustrun"]):
        folder = prefix / "bin" if command[0] == "sh" else tmp_path
        assert run(*command, "--version", env=environment, cwd=folder) == version
    assert "-F _torchrun torchrun" in run(tmp_path / "torchrun", "--print-completion", "bash",
                                          env=environment)


@pytest.mark.skipif(os.geteuid() != 0, reason="another user is played by root alone")
def test_a_user_whose_home_is_read_only_runs_it():
    with tempfile.TemporaryDirectory(dir="/tmp") as name:
        folder = pathlib.Path(name)
        folder.chmod(0o755)
        prefix = packages.unpack(folder)
        home = folder / "home"
        home.mkdir(mode=0o555)
        work = folder / "work"
        work.mkdir()
        os.chown(work, 65534, 65534)
        as_user = ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups"]
        script = work / "script.py"
        script.write_text(packages.SCRIPT)
        out = run(*as_user, prefix / "bin/robustrun", "--nproc-per-node=2", script, cwd=work,
                  env=clean_environment(home, "/usr/bin:/bin"))
        assert out.count(" of 2 by ") == 2
        assert content(home) == set()


def test_the_debian_package_needs_glibc_alone():
    fields = run("dpkg-deb", "--field", packages.debian_package(), "Depends", "Version")
    assert "Depends: libc6 (>= 2.28)\n" in fields
    listed = run("dpkg-deb", "--contents", packages.debian_package())
    for name in ("usr/bin/robustrun", "usr/share/robustrun/librobustrun.so",
                 "usr/share/bash-completion/completions/robustrun",
                 "usr/share/zsh/vendor-completions/_robustrun ->",
                 "usr/share/man/man1/robustrun.1",
                 "usr/lib/python3/dist-packages/robustrun ->"):
        assert name in listed


def test_the_sums_are_of_all_packages():
    dist = packages.built()
    run("sha256sum", "--check", "--strict", "SHA256SUMS", cwd=dist)
    names = {line.split()[1] for line in (dist / "SHA256SUMS").read_text().splitlines()}
    assert names == {path.name for path in dist.iterdir()} - {"SHA256SUMS"}
