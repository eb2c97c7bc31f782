"""Dependencies of a run: installed once for all starts with the same content, by pip and by uv,
from wheels made by the test."""

import json
import os
import shutil
import subprocess
import sys
import time
import zipfile

import pytest
from helpers.jobs import kill_at_once
from helpers.processes import wait_for
from staging.deps_site import (
    TOOLS,
    Site,
    has_uv,
    make_wheel,
    setup_command,
    write_package,
)


@pytest.fixture(params=["pip", "uv"])
def site(request, robustrun, plain):
    if request.param == "uv" and not has_uv():
        pytest.fail("no uv in .venv: scripts/install-deps.sh test installs it")
    return Site(robustrun, plain, request.param)


@pytest.fixture
def pip_site(robustrun, plain):
    return Site(robustrun, plain, "pip")


def test_the_first_run_installs_and_the_second_one_does_not(site):
    first = site.run("--deps=requirements.txt")
    assert first.code == 0, first.errors
    assert "tiny 1 " in first.text
    assert f"with {site.installer}" in first.errors
    (snapshot,) = site.snapshots()
    made, trace = snapshot.stat().st_mtime_ns, site.trace()
    shutil.rmtree(site.wheels)  # an installation would fail now
    second = site.run("--deps=requirements.txt")
    assert second.code == 0, second.errors
    assert "tiny 1 " in second.text
    assert "installing" not in second.errors
    assert site.trace() == trace
    assert len(site.logs()) == 1
    assert site.snapshots() == [snapshot] and snapshot.stat().st_mtime_ns == made


def test_without_deps_the_module_is_missing(pip_site):
    assert pip_site.run().code != 0


def test_programs_come_first_on_the_path_and_a_users_modules_after(site):
    make_wheel(site.wheels, "tiny", "1", program=True)
    (site.folder / "own").mkdir()
    (site.folder / "own" / "mine.py").write_text("")
    (site.folder / "own" / "tiny.py").write_text("VERSION = 'own'")
    site.robustrun.write(
        "t.py", "import subprocess, tiny, mine\n"
                "print(tiny.VERSION, subprocess.run(['tiny'], capture_output=True).stdout)\n")
    site.variables["PYTHONPATH"] = str(site.folder / "own")
    done = site.run("--deps=requirements.txt")
    assert done.code == 0, done.errors
    assert "1 b'program 1" in done.text


def test_a_failed_installation_is_not_kept_and_shows_the_last_lines(site):
    site.robustrun.write("requirements.txt", "no-such-package==1\n")
    for _ in range(2):
        done = site.run("--deps=requirements.txt", "--max-restarts=0")
        assert done.code != 0
        assert "cannot install the dependencies" in done.errors
        assert "no-such-package" in done.errors.partition("its last lines")[2]
        assert site.snapshots() == []
    leases = list((site.folder / "cache" / "robustrun" / "deps").glob("*.lease"))
    assert leases == []
    site.robustrun.write("requirements.txt", "tiny==1\n")
    assert site.run("--deps=requirements.txt").code == 0


def test_the_content_of_an_editable_package_counts(site):
    package = site.folder / "package"
    write_package(package, "a")
    site.robustrun.write("requirements.txt", "-e ./package\n")
    first = site.run("--deps=requirements.txt")
    assert first.code == 0, first.errors
    assert "tiny a " in first.text
    (package / "tiny.py").write_text("VERSION = 'b'\n")
    second = site.run("--deps=requirements.txt")
    assert "tiny b " in second.text, second.errors
    assert len(site.snapshots()) == 2


def test_unpinned_dependencies_are_reinstalled_after_a_time(site):
    site.robustrun.write("requirements.txt", "tiny\n")
    assert "tiny 1 " in site.run("--deps=requirements.txt").text
    make_wheel(site.wheels, "tiny", "2")
    assert "tiny 1 " in site.run("--deps=requirements.txt").text
    time.sleep(1.1)  # snapshots have times in seconds
    assert "tiny 2 " in site.run("--deps=requirements.txt", "--deps-ttl=1s").text
    assert "tiny 2 " in site.run("--deps=requirements.txt").text
    assert len(site.snapshots()) == 1


