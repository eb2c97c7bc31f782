"""Classes of failures: a real worker raises or prints, and the run reports what that means."""

import pytest

DISK_FULL = """
import errno, os, sys
raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), "/ckpt/step_400.pt")
"""
ECC = """
import os, sys
print("RuntimeError: CUDA error: uncorrectable ECC error encountered", file=sys.stderr, flush=True)
os._exit(1)
"""
WORD = "likely: "


def looks(robustrun):
    (incident,) = robustrun.report()["incidents"]
    return incident["looks_like"]


def test_a_full_disk_is_named_with_the_line_that_shows_it(robustrun):
    robustrun.write("job.py", DISK_FULL)
    finished = robustrun.run("--max-restarts=0", "job.py")
    assert finished.code == 1
    assert looks(robustrun) == {
        "name": "no space left",
        "symptom": "Insufficient disk space",
        "layer": "infrastructure",
        "confidence": "high",
        "action": "give up",
        "sequel": False,
        "evidence": "\"OSError: [Errno 28] No space left on device: '/ckpt/step_400.pt'\""
        " (rank 0's stderr)",
        "advice": "free space first; if a local disk is full, use another machine",
    }
    (line,) = [line for line in finished.errors.splitlines() if WORD in line]
    assert "Insufficient disk space, no space left (infrastructure, high confidence)" in line
    text = robustrun.run("report", str(robustrun.newest_run())).text
    assert "likely    Insufficient disk space, no space left (infrastructure, high" in text


def test_a_failure_without_a_row_is_classified_by_exit_and_time(robustrun):
    robustrun.write("job.py", "import os\nos._exit(7)\n")
    assert robustrun.run("--max-restarts=0", "job.py").code == 7
    what = looks(robustrun)
    assert (what["symptom"], what["confidence"]) == ("unexplained", "low")
    assert what["evidence"] == "exit code 7 (rank 0)"


def test_rows_of_a_site_beat_the_shipped_ones(robustrun):
    robustrun.write("job.py", ECC)
    robustrun.write(
        "site.toml",
        "[[fault]]\n"
        'name = "bad node"\n'
        'text = "uncorrectable ECC*encountered"\n'
        'layer = "infrastructure"\n'
        'confidence = "high"\n'
        'action = "check"\n'
        'advice = "call the operators"\n',
    )
    robustrun.run("--max-restarts=0", "job.py")
    assert looks(robustrun)["name"] == "uncorrectable ECC error"
    robustrun.run("--max-restarts=0", "--faults=site.toml", "job.py")
    assert looks(robustrun)["name"] == "bad node"
    assert looks(robustrun)["advice"] == "call the operators"


def test_a_bad_file_is_refused_with_its_line(robustrun):
    robustrun.write("job.py", "")
    robustrun.write("site.toml", '[[fault]]\nname = "x"\nlayer = "weather"\n')
    finished = robustrun.run("--faults=site.toml", "job.py")
    assert finished.code == 2
    assert "site.toml:3:1: layer must be one of infrastructure, user code" in finished.errors


@pytest.mark.parametrize("compat", [["--compat=torchrun"], []], ids=["compat", "native"])
def test_compat_mode_reports_no_class(robustrun, compat):
    robustrun.write("job.py", DISK_FULL)
    finished = robustrun.run(*compat, "--max-restarts=0", "--run-dir=r", "job.py")
    assert (WORD in finished.errors) == (not compat)
    assert "likely " not in finished.errors or not compat
