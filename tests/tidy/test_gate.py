"""scripts/test.sh: what may be skipped, and what not."""

import pathlib
import re
import subprocess

ROOT = pathlib.Path(__file__).resolve().parents[2]


def lacking(lines):
    text = (ROOT / "scripts" / "test.sh").read_text()
    function = re.search(r"^lacking_packages\(\) \{\n.*?^\}$", text, re.MULTILINE | re.DOTALL)[0]
    done = subprocess.run(["bash", "-c", function + "\nlacking_packages"], input=lines,
                          capture_output=True, text=True, timeout=60)
    assert done.stderr == ""
    return done.stdout.splitlines()


def test_a_test_skipped_because_a_package_is_missing_fails_the_gate():
    import_ = "skipped: [1] tests/e2e/test_demo.py:7: could not import 'torch': No module named"
    mark = "skipped: [3] tests/e2e/trainers/test_trackers.py:78: mlflow is not installed"
    others = ["skipped: [1] tests/e2e/helpers/machines.py:28: network namespaces take root",
              "skipped: [1] tests/e2e/helpers/browser.py:34: no Chromium; on Debian: apt-get",
              "skipped: [1] tests/e2e/trainers/nightly_deepspeed.py:28: deepspeed is not installed"]
    assert lacking("\n".join([import_, *others, mark]) + "\n") == [import_, mark]
    assert lacking("\n".join(others) + "\n") == []
    assert lacking("") == []


def test_the_reasons_are_those_that_tests_give():
    found = {"pytest.importorskip(": 0, " is not installed": 0}
    for path in (ROOT / "tests").rglob("test_*.py"):
        text = path.read_text()
        for part in found:
            found[part] += part in text and path != pathlib.Path(__file__)
    assert min(found.values()) > 0
