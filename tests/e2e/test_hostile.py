"""Hostile and broken surroundings: each ends within a bound, with one line, and the next start is
clean."""

import fcntl
import glob
import json
import os
import resource
import shutil
import signal
import socket
import struct
import subprocess
import sys
import time

import pytest
from helpers.jobs import kill_at_once, lockstep, read_journal
from helpers.processes import is_alive, wait_for

WORKER_EXITED = 7  # kind of the journal's record

SOON_S = 60  # far above what any of these takes, far below for ever


@pytest.fixture
def finished_run(robustrun):
    """The folder of a run of two workers that ended well."""
    robustrun.write("end.py", "print('here')\n")
    finished = robustrun.run("--standby=off", "--nproc-per-node=2", "end.py")
    assert finished.code == 0, finished.errors
    return robustrun.newest_run()


def records_of(journal):
    """The offsets of its records and of its end."""
    offsets, data = [64], journal.read_bytes()
    while offsets[-1] + 24 <= len(data):
        size = struct.unpack_from("<I", data, offsets[-1])[0]
        offsets.append(offsets[-1] + 24 + size)
    assert offsets[-1] == len(data)
    return offsets


def flip(journal, offset):
    data = bytearray(journal.read_bytes())
    data[offset] ^= 1
    journal.write_bytes(bytes(data))


def test_a_flipped_bit_in_a_journal_is_reported_and_costs_one_record(robustrun, finished_run):
    journal = finished_run / "journal"
    offsets = records_of(journal)
    flip(journal, offsets[1] + 20)
    shown = robustrun.run("report", timeout=SOON_S)
    assert shown.code == 1, shown.text
    assert "is damaged: 1 record is lost" in shown.errors, shown.errors
    assert f"from byte {offsets[1]} on" in shown.errors
    assert "end.py succeeded" in shown.text, shown.text


@pytest.mark.parametrize("words", [
    ["status"], ["logs"], ["ls"], ["attach"], ["nodes", "--run"], ["update", "--list"],
    ["sim", "--replay"],
], ids=" ".join)
def test_each_command_tells_once_that_a_journal_is_damaged(robustrun, finished_run, words):
    offsets = records_of(finished_run / "journal")
    flip(finished_run / "journal", offsets[1] + 20)
    shown = robustrun.run(*words, *([] if words == ["ls"] else [finished_run]), timeout=SOON_S)
    told = f"{finished_run}/journal is damaged: 1 record is lost"
    assert shown.errors.count(told) == 1, shown


def test_a_flipped_bit_in_the_last_record_is_reported_and_a_cut_record_is_not(
    robustrun, finished_run
):
    journal = finished_run / "journal"
    offsets = records_of(journal)
    whole = journal.read_bytes()
    for at in (offsets[-2], offsets[-2] + 8, offsets[-2] + 18, offsets[-1] - 1):
        journal.write_bytes(whole)
        flip(journal, at)
        shown = robustrun.run("report", timeout=SOON_S)
        assert shown.code == 1 and "is damaged: 1 record is lost" in shown.errors, (at, shown)
        assert f"from byte {offsets[-2]} on" in shown.errors
    journal.write_bytes(whole[:-3])
    shown = robustrun.run("report", timeout=SOON_S)
    assert shown.code == 0 and "damaged" not in shown.errors, shown


@pytest.mark.parametrize("words", [["logs"], ["nodes", "--run"], ["update", "--list"]],
                         ids=" ".join)
def test_a_journal_that_cannot_be_read_is_an_error(robustrun, finished_run, words):
    flip(finished_run / "journal", 20)
    shown = robustrun.run(*words, finished_run, timeout=SOON_S)
    assert shown.code == 2 and "the journal's header is damaged" in shown.errors, shown
    assert shown.text == ""


@pytest.fixture
def live_run(robustrun):
    """The folder of a run of one worker that goes on."""
    robustrun.write("wait.py", "import time\nopen('up', 'w').close()\ntime.sleep(300)\n")
    running = robustrun.start("--standby=off", "wait.py")
    wait_for((robustrun.folder / "up").exists, what="the worker")
    yield robustrun.newest_run(), running
    if running.process.poll() is None:
        running.process.terminate()
        running.finish()


