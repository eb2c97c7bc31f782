"""Two versions side by side: they serve each other, or refuse in words."""

import os
import pathlib
import pwd
import shutil
import signal

import pytest
from helpers.builds import (
    has_static_busybox,
    installed_copy,
    make_other,
    root_without_glibc,
)
from helpers.jobs import descendants, lockstep, start_job
from helpers.processes import program_of, wait_for
from helpers.runner import BINARY
from helpers.ssh_server import NEEDS_ROOT
from nodes.meeting import Meeting


@pytest.fixture
def other(robustrun):
    """A program of another version, installed beside the one under test."""
    return make_other(installed_copy(robustrun.folder / "other"))


@NEEDS_ROOT
@pytest.mark.parametrize(
    "transport", ["libssh2", pytest.param("openssh", marks=pytest.mark.nightly)])
def test_an_agent_of_another_build_is_replaced_by_ours(farm, robustrun, other, transport):
    hosts = farm(2)
    cache = pathlib.Path(pwd.getpwuid(os.geteuid()).pw_dir) / ".cache"
    cache.mkdir(exist_ok=True)
    hosts["h2"].hide(cache, over={BINARY: other})
    job = start_job(robustrun, "--hosts=h[1-2]", f"--ssh-transport={transport}",
                    *lockstep(robustrun), env=hosts.home.environment())
    job.moves(world=2, deadline_s=150)
    programs = [os.readlink(f"/proc/{job.agents()[node]}/exe") for node in (0, 1)]
    assert programs[0] == str(BINARY) and "/.cache/robustrun/" in programs[1], programs
    errors = job.stop().errors
    assert "does not have this build: pushing it" in errors, errors
    hosts.expect_empty()


@NEEDS_ROOT
def test_a_host_with_another_processor_is_named_and_nothing_is_pushed(farm, robustrun, other):
    hosts = farm(2)
    uname = robustrun.write("uname", "#!/bin/sh\necho riscv64\n")
    uname.chmod(0o755)
    cache = pathlib.Path(pwd.getpwuid(os.geteuid()).pw_dir) / ".cache"
    cache.mkdir(exist_ok=True)
    hosts["h2"].hide(cache, over={BINARY: other, pathlib.Path("/usr/bin/uname"): uname})
    done = robustrun.run("--hosts=h[1-2]", *lockstep(robustrun), env=hosts.home.environment())
    assert done.code != 0
    assert (f"its processor is riscv64, and this robustrun is for {os.uname().machine}: "
            "start the run on a machine with that processor" in done.errors), done.errors
    assert "pushing it" not in done.errors
    hosts.expect_empty()


@NEEDS_ROOT
@pytest.mark.skipif(not has_static_busybox(), reason="no busybox-static")
def test_a_host_without_glibc_is_named_and_nothing_is_pushed(robustrun):
    root = robustrun.folder / "root"
    root_without_glibc(root)
    ssh = robustrun.write("ssh", "#!/bin/sh\n"
                          f'case " $* " in *" -G "*) exec {shutil.which("ssh")} "$@" ;; esac\n'
                          'for command; do :; done\n'
                          f'exec chroot {root} /bin/sh -c "$command"\n')
    ssh.chmod(0o755)
    done = robustrun.run("--hosts=h[1-2]", f"--ssh-command={ssh}", "--max-restarts=0",
                         *lockstep(robustrun))
    assert done.code != 0
    assert "its C library is not glibc (/lib" in done.errors, done.errors
    assert "pushing it" not in done.errors
    robustrun.expect_nothing_left()


def test_nodes_of_two_versions_with_one_protocol_form_a_job(robustrun, other):
    meeting = Meeting(robustrun)
    robustrun.write("show.py", "import os\nprint('rank', os.environ['RANK'])\n")
    meeting.join("show.py", nnodes="2")
    meeting.leader()
    ours, robustrun.binary = robustrun.binary, other
    meeting.join("show.py", nnodes="2")
    robustrun.binary = ours
    ends = [job.finish() for job in meeting.jobs]
    assert [end.code for end in ends] == [0, 0], "\n".join(end.errors for end in ends)
    assert sorted(ends[0].text.split()) == ["0", "1", "rank", "rank"]
    robustrun.expect_nothing_left()


def test_a_run_keeps_its_version_while_another_shows_and_stops_it(robustrun, other):
    robustrun.binary = installed_copy(robustrun.folder / "here")
    job = start_job(robustrun, "--nproc-per-node=2", *lockstep(robustrun))
    job.moves(world=2)
    robustrun.binary = other
    for command in (["status", str(job.run)], ["report", str(job.run)], ["ls"]):
        done = robustrun.run(*command)
        assert done.code in (0, 1) and done.text and not done.errors, (command, done)
    os.kill(job.workers_of()[0], signal.SIGKILL)
    job.wait(lambda: job.attempt() == 1, "another attempt")
    job.moves(world=2)
    shims = {os.readlink(f"/proc/{pid}/exe") for pid in descendants(job.pid)
             if b"robustrun-shim" in program_of(pid)}
    assert shims == {str(robustrun.folder / "here" / "bin" / "robustrun-shim")}
    stopped = robustrun.run("stop", str(job.run))
    assert stopped.code == 0, stopped.errors
    assert job.end() == 143
    robustrun.expect_nothing_left()


def test_another_version_supervises_a_run_whose_supervisor_is_gone(robustrun, other):
    robustrun.binary = installed_copy(robustrun.folder / "here")
    job = start_job(robustrun, "--launcher=processes", "--nnodes=2", "--orphan-grace=60",
                    *lockstep(robustrun))
    job.moves(world=2)
    agents = job.agents()
    job.process.kill()
    job.process.wait()
    robustrun.binary = other
    successor = robustrun.start("resume", str(job.run))
    job.process = successor.process
    job.moves(world=2)
    assert job.agents() == agents and job.attempt() == 0
    # Workers move without it, too.
    wait_for(lambda: robustrun.run("status", str(job.run)).code == 0, what="the supervisor")
    successor.process.terminate()
    ended = successor.finish()
    assert ended.code == 143, ended.errors
    robustrun.expect_nothing_left()
