"""Standby workers: a restart with interpreters that have already imported torch, which a program
can distinguish from a fresh start only by its time."""

import json
import os
import pathlib
import signal
import time

import pytest
from helpers.packages import NEEDS_TORCH
from helpers.processes import is_alive, sleeps_on_a_socket, wait_for

pytestmark = NEEDS_TORCH

WORKERS = 2
LIGHT_TORCH = (pathlib.Path(__file__).parents[1] / "helpers" / "light_torch.py").read_text()
STEP = """
import robustrun
robustrun.step(1)
"""
METHODS = "methods = ()"
# Does a step, notes what a program can see of itself, and waits in the first attempts.
SCRIPT = r"""
import os, sys
first_line = set(sys.modules)
import json, signal, time
import torch
rank, attempt = os.environ["RANK"], os.environ["TORCHELASTIC_RESTART_COUNT"]
""" + STEP + METHODS + r"""
def child(queue):
    queue.put([__name__, os.environ["RANK"]])
if __name__ == "__main__":
    import multiprocessing
    started = {}
    for method in methods:
        context = multiprocessing.get_context(method)
        queue = context.SimpleQueue()
        process = context.Process(target=child, args=(queue,))
        process.start()
        started[method] = queue.get()
        process.join()
    status = dict(line.split(":\t", 1) for line in open("/proc/self/status").read().splitlines())
    import numpy
    facts = {
        "drawn": [numpy.random.rand(), torch.initial_seed()],
        "pid": os.getpid(), "warm": "torch" in first_line, "version": 1,
        "argv": sys.argv, "orig_argv": sys.orig_argv, "path": sys.path, "flags": str(sys.flags),
        "name": __name__, "file": __file__, "doc": __doc__, "spec": str(__spec__),
        "main": sys.modules["__main__"].__dict__ is globals(),
        "cwd": os.getcwd(), "environment": dict(os.environ),
        "inherited": os.popen("env | sort").read().splitlines(),
        "started": started, "threads": torch.get_num_threads(),
        "signals": [str(signal.getsignal(n)).split(" at ")[0]
                    for n in range(1, 65) if n not in (32, 33)],
        "masks": [status[name] for name in ("SigBlk", "SigIgn", "SigCgt")],
        "affinity": sorted(os.sched_getaffinity(0)), "session": os.getsid(0) == os.getpid(),
        "stdin": os.readlink("/proc/self/fd/0"),
        "kinds": [os.readlink(f"/proc/self/fd/{n}").split(":")[0] for n in (1, 2)],
        "faulthandler": os.path.exists(
            os.environ.get("ROBUSTRUN_RECORD", "").replace(".record", ".stack")),
    }
    with open(f"facts.{rank}.{attempt}.part", "w") as file:
        json.dump(facts, file)
    os.rename(f"facts.{rank}.{attempt}.part", f"facts.{rank}.{attempt}")
    print(f"rank {rank} attempt {attempt}")
    print("trouble", file=sys.stderr)
    while not os.path.exists(f"go.{attempt}"):
        time.sleep(0.01)
"""
# With an optimizer's step, and child processes in the second attempt. Each worker imports torch, as
# does its child that is spawned.
WHOLE = (SCRIPT.replace(METHODS, 'methods = ("fork", "spawn") if attempt == "1" else ()')
         .replace("import torch\n", "import light_torch, torch\n", 1).replace(STEP, """
if __name__ == "__main__":
    weight = torch.nn.Parameter(torch.ones(2))
    optimizer = torch.optim.SGD([weight], lr=0.1)
    weight.sum().backward()
    optimizer.step()
"""))
# Of a job without standby workers, the first attempt's imports do not matter.
LATE_TORCH = WHOLE.replace("import json, signal, time\n", """import json, signal, time
if os.environ["TORCHELASTIC_RESTART_COUNT"] == "0":
    with open("facts." + os.environ["RANK"] + ".0.part", "w") as file:
        json.dump({"pid": os.getpid()}, file)
    os.rename(file.name, file.name.removesuffix(".part"))
    time.sleep(3600)
""", 1)
# Without torch, which takes 2.5 s of a processor in each process.
LIGHT = (SCRIPT.replace("import torch\n", "import decimal\n", 1)
         .replace('"torch" in first_line', '"decimal" in first_line', 1)
         .replace("    import numpy\n", "", 1)
         .replace('        "drawn": [numpy.random.rand(), torch.initial_seed()],\n', "", 1)
         .replace(' "threads": torch.get_num_threads(),', "", 1))