@pytest.mark.parametrize("offset", [20, 64 + 20], ids=["header", "record"])
def test_commands_about_a_live_run_tell_that_its_journal_is_damaged_and_do_their_work(
    robustrun, live_run, offset
):
    run, running = live_run
    flip(run / "journal", offset)
    told = "the journal's header is damaged" if offset == 20 else "is damaged: 1 record is lost"
    diagnosed = robustrun.run("diagnose", run, timeout=SOON_S)
    assert diagnosed.code == 0 and diagnosed.text, diagnosed
    assert diagnosed.errors.count(told) == 1, diagnosed.errors
    injected = robustrun.run("inject", run, "stop", "--rank=0", "--for=1", timeout=SOON_S)
    assert injected.code == 0 and "stop" in injected.text, injected
    assert injected.errors.count(told) == 1, injected.errors
    kept = robustrun.run("rm", run, timeout=SOON_S)
    assert kept.code == 1 and kept.errors.count(told) == 1, kept.errors
    running.process.terminate()
    assert running.finish(SOON_S).errors.count(told) == 1


def test_at_the_end_of_a_run_its_log_tells_once_that_the_journal_cannot_be_read(live_run):
    run, running = live_run
    flip(run / "journal", 20)
    running.process.terminate()
    ended = running.finish(SOON_S)
    assert ended.errors.count("the journal's header is damaged") == 1, ended.errors
    assert "the journal's header is damaged; there is no summary" in ended.errors


def test_rm_names_the_runs_whose_journal_cannot_be_read_and_removes_the_others(
    robustrun, finished_run
):
    bad = finished_run.parent / "bad"
    shutil.copytree(finished_run, bad)
    flip(bad / "journal", 20)
    removed = robustrun.run("rm", "--older-than=0", timeout=SOON_S)
    assert (removed.code, removed.text) == (1, f"{finished_run}\n"), removed
    assert removed.errors.count("cannot remove the run bad: ") == 1, removed.errors
    assert "the journal's header is damaged; remove its folder by hand" in removed.errors
    assert bad.exists()


@pytest.mark.parametrize("size", [0, 40, 64], ids=["empty", "half a header", "header"])
def test_a_journal_without_a_record_is_named(robustrun, finished_run, size):
    os.truncate(finished_run / "journal", size)
    for words in (["report"], ["status"], ["logs"], ["rm"], ["nodes", "--run"], ["diagnose"],
                  ["stop"], ["ls"]):
        shown = robustrun.run(*words, *([] if words == ["ls"] else [finished_run]),
                              timeout=SOON_S)
        told = "journal has no record: its run has just begun, or it is damaged"
        assert shown.errors.count(told) == 1, (words, shown)


def test_a_run_with_a_damaged_first_record_is_listed_with_its_age(robustrun, finished_run):
    flip(finished_run / "journal", records_of(finished_run / "journal")[0] + 60)
    (row,) = json.loads(robustrun.run("ls", "--json", timeout=SOON_S).out)["runs"]
    assert 0 <= row["age_s"] < SOON_S * 10, row
    shown = robustrun.run("logs", timeout=SOON_S)
    assert shown.code == 2
    assert "the record of the journal that names them is lost" in shown.errors, shown.errors


def test_a_run_with_a_damaged_first_record_is_resumed_and_its_orphans_end(nodes):
    job = nodes("--nnodes=2", "--orphan-grace=600", "--standby=off", *lockstep(nodes.runner))
    job.moves(world=2)
    workers = job.workers_of()
    kill_at_once([job.pid])
    job.process.wait()
    flip(nodes.runner.folder / job.run / "journal", 64 + 20)
    again = nodes.runner.start("resume", str(job.run), cwd=nodes.runner.folder)
    job.process = again.process
    job.wait(lambda: len(job.records(15)) == 1, "the takeover")
    again.process.terminate()
    ended = again.finish(SOON_S)
    assert "is damaged: 1 record is lost" in ended.errors, ended.errors
    assert not any(map(is_alive, workers))
    nodes.runner.expect_nothing_left()


