"""The packages for aarch64, made with a cross-compiler: they need an old glibc alone, and whatever
starts no other process answers in an emulator as the programs of this machine do."""

import shutil
import subprocess
import zipfile

import pytest
from helpers.runner import BINARY, ROOT
from install import packages

ARCH = "aarch64"
EMULATOR = "qemu-aarch64-static"
FIXTURES = ROOT / "tests" / "fixtures"
SIMULATED = ["sim", "--nodes", "32", "--preset", "rsc-1", "--days", "20", "--seeds", "2", "--json"]
JOURNALS = sorted((FIXTURES / "journals").glob("*.journal"))
DUMPS = sorted({path.name[:-2] for path in (FIXTURES / "flight_recorder").glob("*.[0-3]")})

pytestmark = pytest.mark.skipif(packages.HERE == ARCH or shutil.which(EMULATOR) is None,
                                reason=f"no {EMULATOR}: scripts/install-deps.sh {ARCH}")


@pytest.fixture(scope="module")
def prefix(tmp_path_factory):
    return packages.unpack(tmp_path_factory.mktemp("tarball"), ARCH)


def answer(*command, folder):
    done = subprocess.run([str(part) for part in command], capture_output=True, text=True,
                          cwd=folder, timeout=600)
    return done.returncode, done.stdout, done.stderr


def answers_alike(prefix, folder, *arguments):
    """Its exit code and output; asserts that this machine's program says the same."""
    emulated = answer(EMULATOR, "-L", ROOT / f".sysroot-{ARCH}", prefix / "libexec" / "robustrun",
                      *arguments, folder=folder)
    assert emulated == answer(BINARY, *arguments, folder=folder)
    return emulated


def test_an_old_glibc_is_enough(prefix):
    packages.expect_old_glibc_alone(prefix)


def test_programs_are_for_that_processor(prefix):
    for path in packages.elf_files(prefix).values():
        assert int.from_bytes(path.read_bytes()[18:20], "little") == 183, path  # EM_AARCH64


def test_wheel_and_debian_package_are_named_for_it():
    wheel = packages.wheel(ARCH)
    assert "-py3-none-manylinux_2_28_aarch64" in wheel.name
    metadata = [name for name in zipfile.ZipFile(wheel).namelist() if name.endswith("/WHEEL")]
    text = zipfile.ZipFile(wheel).read(metadata[0]).decode()
    assert "Tag: py3-none-manylinux_2_28_aarch64" in text and "x86_64" not in text
    field = subprocess.run(["dpkg-deb", "--field", packages.debian_package(ARCH), "Architecture"],
                           capture_output=True, text=True, check=True).stdout
    assert field.strip() == "arm64"


@pytest.mark.parametrize("words", ["--version", "--help", "help all", "help --man",
                                   "completion bash", "--nproc-per-nod 2 x.py"])
def test_it_answers_as_here(prefix, tmp_path, words):
    code, out, err = answers_alike(prefix, tmp_path, *words.split())
    assert out or err
    assert code in (0, 2)


def test_a_simulated_cluster_has_the_same_result_to_the_last_digit(prefix, tmp_path):
    code, out, _ = answers_alike(prefix, tmp_path, *SIMULATED)
    assert code == 0 and "policies" in out


@pytest.mark.parametrize("journal", JOURNALS, ids=lambda path: path.name)
def test_journals_are_read_alike(prefix, tmp_path, journal):
    run = tmp_path / "run"
    run.mkdir()
    shutil.copy(journal, run / "journal")
    for options in ([], ["--json"]):
        answers_alike(prefix, tmp_path, "report", run, *options)


@pytest.mark.parametrize("dumps", DUMPS)
def test_flight_recorder_dumps_are_judged_alike(prefix, tmp_path, dumps):
    for path in (FIXTURES / "flight_recorder").glob(dumps + ".*"):
        shutil.copy(path, tmp_path)
    _, out, _ = answers_alike(prefix, tmp_path, "diagnose", "--from", tmp_path)
    assert "rank" in out