# These differ between starts; everything else that a program sees must be the same.
OF_ONE = {"MASTER_PORT", "ROBUSTRUN_RECORD", "ROBUSTRUN_SOCKET", "ROBUSTRUN_FLIGHT_SOCKET",
          "TORCHELASTIC_ERROR_FILE", "TORCHELASTIC_RUN_ID", "ROBUSTRUN_RUN_ID", "NCCL_RAS_ADDR"}


def facts(robustrun, attempt):
    def read():
        files = [robustrun.folder / f"facts.{rank}.{attempt}" for rank in range(WORKERS)]
        return all(f.exists() for f in files) and [json.loads(f.read_text()) for f in files]

    return wait_for(read, 300, f"attempt {attempt} on {WORKERS} ranks")


def waiting(robustrun, besides=()):
    """Both standby workers, once they have done their imports."""
    def find():
        pids = [pid for pid in robustrun.standbys()
                if pid not in besides and sleeps_on_a_socket(pid)]
        return len(pids) == WORKERS and pids

    return wait_for(find, 300, f"{WORKERS} standby workers")


def start(robustrun, *options, script=LIGHT):
    robustrun.write("job.py", script)
    if "light_torch" in script:
        robustrun.write("light_torch.py", LIGHT_TORCH)
    return robustrun.start(*options, "--nproc-per-node", str(WORKERS), "job.py", "--lr", "0.1", "")


def go(robustrun, *attempts):
    for attempt in attempts:
        (robustrun.folder / f"go.{attempt}").touch()


def test_a_restart_uses_the_standby_workers(robustrun):
    running = start(robustrun, script=SCRIPT)
    first = facts(robustrun, 0)
    before = waiting(robustrun)
    os.kill(first[1]["pid"], signal.SIGKILL)
    second = facts(robustrun, 1)
    assert sorted(each["pid"] for each in second) == before
    assert [each["warm"] for each in first + second] == [False] * WORKERS + [True] * WORKERS

    drawn = zip(*(each["drawn"] for each in first + second), strict=True)
    assert [len(set(kind)) for kind in drawn] == [2 * WORKERS] * 2

    # Each is used once: the next restart has others.
    after = waiting(robustrun, besides=before)
    os.kill(second[0]["pid"], signal.SIGKILL)
    third = facts(robustrun, 2)
    assert sorted(each["pid"] for each in third) == after
    others = waiting(robustrun, besides=before + after)
    go(robustrun, 2)
    finished = running.finish()
    assert finished.code == 0, finished.errors
    assert not any(map(is_alive, others))
    robustrun.expect_nothing_left()

    report = robustrun.report()
    assert [incident["warm"] for incident in report["incidents"]] == [WORKERS, WORKERS]
    text = robustrun.run("report", "-v", str(robustrun.newest_run())).text
    assert "2 workers started warm" in text
    log = robustrun.newest_run() / "logs" / "attempt_1" / "0"
    assert (log / "stdout.log").read_text() == "rank 0 attempt 1\n"
    # multiprocessing's tracker may complain about the killed process.
    assert (log / "stderr.log").read_text().splitlines()[0] == "trouble"
    assert "rank 1 attempt 2" in finished.text


def test_a_second_kill_right_after_the_first_is_warm_too(robustrun):
    running = start(robustrun)
    first = facts(robustrun, 0)
    waiting(robustrun)
    os.kill(first[1]["pid"], signal.SIGKILL)
    second = facts(robustrun, 1)
    os.kill(second[0]["pid"], signal.SIGKILL)
    assert all(each["warm"] for each in second + facts(robustrun, 2))
    go(robustrun, 2)
    assert running.finish().code == 0
    robustrun.expect_nothing_left()


