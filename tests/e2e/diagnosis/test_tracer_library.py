"""NCCL's profiler plugin, which is loaded into foreign processes: its dependencies and exports."""

import json
import platform
import re
import shutil
import struct
import subprocess

import pytest
from helpers.jobs import start_job
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
if len(sys.argv) > 2:
    os.environ["NCCL_PROFILER_PLUGIN"] = sys.argv[2]
if len(sys.argv) > 1:
    player = [sys.argv[1], os.environ["NCCL_PROFILER_PLUGIN"], "peers", "6"]
    print("played", subprocess.run(player).returncode)
"""
HELPERS = (BUILD / "test-helpers").resolve()
PLAYER = str(HELPERS / "nccl_player")
RECORDER = HELPERS / "libnccl-profiler-recorder.so"
VERSIONS = "1 2 3 4 6 7"  # of the recorder's, and those below its oldest


def variables_of(robustrun, *arguments, env):
    robustrun.write("shared.py", SHARED)
    finished = robustrun.run("shared.py", *arguments, env=env)
    assert finished.code == 0, finished.errors
    return json.loads(re.search(r"variables (.*)", finished.text).group(1)), finished


def lines_with(finished, words):
    return [line for line in (finished.text + finished.errors).splitlines() if words in line]


def has_seen_all(log):
    """The recorder was called as by NCCL."""
    seen = log.read_text()
    return "comm 2748" in seen and "strange" not in seen


def test_a_plugin_of_the_sites_is_called_by_ours(robustrun):
    log = robustrun.folder / "seen"
    # Found by its short name, as NCCL finds it.
    found, finished = variables_of(robustrun, PLAYER, env={
        "NCCL_PROFILER_PLUGIN": "recorder", "LD_LIBRARY_PATH": str(HELPERS),
        "NCCL_RECORDER_LOG": str(log)})
    assert found == [str(LIBRARY), str(RECORDER), VERSIONS]
    assert "played 0" in finished.text
    assert has_seen_all(log)
    assert "NCCL_PROFILER_PLUGIN" not in finished.text + finished.errors.replace("variables", "")


def named_by_configuration(robustrun, plugin):
    path = robustrun.write("nccl.conf", f"# of the cluster\nNCCL_PROFILER_PLUGIN={plugin}\n")
    return {"NCCL_CONF_FILE": str(path)}


def named_in_the_home(robustrun, plugin):
    robustrun.write(".nccl.conf", f"NCCL_PROFILER_PLUGIN={plugin}\n")
    return {"HOME": str(robustrun.folder)}


def named_with_spaces(robustrun, plugin):
    path = robustrun.folder / "a folder" / "their plugin.so"
    path.parent.mkdir()
    shutil.copy(plugin, path)
    return {"NCCL_PROFILER_PLUGIN": str(path)}


def found_by_default(robustrun, plugin):
    path = robustrun.folder / "lib" / "libnccl-profiler.so"
    path.parent.mkdir()
    shutil.copy(plugin, path)
    return {"LD_LIBRARY_PATH": str(path.parent)}


@pytest.mark.parametrize("way", [named_by_configuration, named_in_the_home, named_with_spaces,
                                 found_by_default])
def test_a_cluster_may_choose_its_plugin_in_any_way_that_nccl_knows(robustrun, way):
    log = robustrun.folder / "seen"
    env = {**way(robustrun, RECORDER), "NCCL_RECORDER_LOG": str(log)}
    found, finished = variables_of(robustrun, PLAYER, env=env)
    copies = {named_with_spaces: "a folder/their plugin.so", found_by_default:
              "lib/libnccl-profiler.so"}
    behind = str(robustrun.folder.resolve() / copies[way]) if way in copies else str(RECORDER)
    assert found == [str(LIBRARY), behind, VERSIONS]
    assert "played 0" in finished.text and has_seen_all(log)


UPDATED = """
import json, os, time
print("variables", json.dumps([os.environ.get(name) for name in
                               ("NCCL_PROFILER_PLUGIN", "ROBUSTRUN_NCCL_BEHIND")]), flush=True)
while os.environ["ROBUSTRUN_ATTEMPT"] == "0":
    time.sleep(0.1)
