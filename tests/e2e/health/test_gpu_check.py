"""`robustrun check --gpu`: the tests of GPUs, with a fake robustrun-probe."""

import os
import stat

import pytest
from health.test_preflight import check, only, rows

# Nodes are numbered in the order of their arrival; each test of a node is a process of its own,
# below that node's agent.
PROBE = """#!/usr/bin/env python3
import json, os, pathlib, sys, time
test, home = sys.argv[1], pathlib.Path(os.environ["PROBE_HOME"])
agent = pathlib.Path(f"/proc/{os.getppid()}/status").read_text().split("PPid:")[1].split()[0]
with open(home / "nodes", "a+") as file:
    file.write(agent + "\\n")
    file.flush()
    file.seek(0)
    node = list(dict.fromkeys(file.read().split())).index(agent)
says = json.loads((home / "says").read_text()).get(f"{node} {test}", {})
print("step: " + test, file=sys.stderr, flush=True)
if "exit" in says:
    os._exit(says["exit"])
result = {"probe": 1, "test": test, "error": "", "gpus": ["NVIDIA Fake"] * 4, "faults": [],
          "sums": [], "figures": []}
for gpu in range(4):
    if test == "repeat":
        result["sums"].append({"gpu": gpu, "what": "bf16 GEMM", "sum": "abc"})
    else:
        result["figures"].append({"gpu": gpu, "what": test, "unit": "GB/s", "value": 100 + gpu})
for path, value in says.items():
    kind, gpu, member = path.split()
    result[kind][int(gpu)][member] = value
print(json.dumps(result).replace('{"probe": ', '{"probe":'))
"""


@pytest.fixture
def probe(robustrun):
    """Makes the program, with the unhealthy results by node and test."""
    def made(says):
        folder = robustrun.folder / "probe"
        folder.mkdir()
        program = folder / "robustrun-probe"
        program.write_text(PROBE)
        program.chmod(program.stat().st_mode | stat.S_IXUSR)
        (folder / "says").write_text(says)
        return {"PATH": f"{folder}:{os.environ['PATH']}", "PROBE_HOME": str(folder)}

    return made


def test_a_missing_probe_is_an_error_that_names_it(robustrun):
    done = check(robustrun, "--gpu", env={"PATH": "/usr/bin:/bin"})
    words = only(done, "unfit")[1]
    if not (robustrun.binary.parent / "robustrun-probe").exists():
        assert "robustrun-probe is neither beside robustrun nor in the PATH here" in words
        assert "ROBUSTRUN_CUDA=ON" in words
    assert done.code == 94, done.errors
    robustrun.expect_nothing_left()


def test_sound_gpus_are_fit_and_their_figures_shown(robustrun, probe):
    done = check(robustrun, "--gpu", "--launcher=processes", "--nnodes=2", env=probe("{}"))
    assert done.code == 0, done.errors
    assert "pre-flight (gpu): 2 nodes checked" in done.errors
    for _, lines in rows(done).values():
        shown = [line for line in lines if line.startswith("gpu ")]
        assert len(shown) == 4
        assert shown[3] == (
            "gpu 3 (NVIDIA Fake): copy 103 GB/s, gemm 103 GB/s, all-to-all 103 GB/s, "
            "neighbours 103 GB/s"
        )
    robustrun.expect_nothing_left()


@pytest.mark.parametrize(("says", "level", "words"), [
    ('{"1 gemm": {"figures 2 value": 60}}', "slow",
     "its GPU 2 (NVIDIA Fake) is slow: gemm 60 GB/s, the median of 12 is 101 GB/s"),
    ('{"1 repeat": {"sums 3 sum": "abd"}}', "unfit",
     "its GPU 3 (NVIDIA Fake) computes other bits than 11 of 12: bf16 GEMM"),
    ('{"1 all-to-all": {"exit": 7}}', "unfit",
     "a test of its GPUs failed: all-to-all: exit code 7: step: all-to-all"),
    ('{"1 copy": {"exit": 7}}', "unfit",
     "its GPUs cannot be tested: exit code 7: step: copy"),
])
def test_one_bad_gpu_of_twelve_is_named(robustrun, probe, says, level, words):
    done = check(robustrun, "--gpu", "--launcher=processes", "--nnodes=3", env=probe(says))
    assert done.code == 94, done.errors
    node, found = only(done, level)
    assert words in found
    assert [rows(done)[other][0] for other in rows(done) if other != node] == ["ok", "ok"]
    robustrun.expect_nothing_left()


def test_a_run_may_have_its_gpus_tested_first(robustrun, probe):
    robustrun.write("hello.py", "import os; print('rank', os.environ['RANK'])\n")
    done = robustrun.run("--preflight=gpu", "hello.py", env=probe("{}"))
    assert done.code == 0, done.errors
    assert "pre-flight (gpu): 1 node checked" in done.errors
    assert "rank 0" in done.text
    assert check(robustrun, "--gpu", "--help").code == 0
    refused = robustrun.run("--gpu", "hello.py")
    assert refused.code == 2 and "only for robustrun check" in refused.errors
