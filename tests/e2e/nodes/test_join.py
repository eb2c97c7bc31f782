"""torchrun's way of starting: the same command on every node, by hand. Three on one machine."""

import os
import pathlib
import signal
import subprocess
import sys

import pytest
from helpers.jobs import lockstep, start_job
from helpers.processes import is_alive, wait_for
from nodes.meeting import SECRET, Meeting, free_port


@pytest.fixture
def meeting(robustrun):
    return Meeting(robustrun)


SHOW = (
    "import os\nnames = 'RANK GROUP_RANK WORLD_SIZE GROUP_WORLD_SIZE TORCHELASTIC_RUN_ID'.split()\n"
    "open('seen.' + os.environ['RANK'], 'w').write(' '.join(os.environ[n] for n in names))\n"
    "print('I am', os.environ['RANK'])\n"
)


def test_three_commands_form_one_job(meeting, robustrun):
    robustrun.write("show.py", SHOW)
    for _ in range(3):
        meeting.join("--nproc-per-node=2", "show.py")
    ends = [job.finish() for job in meeting.jobs]
    assert [end.code for end in ends] == [0, 0, 0], "\n".join(end.errors for end in ends)
    for rank in range(6):
        seen = (robustrun.folder / f"seen.{rank}").read_text()
        assert seen == f"{rank} {rank // 2} 6 3 together"
    robustrun.expect_nothing_left()


def test_the_leader_shows_what_all_ranks_print(meeting, robustrun):
    robustrun.write("show.py", SHOW)
    for _ in range(3):
        meeting.join("show.py")
    leader = meeting.leader()
    for job in meeting.jobs:
        assert job.finish().code == 0
    assert sorted(leader.out().splitlines()) == [f"I am {rank}" for rank in range(3)]


@pytest.mark.parametrize("code, guests", [("7", 7), ("93", 93)])
def test_guests_end_with_the_codes_of_the_run(meeting, robustrun, code, guests):
    robustrun.write(
        "fail.py", "import os, sys, time\n"
        "if os.environ['RANK'] == '1': sys.exit(int(sys.argv[1]))\ntime.sleep(100)\n"
    )
    for _ in range(3):
        meeting.join("--max-restarts=0", "fail.py", code)
    assert [job.finish().code for job in meeting.jobs] == [guests] * 3
    robustrun.expect_nothing_left()


def test_compat_ends_everywhere_with_1(meeting, robustrun):
    robustrun.write(
        "fail.py", "import os, sys, time\nif os.environ['RANK'] == '1': sys.exit(7)\n"
        "time.sleep(100)\n"
    )
    for _ in range(2):
        meeting.join("--compat=torchrun", "fail.py", nnodes="2")
    assert [job.finish().code for job in meeting.jobs] == [1, 1]


def test_native_without_a_secret_is_refused_with_two_lines(meeting, robustrun):
    robustrun.write("t.py", "print('ran')\n")
    finished = meeting.join("t.py", secret=False).finish(90)
    assert finished.code == 2 and "ran" not in finished.text
    lines = finished.errors.strip().splitlines()
    assert any("--secret-file" in line for line in lines)
    assert len(lines) <= 6, finished.errors


def test_insecure_rdzv_overrides(meeting, robustrun):
    robustrun.write("t.py", "print('ran')\n")
    for _ in range(2):
        meeting.join("--insecure-rdzv", "t.py", secret=False, nnodes="2")
    assert [job.finish().code for job in meeting.jobs] == [0, 0]


def test_compat_without_a_secret_warns_once_and_runs(meeting, robustrun):
    robustrun.write("t.py", "print('ran')\n")
    for _ in range(2):
        meeting.join("--compat=torchrun", "t.py", secret=False, nnodes="2")
    ends = [job.finish() for job in meeting.jobs]
    assert [end.code for end in ends] == [0, 0], "\n".join(end.errors for end in ends)
    warnings = [
        line for end in ends for line in end.errors.splitlines() if "can join" in line
    ]
    assert 1 <= len(warnings) <= 2, "\n".join(end.errors for end in ends)


