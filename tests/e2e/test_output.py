"""Worker output through the real binary: complete, in order, prefixed, and never blocking."""

import hashlib
import os
import re
import signal
import subprocess

import pytest
from helpers.processes import wait_for
from helpers.runner import BUILD

NUMBER = re.compile(rb"^line (\d+)", re.MULTILINE)
SOURCE = BUILD / "test-helpers" / "line_source"


def logs_of(robustrun, attempt=0, rank=0):
    return robustrun.newest_run() / "logs" / f"attempt_{attempt}" / str(rank)


def test_every_line_arrives_in_order_on_console_and_in_file(robustrun):
    lines = 200_000
    finished = robustrun.run("--no-python", "--nproc-per-node=2", SOURCE, str(lines), "64")
    assert finished.code == 0, finished.errors
    numbers = list(map(int, NUMBER.findall(finished.out)))
    # Two streams, each in order, whole lines only.
    assert sorted(numbers) == sorted(list(range(lines)) * 2)
    assert all(len(line) == 63 for line in finished.out.splitlines())
    for rank in range(2):
        text = (logs_of(robustrun, 0, rank) / "stdout.log").read_bytes()
        assert list(map(int, NUMBER.findall(text))) == list(range(lines))


def test_ten_megabytes_in_one_line_and_binary_pass_unchanged(robustrun):
    robustrun.write(
        "big.py",
        "import os\n"
        "line = bytes(range(256)).replace(b'\\n', b'') * 41121 + b'\\n'\n"
        "view = memoryview(line)\n"
        "while view: view = view[os.write(1, view):]\n",
    )
    expected = bytes(range(256)).replace(b"\n", b"") * 41121 + b"\n"
    finished = robustrun.run("big.py")
    assert hashlib.sha256(finished.out).digest() == hashlib.sha256(expected).digest()
    assert (logs_of(robustrun) / "stdout.log").read_bytes() == expected


def test_a_partial_line_is_shown_while_its_worker_waits(robustrun):
    robustrun.write("ask.py", "import sys, time\nsys.stdout.write('name? '); time.sleep(100)\n")
    running = robustrun.start("ask.py")
    os.set_blocking(running.process.stdout.fileno(), False)
    seen = bytearray()

    def shown():
        seen.extend(running.process.stdout.read() or b"")
        return bytes(seen) == b"name? "

    wait_for(shown, what="the partial line")
    running.process.terminate()


def test_a_reader_that_went_away_does_not_end_the_run(robustrun):
    command = f"{robustrun.binary} --no-python {SOURCE} 200000 64"
    script = f"{command} | head -n 1; echo ${{PIPESTATUS[0]}}"
    finished = robustrun.run("-c", script, argv0="/bin/bash")
    assert finished.text.splitlines()[-1] == "0", finished.errors
    assert (logs_of(robustrun) / "stdout.log").read_bytes().count(b"\n") == 200_000


def test_a_console_on_a_full_disk_does_not_stop_the_training(robustrun):
    with open("/dev/full", "wb") as full:
        finished = robustrun.run("--no-python", SOURCE, "1000", "64", stdout=full)
    assert finished.code == 0
    assert (logs_of(robustrun) / "stdout.log").read_bytes().count(b"\n") == 1000


def test_a_full_log_disk_is_reported_and_the_run_survives(robustrun):
    """The run directory is a tmpfs of one megabyte: the console has everything, the file what
    fits."""
    mount = robustrun.folder / "small"
    mount.mkdir()
    subprocess.run(["mount", "-t", "tmpfs", "-o", "size=1m", "none", mount], check=True)
    try:
        finished = robustrun.run(
            "--run-dir", str(mount / "run"), "--no-python", SOURCE, "100000", "64"
        )
        assert finished.code == 0, finished.errors
        assert finished.out.count(b"\n") == 100_000
        assert "No space left on device" in finished.errors
    finally:
        subprocess.run(["umount", mount], check=True)


@pytest.mark.parametrize(
    "arguments, expected",
    [
        (["--tee", "1"], "[default0]:out\n[default1]:out\n"),
        (["--tee", "1", "--role", "trainer"], "[trainer0]:out\n[trainer1]:out\n"),
        (["--tee", "1", "--local-ranks-filter", "1"], "[default1]:out\n"),
        (["--redirects", "3"], ""),
        (["--redirects", "0:1"], "out\n"),
    ],
)
def test_output_is_routed_as_by_torchrun(robustrun, arguments, expected):
    robustrun.write("say.py", "import sys; print('out'); print('err', file=sys.stderr)\n")
    command = ["--compat=torchrun", "--nproc-per-node=2", "--log-dir", "logs"]
    finished = robustrun.run(*command, *arguments, "say.py")
    assert "".join(sorted(finished.text.splitlines(keepends=True))) == expected, finished.errors


def test_a_stopped_terminal_does_not_block_workers_for_ever(robustrun):
    """The output is not read: workers wait a while, then go on, and the loss is reported."""
    running = robustrun.start("--no-python", SOURCE, "400000", "64")
    wait_for(lambda: running.process.poll() is not None, 180, "the end without a reader")
    assert running.process.returncode == 0
    assert (logs_of(robustrun) / "stdout.log").read_bytes().count(b"\n") == 400_000
    assert "not shown" in running.finish().errors


def test_ctrl_c_on_a_terminal_reaches_the_workers_once(robustrun):
    import pty

    robustrun.write(
        "count.py",
        "import signal, sys, time\n"
        "hits = []\n"
        "def hit(*_):\n"
        "    hits.append(1); open('hits', 'a').write('x'); time.sleep(0.3); sys.exit(0)\n"
        "signal.signal(signal.SIGINT, hit)\nopen('ready', 'w').close()\ntime.sleep(100)\n",
    )
    pid, master = pty.fork()
    if pid == 0:
        os.chdir(robustrun.folder)
        os.execve(robustrun.binary, [str(robustrun.binary), "count.py"], robustrun.environment)
    try:
        wait_for((robustrun.folder / "ready").exists)
        os.write(master, b"\x03")
        drain(master)
        assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 128 + signal.SIGINT
        assert (robustrun.folder / "hits").read_text() == "x"
    finally:
        os.close(master)


def drain(master):
    """Reads the terminal until the program at its other end has ended."""
    try:
        while os.read(master, 65536):
            pass
    except OSError:
        pass


def test_the_last_output_of_a_worker_is_complete_in_the_report(robustrun):
    """Many small writes right before the end, as in a crash dump."""
    # $$$$: launchers take $$ for one $.
    script = "for i in $(seq 200); do echo word $i >&2; done; kill -9 $$$$"
    robustrun.run("--max-restarts", "0", "--no-python", "/bin/bash", "-c", script)
    (incident,) = robustrun.report()["incidents"]
    assert incident["stderr_tail"] == [f"word {i}" for i in range(151, 201)]
