"""A credential admits one agent. Its bytes, stolen from the standard input of that agent, admit no
other, and cost the job no more than a line."""

import base64
import re
import shlex
import shutil
import stat
import subprocess

import pytest
from helpers.jobs import fields, kill_at_once, lockstep, start_job, varint
from helpers.processes import wait_for
from helpers.runner import BINARY

PREFIX = b"robustrun-credential-1 "
RUN_ID, NODE, GENERATION, TOKEN, FINGERPRINT, ENDPOINTS = 2, 3, 4, 5, 6, 7

# Replaces ssh and keeps a copy of the line for the agent. The pipe is also open for writing, so
# that the agent's standard input does not end.
THIEF = """#!/bin/sh
case "$*" in *--stdin-credential*) ;; *) exec {ssh} "$@" ;; esac
umask 077
mkfifo {loot}/$$.pipe
exec 3<>{loot}/$$.pipe 4<&0
rm {loot}/$$.pipe
{{
  IFS= read -r line
  printf '%s\\n' "$line" > {loot}/$$.part
  mv {loot}/$$.part {loot}/$$
  printf '%s\\n' "$line" >&3
}} <&4 &
exec {ssh} "$@" <&3 4<&-
"""


def decoded(line):
    return fields(base64.b64decode(line.removeprefix(PREFIX)))


def number(message, field):
    value = message.get(field, [0])[0]
    return fields(value).get(1, [0])[0] if isinstance(value, bytes) else value


def raw(data):
    """Each field of a message with its number, in wire format."""
    at = 0
    while at < len(data):
        begin = at
        tag, at = varint(data, at)
        value, at = varint(data, at)
        if tag & 7 == 2:
            at += value
        yield tag >> 3, data[begin:at]


def spliced(line, other, *numbers):
    """The credential `line` with these fields of `other`."""
    ours = [f for f in raw(base64.b64decode(line.removeprefix(PREFIX))) if f[0] not in numbers]
    theirs = [f for f in raw(base64.b64decode(other.removeprefix(PREFIX))) if f[0] in numbers]
    body = b"".join(piece for _, piece in sorted(ours + theirs, key=lambda field: field[0]))
    return PREFIX + base64.b64encode(body) + b"\n"


class Heist:
    """A job over SSH whose credentials are copied on the way."""

    def __init__(self, robustrun, hosts, number, *arguments):
        self.loot = robustrun.folder / f"loot{number}"
        self.loot.mkdir()
        thief = robustrun.folder / f"thief{number}"
        thief.write_text(THIEF.format(
            ssh=f"{shlex.quote(shutil.which('ssh'))} -F {shlex.quote(str(hosts.home.config))}",
            loot=shlex.quote(str(self.loot)),
        ))
        thief.chmod(0o755)
        folder = robustrun.folder / f"work{number}"
        folder.mkdir()
        shutil.copy(robustrun.folder / "lockstep.py", folder)
        self.runner = robustrun
        self.job = start_job(
            robustrun, f"--ssh-command={thief}", *arguments, run=f"run{number}", cwd=folder,
            env=hosts.home.environment(),
        )
        self.steps = folder / "steps"

    def moves(self, more=10):
        def count():
            return len(self.steps.read_text().splitlines()) if self.steps.exists() else 0

        before = count()
        self.job.wait(lambda: count() >= before + more, f"{more} more steps")

    def credential(self, node, generation):
        """The line that this agent received."""
        def find():
            for path in self.loot.iterdir():
                if path.suffix:
                    continue
                line = path.read_bytes()
                message = decoded(line)
                if (number(message, NODE), number(message, GENERATION)) == (node, generation):
                    return line
            return None

        return wait_for(find, what=f"the credential of agent {generation} of node {node}")

    def refusals(self):
        return [text for text in self.job.err().splitlines() if "refused a connection" in text]

    def state(self):
        job = self.job
        return job.attempt(), job.losses(), job.joins(), sorted(job.workers_of())

    def try_in(self, line, lines=1):
        """Starts an agent with this credential; returns its messages and the supervisor's. Nothing
        else may change. `lines`: how often it may be refused, once for each address."""
        before, refused = self.state(), len(self.refusals())
        agent = subprocess.Popen(
            [BINARY, "agent", "--stdin-credential"], stdin=subprocess.PIPE,
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, cwd=self.runner.folder,
            env=self.runner.environment,
        )
        self.runner.started.append(agent)
        agent.stdin.write(line)
        agent.stdin.flush()  # and stays open: the agent ends with its standard input
        code = agent.wait(timeout=60)
        words = agent.stderr.read().decode()
        assert code == 1, words
        self.job.wait(lambda: len(self.refusals()) > refused, "the refusal in the log")
        assert len(self.refusals()) <= refused + lines
        self.moves()
        assert self.state() == before
        return words, self.refusals()[-1]


