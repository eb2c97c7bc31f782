"""--notify with real servers that work, fail and hang, and the files for continuous integration."""

import http.server
import json
import os
import signal
import threading
import time
import xml.etree.ElementTree

import pytest
from helpers.detached import SEVERAL, Detached
from helpers.processes import is_alive, wait_for

# Fails once on rank 1, then succeeds.
FLAKY = """
import os, time
import robustrun
for step in range(12):
    robustrun.step(step)
    time.sleep(0.1)
    if step == 6 and os.environ["RANK"] == "1" and os.environ["ROBUSTRUN_ATTEMPT"] == "0":
        raise ValueError("no such shard")
"""


class Receiver:
    """An HTTP server on loopback that notes every POST. `mode`: "ok", a status, or "hang"."""

    def __init__(self, mode="ok"):
        self.got = []
        self.released = threading.Event()
        receiver = self

        class Handler(http.server.BaseHTTPRequestHandler):
            def do_POST(self):
                body = self.rfile.read(int(self.headers["Content-Length"]))
                receiver.got.append((self.path, dict(self.headers), body.decode()))
                if receiver.mode == "hang":
                    receiver.released.wait(120)
                    return
                failing = receiver.mode != "ok"
                self.send_response(int(receiver.mode) if failing else 200)
                self.send_header("Content-Length", "0")
                self.end_headers()

            def log_message(self, *_):
                pass

        self.mode = mode
        self.http = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.http.daemon_threads = True
        self.url = f"http://127.0.0.1:{self.http.server_address[1]}"
        self.thread = threading.Thread(target=self.http.serve_forever)
        self.thread.start()

    def close(self):
        self.released.set()
        self.http.shutdown()
        self.thread.join()
        self.http.server_close()

    def hooks(self):
        return [json.loads(body) for path, _, body in self.got if path == "/hook/s3cret"]


@pytest.fixture
def receiver():
    made = []

    def make(mode="ok"):
        made.append(Receiver(mode))
        return made[-1]

    yield make
    for one in made:
        one.close()


def everything_of(folder):
    """All bytes below the run directories, but for the request, which a successor needs."""
    return b"".join(path.read_bytes() for path in folder.glob("robustrun-runs/**/*")
                    if path.is_file() and path.name != "request")


# Rank 1 fails once; the other ranks end only when `go` is there.
SLOW_TO_END = """
import os, signal, sys, time
import robustrun

def end(*_):
    while not os.path.exists("go"):
        time.sleep(0.05)
    sys.exit(0)

signal.signal(signal.SIGTERM, end)
first = os.environ["TORCHELASTIC_RESTART_COUNT"] == "0"
step = 0
while first or not os.path.exists("enough"):
    step += 1
    robustrun.step(step)
    if first and step == 10 and os.environ["RANK"] == "1":
        sys.exit(3)
    time.sleep(0.05)
"""


def test_a_supervisor_that_takes_over_between_failure_and_recovery_says_recovered_once(
        robustrun, receiver):
    server = receiver()
    run = Detached(robustrun, *SEVERAL, "--shutdown-timeout=120", "--standby=off",
                   f"--notify=webhook:{server.url}/hook/s3cret", script=SLOW_TO_END)

    def kinds():
        return [one["event"] for one in server.hooks()]

    wait_for(lambda: kinds() == ["started", "incident"], 120, "the failure's notice")
    assert run.status()["state"] == "stopping"
    pid = run.status()["pid"]
    os.kill(pid, signal.SIGKILL)
    wait_for(lambda: not is_alive(pid), what="the supervisor's death")
    resumed = robustrun.start("resume", run.name)
    wait_for(lambda: run.status()["supervisor"] == "answers", 120, "the successor")
    (run.folder / "go").touch()
    wait_for(lambda: kinds() == ["started", "incident", "recovered"], 120, "the recovery's notice")
    assert " after the failure" in server.hooks()[-1]["text"]
    run.enough()
    done = resumed.finish()
    assert done.code == 0, done.errors
    assert kinds() == ["started", "incident", "recovered", "finished"]


