"""A supervisor that dies and is replaced (`robustrun resume`): the workers never notice.

The agents are processes of this machine that connect over TLS, as from other ones; the last tests
use SSH. Seeds: nodes.rounds().
"""

import json
import os
import re
import shutil
import signal
import subprocess
import time

import pytest
from helpers.jobs import (
    DECISION,
    FINISH,
    WORKER_STARTED,
    dice,
    kill_at_once,
    listening_ports,
    lockstep,
    read_journal,
    rounds,
    start_job,
    strike_processes,
    wait_until_gone,
)
from helpers.processes import is_alive, wait_for

WORLD = 4
GRACE = ("--orphan-grace=30",)
RESUMED = 15  # kind of the journal's record


@pytest.fixture
def four(nodes):
    def start(*arguments, steps=10**9, **options):
        return nodes(
            f"--nnodes={WORLD}", "--spares=1", *GRACE, "--max-restarts=1000", *arguments,
            *lockstep(nodes.runner, steps), **options,
        )

    return start


def kill_supervisor(job):
    job.process.kill()
    job.process.wait()


def resume(job, wait=True, prefix=(), **options):
    """Continues the run under another supervisor, which has started when this returns."""
    before = takeovers(job)
    number = len(list(job.runner.folder.glob("*.err")))
    out, err = (job.runner.folder / f"resumed{number}.{end}" for end in ("out", "err"))
    with open(out, "wb") as out_file, open(err, "wb") as err_file:
        words = [*prefix, job.runner.binary, "resume", job.run]
        running = job.runner.start(
            *words[1:], argv0=words[0], stdout=out_file, stderr=err_file, **options
        )
    again = type(job)(job.runner, running.process, job.run, out, err)
    if wait:
        again.wait(lambda: takeovers(again) > before, "a takeover")
    return again


def takeovers(job):
    return len(job.records(RESUMED))


def in_control(job):
    job.wait(lambda: job.err().count("connected again") >= WORLD, "all agents")


def test_workers_go_on_while_their_supervisor_is_replaced(four):
    job = four()
    job.moves(world=WORLD)
    # A standby worker that is being started looks like a worker until its program runs.
    workers = job.wait(lambda: len(found := job.workers_of()) == WORLD and found, "the workers")
    kill_supervisor(job)
    steps = len(job.lines())
    wait_for(lambda: len(job.lines()) > steps + 3, what="steps without a supervisor")
    again = resume(job)
    in_control(again)
    again.moves(world=WORLD)
    assert again.attempt() == 0
    assert all(map(is_alive, workers))
    again.wait(lambda: sorted(again.workers_of()) == sorted(workers), "the same workers")
    # It supervises: a worker's death leads to a restart as always.
    kill_at_once(workers[:1])
    again.wait(lambda: again.attempt() == 1, "the next attempt")
    again.moves(world=WORLD)
    # Each start names the supervisor that ordered it, also when it is reported again.
    orders = {(record.number(1), record.number(5)) for record in again.records(WORKER_STARTED)}
    assert orders == {(0, 1), (1, 2)}
    ended = again.stop()
    assert ended.code == 128 + signal.SIGTERM, ended.errors
    words = " ".join(job.runner.run("report", "-v").text.split())
    assert re.search(r"takeover supervisor 2 took over \S+ \S+ after the start, on ", words), words
    job.runner.expect_nothing_left()


def test_a_successor_logs_as_its_predecessor_did(four):
    job = four("--log-format=json")
    job.moves(world=WORLD)
    kill_supervisor(job)
    again = resume(job)
    in_control(again)
    lines = again.err().splitlines()[:-1]  # the last one may not be whole
    assert not [line for line in lines if re.match(r"\d\d:\d\d:\d\d\.\d+ ", line)]
    (taken,) = [line for line in lines if "takes over" in line]
    assert json.loads(taken)["level"] == "info"
    assert again.stop().code == 128 + signal.SIGTERM


def test_a_run_can_end_under_its_third_supervisor(four):
    job = four(steps=700)
    job.moves(world=WORLD)
    kill_supervisor(job)
    job = resume(job)
    kill_supervisor(job)
    job = resume(job)
    finished = job.finish()
    assert finished.code == 0, finished.errors
    assert takeovers(job) == 2
    assert job.attempt() == 0
    assert job.lines()[-1][1:] == (700, WORLD)
    job.runner.expect_nothing_left()


