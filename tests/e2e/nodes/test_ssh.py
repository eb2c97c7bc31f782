"""Agents over SSH, with real sshds: both transports, broken hosts, and the end of the job."""

import contextlib
import json
import os
import pathlib
import re
import shutil
import signal
import subprocess

import pytest
from helpers.jobs import descendants, kill_at_once, lockstep, start_job, wait_until_gone
from helpers.runner import BUILD
from helpers.ssh_server import NEEDS_ROOT, make_key

TRANSPORTS = pytest.mark.parametrize("transport", ["libssh2", "openssh"])


@pytest.fixture
def over(robustrun):
    """Starts a job over the hosts of a farm."""

    def start(hosts, *arguments, env=None, **options):
        return start_job(
            robustrun, *arguments, env={**hosts.home.environment(), **(env or {})}, **options
        )

    return start


@TRANSPORTS
@pytest.mark.parametrize("host_key", ["ed25519", "ecdsa"])
def test_a_job_runs_on_hosts_in_order(farm, over, robustrun, transport, host_key):
    hosts = farm(3, host_key=host_key)
    robustrun.write(
        "show.py", "import os\nprint(os.environ['RANK'], os.environ['GROUP_RANK'], os.getcwd(), "
        "os.environ['SPECIAL'])\n"
    )
    job = over(hosts, "--hosts=h[1-3]", "--nproc-per-node=2", f"--ssh-transport={transport}",
               "show.py", env={"SPECIAL": "a b"})
    finished = job.finish()
    assert finished.code == 0, finished.errors
    here = str(robustrun.folder)
    assert sorted(finished.text.splitlines()) == [f"{r} {r // 2} {here} a b" for r in range(6)]
    assert job.group_names() == ["h1", "h2", "h3"]
    # The chosen transport was used, without a silent fallback.
    assert ("ssh program" in finished.errors) is False
    hosts.expect_empty()
    robustrun.expect_nothing_left()


def test_an_rsa_key_makes_openssh_the_transport_with_the_reason(farm, over, robustrun):
    hosts = farm(1)
    make_key(hosts.home.ssh / "id_rsa", "rsa")
    text = hosts.home.config.read_text().replace("id_ed25519", "id_rsa")
    hosts.home.config.write_text(text)
    (hosts.home.ssh / "id_ed25519.pub").write_bytes(
        (hosts.home.ssh / "id_rsa.pub").read_bytes()  # what the sshd lets in
    )
    robustrun.write("t.py", "print('ran')\n")
    finished = over(hosts, "--hosts=h1", "t.py").finish()
    assert (finished.code, finished.text) == (0, "ran\n"), finished.errors
    assert "id_rsa" in finished.errors


@pytest.mark.parametrize("variables", [{"PBS_JOBID": "7", "PBS_NODEFILE": "nodes"},
                                       {"JOB_ID": "7", "PE_HOSTFILE": "nodes"},
                                       {"LSB_JOBID": "7", "LSB_MCPU_HOSTS": "h2 8 h1 8"}])
def test_a_batch_job_runs_on_its_hosts(farm, over, robustrun, variables):
    """The variables are played, the hosts are real sshds."""
    hosts = farm(2)
    robustrun.write("nodes", "h2 8 all.q@h2 UNDEFINED\nh1 8 all.q@h1 UNDEFINED\n")
    robustrun.write("show.py", "import os\nprint(os.environ['RANK'], os.environ['GROUP_RANK'])\n")
    job = over(hosts, "--nproc-per-node=2", "show.py", env=variables)
    finished = job.finish()
    assert finished.code == 0, finished.errors
    assert job.group_names() == ["h1", "h2"]
    assert sorted(finished.text.splitlines()) == [f"{r} {r // 2}" for r in range(4)]


@pytest.mark.parametrize("program, variables", [
    ("qrsh -inherit", {"JOB_ID": "7", "PE_HOSTFILE": "nodes"}),
    ("blaunch", {"LSB_JOBID": "7", "LSB_MCPU_HOSTS": "h2 8 h1 8"})])
