"""How runs begin inside Slurm: use of the allocation, refusals, batch scripts, tasks of an srun,
and Slurm's signals to agents before the end."""

import os
import re
import signal

import pytest
from helpers.jobs import AGENT_LOST, lockstep
from helpers.processes import is_alive, wait_for
from helpers.runner import BINARY, ROOT
from slurm.cluster import can_track_by_cgroup
from slurm.jobs import Allocation

NODE_ENDING = 17  # kind of the journal's record
EXAMPLE = ROOT / "examples" / "train.py"


@pytest.fixture
def allocate(slurm):
    def make(nodes, of=None, options=(), **cluster_options):
        return Allocation(slurm(of or nodes, **cluster_options), nodes, *options)

    return make


def test_without_an_allocation_slurm_is_refused(robustrun):
    refused = robustrun.run("--slurm", "train.py")
    assert refused.code == 2
    assert "cannot use --slurm: this is no Slurm allocation" in refused.errors
    assert "sbatch or salloc" in refused.errors


def test_a_world_of_the_wrong_size_is_refused(allocate, robustrun):
    two = allocate(2)
    robustrun.write("job.py", "")
    for wanted in (("--nnodes=3",), ("--nnodes=1",), ("--nnodes=2", "--spares=1")):
        refused = two.run(robustrun, *wanted, "job.py")
        assert refused.code == 2
        assert f"cannot use {wanted[0]}" in refused.errors
        assert f"(Slurm job {two.job}) has 2, n[1-2]" in refused.errors
    assert "keep the others in reserve with --spares=1" in two.run(
        robustrun, "--nnodes=1", "job.py").errors
    # The user's options override the allocation.
    assert two.run(robustrun, "--launcher=local", "job.py").code == 0
    assert two.run(robustrun, "--standalone", "job.py").code == 0
    fits = two.run(robustrun, "--nnodes=1", "--spares=1", "job.py")
    assert fits.code == 0, fits.errors


def test_lists_of_nodes_are_read_as_scontrol_reads_them(slurm, robustrun):
    cluster = slurm(1)
    robustrun.write("job.py", "")
    for text in ("n[1-4,7],m[01-03]", "a1b[2-3]c[04-05],z", "node-[9-11],gpu[08,010]"):
        names = cluster.run("scontrol", "show", "hostnames", text).stdout.split()
        shown = robustrun.run(
            "--dry-run", "job.py",
            env={**cluster.environment(), "SLURM_JOB_ID": "7", "SLURM_JOB_NODELIST": text},
        )
        assert shown.code == 0, shown.errors
        assert sorted(re.findall(r"^node \d+ +(\S+)", shown.text, re.M)) == sorted(names)


def test_workers_see_their_node_and_its_allocated_gpus(allocate, robustrun):
    two = allocate(2, gpus=2, options=("--gpus-per-node=2",))
    robustrun.write(
        "job.py",
        "import os\n"
        "print('SAYS', *(os.environ[v] for v in ('SLURMD_NODENAME', 'LOCAL_RANK', "
        "'LOCAL_WORLD_SIZE', 'CUDA_VISIBLE_DEVICES', 'SLURM_NODEID')))\n",
    )
    # As a batch script on n1 would have it.
    env = {"SLURM_GPUS_PER_NODE": "2", "SLURMD_NODENAME": "n1", "CUDA_VISIBLE_DEVICES": "5",
           "SLURM_NODEID": "0", "SLURM_PROCID": "0"}
    finished = two.run(robustrun, "job.py", env=env)
    assert finished.code == 0, finished.errors
    said = sorted(re.findall(r"SAYS (.*)", finished.text))
    assert said == ["n1 0 2 0,1 0", "n1 1 2 0,1 0", "n2 0 2 0,1 1", "n2 1 2 0,1 1"]


def test_a_training_goes_on_while_its_supervisor_is_replaced(allocate, robustrun):
    four = allocate(4)
    folder = robustrun.folder / "training"
    folder.mkdir()
    curve = folder / "curve"
    job = four.start(
        robustrun, "--orphan-grace=60", str(EXAMPLE), "--steps", "100", "--every", "20",
        "--slow", "0.2", "--print-every", "10", "--checkpoint", str(folder / "checkpoints"),
        "--curve", str(curve),
    )

    def losses():
        return curve.read_text().splitlines() if curve.exists() else []

    job.wait(lambda: len(losses()) >= 3, "the first losses", 180)
    workers = job.workers_of()
    job.process.kill()
    job.process.wait()
    done = len(losses())
    wait_for(lambda: len(losses()) >= done + 3, what="losses without a supervisor")
    err = job.run.with_suffix(".again.err")
    with open(err, "wb") as file:
        running = robustrun.start("resume", job.run, stdout=file, stderr=file,
                                  env=four.cluster.environment())
    again = type(job)(robustrun, running.process, job.run, err, err)
    again.wait(lambda: again.err().count("connected again") >= 4, "all agents")
    assert all(map(is_alive, workers))
    assert again.finish(300).code == 0, again.err()
    assert again.attempt() == 0
    steps = [int(line.split()[0]) for line in losses()]
    assert sorted(set(steps)) == list(range(steps[0], steps[-1] + 1))
    assert len(steps) == len(set(steps)), "a step was done twice"
    four.cluster.expect_empty()