def seen(robustrun, *options):
    """The ranks' view of themselves in their second attempt."""
    script = LATE_TORCH if "--standby=off" in options else WHOLE
    running = start(robustrun, *options, script=script)
    victim = facts(robustrun, 0)[0]["pid"]
    if "--standby=off" not in options:
        waiting(robustrun)
    os.kill(victim, signal.SIGKILL)
    second = facts(robustrun, 1)
    go(robustrun, 1)
    finished = running.finish()
    assert finished.code == 0, finished.errors
    for path in robustrun.folder.glob("*.[01]"):
        path.unlink()
    return second


def test_a_program_cannot_tell_a_warm_start_from_a_fresh_one(robustrun):
    fresh, warm = seen(robustrun, "--standby=off"), seen(robustrun)
    assert [each.pop("warm") for each in fresh + warm] == [False] * WORKERS + [True] * WORKERS
    for rank in range(WORKERS):
        for each in (fresh[rank], warm[rank]):
            del each["pid"], each["drawn"]
            names = set(each["environment"])
            assert OF_ONE - {"NCCL_RAS_ADDR"} <= names
            assert each["environment"]["RANK"] == str(rank)
            for name in OF_ONE & names:
                del each["environment"][name]
            each["inherited"] = [line for line in each["inherited"]
                                 if line.partition("=")[0] not in OF_ONE]
        for name, value in fresh[rank].items():
            assert warm[rank][name] == value, f"{name} of rank {rank}"
        assert warm[rank].keys() == fresh[rank].keys()


MODEL = """
import os
def build(width):
    return [width * 2.0] * 3, os.getpid()
"""
PREPARING = r"""
import json, os, time
import robustrun
rank, attempt = os.environ["RANK"], os.environ["TORCHELASTIC_RESTART_COUNT"]
values, made_by = robustrun.prepare("model:build", {"width": 4})
robustrun.step(1)
with open(f"facts.{rank}.{attempt}.part", "w") as file:
    json.dump({"pid": os.getpid(), "values": values, "made_by": made_by}, file)
os.rename(f"facts.{rank}.{attempt}.part", f"facts.{rank}.{attempt}")
while not os.path.exists(f"go.{attempt}"):
    time.sleep(0.01)
"""


def test_a_prepared_result_is_there_before_the_restart_and_a_changed_module_renews_it(robustrun):
    robustrun.write("model.py", MODEL)
    running = start(robustrun, script=PREPARING)
    first = facts(robustrun, 0)
    assert all(each["made_by"] == each["pid"] for each in first)
    before = waiting(robustrun)
    os.kill(first[1]["pid"], signal.SIGKILL)
    second = facts(robustrun, 1)
    assert sorted(each["pid"] for each in second) == before
    made_by, = {each["made_by"] for each in second}  # one template for both ranks
    assert made_by not in before
    assert [each["values"] for each in first + second] == [[8.0] * 3] * 2 * WORKERS

    waiting(robustrun, besides=before)
    robustrun.write("model.py", MODEL.replace("2.0", "3.0"))
    os.kill(second[0]["pid"], signal.SIGKILL)
    third = facts(robustrun, 2)
    assert [each["values"] for each in third] == [[12.0] * 3] * WORKERS
    assert all(each["made_by"] == each["pid"] for each in third)
    go(robustrun, 2)
    assert running.finish(300).code == 0
    robustrun.expect_nothing_left()


def test_a_changed_script_runs_as_it_is_now(robustrun):
    running = start(robustrun)
    victim = facts(robustrun, 0)[0]["pid"]
    before = waiting(robustrun)
    robustrun.write("job.py", LIGHT.replace('"version": 1', '"version": 2'))
    os.kill(victim, signal.SIGKILL)
    assert [each["version"] for each in facts(robustrun, 1)] == [2] * WORKERS
    wait_for(lambda: not any(map(is_alive, before)), what="the end of standbys out of date")
    go(robustrun, 1)
    assert running.finish().code == 0