@pytest.mark.parametrize("kind", ["fifo", "endless"])
@pytest.mark.parametrize("name", ["journal", "control", "request", "lock"])
def test_no_command_waits_for_what_is_in_the_place_of_a_run_s_file(
    robustrun, finished_run, kind, name
):
    older = finished_run.parent / "older"
    shutil.copytree(finished_run, older)
    put(finished_run / name, kind)
    for command in ("report", "status", "ls", "logs", "stop", "resume"):
        words = [command] if command == "ls" else [command, str(finished_run)]
        finished = robustrun.run(*words, timeout=SOON_S)
        assert "Traceback" not in finished.errors and finished.code >= 0, (command, finished)
    # Without the name of a run, one that cannot be read is skipped.
    shown = robustrun.run("report", timeout=SOON_S)
    assert "end.py succeeded" in shown.text, shown.errors


def put(path, kind):
    path.unlink(missing_ok=True)
    if kind == "fifo":
        os.mkfifo(path)
    else:
        path.symlink_to("/dev/zero")


@pytest.mark.parametrize(
    "words",
    [
        ["-c", "/dev/zero", "end.py"],
        ["--hosts", "/dev/zero", "end.py"],
        ["--faults", "/dev/zero", "end.py"],
        ["--policy", "/dev/zero", "end.py"],
        ["plan", "--topology", "/dev/zero"],
        ["diagnose", "/dev/zero"],
    ],
)
def test_an_endless_file_is_refused(robustrun, words):
    robustrun.write("end.py", "")
    finished = robustrun.run(*words, timeout=SOON_S)
    assert finished.code in (1, 2), finished.errors
    assert len(finished.errors.strip().splitlines()) <= 4, finished.errors


def test_hosts_may_come_from_a_pipe(robustrun):
    script = f"exec {robustrun.binary} plan --nproc-per-node 2 --hostfile <(printf 'a\\nb\\n')"
    finished = robustrun.run("-c", script, argv0="/bin/bash", timeout=SOON_S)
    assert "4 ranks on 2 nodes" in finished.text, finished.errors


def test_settings_may_come_from_a_pipe(robustrun):
    robustrun.write("end.py", "import os; print('of', os.environ['WORLD_SIZE'])\n")
    script = (f"exec {robustrun.binary} -c <(printf 'nproc-per-node = 3\\n') --standby=off end.py")
    finished = robustrun.run("-c", script, argv0="/bin/bash", timeout=SOON_S)
    assert finished.code == 0 and "of 3" in finished.text, finished
    os.mkfifo(robustrun.folder / "unwritten")
    finished = robustrun.run("-c", "unwritten", "end.py", timeout=SOON_S)
    assert finished.code == 2 and "brought nothing for 10 s" in finished.errors, finished.errors
    script = f"exec {robustrun.binary} submit -c <(echo 'standby = \"off\"') --nodes=1 end.py"
    finished = robustrun.run("-c", script, argv0="/bin/bash", timeout=SOON_S)
    assert finished.code == 2 and "a pipe no longer exists then" in finished.errors, finished.errors


def test_a_pipe_without_a_writer_is_given_up(robustrun):
    os.mkfifo(robustrun.folder / "hosts")
    finished = robustrun.run("plan", "--hostfile", "hosts", timeout=SOON_S)
    assert finished.code == 2 and "brought nothing for 10 s" in finished.errors, finished.errors


def test_logs_are_for_their_user_alone(robustrun, finished_run):
    logs = [each for each in (finished_run / "logs").rglob("*") if each.is_file()]
    assert logs and {each.stat().st_mode & 0o777 for each in logs} == {0o600}


