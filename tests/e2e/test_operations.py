"""A detached run and its daily life: status and stop, from other shells."""

import json
import os
import pathlib
import re
import shutil
import signal
import subprocess
import tempfile
import time

import pytest
from helpers.detached import FLOOD, SCRIPT, SEVERAL, Detached
from helpers.jobs import lockstep, start_job
from helpers.processes import is_alive, wait_for
from helpers.runner import Runner


@pytest.fixture
def detached(robustrun):
    return lambda *arguments, **options: Detached(robustrun, *arguments, **options)


def test_a_detached_run_continues_without_its_command(detached):
    run = detached(*SEVERAL)
    assert f"run {run.name} is running in the background" in run.began.errors
    status = run.wait_state("running")
    supervisor = status["pid"]
    assert os.getsid(supervisor) == supervisor
    assert os.readlink(f"/proc/{supervisor}/fd/0") == "/dev/null"
    assert os.readlink(f"/proc/{supervisor}/fd/2") == str(run.directory / "console.log")
    os.kill(supervisor, signal.SIGHUP)  # as at the end of a login session
    run.steps()
    run.enough()
    run.wait_end()
    assert run.robustrun.report(run.directory)["outcome"] == "succeeded"
    console = run.console()
    for rank in range(4):
        assert f"[rank {rank}] bye from {rank}" in console
    assert "succeeded after" in console
    assert (run.directory / "console.log").stat().st_mode & 0o777 == 0o600


def test_status_lists_ranks_nodes_and_processes(detached):
    run = detached(*SEVERAL)
    run.steps()
    status = run.status()
    assert status["supervisor"] == "answers" and status["state"] == "running"
    assert [n["name"] for n in status["nodes"]] == ["alpha", "beta", "gamma"]
    assert [n["node_rank"] for n in status["nodes"]] == [0, 1, None]
    assert [n["first_rank"] for n in status["nodes"][:2]] == [0, 2]
    assert all(n["agent"] == "joined" and n["heard_s"] < 30 for n in status["nodes"])
    assert all(is_alive(n["pid"]) for n in status["nodes"])
    assert status["workers"] == 4 and status["restarts"] == 0
    assert status["run_directory"] == str(run.directory)
    assert status["command"][0] == "--detach"
    wait_for(lambda: run.status()["steps_per_second"], what="a speed")
    text = run.do("status").text
    assert re.search(r"^job\.py: running, attempt 0, up ", text)
    assert re.search(r"^  0 +alpha +\S+ +0-1 +joined +.* ago$", text, re.MULTILINE)
    assert re.search(r"^  - +gamma +\S+ +- +spare", text, re.MULTILINE)
    assert re.search(r"step \d+, \d+ steps done, [\d.]+ steps/s", text)


def test_status_shows_restarts_and_a_lost_agent(detached):
    run = detached(*SEVERAL, "--max-restarts=3")
    run.steps()
    (run.folder / "fail.1").touch()
    status = wait_for(lambda: (s := run.status())["restarts"] == 1 and s, what="a restart")
    assert "rank 1" in status["last_restarts"][0]["cause"]
    run.wait_state("running")
    lost = next(n for n in run.status()["nodes"] if n["name"] == "beta")
    os.kill(lost["pid"], signal.SIGKILL)
    status = wait_for(lambda: (s := run.status())["restarts"] == 2 and s, 150, "a second restart")
    beta = next(n for n in status["nodes"] if n["name"] == "beta")
    assert beta["losses"] == 1 and beta["trouble"]
    assert run.wait_state("running")["attempt"] == 2