def test_a_standby_that_died_is_no_loss(robustrun):
    running = start(robustrun)
    first = facts(robustrun, 0)
    before = waiting(robustrun)
    dead = before[0]
    os.kill(dead, signal.SIGKILL)
    os.kill(first[0]["pid"], signal.SIGKILL)
    second = facts(robustrun, 1)
    pids = {each["pid"] for each in second}
    assert dead not in pids
    assert pids & set(before) == {before[1]}
    assert sorted(each["warm"] for each in second) == [False, True]
    go(robustrun, 1)
    assert running.finish().code == 0
    assert robustrun.report()["incidents"][0]["warm"] == 1


# Takes so long until its first step that it is asked for its imports before, and imports more.
LATE = LIGHT.replace(STEP, """
while not os.path.exists("on"):
    time.sleep(0.01)
import mailbox
""" + STEP).replace('"decimal" in first_line', '"mailbox" in first_line', 1)


def test_imports_before_a_late_first_step_are_in_the_next_standbys(robustrun):
    running = start(robustrun, script=LATE)
    early = waiting(robustrun)
    (robustrun.folder / "on").touch()
    first = facts(robustrun, 0)
    whole = waiting(robustrun, besides=early)
    os.kill(first[1]["pid"], signal.SIGKILL)
    second = facts(robustrun, 1)
    assert sorted(each["pid"] for each in second) == whole
    assert [each["warm"] for each in second] == [True] * WORKERS
    go(robustrun, 1)
    assert running.finish().code == 0
    robustrun.expect_nothing_left()


# Imports of its library leave what is right only in the process that imported it.
OF_ONE_PROCESS = LIGHT.replace("import decimal\n", """
import decimal, of_one_process
if of_one_process.PID != os.getpid():
    sys.exit(7)
""", 1)


@pytest.mark.nightly
def test_after_forked_workers_that_fail_come_fresh_ones(robustrun):
    libraries = robustrun.folder / "libraries" / "site-packages"
    libraries.mkdir(parents=True)
    (libraries / "of_one_process.py").write_text("import os\nPID = os.getpid()\n")
    robustrun.write("job.py", OF_ONE_PROCESS)
    running = robustrun.start("--nproc-per-node", str(WORKERS), "job.py",
                              env={"PYTHONPATH": str(libraries)})
    first = facts(robustrun, 0)
    waiting(robustrun)
    os.kill(first[0]["pid"], signal.SIGKILL)
    third = facts(robustrun, 2)
    assert not any(each["warm"] for each in third)
    go(robustrun, 2)
    assert running.finish().code == 0
    told = "forked workers had ended before their first step"
    assert told in robustrun.report()["incidents"][1]["cold"][0]
    robustrun.expect_nothing_left()


@pytest.mark.nightly
def test_a_restart_does_not_wait_for_a_stopped_standby(robustrun):
    running = start(robustrun)
    first = facts(robustrun, 0)
    before = waiting(robustrun)
    for pid in before:
        os.kill(pid, signal.SIGSTOP)
    os.kill(first[0]["pid"], signal.SIGKILL)
    assert not any(each["warm"] for each in facts(robustrun, 1))
    go(robustrun, 1)
    assert running.finish().code == 0
    robustrun.expect_nothing_left()


# A standby worker's imports end when the file of its rank is removed, which the first attempt
# makes; rank 1 imports more than rank 0. The thread keeps a template from being forked, so each
# standby imports by itself.
GATE = """
import os, threading, time
threading.Thread(target=threading.Event().wait, daemon=True).start()
hold = "hold." + os.environ["LOCAL_RANK"]
is_template = "shim" not in open("/proc/%d/cmdline" % os.getppid()).read()
# A child that multiprocessing spawns runs the script's head, too.
while not is_template and os.path.exists(hold) and open(hold).read() != str(os.getppid()):
    time.sleep(0.01)
"""
GATED = LIGHT.replace("import decimal\n", r"""
import decimal, tqdm, gate
if os.environ["RANK"] == "1":
    import mailbox, tarfile, xml.dom.minidom
if __name__ == "__main__" and os.environ["TORCHELASTIC_RESTART_COUNT"] == "0":
    with open("hold." + os.environ["RANK"] + ".part", "w") as file:
        file.write(str(os.getpid()))
    os.rename(file.name, "hold." + os.environ["RANK"])
""", 1)