def test_the_last_lines_of_workers_come_before_the_end_of_the_run(robustrun):
    """The pipe is full when the worker ends: its last lines wait in the supervisor."""
    robustrun.write("speak.py", "print(1000 * (100 * '.' + '\\n') + 'the last')\n")
    read, write = os.pipe()
    running = robustrun.start("--standby=off", "speak.py", stdout=write, stderr=write)
    os.close(write)
    journal = robustrun.newest_run() / "journal"
    wait_for(lambda: any(each.kind == WORKER_EXITED for each in read_journal(journal)),
             what="the worker's end")
    with os.fdopen(read, "rb") as pipe:
        shown = pipe.read().decode()
    assert running.process.wait(SOON_S) == 0
    assert 0 < shown.index("the last") < shown.index("the worker finished"), shown[-2000:]


def test_a_stopped_shim_hides_no_death_and_delays_no_end(robustrun):
    robustrun.write("wait.py", "import time; time.sleep(300)\n")
    running = robustrun.start("--standby=off", "--max-restarts=0", "--nproc-per-node=2", "wait.py")
    shims, workers = running.shims(2), running.workers(2)
    for shim in shims:
        os.kill(shim, signal.SIGSTOP)
    os.kill(workers[0], signal.SIGKILL)
    began = time.monotonic()
    assert running.finish(SOON_S).code == 128 + signal.SIGKILL
    assert time.monotonic() - began < 5
    robustrun.expect_nothing_left()


def test_a_stopped_shim_does_not_hold_up_a_stop(robustrun, live_run):
    _, running = live_run
    (shim,) = running.shims()
    os.kill(shim, signal.SIGSTOP)
    running.process.terminate()
    began = time.monotonic()
    assert running.finish(SOON_S).code == 128 + signal.SIGTERM
    assert time.monotonic() - began < 5
    robustrun.expect_nothing_left()


@pytest.mark.parametrize("words", [["report"], ["report", "--json"], ["ls"], ["status"],
                                   ["nodes"], ["logs"]], ids=" ".join)
def test_a_full_output_is_a_failure_with_its_cause(robustrun, finished_run, words):
    with open("/dev/full", "wb") as full:
        shown = robustrun.start(*words, stdout=full).finish(SOON_S)
    assert shown.code == 1, shown
    assert shown.errors.count("cannot write to the standard output: No space left on device") == 1


NAMES = 100_000


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can mount")
def test_very_many_names_of_others_in_tmp_end_in_bounded_time(robustrun):
    """The test's own folder is at /mnt meanwhile, as /tmp holds the names."""
    robustrun.write("end.py", "print('here')\n")
    names = robustrun.folder / "names"
    names.mkdir()
    usual = f"robustrun-{os.geteuid()}"
    (names / usual).touch()
    for number in range(NAMES):
        os.symlink("gone", f"{names}/{usual}-{number:06}")
    elsewhere = {"XDG_RUNTIME_DIR": "", "TMPDIR": "/mnt", "XDG_STATE_HOME": "/mnt/state",
                 "XDG_CACHE_HOME": "/mnt/cache"}

    def run(*commands):
        script = " && ".join([f"mount --rbind {robustrun.folder} /mnt",
                              "mount --rbind /mnt/names /tmp", *commands, "cd /mnt",
                              f"exec {robustrun.binary} --standby=off end.py"])
        began = time.monotonic()
        finished = robustrun.run("-m", "sh", "-c", script, argv0="unshare", env=elsewhere,
                                 timeout=SOON_S)
        assert time.monotonic() - began < 20, finished.errors
        return finished

    refused = run("mount -o remount,bind,ro /tmp")
    assert refused.code == 2 and refused.errors.count("\n") <= 2, refused.errors
    assert f"cannot use /tmp/{usual}: it is not a private folder of this user" in refused.errors
    finished = run()
    with os.scandir(names) as found:
        made = [each.name for each in found if not each.is_symlink() and each.name != usual]
    shutil.rmtree(names)
    assert finished.code == 0 and "here" in finished.text, finished.errors
    assert len(made) == 1