def count_of(site):
    """One character for each run of the --setup-cmd."""
    count = site.folder / "count"
    return count.read_text() if count.exists() else ""


def test_two_jobs_at_once_install_once(pip_site):
    option = setup_command(pip_site)
    with open(pip_site.folder / "errors", "wb") as errors:
        first = pip_site.start(option)
        wait_for(lambda: count_of(pip_site) == "x", what="the first installation")
        second = pip_site.start(option, stderr=errors)
        wait_for(lambda: b"waiting for it" in (pip_site.folder / "errors").read_bytes(),
                 what="the wait of the second")
    (pip_site.folder / "go").touch()
    assert "tiny 9 " in first.finish().text
    assert "tiny 9 " in second.finish().text
    assert (pip_site.folder / "count").read_text() == "x"
    assert len(pip_site.snapshots()) == 1


def test_after_a_kill_in_the_middle_the_next_run_starts_over(pip_site):
    option = setup_command(pip_site)
    running = pip_site.start(option)
    wait_for(lambda: count_of(pip_site) == "x", what="the installation")
    kill_at_once([running.pid, running.agent()])
    running.finish()
    pip_site.robustrun.expect_nothing_left()
    assert pip_site.snapshots() == []
    (pip_site.folder / "go").touch()
    done = pip_site.run(option)
    assert done.code == 0, done.errors
    assert "tiny 9 " in done.text
    assert (pip_site.folder / "count").read_text() == "xx"
    left = {p.suffix for p in pip_site.snapshots()[0].parent.iterdir()}
    assert left == {".sqfs", ".about"}
    places = list(pip_site.folder.glob("robustrun-*/deps/*"))
    wait_for(lambda: not [p for p in places if p.exists()], what="the end of places")


def test_a_command_installs_with_pip_into_the_prefix(pip_site):
    done = pip_site.run(f"--setup-cmd={pip_site.variables['PYTHON_EXEC']} -m pip install tiny==1")
    assert done.code == 0, done.errors
    assert "tiny 1 " in done.text


def test_a_projects_dependencies_and_its_lock(site):
    site.robustrun.write("pyproject.toml",
                         "[project]\nname = 'job'\nversion = '0'\ndependencies = ['tiny']\n"
                         "requires-python = '>=3.8'\n")
    done = site.run("--deps=pyproject.toml")
    if sys.version_info < (3, 11) and site.installer == "pip":
        pytest.skip("tomllib came with Python 3.11")
    assert done.code == 0, done.errors
    assert "tiny 1 " in done.text
    if site.installer == "pip":
        site.robustrun.write("uv.lock", "version = 1\n")
        refused = site.run("--deps=uv.lock")
        assert refused.code != 0 and "uv" in refused.errors
        return
    environment = {**os.environ, **site.variables}
    subprocess.run([TOOLS / "uv", "lock", "--python", sys.executable], check=True,
                   cwd=site.folder, env=environment)
    make_wheel(site.wheels, "tiny", "2")
    done = site.run("--deps=uv.lock")
    assert done.code == 0, done.errors
    assert "tiny 1 " in done.text


def test_an_environment_of_conda_has_its_own_interpreter(pip_site):
    """A fake conda makes the same environment."""
    tools = pip_site.folder / "tools"
    tools.mkdir()
    conda = tools / "micromamba"
    conda.write_text(f"""#!/bin/sh
echo used >> {pip_site.uses}
while [ "$1" != --prefix ]; do shift; done
mkdir -p "$2/bin" "$2/conda-meta" "$2/lib"
cat > "$2/bin/python" <<END
#!/bin/sh
export PYTHONPATH=$2/lib:\\$PYTHONPATH
exec {pip_site.variables["PYTHON_EXEC"]} "\\$@"
END
chmod 755 "$2/bin/python"
echo "VERSION = 'conda'" > "$2/lib/tiny.py"
""")
    conda.chmod(0o755)
    pip_site.variables["PATH"] = f"{tools}:{pip_site.variables['PATH']}"
    pip_site.robustrun.write("environment.yml", "dependencies:\n- tiny\n")
    for _ in range(2):
        done = pip_site.run("--deps=environment.yml")
        assert done.code == 0, done.errors
        assert "tiny conda " in done.text
    assert pip_site.uses.read_text().count("used") == 1