def test_status_of_a_run_whose_supervisor_was_killed(detached):
    run = detached()
    pid = run.wait_state("running")["pid"]
    run.steps()
    os.kill(pid, signal.SIGKILL)
    wait_for(lambda: not is_alive(pid), what="the supervisor's death")
    done = run.do("status", "--json")
    assert done.code == 1
    status = json.loads(done.text)
    assert status["supervisor"] == "silent" and status["pid"] == pid
    assert status["state"] == "running" and status["exit_code"] is None
    assert "does not answer" in done.errors
    text = run.do("status").text
    assert f"it was pid {pid} on {os.uname().nodename}" in text
    assert f"robustrun resume {run.name}" in text
    # Below the table: --watch clears the screen before it.
    on_screen = run.robustrun.run("status", run.name, stderr=subprocess.STDOUT).text
    assert on_screen.index("to take over, if it is gone") < on_screen.index("was killed")
    # A pid from a file is not enough to send a signal.
    takes_over = f"`robustrun resume {run.name}` takes it over"
    for verb in ("stop", "attach"):
        done = run.do(verb)
        assert done.code == 1 and f"pid {pid}, was killed; {takes_over}" in done.errors
        alone = run.robustrun.run(verb)
        assert alone.code == 2 and f"no active run; the supervisor of run {run.name} is gone; " \
            in alone.errors and takes_over in alone.errors
    assert "its supervisor is gone" in run.robustrun.run("status").errors


def test_status_does_not_wait_for_a_stopped_supervisor(detached):
    run = detached()
    pid = run.wait_state("running")["pid"]
    os.kill(pid, signal.SIGSTOP)
    try:
        began = time.monotonic()
        done = run.do("status", "--json")
        assert time.monotonic() - began < 40
        assert done.code == 1
        assert json.loads(done.text)["supervisor"] == "silent"
        assert "did not answer within" in done.errors and "try again" in done.errors, done.errors
        shown = run.do("status")
        assert "busy or stopped" in shown.text and "resume" not in shown.text, shown.text
        assert run.do("stop").code == 1
    finally:
        os.kill(pid, signal.SIGCONT)
    # Now it receives the request.
    run.wait_end()
    assert run.robustrun.report(run.directory)["exit_code"] == 143


def test_status_of_a_run_that_has_ended(detached):
    run = detached("--max-restarts=0")
    run.enough(code=7)
    run.wait_end()
    status = run.do("status")
    assert status.code == 0
    assert re.search(r"^job\.py: ended after .*, exit code 7$", status.text, re.MULTILINE)
    stop = run.do("stop")
    assert stop.code == 0 and "exit code 7" in stop.errors
    attach = run.do("attach")
    assert attach.code == 7 and "exit code 7" in attach.errors
    inject = run.robustrun.run("inject", run.name, "kill", "--rank=0")
    assert inject.code == 1 and "exit code 7" in inject.errors and "control" not in inject.errors


def test_watching_goes_on_until_the_end(detached):
    run = detached()
    run.steps()
    watch = run.robustrun.start("status", run.name, "--watch", "--json")
    run.steps(20)
    run.enough()
    done = watch.finish()
    assert done.code == 0, done.errors
    lines = [json.loads(line) for line in done.text.splitlines()]
    assert lines[0]["state"] == "running" and lines[-1]["supervisor"] == "ended"


@pytest.mark.parametrize("words, code", [((), 143), (("--signal=SIGINT",), 130)])
def test_stop_ends_the_run_as_a_signal_does(detached, words, code):
    run = detached(*SEVERAL)
    run.steps()
    pid = run.status()["pid"]
    stop = run.do("stop", *words)
    assert stop.code == 0, stop.errors
    assert not is_alive(pid)
    assert "stopped after" in stop.errors and f"exit code {code}" in stop.errors
    report = run.robustrun.report(run.directory)
    assert report["outcome"] == "stopped" and report["exit_code"] == code
    assert report["reason"].startswith("stopped (robustrun stop")
    assert "stopped after" in run.console()
    run.robustrun.expect_nothing_left()


STUBBORN = r"""
import os, signal, time
for number in (signal.SIGTERM, signal.SIGINT):
    signal.signal(number, lambda *_: open("asked", "a").write("x"))
open("ready", "w").close()
while True:
    time.sleep(0.05)
"""


def test_stop_can_set_the_grace_period(detached):
    run = detached("--shutdown-timeout=600", script=STUBBORN)
    wait_for((run.folder / "ready").exists, what="the script's start")
    stop = run.do("stop", "--grace=500ms")
    assert stop.code == 0, stop.errors
    assert (run.folder / "asked").exists()
    run.robustrun.expect_nothing_left()