def test_a_busy_supervisor_is_not_taken_for_a_dead_one(robustrun):
    robustrun.write("wait.py", "import time; open('ready', 'w').close(); time.sleep(300)\n")
    running = robustrun.start("--standby=off", "wait.py")
    wait_for((robustrun.folder / "ready").exists, what="the worker")
    control = (robustrun.newest_run() / "control").read_text().splitlines()[0]
    clients = [socket.socket(socket.AF_UNIX) for _ in range(100)]
    for client in clients:
        client.connect(control)
    shown = robustrun.run("status", timeout=SOON_S)
    assert "the run's supervisor is busy" in shown.errors, shown.errors
    assert "gone" not in shown.errors
    for client in clients:
        client.close()
    assert robustrun.run("status", timeout=SOON_S).code == 0
    running.process.terminate()
    running.finish()


@pytest.mark.parametrize("key", ["a." * 40_000 + "a = 1", "[" + "a." * 40_000 + "a]"])
@pytest.mark.parametrize(
    "words",
    [
        ["-c", "deep.toml", "end.py"],
        ["--policy", "deep.toml", "end.py"],
        ["--faults", "deep.toml", "end.py"],
        ["plan", "--hosts=a,b", "--topology", "deep.toml"],
    ],
)
def test_a_file_that_is_nested_too_deep_is_refused(robustrun, words, key):
    robustrun.write("end.py", "")
    robustrun.write("deep.toml", key + "\n")
    finished = robustrun.run(*words, timeout=SOON_S)
    assert finished.code == 2, finished.errors[-500:]
    assert "nested more than 64 deep" in finished.errors, finished.errors[-500:]


def test_without_threads_there_is_one_line_and_an_exit_code(robustrun):
    robustrun.write("end.py", "")

    def no_room_for_a_stack():
        resource.setrlimit(resource.RLIMIT_STACK, (1 << 36, resource.RLIM_INFINITY))
        resource.setrlimit(resource.RLIMIT_AS, (1 << 34, 1 << 34))

    finished = robustrun.run("end.py", preexec_fn=no_room_for_a_stack, timeout=SOON_S)
    assert finished.code == 94, finished.errors
    assert finished.errors.count("cannot start a thread") == 1, finished.errors
    robustrun.expect_nothing_left()


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give a folder away")
def test_a_folder_in_tmp_that_another_user_made_stops_no_run(robustrun):
    robustrun.write("end.py", "print('here')\n")
    theirs = robustrun.folder / "theirs"
    theirs.mkdir()
    os.chown(theirs, 65534, 65534)
    usual = f"/tmp/robustrun-{os.geteuid()}"
    before = set(glob.glob(usual + "-*"))
    script = f"mkdir -p -m 700 {usual}; mount --bind {theirs} {usual} && exec {robustrun.binary}"
    script += " --standby=off end.py"
    finished = robustrun.run(
        "-m", "sh", "-c", script, argv0="unshare", env={"XDG_RUNTIME_DIR": ""}, timeout=SOON_S
    )
    for made in set(glob.glob(usual + "-*")) - before:
        shutil.rmtree(made)
    assert finished.code == 0, finished.errors
    assert "here" in finished.text


OTHER_USER = 65534
NEEDS_ROOT = pytest.mark.skipif(os.geteuid() != 0, reason="only root can act as another user")


@NEEDS_ROOT
def test_the_run_of_another_user_is_not_resumed(robustrun, finished_run):
    os.chown(finished_run / "journal", OTHER_USER, OTHER_USER)
    for words in (("latest",), (finished_run,), ()):
        refused = robustrun.run("resume", *words, timeout=SOON_S)
        assert refused.code == 2, refused.errors
        assert f"journal belongs to user {OTHER_USER}; only its owner can resume" in refused.errors


@NEEDS_ROOT
def test_a_file_named_like_a_subcommand_that_another_user_made_is_not_started(
    robustrun, finished_run
):
    robustrun.write("report", "open('started', 'w')\n")
    os.chown(robustrun.folder / "report", OTHER_USER, OTHER_USER)
    shown = robustrun.run("report", timeout=SOON_S)
    assert shown.code == 0 and "end.py succeeded" in shown.text, shown
    assert shown.errors == ("robustrun: report in this directory belongs to another user and is "
                            "not started; `robustrun ./report` starts it\n")
    assert not (robustrun.folder / "started").exists()
    assert robustrun.run("--standby=off", "./report", timeout=SOON_S).code == 0
    assert (robustrun.folder / "started").exists()


