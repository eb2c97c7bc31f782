"""The frame of bench/gpu_drill, with checks whose results are known (bench/drill/own_checks.py)."""

import json
import os
import signal
import subprocess
import sys

import pytest
from helpers.processes import command_of, wait_for
from helpers.runner import BUILD, ROOT

DRILL = ROOT / "bench" / "gpu_drill"


def drill(*words, **variables):
    done = subprocess.run([sys.executable, DRILL, *map(str, words)], capture_output=True,
                          text=True, timeout=120,
                          env={**os.environ, "ROBUSTRUN_BUILD_DIR": str(BUILD), **variables})
    return done.returncode, done.stdout, done.stderr


def left_behind():
    return [entry for entry in os.listdir("/proc")
            if entry.isdigit() and b"left-behind" in command_of(int(entry))]


def test_no_check_disturbs_another_and_all_results_are_kept(tmp_path):
    code, shown, errors = drill("--own", "--out", tmp_path)
    assert code == 1, errors
    assert "1 passed, 4 failed, 2 skipped" in shown
    content = json.loads((tmp_path / "drill.json").read_text())
    checks = {check["name"]: check for check in content["checks"]}
    assert {name: check["state"] for name, check in checks.items()} == {
        "passing": "PASS", "skipping": "SKIP", "failing": "FAIL", "claiming": "FAIL",
        "dying": "FAIL", "hanging": "FAIL", "greedy": "SKIP"}
    passing = checks["passing"]
    assert passing["claims"] == [{"claim": "the answer is 42", "holds": True, "seen": "42"}]
    assert passing["figures"] == {"answer": 42} and passing["line"] == "the answer is 42"
    assert (tmp_path / "recordings" / passing["recordings"][0]).read_text() == "42\n"
    assert checks["skipping"]["why"] == "there is nothing to look at"
    assert checks["failing"]["why"] == "41 was seen"
    assert checks["claiming"]["why"] == "one is two: it is 1"
    assert "ZeroDivisionError" in checks["dying"]["why"]
    # What a check found before it was ended is kept, and nothing of it lives on.
    assert checks["hanging"]["why"].startswith("not over after ")
    assert checks["hanging"]["figures"] == {"before": 1}
    assert left_behind() == []
    assert checks["greedy"]["why"].startswith("no time: it takes 9000 s")


def test_one_check_by_name(tmp_path):
    code, shown, errors = drill("--own", "--out", tmp_path, "--only", "passing")
    assert code == 0, errors
    assert "1 passed, 0 failed, 0 skipped" in shown


@pytest.mark.parametrize(("words", "text"), [
    (["--only", "nothing"], "no check is named nothing; --list shows them"),
    (["--budget", "0"], "--budget must be above 0"),
    (["--nccl", "/nowhere"], "--nccl: there is no file /nowhere"),
    (["--out", "/dev/null"], "--out: /dev/null is not a folder"),
])
def test_wrong_options_are_refused(words, text):
    code, _, errors = drill(*words)
    assert code == 2 and text in errors


def test_an_interrupted_drill_leaves_no_process_behind(tmp_path):
    running = subprocess.Popen([sys.executable, DRILL, "--own", "--out", tmp_path, "--only",
                                "hanging"], env={**os.environ, "ROBUSTRUN_BUILD_DIR": str(BUILD)},
                               stdout=subprocess.DEVNULL)
    wait_for(left_behind, 120, "the process of the check")
    running.terminate()
    assert running.wait(30) == 128 + signal.SIGTERM
    assert left_behind() == []


def test_the_checks_are_listed():
    code, shown, _ = drill("--list")
    assert code == 0
    assert [line.split()[0] for line in shown.splitlines()][:2] == ["environment", "one-rank"]


def test_a_machine_without_a_gpu_gets_one_line_and_a_code_of_its_own(tmp_path):
    out = tmp_path / "out"
    code, shown, errors = drill("--out", out, PATH=str(tmp_path))  # without nvidia-smi
    assert (code, shown) == (3, "")
    assert errors == ("nvidia-smi shows no GPU: nothing was checked; --cpu plays the checks "
                      "without one\n")
    assert not out.exists()


@pytest.mark.parametrize("name", ["versions", "shared-slot"])
def test_plugins_are_played_without_a_gpu(tmp_path, name):
    """versions: symbols that are hidden are not found."""
    code, _, errors = drill("--cpu", "--only", name, "--out", tmp_path)
    assert code == 0, errors
    check = json.loads((tmp_path / "drill.json").read_text())["checks"][0]
    assert check["state"] == "PASS", check["why"]
    assert check["claims"] and all(each["holds"] for each in check["claims"])