"""


def test_a_plugin_that_an_update_sets_is_called_by_ours(robustrun):
    job = start_job(robustrun, "--standby=off", robustrun.write("updated.py", UPDATED))
    job.wait(lambda: "variables" in job.out(), "the first attempt", 60)
    subprocess.run([robustrun.binary, "update", str(job.run), "--now",
                    f"--env=NCCL_PROFILER_PLUGIN={RECORDER}"], check=True, timeout=60)
    ended = job.finish(60)
    assert ended.code == 0, ended.errors
    shown = re.findall(r"variables (\[.*\])", ended.text)
    assert [json.loads(one) for one in shown] == [[str(LIBRARY), None],
                                                  [str(LIBRARY), str(RECORDER)]]


def test_a_script_may_set_a_plugin_itself_which_then_works_alone(robustrun):
    log = robustrun.folder / "seen"
    found, finished = variables_of(robustrun, PLAYER, str(RECORDER),
                                   env={"NCCL_RECORDER_LOG": str(log)})
    assert found == [str(LIBRARY), None, None]
    assert "played 0" in finished.text and has_seen_all(log)


def test_no_plugin_in_the_clusters_configuration_is_a_wish_too(robustrun):
    env = named_by_configuration(robustrun, "none")
    found, finished = variables_of(robustrun, env=env)
    assert found == [None, None, None]
    assert not lines_with(finished, "profiler")


def test_a_plugin_within_the_program_keeps_the_slot_and_is_named(robustrun):
    found, finished = variables_of(robustrun, env={"NCCL_PROFILER_PLUGIN": "STATIC_PLUGIN"})
    assert found == ["STATIC_PLUGIN", None, None]
    assert len(lines_with(finished, "STATIC_PLUGIN: it is part of the program")) == 1


def test_the_path_of_an_older_robustrun_is_replaced(robustrun):
    old = "/old/share/robustrun/librobustrun_tracer.so"
    found, _ = variables_of(robustrun, env={"NCCL_PROFILER_PLUGIN": old})
    assert found == [str(LIBRARY), None, None]


def test_a_robustrun_within_a_worker_of_another_calls_the_sites_plugin_too(robustrun):
    robustrun.write("shared.py", SHARED)
    robustrun.write("outer.py", f"import subprocess, sys\nsys.exit(subprocess.run("
                    f"[{str(robustrun.binary)!r}, '--run-dir=inner', 'shared.py']).returncode)\n")
    finished = robustrun.run("outer.py", env={"NCCL_PROFILER_PLUGIN": str(RECORDER)})
    assert finished.code == 0, finished.errors
    shown = re.findall(r"variables (\[.*\])", finished.text + finished.errors)
    assert [json.loads(one) for one in shown] == [[str(LIBRARY), str(RECORDER), VERSIONS]]


def test_two_jobs_of_one_machine_share_it(robustrun):
    robustrun.write("shared.py", SHARED)
    logs = [robustrun.folder / f"seen.{number}" for number in range(2)]
    jobs = [start_job(robustrun, "shared.py", PLAYER,
                      env={"NCCL_PROFILER_PLUGIN": str(RECORDER), "NCCL_RECORDER_LOG": str(log)})
            for log in logs]
    for job in jobs:
        assert job.finish(60).code == 0
    assert all(has_seen_all(log) for log in logs)


def elf(machine):
    header = struct.pack("<16sHHIQQQIHHHHHH", b"\x7fELF\2\1\1", 3, machine, 1, 0, 64, 0, 0, 64, 56,
                         0, 64, 0, 0)
    return header + bytes(200)


OTHER = (62, "x86-64") if platform.machine() == "aarch64" else (183, "aarch64")
UNUSABLE = {  # what the variable names: the reason
    "a missing file": "cannot open shared object file: No such file or directory",
    "another machine": f"it is built for {OTHER[1]}",
    "no library": "invalid ELF header",
    "a folder": "Is a directory",
    "no plugin": "it is no profiler plugin of NCCL",
    "a list": "libnccl-profiler-inspector,example.so: cannot open shared object file",
    "a crash": "SIGSEGV",
}


@pytest.mark.parametrize("what", UNUSABLE)
def test_a_plugin_that_cannot_be_used_is_named_and_ours_runs_alone(robustrun, what):
    path = robustrun.folder / "their plugin.so"  # NCCL takes spaces, too
    env = {"NCCL_PROFILER_PLUGIN": str(path)}
    if what == "another machine":
        path.write_bytes(elf(OTHER[0]))
    elif what == "no library":
        path.write_text("#!/bin/sh\n" + "x" * 100)
    elif what == "a folder":
        path.mkdir()
    elif what == "no plugin":
        with open("/proc/self/maps") as maps:
            shutil.copy(re.search(r" (/\S*/libc\.so\.6)", maps.read()).group(1), path)
    elif what == "a list":  # NCCL takes none, and looks for one plugin of this name
        env = {"NCCL_PROFILER_PLUGIN": "inspector,example"}
    elif what == "a crash":
        shutil.copy(RECORDER, path)
        env["NCCL_RECORDER_CRASHES"] = "1"
    found, finished = variables_of(robustrun, PLAYER, env=env)
    assert found == [str(LIBRARY), None, None]
    assert "played 0" in finished.text
    said = lines_with(finished, "robustrun's plugin runs alone")
    assert len(said) == 1, finished.text + finished.errors
    assert UNUSABLE[what] in said[0] and env["NCCL_PROFILER_PLUGIN"] in said[0]