def test_a_second_stop_kills_at_once(detached):
    run = detached("--shutdown-timeout=600", script=STUBBORN)
    wait_for((run.folder / "ready").exists, what="the script's start")
    first = run.do("stop", "--no-wait")
    assert first.code == 0 and "is ending" in first.errors
    wait_for((run.folder / "asked").exists, what="the signal")
    assert run.status()["state"] == "finishing"
    assert run.do("stop").code == 0
    run.robustrun.expect_nothing_left()


def test_which_run_is_meant(robustrun):
    for words, error in ((["status"], "found no run in"), (["stop"], "no active run;"),
                         (["attach"], "no active run;"),
                         (["status", "nosuch"], "cannot find the run nosuch"),
                         (["stop", "nosuch"], "cannot find the run nosuch")):
        done = robustrun.run(*words)
        assert done.code == 2 and error in done.errors, words
    first = Detached(robustrun, "--rdzv-id=first")
    second = Detached(robustrun, "--rdzv-id=second")
    done = robustrun.run("stop")
    assert done.code == 2 and "first" in done.errors and "second" in done.errors
    newest = robustrun.run("status")
    assert newest.code == 0 and "run second, the newest of 2 active runs" in newest.errors
    assert second.do("stop").code == 0
    alone = robustrun.run("stop")
    assert alone.code == 0 and "run first" in alone.errors
    assert first.status()["exit_code"] == 143
    assert "no run is active" in robustrun.run("status").errors
    assert robustrun.run("stop", "--signal=SIGKILL", "first").code == 2
    assert robustrun.run("stop", "--grace=soon", "first").code == 2
    assert robustrun.run("attach", "--lines=-1", "first").code == 2


@pytest.mark.parametrize("words, code, said", [
    (["--no-such-option", "job.py"], 2, "no-such-option"),
    (["missing.py"], 2, "missing.py"),
    (["--stdin=0", "job.py"], 2, "standard input"),
    (["--no-python", "./not-executable"], 2, "not-executable"),
])
def test_a_command_that_cannot_be_detached_is_refused_at_once(robustrun, words, code, said):
    robustrun.write("job.py", SCRIPT)
    robustrun.write("not-executable", "")
    done = robustrun.run("--detach", *words)
    assert done.code == code, done.errors
    assert said in done.errors and not done.text


def test_a_run_that_ends_before_it_is_up_ends_with_its_code_and_report(robustrun):
    robustrun.write("job.sh", "#!/no/such/interpreter\n").chmod(0o755)
    done = robustrun.run("--detach", "--no-python", "./job.sh")
    assert done.code == 127, done.errors
    assert "failed after" in done.errors and not done.text
    # With 0 there is always a name, however soon it ends.
    robustrun.write("job.sh", "#!/bin/sh\n")
    done = robustrun.run("--detach", "--no-python", "./job.sh")
    assert done.code == 0, done.errors
    assert done.text == f"{robustrun.newest_run().name}\n"
    robustrun.expect_nothing_left()


def test_ctrl_c_before_the_run_is_up_ends_it(robustrun):
    slow = robustrun.write("slow.sh", "#!/bin/sh\nsleep 60\n")
    slow.chmod(0o755)
    robustrun.write("job.py", SCRIPT)
    running = robustrun.start("--detach", "--nnodes=1", "--hosts=far", "--ssh-transport=openssh",
                              f"--ssh-command={slow}", "--nproc-per-node=1", "job.py")
    wait_for(lambda: (robustrun.folder / "robustrun-runs").exists()
             and (robustrun.newest_run() / "control").exists(), what="the run's start")
    os.kill(running.pid, signal.SIGINT)
    done = running.finish()
    assert done.code == 130, done.errors
    assert "stopping (Ctrl-C)" in done.errors


def test_the_console_is_bounded_by_rotation(detached):
    # Unit tests check the rotation itself; here, the standard descriptors follow it.
    run = detached(script=FLOOD)
    log = run.directory / "console.log"
    wait_for(lambda: (run.directory / "console.log.1").exists(), 600, "a full console")
    pid = run.status()["pid"]
    assert os.readlink(f"/proc/{pid}/fd/1") == os.readlink(f"/proc/{pid}/fd/2") == str(log)
    size = (run.directory / "console.log.1").stat().st_size
    assert 60 << 20 < size < 80 << 20
    run.enough()
    run.wait_end()
    assert "succeeded after" in run.console()