def test_a_batch_job_starts_agents_by_its_own_program(farm, over, robustrun, program, variables):
    """The programs are played: they pass host and command to ssh, and note that they were used."""
    hosts = farm(2)
    robustrun.write("nodes", "h2 8 all.q@h2 UNDEFINED\nh1 8 all.q@h1 UNDEFINED\n")
    name, *options = program.split()
    tool = robustrun.folder / "bin" / name
    tool.parent.mkdir()
    tool.write_text(f"#!/bin/sh\necho \"$*\" >> {robustrun.folder}/used\n"
                    f"shift {len(options)}\nexec ssh \"$@\"\n")
    tool.chmod(0o755)
    robustrun.write("show.py", "import os\nprint(os.environ['RANK'], os.environ['GROUP_RANK'])\n")
    path = f"{tool.parent}:{hosts.home.environment().get('PATH', os.environ['PATH'])}"
    job = over(hosts, "--nproc-per-node=2", "show.py", env={**variables, "PATH": path})
    finished = job.finish()
    assert finished.code == 0, finished.errors
    assert job.group_names() == ["h1", "h2"]
    used = (robustrun.folder / "used").read_text()
    for host in ("h1", "h2"):
        assert f"{' '.join([*options, host])} exec /bin/sh -c" in used
    hosts.expect_empty()


@pytest.mark.parametrize("tool, variables, shown, again", [
    ("qstat", {"PBS_JOBID": "7.pbs", "PBS_NODEFILE": "nodes"},
     "Job Id: 7.pbs\n    Resource_List.walltime = 00:03:20\n", "qrerun 7.pbs"),
    ("bjobs", {"LSB_JOBID": "7", "LSB_MCPU_HOSTS": "here 8"}, "0:03 L\n", "brequeue 7")])
def test_a_batch_job_saves_before_its_end_and_is_queued_again(robustrun, tool, variables, shown,
                                                              again):
    """The programs are played."""
    robustrun.write("nodes", "here\n")
    tools = robustrun.folder / "bin"
    tools.mkdir()
    for name in (tool, again.split()[0]):
        path = tools / name
        path.write_text(f"#!/bin/sh\necho \"{name} $*\" >> {robustrun.folder}/used\n"
                        f"[ {name} = {tool} ] && cat {robustrun.folder}/shown\nexit 0\n")
        path.chmod(0o755)
    (robustrun.folder / "shown").write_text(shown)
    env = {**variables, "PATH": f"{tools}:{os.environ['PATH']}"}
    job = start_job(robustrun, "--slurm-poll=0.3", "--shutdown-timeout=20", *lockstep(robustrun),
                    env=env)
    job.moves(world=1)
    job.says(f"time limit of {'PBS job 7.pbs' if tool == 'qstat' else 'LSF job 7'} at ")
    # The limit is shortened, and the last save is due. bjobs shows whole minutes.
    (robustrun.folder / "shown").write_text(shown.replace("00:03:20", "00:00:01"))
    finished = job.finish(timeout=120) if tool == "qstat" else job.stop()
    assert finished.code == (124 if tool == "qstat" else 143), finished.errors
    requeued = robustrun.run("requeue", env=env)
    assert requeued.code == 0, requeued.errors
    assert "is queued again" in requeued.errors
    assert again in (robustrun.folder / "used").read_text()


def test_a_hostfile_with_slots(farm, over, robustrun):
    hosts = farm(2)
    robustrun.write("hosts", "h2 slots=1\nh1 slots=3\n")
    robustrun.write("show.py", "import os\nprint(os.environ['RANK'], os.environ['LOCAL_RANK'])\n")
    job = over(hosts, "--hostfile=hosts", "show.py")
    finished = job.finish()
    assert finished.code == 0, finished.errors
    assert job.group_names() == ["h1", "h2"]
    assert sorted(finished.text.splitlines()) == ["0 0", "1 1", "2 2", "3 0"]


@TRANSPORTS
def test_an_unknown_host_key_is_refused_with_the_command_that_fixes_it(
    farm, over, robustrun, transport
):
    hosts = farm(1)
    hosts.home.forget()
    robustrun.write("t.py", "print('ran')\n")
    finished = over(hosts, "--hosts=h1", f"--ssh-transport={transport}", "t.py").finish()
    assert finished.code not in (0, 137)
    assert "ran" not in finished.text
    assert "h1" in finished.errors and "host key" in finished.errors
    shown = subprocess.run(
        ["ssh-keygen", "-lf", f"{hosts.host_key}.pub"], capture_output=True, check=True
    ).stdout.decode().split()[1]
    if transport == "libssh2":  # ssh -o BatchMode=yes does not show it
        assert shown in finished.errors
        fix = finished.errors[finished.errors.index("ssh-keyscan") :].split("'")[0]
        fix = " ".join(fix.split())
        assert str(hosts.home.known_hosts) in fix
        subprocess.run(fix, shell=True, check=True, capture_output=True)
    else:
        assert "ssh" in finished.errors
        hosts.home.trust(hosts["h1"].address, hosts.port, hosts.host_key)
    assert over(hosts, "--hosts=h1", f"--ssh-transport={transport}", "t.py").finish().code == 0


