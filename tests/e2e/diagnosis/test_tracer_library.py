"""NCCL's profiler plugin, which is loaded into foreign processes: its dependencies and exports."""

import json
import re
import subprocess

from helpers.runner import BUILD

LIBRARY = (BUILD / "share" / "robustrun" / "librobustrun_tracer.so").resolve()
GLIBC_OLDEST = (2, 28)
SHOWN = {f"ncclProfiler_v{version}" for version in range(1, 8)}

SHOW = """
import ctypes, json, os
path = os.environ.get("NCCL_PROFILER_PLUGIN")
found = path if path in (None, "none") else ctypes.CDLL(path).ncclProfiler_v6 and path
print("plugin", json.dumps(found))
"""


def read(*command):
    return subprocess.run([*command, LIBRARY], capture_output=True, text=True, check=True).stdout


def test_it_needs_only_libc():
    dynamic = read("readelf", "-dW")
    assert re.findall(r"NEEDED.*\[(.*)\]", dynamic) == ["libc.so.6"]
    assert "NODELETE" in dynamic
    assert "TEXTREL" not in dynamic and "RUNPATH" not in dynamic


def test_it_runs_with_the_libc_of_older_systems():
    versions = re.findall(r"GLIBC_(\d+)\.(\d+)", read("objdump", "-T"))
    assert versions and max(tuple(map(int, version)) for version in versions) <= GLIBC_OLDEST


def test_it_exports_the_tables_that_nccl_looks_up_and_nothing_else():
    symbols = [line.split() for line in read("nm", "-D", "--defined-only").splitlines()]
    assert {name for _, _, name in symbols} == SHOWN
    assert {kind for _, kind, _ in symbols} == {"i"}  # resolved when NCCL looks it up


def test_it_runs_no_code_when_it_is_loaded():
    sections = read("readelf", "-SW")
    assert ".ctors" not in sections and ".tbss" not in sections and ".tdata" not in sections


def plugin_of(robustrun, *options, env=None):
    robustrun.write("show.py", SHOW)
    finished = robustrun.run(*options, "show.py", env=env)
    assert finished.code == 0, finished.errors
    return json.loads(re.search(r"plugin (.*)", finished.text).group(1))


def test_workers_have_it_unless_the_user_has_another(robustrun):
    assert plugin_of(robustrun) == str(LIBRARY)
    assert plugin_of(robustrun, "--trace=off") is None
    assert plugin_of(robustrun, "--compat=torchrun") is None
    asked = ["--compat=torchrun", "--inject=on", "--trace=auto"]
    assert plugin_of(robustrun, *asked) == str(LIBRARY)
    assert plugin_of(robustrun, env={"NCCL_PROFILER_PLUGIN": "none"}) == "none"
    assert plugin_of(robustrun, "--inject=off") is None


SHARED = """
import json, os, subprocess, sys
names = ("NCCL_PROFILER_PLUGIN", "ROBUSTRUN_NCCL_BEHIND", "ROBUSTRUN_NCCL_VERSIONS")
print("variables", json.dumps([os.environ.get(name) for name in names]))
if len(sys.argv) > 1:
    player = [sys.argv[1], os.environ["NCCL_PROFILER_PLUGIN"], "peers", "6"]
    print("played", subprocess.run(player).returncode)
"""
HELPERS = (BUILD / "test-helpers").resolve()
RECORDER = HELPERS / "libnccl-profiler-recorder.so"


def variables_of(robustrun, *arguments, env):
    robustrun.write("shared.py", SHARED)
    finished = robustrun.run("shared.py", *arguments, env=env)
    assert finished.code == 0, finished.errors
    return json.loads(re.search(r"variables (.*)", finished.text).group(1)), finished


def test_a_plugin_of_the_sites_is_called_by_ours(robustrun):
    log = robustrun.folder / "seen"
    # Found by its short name, as NCCL finds it.
    found, finished = variables_of(robustrun, str(HELPERS / "nccl_player"), env={
        "NCCL_PROFILER_PLUGIN": "recorder", "LD_LIBRARY_PATH": str(HELPERS),
        "NCCL_RECORDER_LOG": str(log)})
    assert found == [str(LIBRARY), str(RECORDER), "1 2 3 4 6 7"]
    assert "played 0" in finished.text
    seen = log.read_text()
    assert "comm 2748" in seen and "strange" not in seen
    assert "NCCL_PROFILER_PLUGIN" not in finished.text + finished.errors.replace("variables", "")


def test_a_plugin_that_cannot_be_used_is_named_and_ours_runs_alone(robustrun):
    for env, why in (({"NCCL_PROFILER_PLUGIN": "nowhere"}, "libnccl-profiler-nowhere.so"),
                     ({"NCCL_PROFILER_PLUGIN": str(RECORDER), "NCCL_RECORDER_CRASHES": "1"},
                      "SIGSEGV")):
        found, finished = variables_of(robustrun, env=env)
        assert found == [str(LIBRARY), None, None]
        said = [line for line in (finished.text + finished.errors).splitlines()
                if "robustrun's plugin runs alone" in line]
        assert len(said) == 1 and why in said[0], finished.text + finished.errors