def test_a_host_that_was_never_noted_cannot_be_forgotten(robustrun):
    history = robustrun.folder / "history"
    asked = robustrun.run("nodes", "forget", "nohost", f"--node-history={history}")
    assert (asked.code, asked.text) == (0, ""), asked
    assert asked.errors == "robustrun: nothing is noted about nohost\n"
    assert not history.exists()
    history.mkdir()
    (history / "one.jsonl").write_text(json.dumps({
        "host": "n1", "at_ms": str(int(time.time() * 1000)), "run": "one", "kind": "lost",
        "text": "it was silent"}) + "\n")
    asked = robustrun.run("nodes", "forget", "n1", "nohost", f"--node-history={history}")
    assert (asked.code, asked.text) == (0, "forgot what was noted about n1\n"), asked
    assert asked.errors == "robustrun: nothing is noted about nohost\n"
    assert "No run has noted anything" in robustrun.run(
        "nodes", f"--node-history={history}").text


@pytest.mark.parametrize("words", [["report", "--html"],
                                   ["plan", "--hosts=a[1-200]", "--svg"]], ids=" ".join)
def test_a_reader_that_goes_away_is_one_line(robustrun, finished_run, words):
    read, write = os.pipe()
    fcntl.fcntl(write, fcntl.F_SETPIPE_SZ, 4096)
    running = robustrun.start(*words, f"/dev/fd/{write}", pass_fds=[write])
    os.close(write)
    assert os.read(read, 1)
    os.close(read)
    ended = running.finish(SOON_S)
    assert ended.code == 2, ended
    assert ended.errors.count("Broken pipe") == 1 and ended.errors.count("\n") == 1, ended.errors


FLOOD = """
import os, resource, socket, struct, sys
os.setuid(int(sys.argv[2]))
resource.setrlimit(resource.RLIMIT_NOFILE, (4000, 4000))
port, kept = int(sys.argv[1]), []
for number in range(3000):
    one = socket.socket()
    one.setblocking(False)
    one.connect_ex(("127.0.0.1", port))
    kept.append(one)
# A key for every rank to stumble over: the magic number, then SET.
one = socket.socket()
one.connect(("127.0.0.1", port))
text = lambda value: struct.pack("<Q", len(value)) + value
try:
    one.sendall(b"\\x00" + struct.pack("<I", 0x3C85F7CE) + b"\\x01" + text(b"theirs") + text(b"x"))
except OSError:
    pass
print("flooded", flush=True)
sys.stdin.read()
"""

MEET = """
import os, pathlib, time
port = os.environ["MASTER_PORT"]
if os.environ["RANK"] == "0":
    pathlib.Path("port.new").write_text(port)
    os.rename("port.new", "port")
while not os.path.exists("go"):
    time.sleep(0.02)
from torch.distributed import TCPStore
begun = time.monotonic()
store = TCPStore("127.0.0.1", int(port), 2, is_master=False)
store.set("ours" + os.environ["RANK"], "here")
store.wait(["ours0", "ours1"])
taken = time.monotonic() - begun
print(f"met after {taken:.1f} s, theirs: {store.check(['theirs'])}")
assert taken < 5
"""


@NEEDS_ROOT
def test_another_user_neither_delays_the_ranks_at_their_store_nor_changes_its_keys(robustrun):
    robustrun.write("meet.py", MEET)
    run = robustrun.start("--standby=off", "--nproc-per-node=2", "meet.py")
    port = wait_for(lambda: (robustrun.folder / "port").exists()
                    and (robustrun.folder / "port").read_text(), what="the store's port")
    flood = subprocess.Popen([sys.executable, "-c", FLOOD, port, str(OTHER_USER)],
                             stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    try:
        assert flood.stdout.readline() == "flooded\n"
        robustrun.write("go", "")
        finished = run.finish(timeout=SOON_S)
    finally:
        flood.communicate()
    assert finished.code == 0, finished.text
    assert finished.text.count("theirs: False") == 2, finished.text