def test_each_kind_of_target_gets_every_notice(robustrun, receiver):
    server = receiver()
    robustrun.write("job.py", FLAKY)
    targets = ",".join([f"webhook:{server.url}/hook/s3cret", f"slack:{server.url}/slack/s3cret",
                        f"teams:{server.url}/teams/s3cret", f"ntfy:{server.url}/ntfy/s3cret"])
    done = robustrun.run(f"--notify={targets}", "--nproc-per-node=2", "job.py")
    assert done.code == 0, done.errors
    hooks = server.hooks()
    assert [one["event"] for one in hooks] == ["started", "incident", "recovered", "finished"]
    assert "rank 1" in hooks[1]["text"] and hooks[3]["exit_code"] == 0
    assert all(one["run_id"] == robustrun.newest_run().name for one in hooks)
    assert all(one["program"].endswith("job.py") and one["time"].endswith("Z") for one in hooks)
    for path in ("/slack/s3cret", "/teams/s3cret", "/ntfy/s3cret"):
        assert len([1 for at, _, _ in server.got if at == path]) == 4
    titles = [headers["Title"] for path, headers, _ in server.got if path == "/ntfy/s3cret"]
    assert titles[1].startswith("job.py: incident (")
    assert "s3cret" not in done.errors + done.text
    assert b"s3cret" not in everything_of(robustrun.folder)
    assert "s3cret" not in robustrun.run("status").text
    assert (robustrun.newest_run() / "request").stat().st_mode & 0o77 == 0


def test_a_run_that_gives_up_says_so_and_its_variable_is_not_inherited(robustrun, receiver):
    server = receiver()
    robustrun.write("job.py", "import os; raise SystemExit('ROBUSTRUN_NOTIFY' in os.environ)")
    good = robustrun.run("job.py", env={"ROBUSTRUN_NOTIFY": f"webhook:{server.url}/hook/s3cret"})
    assert good.code == 0, good.errors
    robustrun.write("bad.py", "raise SystemExit(3)")
    bad = robustrun.run("--max-restarts=0", "bad.py",
                        env={"ROBUSTRUN_NOTIFY": f"webhook:{server.url}/hook/s3cret"})
    assert bad.code == 3
    assert server.hooks()[-1]["event"] == "gave up"


def test_a_server_that_answers_500_is_tried_again_and_the_run_goes_on(robustrun, receiver):
    server = receiver("500")
    robustrun.write("job.py", FLAKY)
    done = robustrun.run(f"--notify=webhook:{server.url}/hook/s3cret", "--nproc-per-node=2",
                         "job.py")
    assert done.code == 0, done.errors
    assert done.errors.count("cannot notify webhook (127.0.0.1:") == 1
    assert "the server answers 500; trying again" in done.errors
    assert "not delivered by the run's end" in done.errors
    texts = [body for _, _, body in server.got]
    assert len(texts) > len(set(texts))  # one was sent twice
    assert "s3cret" not in done.errors


def test_a_server_that_refuses_is_not_asked_again_for_the_same_notice(robustrun, receiver):
    server = receiver("404")
    robustrun.write("job.py", "pass")
    done = robustrun.run(f"--notify=slack:{server.url}/x", "job.py")
    assert done.code == 0, done.errors
    assert "the server answers 404; this notice is dropped" in done.errors
    assert len(server.got) == len({body for _, _, body in server.got})


def test_a_server_that_hangs_delays_neither_the_run_nor_other_targets(robustrun, receiver):
    hanging, working = receiver("hang"), receiver()
    robustrun.write("job.py", "import time; time.sleep(1)")
    plain = time.monotonic()
    assert robustrun.run("job.py").code == 0
    plain = time.monotonic() - plain
    began = time.monotonic()
    done = robustrun.run(f"--notify=slack:{hanging.url}/x,webhook:{working.url}/hook/s3cret",
                         "job.py")
    assert done.code == 0, done.errors
    assert time.monotonic() - began < plain + 10
    assert [one["event"] for one in working.hooks()] == ["started", "finished"]
    assert "2 notices for slack (127.0.0.1:" in done.errors


def test_a_server_that_is_not_there_is_one_line(robustrun):
    robustrun.write("job.py", "pass")
    done = robustrun.run("--notify=ntfy:http://127.0.0.1:9/s3cret", "job.py")
    assert done.code == 0, done.errors
    assert done.errors.count("cannot notify ntfy (127.0.0.1:9): ") == 1
    assert "s3cret" not in done.errors