def test_a_batch_script_need_not_mention_nodes(slurm, robustrun):
    cluster = slurm(3)
    robustrun.write("job.py", "import os\nprint('RANK', os.environ['RANK'], 'of', "
                              "os.environ['WORLD_SIZE'], os.environ['SLURMD_NODENAME'])\n")
    job = cluster.sbatch(
        f"#!/bin/sh\ncd {robustrun.folder}\nexec {BINARY} job.py\n", "--nodes=3",
        "--ntasks-per-node=1", env=robustrun.environment,
    )
    assert cluster.wait_end(job, 150) == "COMPLETED", cluster.output(job)
    said = sorted(re.findall(r"RANK (.*)", cluster.output(job)))
    assert said == ["0 of 3 n1", "1 of 3 n2", "2 of 3 n3"]
    cluster.expect_empty()


def test_tasks_of_an_srun_are_the_nodes_of_one_run(slurm, robustrun):
    cluster = slurm(4)
    robustrun.write("job.py", "import os\nprint('RANK', os.environ['RANK'], 'of', "
                              "os.environ['WORLD_SIZE'], os.environ['SLURMD_NODENAME'])\n")
    words = ("srun", "--nodes=4", "--ntasks-per-node=1", BINARY)
    out = cluster.run(*words, "job.py", env=robustrun.environment, cwd=robustrun.folder).stdout
    said = sorted(re.findall(r"RANK (.*)", out))
    assert said == ["0 of 4 n1", "1 of 4 n2", "2 of 4 n3", "3 of 4 n4"]
    # The port is closed, and the file with its secret is gone.
    assert not list((robustrun.folder / "robustrun-runs").glob(".slurm-*"))
    refused = cluster.run(*words, "--nnodes=3", "job.py", check=False, env=robustrun.environment,
                          cwd=robustrun.folder)
    assert refused.returncode == 2
    assert "it takes 3 nodes, and this srun" in refused.stderr
    assert "has 4 tasks" in refused.stderr
    crowded = cluster.run("srun", "--nodes=2", "--ntasks-per-node=2", BINARY, "job.py", check=False,
                          env=robustrun.environment, cwd=robustrun.folder)
    assert crowded.returncode == 2
    assert "each node needs one robustrun" in crowded.stderr
    cluster.expect_empty()


def test_tasks_meet_only_through_a_private_file(slurm, robustrun):
    cluster = slurm(2)
    robustrun.write("job.py", "")
    runs = robustrun.folder / "robustrun-runs"
    runs.mkdir()
    # Another user made the file; the leader replaces it, an early guest refuses it.
    fake = runs / ".slurm-1.0.0"
    fake.write_text("robustrun-credential-1 AAAA\n")
    fake.chmod(0o666)
    script = (f"export RR=host; [ $SLURM_PROCID = 1 ] && RR=guest; cd {robustrun.folder}; "
              "[ $RR = guest ] || until [ -e refused ]; do sleep 0.05; done; "
              f"{BINARY} job.py 2> $RR; [ $RR = host ] || touch refused")
    cluster.run("srun", "--nodes=2", "--ntasks-per-node=1", "sh", "-c", script, check=False,
                env={**robustrun.environment, "ROBUSTRUN_WAIT_FOR_NODES": "1"})
    assert "a file of yours that no other user may" in (robustrun.folder / "guest").read_text()
    cluster.expect_empty()


def test_agents_outlive_slurms_signal_and_the_run_ends_in_order(allocate, robustrun):
    # proctrack/linuxproc also signals the processes that a task started, so workers die of it.
    real = can_track_by_cgroup()
    two = allocate(2, proctrack="cgroup" if real else "linuxproc")
    job = two.start(robustrun, *lockstep(robustrun))
    job.moves(world=2)
    agents = job.agents().values()
    if real:
        two.cluster.cancel(two.job, "--signal=TERM")  # by a user: Slurm itself does not end the job
    else:
        for agent in agents:
            os.kill(agent, signal.SIGTERM)
    ended = job.finish()
    assert ended.code == 128 + signal.SIGTERM, ended.errors
    assert {record.node for record in job.records(NODE_ENDING)} == {0, 1}
    # The log names the node that reports it first.
    assert any(f"{name} will be taken away: Slurm sent SIGTERM" in " ".join(job.decisions())
               for name in two.cluster.names)
    assert job.err().count("will be taken away") == 1
    assert not job.records(AGENT_LOST)
    two.cluster.expect_empty()
