"""The output of a run for other programs: metrics, events, incidents; none of these can harm it."""

import itertools
import json
import os
import re
import signal
import socket
import time
import urllib.error
import urllib.request

import pytest
from helpers.detached import SCRIPT, Detached
from helpers.exposition import parse
from helpers.jobs import DECISION, read_journal
from helpers.processes import is_alive, program_of, wait_for
from helpers.runner import ROOT


class Job:
    """A run in the foreground with its log in a file."""

    def __init__(self, robustrun, *arguments, script=SCRIPT, **options):
        robustrun.write("job.py", script)
        self.folder = robustrun.folder
        self.log = self.folder / "log"
        with open(self.log, "wb") as log:
            self.run = robustrun.start(*arguments, "--nproc-per-node=2", "job.py", stderr=log,
                                       **options)

    def said(self):
        return self.log.read_text(errors="replace")

    def url(self):
        found = wait_for(lambda: re.search(r"metrics at (http://\S+/metrics)", self.said()),
                         what="the metrics' address")
        return found.group(1)

    def metrics(self):
        with urllib.request.urlopen(self.url(), timeout=60) as answer:
            assert answer.status == 200
            assert answer.headers["Content-Type"].startswith("text/plain; version=0.0.4")
            return parse(answer.read().decode())[0]

    def wait_metrics(self, condition, what):
        return wait_for(lambda: condition(now := self.metrics()) and now, 150, what)

    def fail(self, rank):
        (self.folder / f"fail.{rank}").touch()

    def enough(self):
        (self.folder / "enough.new").write_text("0")
        (self.folder / "enough.new").rename(self.folder / "enough")

    def end(self):
        self.enough()
        finished = self.run.finish()
        assert finished.code == 0, self.said()
        return finished


def lines_of(path):
    text = path.read_text()
    assert text.endswith("\n")
    return [json.loads(line) for line in text[:-1].split("\n")]


def assert_in_order(events):
    """An event that waited while another one was handled may be a little older."""
    since = [e["since_start_s"] for e in events]
    assert all(later > earlier - 2 for earlier, later in itertools.pairwise(since)), since


def running(metrics):
    return metrics[("run_state", ("state", "running"))] == 1


def test_metrics_of_a_run_and_of_its_restart(robustrun):
    job = Job(robustrun, "--metrics-port=0", "--metrics-file=run.prom")
    now = job.wait_metrics(lambda m: running(m) and m[("steps_total",)] >= 3, "steps")
    assert now[("workers", ("state", "running"))] == 2
    assert now[("nodes", ("state", "joined"))] == 1
    assert now[("attempt",)] == 0 and now[("step",)] >= 3
    assert now[("restarts_total", ("cause", "worker_failed"))] == 0
    assert ("run_exit_code",) not in now
    assert json.loads(robustrun.run("status", "--json").text)["metrics_url"] == job.url()
    job.fail(1)
    then = job.wait_metrics(
        lambda m: m[("restarts_total", ("cause", "worker_failed"))] == 1 and running(m)
        and m[("attempt_steps",)] >= 3, "a restart")
    assert then[("incidents_total", ("rule", "worker_failed"))] == 1
    assert then[("attempt",)] == 1 and then[("workers", ("state", "running"))] == 2
    assert then[("steps_total",)] >= now[("steps_total",)] + 3
    assert then[("time_seconds", ("spent", "restarting"))] > 0
    assert 0 < then[("effective_training_time_ratio",)] < 1
    job.end()
    last, runs = parse((job.folder / "run.prom").read_text())
    assert runs == {robustrun.newest_run().name}
    assert last[("run_state", ("state", "finished"))] == 1 and last[("run_exit_code",)] == 0
    assert last[("workers", ("state", "succeeded"))] == 2
    assert last[("steps_total",)] >= then[("steps_total",)]
    spent = sum(value for key, value in last.items() if key[0] == "time_seconds")
    report = robustrun.report()
    assert abs(spent - report["duration_s"]) < 0.01
    assert last[("effective_training_time_ratio",)] == pytest.approx(report["time"]["ettr"])