@TRANSPORTS
def test_a_changed_host_key_is_refused(farm, over, robustrun, transport):
    hosts = farm(1)
    make_key(robustrun.folder / "other", "ed25519")
    hosts.home.forget()
    hosts.home.trust(hosts["h1"].address, hosts.port, robustrun.folder / "other")
    robustrun.write("t.py", "print('ran')\n")
    finished = over(hosts, "--hosts=h1", f"--ssh-transport={transport}", "t.py").finish()
    assert finished.code != 0 and "ran" not in finished.text
    assert "changed" in finished.errors and "ssh-keygen -R" in finished.errors


@TRANSPORTS
def test_broken_hosts_are_named_while_the_others_go_on(farm, over, robustrun, transport):
    hosts = farm(3)
    hosts["h2"].die()  # nothing listens there
    hosts.home.add("nowhere", "no-such-host.invalid", 22)
    hosts.home.add("locked", hosts["h1"].address, hosts.port, "IdentityFile /nonexistent",
                   "IdentityAgent none")
    config = hosts.home.config.read_text().replace(
        f"  IdentityFile {hosts.home.key}\n", ""
    ).replace("Host h", f"Host h*\n  IdentityFile {hosts.home.key}\nHost h", 1)
    hosts.home.config.write_text(config)
    job = over(
        hosts, "--hosts=h1,h2,h3,nowhere,locked", "--nnodes=2:5", f"--ssh-transport={transport}",
        *lockstep(robustrun),
    )
    job.moves(world=2)
    assert job.group_names() == ["h1", "h3"]
    # Each host is named with its own cause.
    for host, cause in (("h2", "refused"), ("nowhere", "name"), ("locked", "key")):
        job.wait(lambda host=host, cause=cause: any(
            host in line.split() and cause in line.lower() for line in job.err().splitlines()
        ), f"why {host} does not work")
    job.stop()
    robustrun.expect_nothing_left()


def test_too_few_hosts_end_the_start_with_the_cause(farm, over, robustrun):
    hosts = farm(2)
    hosts["h2"].die()
    robustrun.write("t.py", "print('ran')\n")
    finished = over(hosts, "--hosts=h1,h2", "t.py").finish()
    assert finished.code in (2, 94)
    assert "h2" in finished.errors and "refused" in finished.errors
    assert "ran" not in finished.text
    hosts.expect_empty()
    robustrun.expect_nothing_left()


@TRANSPORTS
def test_many_connections_succeed_with_a_server_that_drops_most(farm, over, robustrun, transport):
    """The sshd takes one unauthenticated connection at a time and drops most others at once."""
    hosts = farm(1, options=["MaxStartups 1:90:3"])
    for number in range(2, 9):
        hosts.home.add(f"h{number}", hosts["h1"].address, hosts.port)
    robustrun.write("show.py", "import os\nprint(os.environ['RANK'])\n")
    finished = over(
        hosts, "--hosts=h[1-8]", f"--ssh-transport={transport}", "show.py"
    ).finish(300)
    assert finished.code == 0, finished.errors
    assert sorted(finished.text.split()) == [str(rank) for rank in range(8)]
    hosts.expect_empty()


@TRANSPORTS
@pytest.mark.parametrize("how", [signal.SIGINT, signal.SIGKILL])
def test_the_end_of_the_command_ends_everything_on_the_hosts(
    farm, over, robustrun, transport, how
):
    hosts = farm(3)
    job = over(hosts, "--hosts=h[1-3]", "--nnodes=2", "--orphan-grace=2",
               f"--ssh-transport={transport}", *lockstep(robustrun))
    job.moves(world=2)
    job.process.send_signal(how)
    assert job.end() == (130 if how == signal.SIGINT else -how)
    hosts.expect_empty()
    robustrun.expect_nothing_left()


@TRANSPORTS
def test_a_broken_ssh_session_alone_changes_nothing(farm, over, robustrun, transport):
    hosts = farm(2)
    job = over(hosts, "--hosts=h[1-2]", f"--ssh-transport={transport}", *lockstep(robustrun))
    job.moves(world=2)
    wait_until_gone(hosts["h2"].hang_up(), 20, "the session")
    for _ in range(10):
        job.moves(world=2)
    assert (job.attempt(), job.losses()) == (0, [])
    # The agent is not forgotten: it still ends with the job.
    job.stop()
    hosts.expect_empty()
    robustrun.expect_nothing_left()