def test_a_run_without_steps_for_some_time_is_told_once(robustrun, receiver):
    server = receiver()
    robustrun.write("job.py", "import robustrun, time\nfor n in range(3): robustrun.step(n)\n"
                              "time.sleep(15)\n")
    done = robustrun.run(f"--notify=webhook:{server.url}/hook/s3cret", "--notify-stalled=3s",
                         "job.py")
    assert done.code == 0, done.errors
    assert [one["event"] for one in server.hooks()] == ["started", "stalled", "finished"]
    assert "robustrun diagnose" in server.hooks()[1]["text"]


def test_mail_goes_through_sendmail(robustrun):
    mailer = robustrun.folder / "bin" / "sendmail"
    mailer.parent.mkdir()
    mailer.write_text(f'#!/bin/sh\n(echo "argv: $@"; cat) >> {robustrun.folder}/mails\n')
    mailer.chmod(0o755)
    robustrun.write("job.py", "pass")
    path = f"{mailer.parent}:{robustrun.environment['PATH']}"
    done = robustrun.run("--notify=mail:me@example.org", "job.py", env={"PATH": path})
    assert done.code == 0, done.errors
    mails = (robustrun.folder / "mails").read_text()
    assert mails.count("argv: -i -- me@example.org\nTo: me@example.org\nSubject: job.py: ") == 2
    assert "the run ended well" in mails


def test_github_gets_a_summary_and_an_annotation_at_the_users_line(robustrun):
    robustrun.write("job.py", "def load():\n    raise ValueError('no such, 50%')\nload()\n")
    summary = robustrun.folder / "summary"
    summary.write_text("before\n")
    github = {"GITHUB_ACTIONS": "true", "GITHUB_STEP_SUMMARY": str(summary),
              "GITHUB_WORKSPACE": str(robustrun.folder)}
    done = robustrun.run("--max-restarts=0", "--summary-junit=junit.xml", "job.py", env=github)
    assert done.code == 1
    annotation = next(line for line in done.errors.splitlines() if line.startswith("::"))
    assert annotation.startswith("::error file=job.py,line=2,title=robustrun%3A rank 0")
    assert "ValueError: no such, 50%25" in annotation
    text = summary.read_text()
    assert text.startswith("before\n## job.py: failed\n") and "ValueError" in text
    suite = xml.etree.ElementTree.parse(robustrun.folder / "junit.xml").getroot()
    assert suite.attrib["failures"] == "1" and len(suite.findall("testcase")) == 1
    assert "ValueError" in suite.find("testcase/failure").text
    plain = robustrun.run("--max-restarts=0", "job.py")
    assert "::error" not in plain.errors
    assert "::error" not in robustrun.run("--compat=torchrun", "job.py", env=github).errors


def test_a_run_that_recovers_is_green_with_a_warning(robustrun):
    robustrun.write("job.py", FLAKY)
    done = robustrun.run("--nproc-per-node=2", "--summary-junit=junit.xml", "job.py",
                         env={"GITHUB_ACTIONS": "true"})
    assert done.code == 0, done.errors
    assert "::warning file=" in done.errors and "::error" not in done.errors
    suite = xml.etree.ElementTree.parse(robustrun.folder / "junit.xml").getroot()
    assert suite.attrib["failures"] == "0" and suite.attrib["tests"] == "2"
    assert "no such shard" in suite.find("testcase/system-out").text


def test_a_summary_that_cannot_be_written_changes_nothing(robustrun):
    robustrun.write("job.py", "pass")
    done = robustrun.run("job.py", env={"GITHUB_ACTIONS": "true", "GITHUB_STEP_SUMMARY": "/no/x"})
    assert done.code == 0
    assert "cannot write /no/x" in done.errors


def test_a_wrong_target_is_refused_without_its_secret(robustrun):
    robustrun.write("job.py", "")
    done = robustrun.run("--notify=slak:https://h/s3cret", "job.py")
    assert done.code == 2
    assert "cannot use --notify=***: expected slack:URL" in done.errors
    assert "s3cret" not in done.errors
