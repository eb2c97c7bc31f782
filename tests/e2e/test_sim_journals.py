"""`robustrun sim` with real journals: rates, times, and a repeated run."""

import json
import pathlib
import shutil
import subprocess

import pytest
from helpers.runner import BINARY


def sim(*options, code=0):
    done = subprocess.run([BINARY, "sim", *map(str, options)], capture_output=True, text=True,
                          timeout=400)
    assert done.returncode == code, done.stderr
    return done


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    """The directory of a real run on two nodes whose rank 1 killed itself once."""
    folder = tmp_path_factory.mktemp("site")
    script = folder / "job.py"
    script.write_text(
        "import os, time, pathlib, robustrun\n"
        "mark = pathlib.Path(__file__).with_name('died')\n"
        "for step in range(1, 41):\n"
        "    robustrun.step(step)\n"
        "    time.sleep(0.05)\n"
        "    if step == 20 and os.environ['RANK'] == '1' and not mark.exists():\n"
        "        mark.touch()\n"
        "        raise ValueError('once')\n")
    runs = folder / "runs"
    runs.mkdir()
    command = [BINARY, "--run-dir", runs / "first", "--launcher=processes", "--nnodes=2",
               "--nproc-per-node=1", "--max-restarts=3", script]
    done = subprocess.run(list(map(str, command)), cwd=folder, capture_output=True, text=True,
                          timeout=300)
    assert done.returncode == 0, done.stderr
    return runs / "first"


def test_a_real_run_gives_rates_and_times(run):
    study = json.loads(sim("--from-journal", run, "--json", "--days", "1", "--seeds", "2",
                           "--spares", "1").stdout)
    journals = study["journals"]
    assert journals["runs"] == ["first"]
    assert journals["node_hours"] > 0
    assert journals["failures"]["count"] == 1
    assert journals["kinds"]["software"]["count"] == 1
    rate = journals["failures"]
    assert 0 < rate["low"] < rate["per_node_day"] < rate["high"]
    assert rate["per_node_day"] == pytest.approx(24 / journals["node_hours"])
    times = {one["name"]: one for one in journals["times"]}
    scripts = [one for name, one in times.items() if name.startswith("script")]
    assert [one["samples"] for one in scripts] == [1]
    assert 0.04 < times["step"]["median_s"] < 1
    assert any("Too few failures (1)" in doubt for doubt in journals["doubts"])
    assert study["nodes"] == 2
    origins = {one["name"]: (one["origin"], one["source"]) for one in study["figures"]}
    assert origins["failures per node-day"][0] == "measured"
    assert origins["start of the script"][1].startswith("journals: ")
    assert origins["robustrun: device fault noticed"][0] == "measured"
    assert not origins["robustrun: device fault noticed"][1].startswith("journals: ")


def test_options_override_the_journal_and_more_machines_fail_more_often(run):
    options = ("--from-journal", run, "--json", "--days", "1", "--seeds", "1", "--spares", "0",
               "--compare", "none")
    few = json.loads(sim(*options, "--nodes", "2").stdout)
    many = json.loads(sim(*options, "--nodes", "20", "--start", "7s", "--preset", "rsc-1").stdout)
    origins = {one["name"]: one for one in many["figures"]}
    assert origins["start of the script"]["origin"] == "given"
    assert origins["failures per node-day"]["origin"] == "published"
    more = json.loads(sim(*options, "--nodes", "4").stdout)
    assert more["between_failures_s"] == pytest.approx(few["between_failures_s"] / 2)


def test_the_table_names_unknown_values(run):
    shown = sim("--from-journal", run.parent, "--days", "1", "--seeds", "1", "--spares", "0").stdout
    for words in ("Journals of 1 run", "95 % interval (Poisson)", "Not in the journals: ",
                  "Too few failures (1)", "a hang, until suspected"):
        assert words in shown, words


def test_the_repeated_run_is_shown_beside_its_own_report(run):
    played = json.loads(sim("--replay", run, "--json").stdout)
    report = subprocess.run([BINARY, "report", "--json", run], capture_output=True, text=True,
                            check=True)
    real = json.loads(report.stdout)["time"]
    assert played["real_ettr"] == pytest.approx(real["ettr"])
    assert played["calibrated_by_itself"]
    assert played["failures_played"] == played["failures_simulated"] == 1
    for column in ("real_s", "simulated_s"):
        total = sum(row[column] for row in played["rows"])
        assert total == pytest.approx(played["duration_s"], abs=1e-3)
    shown = sim("--replay", run, "--from-journal", run).stdout
    assert "medians of this run's own incidents" in shown and "points" in shown


def test_journals_of_other_runs_are_marked_as_such(run, tmp_path):
    other = tmp_path / "second"
    other.mkdir()
    shutil.copy(run / "journal", other / "journal")
    shown = sim("--replay", run, "--from-journal", other).stdout
    assert "medians of 1 other run, without this one" in shown


def damaged(journal, folder, change):
    content = bytearray(pathlib.Path(journal).read_bytes())
    path = folder / "journal"
    path.write_bytes(change(content))
    return path


@pytest.mark.parametrize(("change", "words"), [
    (lambda content: b"no journal at all", "journal"),
    (lambda content: b"", "no journal holds a run"),
    (lambda content: content[:64], "no journal holds a run"),
    (lambda content: b"RRJOURNL" + b"\xff" * 5000, "journal"),
])
def test_hostile_bytes_are_one_clear_error(run, tmp_path, change, words):
    path = damaged(run / "journal", tmp_path, change)
    said = sim("--from-journal", path, code=2)
    assert words in said.stderr and said.stdout == ""
    assert "Traceback" not in said.stderr and len(said.stderr.splitlines()) <= 3


def test_a_damaged_record_is_left_out_and_reported(run, tmp_path):
    def change(content):
        content[-200] ^= 0x55  # far after the start of the run
        return bytes(content)
    path = damaged(run / "journal", tmp_path, change)
    said = sim("--from-journal", path, "--days", "1", "--seeds", "1", "--spares", "0")
    assert "is damaged: 1 record is lost" in said.stderr


@pytest.mark.parametrize("options", [
    ("--from-journal", "/nowhere/run"),
    ("--from-journal", "/proc"),
    ("--replay", "/nowhere/run"),
])
def test_missing_files_are_named(options):
    said = sim(*options, code=2).stderr
    assert options[1] in said