@TRANSPORTS
def test_a_machine_that_dies_is_replaced_before_its_lease_is_over(farm, over, robustrun, transport):
    hosts = farm(3)
    job = over(hosts, "--hosts=h[1-3]", "--nnodes=2", f"--ssh-transport={transport}",
               *lockstep(robustrun))
    job.moves(world=2)
    job.wait(job.spares, "the spare")
    hosts["h1"].die()
    job.wait(lambda: job.group_names() == ["h3", "h2"], "the spare in its place")
    job.moves(world=2)
    assert job.attempt() == 1
    assert "was silent for" not in job.losses()[0][1], job.losses()
    finished = job.stop()
    assert "h3 takes the place of h1" in finished.errors
    robustrun.expect_nothing_left()


def test_a_host_that_dies_in_two_runs_is_taken_last_by_the_third(farm, over, robustrun):
    for _ in range(2):
        hosts = farm(2)
        job = over(hosts, "--hosts=h[1-2]", "--nnodes=1", *lockstep(robustrun))
        job.moves(world=1)
        job.wait(job.spares, "the spare")
        hosts["h1"].die()
        job.wait(lambda job=job: job.group_names() == ["h2"], "the spare in its place")
        assert job.stop().code == 143

    listed = robustrun.run("nodes")
    assert re.match(r"h1 +lost in 2 runs.*; taken last by the next runs", listed.text)
    assert json.loads(robustrun.run("nodes", "--json", "h1").text)[0]["offender"] is True
    assert "No run has noted anything about h2" in robustrun.run("nodes", "h2").text

    hosts = farm(2)
    job = over(hosts, "--hosts=h[1-2]", "--nnodes=1", *lockstep(robustrun))
    job.moves(world=1)
    assert job.group_names() == ["h2"]
    finished = job.stop()
    assert "h1 has failed earlier runs (lost in 2 runs" in finished.errors

    # Where other programs compute, a host may be slow in one check.
    for _ in range(5):
        checked = robustrun.run("check", "--preflight=full", "--hosts=h[1-2]",
                                env=hosts.home.environment())
        if "times as long as the median node" not in checked.errors:
            break
    assert checked.code == 0, checked.errors
    assert re.match("h1 +cleared by a full check", robustrun.run("nodes", "h1").text)


def test_the_node_of_rank_0_may_fail_with_any_code(farm, over, robustrun):
    hosts = farm(2)
    robustrun.write(
        "fail.py", "import os, sys, time\nif os.environ['RANK'] == '1': sys.exit(7)\n"
        "time.sleep(100)\n"
    )
    job = over(hosts, "--hosts=h[1-2]", "--max-restarts=0", "fail.py")
    finished = job.finish()
    assert finished.code == 7, finished.errors
    assert robustrun.report(job.run)["incidents"][0]["node"] == "h2"


# --- hosts that are not like this one -----------------------------------------------------------

@NEEDS_ROOT
@pytest.mark.parametrize("missing", ["script", "folder"])
def test_what_is_missing_on_a_host_is_an_error_of_that_host(farm, over, robustrun, missing):
    hosts = farm(2)
    place = robustrun.folder / "project"
    place.mkdir()
    (place / "t.py").write_text("import time; time.sleep(100)\n")
    (place / "inner").mkdir()
    hosts["h2"].hide(place)
    cwd = place / "inner" if missing == "folder" else robustrun.folder
    finished = over(hosts, "--hosts=h[1-2]", str(place / "t.py"), cwd=cwd).finish()
    assert finished.code not in (0, 94), finished.errors
    assert "h2" in finished.errors
    assert str(place / ("t.py" if missing == "script" else "inner")) in finished.errors
    assert "is not on this machine" in finished.errors
    assert finished.code == 127, finished.errors
    # The agents' own end with that code is not taken for a missing robustrun.
    assert "refused a connection" not in finished.errors
    hosts.expect_empty()