@pytest.mark.skipif(os.geteuid() != 0, reason="mounting a small disk takes root")
def test_a_full_cache_loses_the_snapshot_but_not_the_run(pip_site):
    make_wheel(pip_site.wheels, "tiny", "1", size=3 << 20)
    small = pip_site.folder / "small"
    small.mkdir()
    subprocess.run(["mount", "-t", "tmpfs", "-o", "size=1m,mode=0700", "none", small], check=True)
    try:
        done = pip_site.run(f"--cache-dir={small}", "--deps=requirements.txt")
        assert done.code == 0, done.errors
        assert "tiny 1 " in done.text
        assert "cannot be kept" in done.errors
        names = {p.suffix for p in (small / "deps").iterdir()}
        assert not names & {".sqfs", ".unfinished", ".lease"}
    finally:
        pip_site.robustrun.close()
        subprocess.run(["umount", small], check=True)


def test_path_files_of_packages_are_read(pip_site):
    with zipfile.ZipFile(pip_site.wheels / "tiny-1-py3-none-any.whl") as wheel:
        files = {name: wheel.read(name) for name in wheel.namelist()}
    code = files.pop("tiny.py")
    files.update({"hidden/tiny.py": code, "tiny.pth": b"hidden\n"})
    info = "tiny-1.dist-info/RECORD"
    files[info] = "".join(f"{name},,\n" for name in files).encode()
    with zipfile.ZipFile(pip_site.wheels / "tiny-1-py3-none-any.whl", "w") as wheel:
        for name, content in files.items():
            wheel.writestr(name, content)
    done = pip_site.run("--deps=requirements.txt")
    assert done.code == 0, done.errors
    assert "hidden/tiny.py" in done.text


def test_the_cache_is_listed_checked_and_made_smaller(pip_site):
    def cache(*words):
        return pip_site.robustrun.run("cache", *words, "--json", env=pip_site.variables)

    assert json.loads(cache("ls").out)["entries"] == []
    assert pip_site.run("--deps=requirements.txt").code == 0
    (entry,) = json.loads(cache("ls").out)["entries"]
    assert entry["kind"] == "snapshot" and not entry["in_use"] and not entry["damage"]
    assert entry["what"].endswith("requirements.txt")
    assert cache("verify").code == 0

    pip_site.robustrun.write("w.py", "import os, time, tiny\nopen('up', 'w')\n"
                                     "while not os.path.exists('end'):\n    time.sleep(0.01)\n")
    running = pip_site.start("--deps=requirements.txt", script="w.py")
    wait_for(lambda: (pip_site.folder / "up").exists(), what="a run that uses it")
    kept = cache("gc", "--max=0")
    assert kept.code == 1 and json.loads(kept.out)["removed"] == []
    assert json.loads(cache("ls").out)["entries"][0]["in_use"]
    (pip_site.folder / "end").touch()
    assert running.finish().code == 0

    (snapshot,) = pip_site.snapshots()
    with open(snapshot, "r+b") as file:
        file.truncate(snapshot.stat().st_size - 1)
    damaged = cache("verify")
    assert damaged.code == 1 and json.loads(damaged.out)["entries"][0]["damage"]
    assert pip_site.run("--deps=requirements.txt").code == 0  # made anew
    assert cache("verify").code == 0
    gone = cache("gc", "--max=0")
    assert gone.code == 0 and len(json.loads(gone.out)["removed"]) == 1
    assert pip_site.snapshots() == []
    assert cache("mend").code == 2


@pytest.mark.parametrize("options, words", [
    (["--deps=setup.cfg"], "unknown kind of file"),
    (["--deps=none.txt"], "there is no such file"),
    (["--deps=requirements.txt", "--setup-cmd=make"], "not together with --deps"),
    (["--setup-cmd='make"], "a quote is not closed"),
    (["--deps=requirements.txt", "--no-python"], "use --setup-cmd"),
])
def test_impossible_options_are_refused_at_once(pip_site, options, words):
    script = "/bin/true" if "--no-python" in options else "t.py"
    done = pip_site.run(*options, script=script)
    assert done.code == 2 and words in done.errors
