"""Links that fail under a real gloo training on several machines. Data has a network of its own, so
that robustrun itself is not cut off. The node or the link is named."""

import json
import pathlib
import subprocess
import time

import pytest
from diagnosis.data_network import DataNetwork
from helpers.jobs import start_job

SCRIPT = pathlib.Path(__file__).parent / "faulty_job.py"
NAMED_WITHIN_S = 90   # generous, as in test_hangs.py
STARTED_WITHIN_S = 240  # three torches at once
PACE_LEARNT_S = 20  # eight windows of two seconds: the usual pace


class Training:
    """One rank on each of three machines, h1 to h3, which goes on until it is stopped."""

    def __init__(self, robustrun, machines, *options, payload=0, ranks=1):
        self.binary, self.machines, self.data = robustrun.binary, machines, DataNetwork(machines)
        self.job = start_job(
            robustrun, "--hosts=h[1-3]", "--iface=eth0", f"--nproc-per-node={ranks}", "--omp=1",
            "--standby=off", "--log-level=debug", *options, SCRIPT, "1000000", "0.05",
            prefix=machines.prefix,
            env={**machines.home.environment(), **self.data.environment(),
                 "PAYLOAD": str(payload)},
        )

    def steps(self):
        asked = subprocess.run([self.binary, "status", "--json", str(self.job.run)],
                               capture_output=True, text=True, timeout=60)
        return json.loads(asked.stdout)["steps"] if asked.returncode == 0 else 0

    def goes_on(self, more=10, within_s=STARTED_WITHIN_S):
        before = self.steps()
        self.job.wait(lambda: self.steps() >= before + more, f"{more} more steps", within_s)

    def begun(self):
        """Waits until the job trains; later verdicts are about the fault."""
        self.goes_on(30)

    def says(self, words, since=0, within_s=NAMED_WITHIN_S):
        """The first line of robustrun since then that has all of these words."""

        def said():
            lines = self.said_of_hangs(since)
            return next((line for line in lines if all(word in line for word in words)), None)

        return self.job.wait(said, f"a line with {words}", within_s)

    def said_of_hangs(self, since):
        return [line for line in self.job.err()[since:].splitlines()
                if "hang: " in line or "slow: " in line]

    def report(self):
        asked = subprocess.run([self.binary, "report", "--json", str(self.job.run)],
                               capture_output=True, text=True, timeout=60)
        assert asked.returncode == 0, asked.stderr
        return json.loads(asked.stdout)


def check_slow_link(training):
    since = len(training.job.err())
    training.data.slow(training.machines["h2"], "100mbit")
    line = training.says(["slow: ", "h2"], since)
    assert "comes last" not in line
    training.data.full_speed(training.machines["h2"])
    training.goes_on(50)
    assert training.job.attempt() == 0
    hangs = training.report()["hangs"]
    assert [hang for hang in hangs if hang["finding"] == "slow link"]
    assert not [hang for hang in hangs if hang["stage"] == "convicted"]


def check_lost_packets(training, where):
    one, other = training.machines["h1"], training.machines["h2"]
    since = len(training.job.err())
    training.data.drop(one, other, where)
    line = training.says(["link", "rank 0 (h1", "rank 1 (h2", "stuck in all_reduce"], since)
    assert "h3" not in line
    training.data.pass_all(one, where)
    training.job.wait(lambda: "the hang is over" in training.job.err()[since:],
                      "the end of the hang", 120)  # TCP waits for as long as it was quiet
    training.goes_on()
    assert training.job.attempt() == 0


def check_link_down(training, how):
    data, far = training.data, training.machines["h2"]
    since = len(training.job.err())
    data.pull(far) if how == "cable" else data.take_down(far)
    line = training.says(["h2: eth1: "], since)
    assert "rank 0 " not in line and "rank 2 " not in line
    training.job.wait(lambda: training.job.attempt() == 1, "the next attempt", NAMED_WITHIN_S)
    data.plug(far) if how == "cable" else data.bring_up(far)
    training.goes_on()
    training.job.stop()
    hang = next(h for h in training.report()["hangs"] if h["stage"] == "convicted")
    assert (hang["finding"], hang["culprits"]) == ("link down", [1])


def test_a_slow_link_is_left_alone_a_stuck_one_forgiven_and_one_that_is_down_ends_the_attempt(
        lab, robustrun):
    training = Training(robustrun, lab(3), payload=4)
    training.begun()
    time.sleep(PACE_LEARNT_S)
    check_slow_link(training)
    check_lost_packets(training, "switch")
    check_link_down(training, "cable")


@pytest.mark.nightly
@pytest.mark.parametrize("how", ["cable", "interface"])
def test_a_data_link_that_is_down_names_its_node_and_ends_the_attempt(lab, robustrun, how):
    training = Training(robustrun, lab(3))
    training.begun()
    check_link_down(training, how)


@pytest.mark.nightly
@pytest.mark.parametrize("where", ["switch", "machine"])
def test_packets_lost_between_two_machines_name_the_link_and_are_forgiven(lab, robustrun, where):
    training = Training(robustrun, lab(3))
    training.begun()
    check_lost_packets(training, where)
    training.job.stop()
    assert {h["finding"] for h in training.report()["hangs"]} == {"link stuck"}


@pytest.mark.nightly
@pytest.mark.parametrize("ranks", [1, 2])
def test_a_slow_link_is_reported_and_left_alone(lab, robustrun, ranks):
    training = Training(robustrun, lab(3), payload=4, ranks=ranks)
    training.begun()
    time.sleep(PACE_LEARNT_S)
    check_slow_link(training)
    training.job.stop()