def test_stop_reaches_a_supervisor_on_another_machine(lab, robustrun):
    machines = lab(2)
    home = machines.home.environment()
    job = start_job(robustrun, "--hosts=h[1-2]", "--iface=eth0", *lockstep(robustrun), env=home,
                    prefix=machines.prefix)
    job.moves(world=2)
    # That machine has another name, and no socket of the supervisor in its folder.
    (job.run / "control").unlink()
    machines.move_hub(cut=False)
    program, *rest = map(str, [*machines.prefix, robustrun.binary, "stop", job.run])
    done = robustrun.start(*rest, argv0=program, env=home).finish()
    assert done.code == 0, done.errors
    assert "exit code 143: stopped (robustrun stop on" in done.errors
    assert job.finish().code == 128 + signal.SIGTERM
    again = robustrun.start(*rest, argv0=program, env=home).finish()
    assert again.code == 0 and "exit code 143" in again.errors


@pytest.fixture
def open_runner():
    """A folder that stays open to other users: each session of pytest closes the common one."""
    with tempfile.TemporaryDirectory(prefix="rr-open-", dir="/tmp") as folder:
        runner = Runner(pathlib.Path(folder))
        yield runner
        runner.close()


@pytest.mark.skipif(os.geteuid() != 0, reason="another user's shell needs root")
def test_the_run_of_another_user_is_out_of_reach(open_runner):
    run = Detached(open_runner)
    pid = run.wait_state("running")["pid"]
    # As another user with access to the folders by mistake: the socket serves its owner only.
    for folder in [run.directory, *run.directory.parents]:
        if folder.is_relative_to(run.folder):
            folder.chmod(folder.stat().st_mode | 0o055)
    for name in ("control", "journal"):
        (run.directory / name).chmod(0o644)
    socket = pathlib.Path((run.directory / "control").read_text().splitlines()[0])
    socket.parent.chmod(0o755)
    socket.chmod(0o666)
    stranger = ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups"]
    binary = run.folder / "binary"
    binary.mkdir()
    binary.chmod(0o755)
    for part in ("bin",):
        shutil.copytree(run.robustrun.binary.parent, binary / part, symlinks=False,
                        ignore=lambda _, names: [n for n in names if not n.startswith("robustrun")])
    try:
        for words in (["stop"], ["attach"]):
            done = subprocess.run([*stranger, binary / "bin/robustrun", words[0], run.directory],
                                  capture_output=True, text=True, cwd="/", timeout=60)
            assert done.returncode == 2, done.stderr
            assert "another user's" in done.stderr
        assert is_alive(pid) and run.status()["state"] == "running"
    finally:
        socket.parent.chmod(0o700)


def test_a_detached_run_is_resumed_detached(detached):
    run = detached(*SEVERAL)
    before = run.steps()
    pid = run.status()["pid"]
    os.kill(pid, signal.SIGKILL)
    wait_for(lambda: not is_alive(pid), what="the supervisor's death")
    assert run.status()["supervisor"] == "silent"
    resumed = run.do("resume", "--detach")
    assert resumed.code == 0, resumed.errors
    assert resumed.text.split() == [run.name]
    status = run.wait_state("running")
    assert before and status["pid"] not in (0, pid)
    # It knows the past from the journal.
    assert status["attempt"] == 0 and status["workers"] == 4
    assert [n["node_rank"] for n in status["nodes"]] == [0, 1, None]
    wait_for(lambda: all(n["agent"] == "joined" for n in run.status()["nodes"]), what="all agents")
    run.steps(30)
    again = run.do("resume", "--detach")
    assert again.code == 2 and not again.text
    os.kill(status["pid"], signal.SIGHUP)
    attached = run.robustrun.start("attach", run.name)
    run.enough()
    assert attached.finish().code == 0
    run.wait_end()
    console = run.console()
    assert "resum" in console and "succeeded after" in console
    assert run.robustrun.report(run.directory)["attempts"] == 1