def test_a_run_has_one_supervisor_at_a_time(four):
    job = four()
    job.moves(world=WORLD)
    second = job.runner.run("resume", job.run)
    assert second.code == 2
    assert f"the run has a supervisor: pid {job.process.pid} on" in second.errors
    job.moves(world=WORLD)
    assert job.stop().code == 128 + signal.SIGTERM
    ended = job.runner.run("resume", job.run)
    assert ended.code == 128 + signal.SIGTERM
    assert "has ended already, with exit code 143" in ended.errors


def test_a_successor_that_cannot_see_the_lock_fences_its_predecessor(four, nodes):
    # A copy of the run's directory stands for a file system without locks.
    summary = nodes.runner.folder / "summary.json"
    job = four(f"--summary-json={summary}")
    job.moves(world=WORLD)
    pids = set(job.workers_of())
    directory = job.runner.folder / "elsewhere"
    shutil.copytree(job.run, directory)
    copied = type(job)(job.runner, job.process, directory, job.out_path, job.err_path)
    again = resume(copied)
    again.wait(lambda: again.err().count("connected again") >= WORLD, "all agents")
    assert job.process.wait(timeout=90) == 1
    assert "supervisor 2 has taken the run over; this supervisor steps down" in job.err()
    assert not summary.exists()  # the run has not ended
    again.moves(world=WORLD)
    assert set(again.workers_of()) == pids
    assert again.stop().code == 128 + signal.SIGTERM
    assert not job.records(FINISH)
    assert summary.exists()


@pytest.mark.parametrize("ignores", ["the first one", "the second one"])
def test_nohup_counts_for_the_supervisor_that_it_started(four, ignores):
    nohup = ("/usr/bin/nohup",)
    is_first = ignores == "the first one"
    job = four(prefix=nohup if is_first else ())
    job.moves(world=WORLD)
    kill_supervisor(job)
    again = resume(job, prefix=() if is_first else nohup)
    in_control(again)
    again.process.send_signal(signal.SIGHUP)
    if is_first:
        assert again.finish().code == 128 + signal.SIGHUP
    else:
        again.moves(world=WORLD)
        assert again.stop().code == 128 + signal.SIGTERM
    job.runner.expect_nothing_left()


@pytest.mark.parametrize("victim", ["worker", "agent", "node", "all agents"])
def test_deaths_without_a_supervisor_are_handled_by_the_next_one(four, victim):
    job = four()
    job.moves(world=WORLD)
    processes = strike_processes(job, victim)
    kill_supervisor(job)
    kill_at_once(processes)
    again = resume(job)
    again.wait(lambda: again.attempt() >= 1, "the next attempt")
    again.moves(world=WORLD)
    assert again.stop().code == 128 + signal.SIGTERM
    job.runner.expect_nothing_left()


def test_without_a_successor_the_grace_ends_everything(four):
    # Without options whose processes come and go.
    job = four("--orphan-grace=5", "--preflight=off", "--standby=off")
    job.moves(world=WORLD)
    everything = [pid for node in job.agents() for pid in job.node_processes(node)]
    kill_supervisor(job)
    time.sleep(1)
    assert all(map(is_alive, everything))
    wait_until_gone(everything, 25)  # and not the 30 s without progress
    again = resume(job)  # too late for the workers, not for the run
    again.moves(world=WORLD)
    assert again.attempt() == 1
    assert again.stop().code == 128 + signal.SIGTERM
    job.runner.expect_nothing_left()


@rounds(3)
def test_a_supervisor_may_die_at_any_time(four, seed):
    draw = dice(seed, "resume")
    job = four()
    for _ in range(4):
        what = draw.choice(["running", "starting", "restarting"])
        print("seed", seed, what)
        if what == "restarting":
            job.moves(world=WORLD, deadline_s=150)
            kill_at_once(strike_processes(job, draw.choice(["worker", "agent", "node"])))
        elif what == "running":
            job.moves(world=WORLD, deadline_s=150)
        time.sleep(draw.uniform(0, 0.4))
        if draw.random() < 0.3:
            job.process.terminate()  # it dies while it ends the run
            time.sleep(draw.uniform(0, 0.1))
            job.process.kill()
            job.process.wait()
            # The supervisor handled the signal, died with it, or had already ended.
            before = takeovers(job)
            job = resume(job, wait=False)
            wait_for(
                lambda job=job, before=before: takeovers(job) > before or job.process.poll(),
                what="a takeover",
            )
            assert job.stop().code == 128 + signal.SIGTERM
            break
        kill_supervisor(job)
        if not (job.run / "request").exists():
            break  # it had not begun
        time.sleep(draw.choice([0, draw.uniform(0, 2)]))
        job = resume(job)
    else:
        job.moves(world=WORLD, deadline_s=150)
        assert job.stop().code == 128 + signal.SIGTERM
    job.runner.expect_nothing_left(within_s=60)