def test_a_wrong_secret_is_refused_and_others_go_on(meeting, robustrun):
    robustrun.write("t.py", "print('ran')\n")
    first = meeting.join("t.py", nnodes="2")
    leader = meeting.leader()
    assert leader is first
    wrong = robustrun.write("wrong", "another secret of sixteen bytes or more\n")
    wrong.chmod(0o600)
    stranger = meeting.join(f"--secret-file={wrong}", "t.py", secret=False, nnodes="2")
    refused = stranger.finish(120)
    assert refused.code not in (0, 137), refused.errors
    assert "secret" in refused.errors
    assert first.process.poll() is None
    second = meeting.join("t.py", nnodes="2")
    assert (first.finish().code, second.finish().code) == (0, 0)


def test_another_run_id_is_refused(meeting, robustrun):
    robustrun.write("t.py", "print('ran')\n")
    first = meeting.join("t.py", nnodes="2")
    meeting.leader()
    refused = meeting.join("t.py", nnodes="2", rdzv_id="another").finish(120)
    assert refused.code not in (0, 137)
    assert "another" in refused.errors or "together" in refused.errors
    second = meeting.join("t.py", nnodes="2")
    assert (first.finish().code, second.finish().code) == (0, 0)


def test_another_command_is_refused(meeting, robustrun):
    robustrun.write("t.py", "print('ran')\n")
    robustrun.write("u.py", "print('other')\n")
    first = meeting.join("t.py", nnodes="2")
    meeting.leader()
    refused = meeting.join("u.py", nnodes="2").finish(120)
    assert refused.code not in (0, 137)
    second = meeting.join("t.py", nnodes="2")
    assert (first.finish().code, second.finish().code) == (0, 0)
    assert "other" not in first.out()


def test_compat_lets_commands_differ(meeting, robustrun):
    robustrun.write("t.py", "import sys\nprint(sys.argv[1:])\n")
    for out in ("/a", "/b"):
        meeting.join("--compat=torchrun", "t.py", f"--out={out}", nnodes="2")
    ends = [job.finish() for job in meeting.jobs]
    assert [end.code for end in ends] == [0, 0], "\n".join(end.errors for end in ends)
    assert [job.out().strip() for job in meeting.jobs] == ["['--out=/a']", "['--out=/b']"]


@pytest.mark.parametrize("bad", ["short", "readable", "missing"])
def test_a_bad_secret_file_is_named(meeting, robustrun, bad):
    robustrun.write("t.py", "")
    path = robustrun.folder / "bad-secret"
    if bad != "missing":
        path.write_text("short\n" if bad == "short" else SECRET)
        path.chmod(0o644 if bad == "readable" else 0o600)
    finished = meeting.join(f"--secret-file={path}", "t.py", secret=False).finish(90)
    assert finished.code == 2
    assert "bad-secret" in finished.errors


def test_the_static_form(robustrun):
    robustrun.write("show.py", SHOW)
    port = free_port(2)
    secret = robustrun.write("secret", SECRET)
    secret.chmod(0o600)
    jobs = [
        start_job(robustrun, "--nnodes=3", f"--node-rank={rank}", "--master-addr=127.0.0.1",
                  f"--master-port={port}", f"--secret-file={secret}", "show.py", run=f"n{rank}")
        for rank in (2, 0, 1)
    ]
    jobs.sort(key=lambda job: job.run.name)  # the leader knows the cause
    ends = [job.finish() for job in jobs]
    assert [end.code for end in ends] == [0, 0, 0], "\n".join(end.errors for end in ends)
    # Ranks are as requested, in any order of arrival.
    for rank in range(3):
        assert (robustrun.folder / f"seen.{rank}").read_text().startswith(f"{rank} {rank} 3 3")
    assert (robustrun.folder / "n0" / "journal").exists()
    robustrun.expect_nothing_left()