@pytest.fixture
def heist(farm, robustrun):
    lockstep(robustrun)
    hosts = farm(2)
    count = 0

    def start(*arguments):
        nonlocal count
        count += 1
        return Heist(robustrun, hosts, count, "--hosts=h[1-2]", *arguments,
                     *lockstep(robustrun))

    return start


def end(robustrun, *heists):
    for one in heists:
        finished = one.job.stop()
        assert finished.code == 143, finished.errors
    robustrun.expect_nothing_left()


def test_the_wrapper_of_ssh_copies_the_right_credential(heist, robustrun):
    """The other tests rely on this: the copied credential is the one that admitted the agent."""
    one = heist()
    one.moves()
    for node in (0, 1):
        message = decoded(one.credential(node, 1))
        assert set(message) >= {RUN_ID, TOKEN, FINGERPRINT, ENDPOINTS}
    assert len(list(one.loot.iterdir())) == 2
    assert all(stat.S_IMODE(path.stat().st_mode) == 0o600 for path in one.loot.iterdir())
    assert one.refusals() == []
    end(robustrun, one)


def test_a_used_credential_admits_no_agent(heist, robustrun):
    one = heist()
    one.moves()
    for _ in range(2):
        words, line = one.try_in(one.credential(1, 1))
        assert "agent 1 of node 1 is not expected" in words
        assert re.search(r"refused a connection from \S+: agent 1 of node 1 is not expected", line)
    end(robustrun, one)


def test_a_credential_of_a_replaced_agent_admits_no_agent(heist, robustrun):
    one = heist()
    one.moves()
    kill_at_once(one.job.node_processes(1))
    one.job.wait(lambda: one.job.joins() == 3, "the next agent of node 1")
    one.job.started(2, attempt=1)
    assert "does not answer" not in one.job.err()  # through the wrapper, as required
    one.moves()
    assert one.credential(1, 1) != one.credential(1, 2)
    for generation in (1, 2):
        words, _ = one.try_in(one.credential(1, generation))
        assert f"agent {generation} of node 1 is not expected" in words
    end(robustrun, one)


def test_a_credential_of_another_job_admits_no_agent(heist, robustrun):
    one, other = heist(), heist()
    one.moves()
    other.moves()
    ours, theirs = one.credential(1, 1), other.credential(1, 1)
    # It knows its own supervisor's key and refuses any other.
    doors = len(decoded(ours)[ENDPOINTS])
    words, line = one.try_in(spliced(theirs, ours, ENDPOINTS), doors)
    assert "does not believe our certificate" in line
    assert "not of this run" in words
    # With all public data of this job it still lacks the secret.
    words, line = one.try_in(spliced(theirs, ours, ENDPOINTS, FINGERPRINT, RUN_ID))
    assert "secret" in words and "secret" in line
    # With the secret it still belongs to another run.
    words, line = one.try_in(spliced(ours, theirs, RUN_ID), doors)
    assert "not of this run" in words
    before = other.state()
    other.moves()
    assert other.state() == before and other.refusals() == []
    end(robustrun, one, other)