SUICIDE = r"""
#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Ends the process behind its nth write to a file that is called journal. */
ssize_t pwrite(int fd, const void *bytes, size_t size, off_t at_byte) {
  static ssize_t (*real)(int, const void *, size_t, off_t);
  static long left = -1;
  if (real == NULL) *(void **)&real = dlsym(RTLD_NEXT, "pwrite");
  ssize_t done = real(fd, bytes, size, at_byte);
  char link[64], path[512];
  int n = 0;
  const char *all = getenv("DIE_AFTER");
  if (all == NULL) return done;
  strcpy(link, "/proc/self/fd/");
  char digits[12];
  int value = fd, at = sizeof digits;
  do { digits[--at] = (char)('0' + value % 10); value /= 10; } while (value > 0);
  strncat(link, digits + at, sizeof digits - (size_t)at);
  n = (int)readlink(link, path, sizeof path - 1);
  if (n < 8) return done;
  path[n] = 0;
  if (strcmp(path + n - 8, "/journal") != 0) return done;
  if (left < 0) left = atol(all);
  if (--left == 0) kill(getpid(), SIGKILL);
  return done;
}
"""


@pytest.fixture(scope="module")
def suicide(tmp_path_factory):
    """A library that ends robustrun after the nth record of its journal."""
    folder = tmp_path_factory.mktemp("suicide")
    (folder / "suicide.c").write_text(SUICIDE)
    subprocess.run(
        ["gcc", "-shared", "-fPIC", "-o", folder / "suicide.so", folder / "suicide.c", "-ldl"],
        check=True,
    )
    return folder / "suicide.so"


def dying(suicide, after):
    return {"LD_PRELOAD": str(suicide), "DIE_AFTER": str(after)}


def give_it_something_to_write(job, deadline_s=150):
    """Kills a worker of the group now and then, until the supervisor has died."""
    end = time.monotonic() + deadline_s
    while job.process.poll() is None and time.monotonic() < end:
        try:
            job.process.wait(2)
        except subprocess.TimeoutExpired:
            agents = job.agents()
            alive = [node for node in job.group() if node in agents]
            kill_at_once([pid for node in alive[:1] for pid in job.node_workers(node)])


def test_it_may_die_after_every_record_of_its_journal(four, suicide):
    """One job under a chain of supervisors, each of which dies one record later than the last;
    meanwhile agents and workers are killed, so that restarts are among the records."""
    job = four("--max-restarts=1000", env=dying(suicide, 3))
    job.process.wait(150)
    assert job.process.returncode == -signal.SIGKILL
    deaths = 1
    for after in range(4, 34, 3):
        job = resume(job, wait=False, env=dying(suicide, after))
        give_it_something_to_write(job)
        assert job.process.returncode == -signal.SIGKILL, job.err()
        deaths += 1
    assert deaths >= 10
    job = resume(job)
    job.moves(world=WORLD, deadline_s=150)
    assert job.stop().code == 128 + signal.SIGTERM
    job.runner.expect_nothing_left(within_s=60)


def test_a_journal_with_a_torn_last_record_can_be_continued(four):
    """tests/base/journal_file_test.cpp tears it at every byte."""
    job = four(steps=250)
    job.moves(world=WORLD)
    kill_supervisor(job)
    journal = job.run / "journal"
    records = len(read_journal(journal))
    journal.write_bytes(journal.read_bytes()[:-5])
    assert len(read_journal(journal)) == records - 1
    again = resume(job)
    finished = again.finish()
    assert finished.code == 0, finished.errors
    job.runner.expect_nothing_left()