def test_a_guest_that_dies_is_replaced_by_the_next_that_joins(meeting, robustrun):
    for _ in range(2):
        meeting.join(*lockstep(robustrun), nnodes="2")
    leader = meeting.leader()
    leader.moves(world=2)
    guest = next(job for job in meeting.jobs if job is not leader)
    below = [pid for pid in robustrun.marked() if pid not in (leader.pid,)]
    guest.process.kill()
    guest.end()
    leader.wait(leader.losses, "the loss")
    assert below
    meeting.join(*lockstep(robustrun), nnodes="2")
    leader.moves(world=2)
    for job in meeting.jobs:
        if job.process.poll() is None:
            job.process.send_signal(signal.SIGTERM)
    assert leader.end() == 143
    robustrun.expect_nothing_left()


def test_one_interrupt_at_the_leader_ends_every_command(meeting, robustrun):
    for _ in range(3):
        meeting.join(*lockstep(robustrun))
    leader = meeting.leader()
    leader.moves(world=3)
    leader.process.send_signal(signal.SIGINT)
    assert [job.end() for job in meeting.jobs] == [130, 130, 130]
    robustrun.expect_nothing_left()


def test_guests_do_not_outlive_the_leader_beyond_the_grace(meeting, robustrun):
    for _ in range(3):
        meeting.join("--orphan-grace=2", *lockstep(robustrun))
    leader = meeting.leader()
    leader.moves(world=3)
    leader.process.kill()
    robustrun.expect_nothing_left(30)
    for job in meeting.jobs:
        code = job.end()
        assert code == -signal.SIGKILL if job is leader else code not in (0,)


def test_fewer_than_nnodes_start_after_the_last_call(meeting, robustrun):
    robustrun.write("show.py", SHOW)
    for _ in range(2):
        meeting.join("--rdzv-conf=last_call_timeout=1", "show.py", nnodes="1:3")
    ends = [job.finish() for job in meeting.jobs]
    assert ends[0].code == 0, ends[0].errors
    assert (robustrun.folder / "seen.0").read_text().split()[2] in ("1", "2")


def test_a_leader_without_guests_gives_up(meeting, robustrun):
    robustrun.write("t.py", "print('ran')\n")
    finished = meeting.join("--rdzv-conf=join_timeout=2", "t.py", nnodes="2").finish(120)
    assert finished.code not in (0, 137), finished.errors
    assert "1 of the 2 nodes" in " ".join(finished.errors.split())
    robustrun.expect_nothing_left()


@pytest.mark.skipif(os.geteuid() != 0, reason="munged wants a folder that is root's")
def test_munge_admits_the_same_user_without_a_secret(meeting, robustrun, tmp_path):
    """A private munged with a key of its own replaces the cluster's."""
    if not os.access("/usr/sbin/munged", os.X_OK):
        pytest.fail("no munged: scripts/install-deps.sh test installs munge")
    place = tmp_path / "munge"
    place.mkdir(mode=0o755)
    (place / "key").write_bytes(os.urandom(128))
    (place / "key").chmod(0o600)
    # Clients know only /run/munge for its socket; here it is private to a mount namespace.
    daemon = subprocess.Popen(
        ["unshare", "--mount", "sh", "-c",
         "mkdir -p /run/munge && mount -t tmpfs -o mode=755 none /run/munge && "
         f"exec /usr/sbin/munged --foreground --force --key-file={place}/key "
         f"--pid-file={place}/pid --log-file={place}/log --seed-file={place}/seed"],
        stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
    )
    socket_path = pathlib.Path(f"/proc/{daemon.pid}/root/run/munge/munge.socket.2")
    try:
        wait_for(socket_path.exists, what="munged's socket")
        works = ["nsenter", "-t", str(daemon.pid), "-m", "sh", "-c", "munge -n | unmunge"]
        wait_for(lambda: subprocess.run(works, stdout=subprocess.DEVNULL,
                                        stderr=subprocess.DEVNULL).returncode == 0, what="munged")
        robustrun.write("t.py", "print('ran')\n")
        prefix = ("nsenter", "-t", daemon.pid, "-m", "sh", "-c", 'cd "$0" && exec "$@"',
                  robustrun.folder)
        for _ in range(2):
            meeting.join("t.py", secret=False, nnodes="2", prefix=prefix)
        ends = [job.finish(90) for job in meeting.jobs]
        assert [end.code for end in ends] == [0, 0], "\n".join(end.errors for end in ends)
    finally:
        daemon.terminate()
        daemon.wait(timeout=60)
    assert not is_alive(daemon.pid)


