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
    assert {kind for _, kind, _ in symbols} <= {"D", "R"}


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