def test_a_run_on_one_machine_restarts(robustrun):
    """All processes beside the supervisor end with it; the run resumes from its checkpoint."""
    job = start_job(robustrun, "--nproc-per-node=2", *lockstep(robustrun, 400))
    job.moves(world=2)
    kill_supervisor(job)
    robustrun.expect_nothing_left()
    again = resume(job)
    finished = again.finish()
    assert finished.code == 0, finished.errors
    assert again.attempt() == 1
    assert again.lines()[-1][1:] == (400, 2)


@pytest.mark.parametrize("file", ["request", "authority"])
def test_secrets_that_others_may_read_are_not_used(four, file):
    job = four()
    job.moves(world=WORLD)
    kill_supervisor(job)
    assert (job.run / file).stat().st_mode & 0o077 == 0
    (job.run / file).chmod(0o644)
    refused = job.runner.run("resume", job.run)
    assert refused.code == 2
    assert f"cannot trust {job.run / file}" in refused.errors
    (job.run / file).chmod(0o600)
    again = resume(job)
    again.moves(world=WORLD)
    assert again.stop().code == 128 + signal.SIGTERM


def started(record):
    """Attempt, rank and pid of a WorkerStarted, which may be reported twice."""
    return record.number(1), record.number(2), record.number(3)


def test_a_run_over_ssh_is_resumed(farm, robustrun):
    hosts = farm(5)
    job = start_job(
        robustrun, "--hosts=h[1-5]", "--nnodes=4", *GRACE, *lockstep(robustrun),
        env=hosts.home.environment(),
    )
    job.moves(world=WORLD)
    workers = job.records(WORKER_STARTED)
    kill_supervisor(job)
    again = resume(job, env=hosts.home.environment())
    in_control(again)
    again.moves(world=WORLD)
    assert {started(r) for r in again.records(WORKER_STARTED)} == set(map(started, workers))
    again.wait(lambda: len(again.records(DECISION)) > 0, "decisions")
    assert again.stop().code == 128 + signal.SIGTERM
    assert len(again.records(FINISH)) == 1
    hosts.expect_empty()


def test_a_run_is_resumed_from_another_machine(lab, robustrun):
    machines = lab(3)
    job = start_job(
        robustrun, "--hosts=h[1-3]", "--iface=eth0", *GRACE, *lockstep(robustrun),
        env=machines.home.environment(), prefix=machines.prefix,
    )
    job.moves(world=3)
    workers = job.records(WORKER_STARTED)
    machines.move_hub()
    kill_supervisor(job)
    again = resume(job, env=machines.home.environment(), prefix=machines.prefix)
    again.wait(lambda: again.err().count("connected again") >= 3, "all agents")
    again.moves(world=3)
    assert {started(r) for r in again.records(WORKER_STARTED)} == set(map(started, workers))
    # The agents know the new address by now and find a third supervisor without help.
    kill_supervisor(again)
    third = resume(again, env=machines.home.environment(), prefix=machines.prefix)
    third.wait(lambda: third.err().count("connected again") >= 3, "all agents")
    third.moves(world=3)
    assert third.stop().code == 128 + signal.SIGTERM
    for machine in machines.machines.values():
        wait_for(lambda m=machine: not m.workers() and not m.agents(), what="the end on the nodes")


def test_a_flood_does_not_delay_agents_that_return_to_a_resumed_run(lab, robustrun):
    """Their addresses are known from the journal: no name service knows these hosts."""
    machines = lab(2)
    options = {"env": machines.home.environment(), "prefix": machines.prefix}
    job = start_job(robustrun, "--hosts=h[1-2]", "--iface=eth0", *GRACE, *lockstep(robustrun),
                    **options)
    job.moves(world=2)
    (port,) = listening_ports(job.pid)
    kill_supervisor(job)
    machines.flood(port)
    began = time.monotonic()
    again = resume(job, **options)
    again.wait(lambda: again.err().count("connected again") >= 2, "all agents")
    assert time.monotonic() - began < 5
    again.moves(world=2)
    again.stop()


def test_a_folder_without_a_run_is_an_error(robustrun, tmp_path):
    ended = robustrun.run("resume", tmp_path / "nothing")
    assert ended.code == 2
    job = start_job(robustrun, *lockstep(robustrun, 3))
    assert job.finish().code == 0
    (job.run / "journal").write_bytes(b"garbage" * 100)
    ended = robustrun.run("resume", job.run)
    assert ended.code == 2
    assert "journal" in ended.errors
    shutil.rmtree(job.run)
    assert os.path.exists(robustrun.folder)
