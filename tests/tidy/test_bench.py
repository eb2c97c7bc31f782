"""Measurements are run by hand; that they can be started is tested here."""

import pathlib
import re
import subprocess
import sys

BENCH = pathlib.Path(__file__).resolve().parents[2] / "bench"


def test_every_measurement_is_listed_in_the_readme():
    shown = subprocess.run([sys.executable, BENCH / "run", "--help"], capture_output=True,
                           text=True)
    assert shown.returncode == 0, shown.stderr
    names = re.findall(r"^  (\w+) {2,}\S", shown.stdout.split("what --quick measures:")[1], re.M)
    assert "launch" in names and "install" in names
    readme = (BENCH / "README.md").read_text()
    assert [name for name in names if readme.count(f"\n| {name} |") < 2] == []