def test_the_server_answers_nothing_else_and_clients_cannot_delay_the_run(robustrun):
    job = Job(robustrun, "--metrics-port=0")
    url = job.url()
    for wrong, code in ((url.replace("/metrics", "/"), 404), (url, 405)):
        data = b"x" if code == 405 else None
        with pytest.raises(urllib.error.HTTPError) as refused:
            urllib.request.urlopen(wrong, data=data, timeout=60)
        assert refused.value.code == code
    port = int(re.search(r":(\d+)/", url).group(1))
    rude = []
    for number in range(40):
        one = socket.create_connection(("127.0.0.1", port))
        one.sendall(b"\x00\xff" * 100 if number % 2 else b"GET /metrics HTTP/1.1\r\n")
        rude.append(one)
    before = job.metrics()[("steps_total",)]
    job.wait_metrics(lambda m: m[("steps_total",)] >= before + 5, "more steps")
    job.end()
    for one in rude:
        one.close()


def test_events_contain_every_decision_of_the_journal(robustrun):
    job = Job(robustrun, "--events=events.jsonl", "--max-restarts=1")
    events_file = job.folder / "events.jsonl"
    wait_for(lambda: events_file.exists() and '"event":"progress"' in events_file.read_text(), 150,
             "progress")
    job.fail(0)
    wait_for(lambda: '"rule":"restart"' in events_file.read_text(), 150, "the restart")
    job.end()
    events = lines_of(events_file)
    run = robustrun.newest_run()
    assert {e["run_id"] for e in events} == {run.name}
    assert all(re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z", e["time"]) for e in events)
    assert_in_order(events)
    decided = [e["rule"] for e in events if e["event"] == "decision"]
    assert decided == journaled_rules(run / "journal")
    failed = next(e for e in events if e.get("incident"))
    assert failed["rule"] == "worker_failed" and "rank 0" in failed["text"] and failed["evidence"]
    exits = [e for e in events if e["event"] == "worker_exited" and e["attempt"] == 0]
    assert {e["rank"] for e in exits} == {0, 1}
    states = [e["to"] for e in events if e["event"] == "state"]
    assert states[0] == "joining" and states[-1] == "finished" and states.count("running") == 2
    assert events[-1]["event"] == "state" or events[-1]["event"] == "finished"
    assert next(e for e in events if e["event"] == "finished")["exit_code"] == 0


def journaled_rules(path):
    """The words of the rules in the core's own list."""
    listed = (ROOT / "supervisor/core/types/rule.h").read_text().split("enum class Rule")[1]
    names = re.findall(r"^  k(\w+),", listed.split("};")[0], re.MULTILINE)
    words = [re.sub(r"(?<!^)([A-Z])", r"_\1", name).lower() for name in names]
    return [words[record.body.get(1, [0])[0]]
            for record in read_journal(path) if record.kind == DECISION]


def test_events_into_a_descriptor_whose_reader_leaves(robustrun):
    reader, writer = os.pipe()
    job = Job(robustrun, f"--events=fd:{writer}", pass_fds=(writer,))
    os.close(writer)
    with open(reader, encoding="utf-8") as stream:
        first = json.loads(stream.readline())
    assert first["event"] == "run_started"
    job.end()
    assert not re.search(r" (warn|error) ", job.said())


def test_a_full_disk_for_events_is_reported_once_and_is_harmless(robustrun):
    job = Job(robustrun, "--events=/dev/full")
    wait_for(lambda: "cannot write /dev/full" in job.said(), what="the warning")
    job.fail(1)
    wait_for(lambda: "restart 1 of 3" in job.said(), 150, "the restart")
    job.end()
    assert job.said().count("cannot write /dev/full") == 1


def test_the_command_gets_the_incident(robustrun):
    hook = robustrun.write("hook", "#!/bin/sh\ncat >> incidents\necho paged $1\n")
    hook.chmod(0o755)
    job = Job(robustrun, "--on-incident=./hook 'the team; $HOME'")
    wait_for(lambda: len(list(job.folder.glob("robustrun-runs/*"))) == 1, what="the run")
    job.fail(1)
    wait_for(lambda: "paged the team; $HOME" in job.said(), 150, "the command's output")
    job.end()
    (incident,) = lines_of(job.folder / "incidents")
    assert incident["incident"] is True and incident["rule"] == "worker_failed"
    assert "rank 1" in incident["text"] and incident["run_id"] == robustrun.newest_run().name


def test_a_run_that_gives_up_reports_that_too(robustrun):
    robustrun.write("job.py", "raise SystemExit(7)\n")
    done = robustrun.run("--max-restarts=0", "--on-incident=tee -a incidents", "job.py")
    assert done.code == 7
    failed, gave_up = lines_of(robustrun.folder / "incidents")
    assert failed["rule"] == "worker_failed" and gave_up["gave_up"] is True


def test_a_command_that_hangs_delays_neither_restart_nor_end(robustrun):
    job = Job(robustrun, "--on-incident=sleep 1000", "--metrics-port=0")
    job.wait_metrics(running, "the start")
    job.fail(1)
    job.wait_metrics(lambda m: m[("attempt",)] == 1 and m[("attempt_steps",)] >= 3, "the restart")
    hooks = [pid for pid in robustrun.marked()
             if program_of(pid).endswith(b"/sleep")]
    assert len(hooks) == 1 and is_alive(hooks[0])
    began = time.monotonic()
    job.end()
    assert time.monotonic() - began < 90
    assert ", which outlasts the run" in job.said()
    robustrun.expect_nothing_left()


def test_a_failing_command_is_reported_and_is_harmless(robustrun):
    job = Job(robustrun, "--on-incident=false")
    wait_for(lambda: len(list(job.folder.glob("robustrun-runs/*"))) == 1, what="the run")
    job.fail(1)
    wait_for(lambda: "false ended with exit code 1" in job.said(), 150, "the warning")
    job.end()


def test_an_outlet_that_cannot_be_opened_is_reported_before_anything_starts(robustrun):
    robustrun.write("job.py", "open('started', 'w')\n")
    with socket.create_server(("127.0.0.1", 0)) as other:
        port = other.getsockname()[1]
        for option, words in (
                (f"--metrics-port={port}", "Address already in use; choose another --metrics-port"),
                ("--metrics-port=ninety", "expected a port"),
                ("--metrics-file=none/run.prom", "there is no directory"),
                ("--events=none/events", "there is no directory"),
                ("--events=fd:77", "descriptor 77 is not open"),
                ("--on-incident=no-such-program", "cannot find no-such-program")):
            done = robustrun.run(option, "job.py")
            assert done.code == 2, done.errors
            assert words in done.errors
    assert not (robustrun.folder / "started").exists()


def test_a_new_supervisor_continues_the_counters(robustrun):
    run = Detached(robustrun, "--metrics-file=run.prom", "--events=events.jsonl")
    run.steps()
    (run.folder / "fail.0").touch()
    status = wait_for(lambda: (s := run.status())["restarts"] == 1 and s["state"] == "running"
                      and s["steps"] >= 2 and s, 150, "the restart")
    os.kill(status["pid"], signal.SIGKILL)
    wait_for(lambda: not is_alive(status["pid"]), what="the supervisor's death")
    resumed = robustrun.start("resume", run.name)
    wait_for(lambda: run.status()["supervisor"] == "answers", 150, "the successor")
    run.steps()
    run.enough()
    assert resumed.finish().code == 0
    metrics, _ = parse((run.folder / "run.prom").read_text())
    assert metrics[("supervisors_total",)] == 2
    assert metrics[("restarts_total", ("cause", "worker_failed"))] == 1
    assert sum(v for k, v in metrics.items() if k[0] == "restarts_total") >= 2
    events = lines_of(run.folder / "events.jsonl")
    assert [e["event"] for e in events].count("run_started") == 1
    assert [e["event"] for e in events].count("supervisor_resumed") == 1
    assert_in_order(events)