def test_every_host_counts_for_itself(farm, over, robustrun):
    hosts = farm(2)
    cpus = sorted(os.sched_getaffinity(0))[:2]
    hosts["h1"].restart_under("taskset", "-c", ",".join(map(str, cpus)))
    hosts["h2"].restart_under("taskset", "-c", str(cpus[0]))
    robustrun.write("show.py", "import os\nprint(os.environ['RANK'], os.environ['LOCAL_RANK'])\n")
    words = ("--hosts=h[1-2]", "--nproc-per-node=cpu")
    job = over(hosts, *words, f"--expect-world={len(cpus) + 1}", "show.py")
    finished = job.finish()
    assert finished.code == 0, finished.errors
    assert sorted(finished.text.splitlines()) == [
        *(f"{rank} {rank}" for rank in range(len(cpus))), f"{len(cpus)} 0"
    ]
    finished = over(hosts, *words, "--expect-world=64", "show.py").finish()
    assert finished.code == 94, finished.errors
    assert f"offer {len(cpus) + 1} workers, and 64 are expected" in finished.errors
    finished = over(hosts, *words[:1], "--nproc-per-node=nosuch", "show.py").finish()
    assert finished.code == 2, finished.errors
    said = " ".join(finished.errors.split())
    assert "the 2 nodes needed: h[1-2]: cannot use --nproc-per-node=nosuch: Unsupported" in said
    assert said.count("Unsupported nproc_per_node value: nosuch") == 2  # at once, in the report
    hosts.expect_empty()


@NEEDS_ROOT
@TRANSPORTS
def test_a_host_without_robustrun_gets_it_pushed(farm, over, robustrun, transport):
    """The host has only the shared folder of the test; a second run finds robustrun there."""
    home = pathlib.Path.home()
    hosts = farm(1)
    hosts["h1"].hide(BUILD / "bin", BUILD / "share", home / ".cache")
    job = over(hosts, "--hosts=h1", f"--ssh-transport={transport}", *lockstep(robustrun))
    job.moves(deadline_s=150)
    agent = job.agents()[0]
    program = os.readlink(f"/proc/{agent}/exe")
    assert "/.cache/robustrun/" in program, program
    pushed = pathlib.Path(f"/proc/{agent}/root{program}").parents[1] / "share" / "robustrun"
    assert {"librobustrun.so", "librobustrun_tracer.so"} <= set(os.listdir(pushed))
    assert job.lines()
    job.stop()
    again = over(hosts, "--hosts=h1", f"--ssh-transport={transport}", *lockstep(robustrun))
    again.moves()
    assert os.readlink(f"/proc/{again.agents()[0]}/exe") == program
    again.stop()
    hosts.expect_empty()


def test_the_credential_is_visible_nowhere(farm, over, robustrun):
    """It is in no arguments, environment or file except the supervisor's private one."""
    hosts = farm(2)
    job = over(hosts, "--hosts=h[1-2]", "--ssh-transport=openssh", *lockstep(robustrun))
    job.moves(world=2)
    for pid in [*descendants(job.pid), *(p for h in hosts.hosts.values() for p in h.strays())]:
        for name in ("cmdline", "environ"):
            try:
                text = pathlib.Path(f"/proc/{pid}/{name}").read_bytes()
            except OSError:
                continue
            assert b"robustrun-credential" not in text
            assert b"PRIVATE KEY" not in text
    for path in robustrun.folder.rglob("*"):
        with contextlib.suppress(FileNotFoundError):  # the job renames files all the time
            if path.is_file() and path.stat().st_mode & 0o077:
                assert b"robustrun-credential-" not in path.read_bytes(), path
    assert oct(job.run.stat().st_mode & 0o777) == "0o700"
    job.stop()


def test_without_an_ssh_client_the_built_in_one_is_used(farm, over, robustrun, tmp_path):
    hosts = farm(1)
    # Its defaults are ~/.ssh and port 22: it does not read configuration files.
    empty = robustrun.folder / "empty-bin"
    empty.mkdir()
    for tool in ("sh", "env"):
        (empty / tool).symlink_to(shutil.which(tool))
    robustrun.write("t.py", "print('ran')\n")
    finished = over(
        hosts, f"--hosts={hosts['h1'].address}:{hosts.port}", "--ssh-transport=libssh2", "t.py",
        env={"PATH": str(empty)},
    ).finish()
    assert (finished.code, finished.text) == (0, "ran\n"), finished.errors


@TRANSPORTS
def test_sessions_and_agents_die_together_at_random(farm, over, robustrun, transport):
    hosts = farm(3)
    job = over(hosts, "--hosts=h[1-3]", "--nnodes=2", f"--ssh-transport={transport}",
               *lockstep(robustrun))
    job.moves(world=2)
    for node in (0, 1):
        pids = job.node_processes(node)
        sessions = [p for p in hosts[f"h{node + 1}"].processes()[1:] if p not in pids]
        attempt = job.attempt()
        kill_at_once([*sessions, *pids])
        wait_until_gone(pids, 20)
        job.wait(lambda before=attempt: job.attempt() > before, "another attempt")
        job.moves(world=2)
    job.stop()
    hosts.expect_empty()
