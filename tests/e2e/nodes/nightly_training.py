"""The main use: a four-node DDP training, started by one command over SSH with one spare, loses
every machine and every agent in one session and ends with the loss curve of an undisturbed run."""

import os
import signal

import pytest
from helpers.jobs import start_job, wait_until_gone
from helpers.runner import ROOT, Runner

EXAMPLE = ROOT / "examples" / "train.py"
# The session decides how many steps are needed: it ends the training when it is over.
STEPS, EVERY = 400, 5


def arguments(folder, *more):
    folder.mkdir()
    return [
        str(EXAMPLE), "--steps", str(STEPS), "--every", str(EVERY), "--print-every", "100",
        "--checkpoint", str(folder / "checkpoints"), "--curve", str(folder / "curve"), *more,
    ]


def curve(folder):
    """Step to loss; repeated steps must have the same loss, except for the last bits: DDP rebuilds
    its buckets after the first step of an attempt, and the order in which gloo adds the numbers of
    more than two ranks depends on them."""
    losses = {}
    for line in (folder / "curve").read_text().splitlines():
        step, loss = line.split()
        value = float.fromhex(loss)
        assert losses.setdefault(int(step), value) == pytest.approx(value, rel=1e-3), step
    return losses


@pytest.fixture(scope="module")
def calm(tmp_path_factory):
    """The curve of four undisturbed ranks."""
    runner = Runner(tmp_path_factory.mktemp("calm"))
    finished = runner.run(
        "--nproc-per-node=4", *arguments(runner.folder / "calm"), timeout=400
    )
    runner.close()
    assert finished.code == 0, finished.errors
    return curve(runner.folder / "calm")


class Sitting:
    """The training on hosts h1 to h5, of which four take part; node n is host h(n + 1)."""

    def __init__(self, robustrun, hosts, *options):
        self.hosts = hosts
        self.folder = robustrun.folder / "training"
        self.go = self.folder / "go"
        # Slow until the session is over, so that the training does not end first.
        robustrun.write(
            "train.py",
            "import pathlib, runpy, sys, time\n"
            f"go = pathlib.Path({str(self.go)!r})\n"
            "real = time.sleep\n"
            "time.sleep = lambda s: None if go.exists() else real(s)\n"
            f"sys.argv[0] = {str(EXAMPLE)!r}\n"
            f"runpy.run_path({str(EXAMPLE)!r}, run_name='__main__')\n",
        )
        self.job = start_job(
            robustrun, "--hosts=h[1-5]", "--nnodes=4", *options, "train.py",
            *arguments(self.folder, "--slow", "0.5")[1:], env=hosts.home.environment(),
        )

    def trains(self):
        """Waits for two more steps of a whole group."""
        path = self.folder / "curve"
        before = path.read_text().count("\n") if path.exists() else 0
        self.job.wait(
            lambda: path.exists() and path.read_text().count("\n") >= before + 2, "steps", 180
        )
        assert len(self.job.group()) == 4

    def next_attempt(self, attempt):
        self.job.wait(lambda: self.job.attempt() > attempt, "another attempt", 90)

    def lose_machine(self, node):
        """The machine loses its power, a spare takes over, and the machine is switched on again."""
        host = self.hosts[f"h{node + 1}"]
        attempt, pids = self.job.attempt(), self.job.node_processes(node)
        host.die()
        wait_until_gone(pids, 20)
        self.next_attempt(attempt)
        host.boot()
        self.trains()
        assert node not in self.job.group()

    def lose_agent(self, node):
        job = self.job
        job.wait(lambda: node in job.agents(), f"the agent of node {node}", 150)
        attempt, losses, in_group = job.attempt(), len(job.losses()), node in job.group()
        os.kill(job.agents()[node], signal.SIGKILL)
        job.wait(lambda: len(job.losses()) > losses, f"the loss of the agent of node {node}")
        if in_group:  # a spare does not disturb the job
            self.next_attempt(attempt)
        self.trains()


@pytest.mark.parametrize("transport", ["libssh2", "openssh"])
def test_it_survives_the_loss_of_every_machine_and_every_agent(farm, robustrun, calm, transport):
    hosts = farm(5)
    sitting = Sitting(robustrun, hosts, f"--ssh-transport={transport}")
    job = sitting.job
    sitting.trains()
    assert job.group_names() == ["h1", "h2", "h3", "h4"]
    # A machine that came back is the spare for the next loss. Each of the four loses its power,
    # and each loses its agent.
    for machine, agent in ((0, 3), (1, 0), (2, 1), (3, 2)):
        job.wait(job.spares, "a spare", 150)
        sitting.lose_machine(machine)
        sitting.lose_agent(agent)

    sitting.go.touch()
    finished = job.finish(400)
    assert finished.code == 0, finished.errors
    mine = curve(sitting.folder)
    assert sorted(mine) == sorted(calm) == list(range(1, STEPS + 1))
    assert all(mine[step] == pytest.approx(loss, rel=1e-3) for step, loss in calm.items())
    report = robustrun.report(job.run)
    assert (report["outcome"], report["nodes"], report["world_size"]) == ("succeeded", 4, 4)
    assert report["step"] == STEPS
    assert len(report["incidents"]) >= 4
    assert {node for node, _ in job.losses()} >= {0, 1, 2, 3}
    hosts.expect_empty()
    robustrun.expect_nothing_left()
