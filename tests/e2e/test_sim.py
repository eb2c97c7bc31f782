"""`robustrun sim`: the ETTR of a job on a simulated cluster."""

import json
import subprocess
import xml.etree.ElementTree

import pytest
from helpers.runner import BINARY

SMALL = ("--nodes", "32", "--preset", "rsc-1", "--days", "60", "--seeds", "3")


def sim(*options, code=0):
    done = subprocess.run([BINARY, "sim", *options], capture_output=True, text=True, timeout=400)
    assert done.returncode == code, done.stderr
    return done


def answer(*options):
    return json.loads(sim(*SMALL, "--json", *options).stdout)


def policy(study, name="robustrun"):
    return next(one for one in study["policies"] if one["name"] == name)


def test_the_table_shows_the_result_and_its_assumptions():
    shown = sim(*SMALL).stdout
    for words in ("32 machines of 8 GPUs and ", "ETTR", "robustrun", "torchrun",
                  "byterobust", "checkpoint every", "productive (ETTR)", "Recommended spares",
                  "Optimal (Young and Daly)", "arXiv 2410.21680", "  measured", "  published",
                  "  assumed"):
        assert words in shown, words
    assert "  given" not in shown
    assert "  given" in sim(*SMALL, "--step-time", "2s").stdout


def test_the_account_of_every_policy_closes_and_repeats():
    everybody = "torchrun,torchrun-slow,byterobust,byterobust-all-in"
    study = answer("--compare", everybody)
    assert [one["name"] for one in study["policies"]] == ["robustrun", *everybody.split(",")]
    for one in study["policies"]:
        assert sum(one["phases_ns"].values()) == one["total_ns"] == 3 * 60 * 86400 * 10**9
        assert 0 < one["ettr"]["low"] <= one["ettr"]["mean"] <= one["ettr"]["high"] <= 1
    assert answer("--compare", everybody) == study
    assert answer("--compare", everybody, "--seed", "50") != study


def test_useful_numbers_of_spares_and_checkpoints_are_found():
    study = answer("--checkpoint-save", "20s")
    tried = {one["spares"]: one["ettr"]["mean"] for one in study["spares_tried"]}
    assert tried[0] < tried[2]
    assert study["spares"] == study["best_spares"] > 0
    best = max(study["intervals"], key=lambda one: one["ettr"])
    assert best["every_s"] == study["best_interval_s"]
    assert study["young_daly_s"] / 5 < best["every_s"] < study["young_daly_s"] * 5


def test_a_given_number_of_spares_is_simulated_alone():
    study = answer("--spares", "2")
    assert (study["spares"], study["spares_tried"], study["best_spares"]) == (2, [], None)
    shown = sim(*SMALL, "--spares", "2").stdout
    assert "32 machines of 8 GPUs and 2 spares" in shown
    assert f"ByteRobust's rule (99 % of days): {study['standbys_by_rule']}." in shown
    assert "Recommended spares: use --spares auto." in shown


def test_the_residual_is_the_same_for_all():
    study = answer("--spares", "4", "--residual", "20m")
    for one in study["policies"]:
        per_incident = one["phases_ns"]["residual"] / one["incidents"] / 60e9
        assert 18 < per_incident <= 20, one["name"]
    none = answer("--spares", "4", "--residual", "0")
    assert all(one["phases_ns"]["residual"] == 0 for one in none["policies"])
    assert policy(none)["ettr"]["mean"] > policy(study)["ettr"]["mean"]


def test_the_policy_affects_the_result(tmp_path):
    never = tmp_path / "policy.toml"
    never.write_text("[slow]\nrounds = 0\n")
    slow = tmp_path / "failures.toml"
    slow.write_text('rate_per_node_day = 0.02\nslow_for = "20h"\nslow_factor = 2\n'
                    "[mix]\nslow = 1\n")
    options = ("--nodes", "8", "--days", "60", "--seeds", "2", "--spares", "2", "--json",
               "--residual", "0", "--failures", str(slow))
    shipped = policy(json.loads(sim(*options).stdout))
    kept = policy(json.loads(sim(*options, "--policy", str(never)).stdout))
    assert kept["incidents"] == 0 < shipped["incidents"]
    assert kept["ettr"]["mean"] < shipped["ettr"]["mean"]


def test_the_picture_is_drawn(tmp_path):
    picture = tmp_path / "sim.svg"
    sim(*SMALL, "--svg", str(picture))
    root = xml.etree.ElementTree.parse(picture).getroot()
    texts = [one.text for one in root.iter("{http://www.w3.org/2000/svg}text")]
    assert "robustrun" in texts and "byterobust" in texts


@pytest.mark.parametrize(("options", "words"), [
    (("--nodes", "0"), "--nodes: invalid value: '0'"),
    (("--nodes", "many"), "--nodes: invalid value: 'many'"),
    (("--preset", "lama3"), "did you mean llama3"),
    (("--compare", "torchrn"), "did you mean torchrun"),
    (("--step-time", "0"), "--step-time: invalid value: '0'"),
    (("--step-time", "31d"), "--step-time: invalid value: '31d'"),
    (("--spares", "-1"), "--spares"),
    (("--days", "x"), "--days: invalid value: 'x'"),
    (("--failures", "/nowhere/f.toml"), "/nowhere/f.toml"),
    (("--svg", "/nowhere/x.svg", "--nodes", "2", "--days", "1"), "--svg"),
    (("--nonsense",), "--nonsense"),
])
def test_bad_input_is_one_clear_error(options, words):
    said = sim(*options, code=2)
    assert words in said.stderr
    assert said.stdout == ""


@pytest.mark.parametrize(("text", "words"), [
    ("[mix]\ngpu = 1\n", "rate_per_node_day is missing"),
    ("rate_per_node_day = -1\n", ":1:1: rate_per_node_day must be a number"),
    ("rate_per_node_day = 0.1\nrepare = \"1h\"\n", ":2:1: unknown key 'repare' (did you"),
    ("rate_per_node_day = 0.1\n[mix]\ngpus = 1\n", ":3:1: unknown key 'gpus' (did you mean gpu"),
    ("rate_per_node_day = 0.1\n[mix]\ngpu = 0\n", "no kind above 0"),
    ("rate_per_node_day = 0.1\nrepair = 0\n", "repair must be a time"),
    ("rate_per_node_day = nan\n", "must be a number"),
])
def test_a_bad_file_of_failures_is_refused_with_the_line_of_the_error(tmp_path, text, words):
    path = tmp_path / "failures.toml"
    path.write_text(text)
    said = sim("--failures", str(path), code=2).stderr
    assert words in said and "failures.toml" in said