def start_gated(robustrun):
    pytest.importorskip("tqdm")  # it goes through all variables
    libraries = robustrun.folder / "libraries" / "site-packages"
    libraries.mkdir(parents=True)
    (libraries / "gate.py").write_text(GATE)
    robustrun.write("job.py", GATED)
    return robustrun.start("--nproc-per-node", str(WORKERS), "job.py",
                           env={"PYTHONPATH": str(libraries)})


def importing(robustrun):
    """Both standby workers, by local rank; they are still importing."""
    def find():
        pids = robustrun.standbys()
        # Lists that were asked for before the first step are renewed by it, and so are standbys.
        time.sleep(1)
        return len(pids) == WORKERS and robustrun.standbys() == pids and pids

    pids = wait_for(find, 300, "standby workers that import")
    found = {}
    for pid in pids:
        variables = open(f"/proc/{pid}/environ", "rb").read().split(b"\0")
        found[int(next(v[-1:] for v in variables if v.startswith(b"LOCAL_RANK=")))] = pid
    return found


def age(pid):
    return int(open(f"/proc/{pid}/stat").read().rpartition(")")[2].split()[19])


def release(robustrun, rank):
    (robustrun.folder / f"hold.{rank}").unlink()


def test_a_restart_waits_for_standbys_that_import(robustrun):
    running = start_gated(robustrun)
    first = facts(robustrun, 0)
    found = importing(robustrun)
    assert age(found[1]) <= age(found[0]), "the one with more imports begins first"
    release(robustrun, 1)
    wait_for(lambda: sleeps_on_a_socket(found[1]), 300, "the first standby worker")
    for each in first:
        os.kill(each["pid"], signal.SIGKILL)
    wait_for(lambda: not any(is_alive(each["pid"]) for each in first), what="the workers' end")
    release(robustrun, 0)
    second = facts(robustrun, 1)
    assert [each["pid"] for each in second] == [found[0], found[1]]
    assert all(each["warm"] for each in second)
    go(robustrun, 1)
    assert running.finish().code == 0
    incident = robustrun.report()["incidents"][0]
    assert (incident["warm"], incident["cold"]) == (WORKERS, [])


# The import lasts in a template, which the agent starts itself, until the file "held" is removed.
HOLD = """
import os, time
if os.environ.get("ROBUSTRUN_STANDBY_SOCKET") is None and "shim" not in open(
        "/proc/%d/cmdline" % os.getppid()).read():
    with open("held", "w") as file:
        file.write(str(os.getpid()))
    while os.path.exists("held"):
        time.sleep(0.01)
"""


def session_of(pid):
    """The nice value of a process's session; "0" where the kernel has none, or the process."""
    try:
        return (pathlib.Path(f"/proc/{pid}/autogroup").read_text().split() or ["0"])[-1]
    except FileNotFoundError:
        return "0"


@pytest.mark.parametrize("ends", ["ready", "too late",
                                  pytest.param("killed", marks=pytest.mark.nightly)])