SAY = (
    "import os, sys\n"
    "print('out', os.environ['RANK'])\nprint('err', os.environ['RANK'], file=sys.stderr)\n"
)


def join_one_and_three(meeting, *arguments):
    """Two commands, the leader's with one worker and the other with three; both have ended."""
    meeting.runner.write("say.py", SAY)
    leader = meeting.join("--nproc-per-node=1", *arguments, "say.py", nnodes="2")
    meeting.leader()
    guest = meeting.join("--nproc-per-node=3", *arguments, "say.py", nnodes="2")
    ends = [leader.finish(), guest.finish()]
    assert [end.code for end in ends] == [0, 0], "\n".join(end.errors for end in ends)
    return ends


@pytest.mark.parametrize(
    "mode, leader_shows, guest_shows",
    [("native", ["out 0", "out 1"], []), ("torchrun", ["out 0"], ["out 1"])],
)
def test_the_output_of_workers_follows_the_options_of_their_own_command(
    meeting, robustrun, mode, leader_shows, guest_shows
):
    leader, guest = join_one_and_three(
        meeting, f"--compat={mode}", "--log-dir=logs", "--redirects=2:3", "--local-ranks-filter=0,2"
    )
    shown = [
        sorted(line for line in end.text.splitlines() if "out" in line) for end in (leader, guest)
    ]
    assert shown == [leader_shows, guest_shows], leader.errors + guest.errors
    assert "err 2" not in leader.errors + guest.errors  # not among the ranks to show
    assert "err 3" not in leader.errors + guest.errors  # in its file alone
    files = [path.read_text() for path in robustrun.folder.glob("logs/**/attempt_0/2/stdout.log")]
    assert files == ["out 3\n"]


def test_a_guest_shows_what_its_workers_print_as_torchrun_does(meeting):
    leader, guest = join_one_and_three(meeting, "--compat=torchrun", "--tee=3")
    assert leader.text.splitlines() == ["[default0]:out 0"]
    assert sorted(guest.text.splitlines()) == [f"[default{n}]:out {n + 1}" for n in range(3)]
    assert {line for line in guest.errors.splitlines() if "]:err" in line} == {
        f"[default{n}]:err {n + 1}" for n in range(3)
    }
    assert "]:err 1" not in leader.errors


def test_ranks_filter_holds_for_a_guests_own_console(meeting):
    leader, guest = join_one_and_three(
        meeting, "--compat=torchrun", "--tee=3", "--ranks-filter=0,2-3"
    )
    assert leader.text.splitlines() == ["[default0]:out 0"]
    assert sorted(guest.text.splitlines()) == ["[default1]:out 2", "[default2]:out 3"]


def test_log_folders_of_several_nodes_are_torchruns(meeting, robustrun):
    """Each command makes a folder of its own; the random part of its name is removed here."""

    def layout(folder):
        found = sorted(
            (path.parts[0].partition("_")[0], *path.parts[1:])
            for path in (each.relative_to(folder) for each in folder.rglob("*.log"))
        )
        assert len({path.relative_to(folder).parts[0] for path in folder.rglob("*.log")}) == 2
        return found

    join_one_and_three(meeting, "--compat=torchrun", "--tee=3", "--log-dir=ours")
    endpoint = f"--rdzv-endpoint=localhost:{free_port()}"
    peers = [
        robustrun.start(
            "-m", "torch.distributed.run", "--nnodes=2", "--rdzv-backend=c10d", endpoint,
            "--rdzv-id=together", f"--nproc-per-node={count}", "--tee=3", "--log-dir=torchruns",
            "say.py", argv0=sys.executable,
        )
        for count in (1, 3)
    ]
    for peer in peers:
        ended = peer.finish()
        assert ended.code == 0, ended.errors
    assert layout(robustrun.folder / "ours") == layout(robustrun.folder / "torchruns")