def test_a_restart_waits_for_the_template_that_imports(robustrun, ends):
    libraries = robustrun.folder / "libraries" / "site-packages"
    libraries.mkdir(parents=True)
    (libraries / "held_import.py").write_text(HOLD)
    robustrun.write("job.py", LIGHT.replace("import decimal\n", "import decimal, held_import\n", 1))
    running = robustrun.start("--nproc-per-node", str(WORKERS), "job.py",
                              env={"PYTHONPATH": str(libraries)})
    first = facts(robustrun, 0)
    held = robustrun.folder / "held"
    template = wait_for(lambda: held.exists() and held.read_text(), 300, "the template's imports")
    lowered = os.getpriority(os.PRIO_PROCESS, int(template))
    for each in first:
        os.kill(each["pid"], signal.SIGKILL)
    wait_for(lambda: not any(is_alive(each["pid"]) for each in first), what="the workers' end")
    own = os.getpriority(os.PRIO_PROCESS, 0)
    if lowered > own:
        wait_for(lambda: os.getpriority(os.PRIO_PROCESS, int(template)) == own,
                 what="the template's own priority")
        wait_for(lambda: session_of(template) == "0", what="its session's share of the processors")
    began = time.monotonic()
    if ends == "ready":
        held.unlink()
    elif ends == "killed":
        os.kill(int(template), signal.SIGKILL)
    second = facts(robustrun, 1)
    # A start without standbys takes less than that here, so a longer wait would not pay.
    assert time.monotonic() - began < 20
    assert [each["warm"] for each in second] == [ends == "ready"] * WORKERS
    held.unlink(missing_ok=True)
    go(robustrun, 1)
    assert running.finish().code == 0
    incident = robustrun.report()["incidents"][0]
    assert incident["warm"] == (WORKERS if ends == "ready" else 0)
    robustrun.expect_nothing_left()


def test_a_standby_that_never_gets_ready_is_given_up_and_the_report_says_so(robustrun):
    running = start_gated(robustrun)
    first = facts(robustrun, 0)
    stuck = importing(robustrun).values()
    os.kill(first[0]["pid"], signal.SIGKILL)
    wait_for(lambda: not any(map(is_alive, stuck)), what="the end of the standby workers")
    release(robustrun, 0)
    release(robustrun, 1)
    assert not any(each["warm"] for each in facts(robustrun, 1))
    told = "its standby worker was still importing"
    status = json.loads(robustrun.run("status", str(robustrun.newest_run()), "--json").out)
    assert status["cold"].endswith(f" starts without a standby worker: {told}")
    go(robustrun, 1)
    finished = running.finish()
    assert finished.code == 0
    assert robustrun.report()["incidents"][0]["cold"] == [
        "2 ranks: their standby workers were still importing"]
    assert "starts without a standby worker" not in finished.errors  # at -v only


def test_a_standby_whose_imports_read_the_attempt_is_refused_with_the_reason(robustrun):
    libraries = robustrun.folder / "libraries" / "site-packages"
    libraries.mkdir(parents=True)
    (libraries / "reader.py").write_text("import os\nport = os.environ.get('MASTER_PORT')\n")
    robustrun.write("job.py", LIGHT.replace("import decimal\n", "import decimal, reader\n", 1))
    running = robustrun.start("--nproc-per-node", str(WORKERS), "job.py",
                              env={"PYTHONPATH": str(libraries)})
    first = facts(robustrun, 0)
    waiting(robustrun)
    os.kill(first[0]["pid"], signal.SIGKILL)
    assert not any(each["warm"] for each in facts(robustrun, 1))
    go(robustrun, 1)
    assert running.finish().code == 0
    told = "a module that they imported has read MASTER_PORT"
    assert robustrun.report()["incidents"][0]["cold"] == [f"{WORKERS} ranks: {told}"]
    assert told in robustrun.run("report", "-v", str(robustrun.newest_run())).text


@pytest.mark.parametrize("options", [("--standby=off",), ("--compat=torchrun",)])
def test_without_standbys_there_are_none(robustrun, options):
    # torchrun's workers have no robustrun to import.
    script = LIGHT.replace(STEP, "") if "--compat=torchrun" in options else LIGHT
    running = start(robustrun, *options, "--max-restarts=1", script=script)
    first = facts(robustrun, 0)
    os.kill(first[0]["pid"], signal.SIGKILL)
    second = facts(robustrun, 1)
    assert robustrun.standbys() == []
    assert not any(each["warm"] for each in second)
    go(robustrun, 1)
    assert running.finish().code == 0
