"""The Slurm cluster of the tests behaves as the tests of Slurm jobs assume."""

import os
import pathlib
import signal

import pytest
from helpers.jobs import kill_at_once
from helpers.processes import command_of, is_alive, wait_for
from slurm.cluster import can_track_by_cgroup

ALL = ("--nodes=4", "--ntasks=4", "--ntasks-per-node=1")

# A job with a task on every node, which prints what it sees: "WORD NODE".
TELLING = """#!/bin/bash
echo "run ${SLURM_RESTART_COUNT:-0}"
trap 'echo batch USR1' USR1
srun --overlap --kill-on-bad-exit=0 bash -c '
  trap "echo TERM $SLURMD_NODENAME; exit 1" TERM
  trap "echo USR2 $SLURMD_NODENAME" USR2
  echo "started $SLURMD_NODENAME"
  while :; do sleep 0.05; done' &
wait; wait
"""
STUBBORN = TELLING.replace("; exit 1", "")


def submit(cluster, script, *options):
    return cluster.sbatch(script, *ALL[:1], *ALL[2:], *options)


def lines(cluster, job, word):
    return [line.split()[1] for line in cluster.output(job).splitlines()
            if line.startswith(word + " ") and len(line.split()) > 1]


def wait_started(cluster, job, times=1):
    wait_for(lambda: len(lines(cluster, job, "started")) == 4 * times, 150, "the tasks' start")


def test_srun_reaches_every_node(slurm):
    cluster = slurm(4)
    out = cluster.run("srun", *ALL, "sh", "-c", "echo $SLURMD_NODENAME").stdout
    assert sorted(out.split()) == cluster.names == ["n1", "n2", "n3", "n4"]
    cluster.expect_empty()


def test_nodes_have_their_gpus(slurm):
    cluster = slurm(2, gpus=2)
    out = cluster.run("srun", "--nodes=2", "--gpus-per-node=2", "sh", "-c",
                      "echo $SLURMD_NODENAME $CUDA_VISIBLE_DEVICES").stdout
    assert sorted(out.splitlines()) == ["n1 0,1", "n2 0,1"]


def test_clusters_run_side_by_side_and_leave_nothing(slurm):
    one, two = slurm(2), slurm(3)
    jobs = [cluster.sbatch("#!/bin/sh\nsrun --overlap --export=NIL /bin/sleep 1000",
                           f"--nodes={len(cluster.nodes)}", "--ntasks-per-node=1")
            for cluster in (one, two)]
    for cluster, job in zip((one, two), jobs, strict=True):
        wait_for(lambda c=cluster: all(node.steps() for node in c.nodes), what="the steps")
        assert cluster.state(job) == "RUNNING"
        # Even processes without an environment are found.
        wait_for(lambda c=cluster: len(c.job_processes()) >= len(c.nodes), what="the tasks")
    pids = one.processes()
    one.close()
    assert not any(map(is_alive, pids))
    assert not one.folder.exists()
    assert two.state(jobs[1]) == "RUNNING"
    two.close()
    assert not two.processes()


def test_cancel_ends_a_job(slurm):
    cluster = slurm(4)
    job = submit(cluster, TELLING)
    wait_started(cluster, job)
    cluster.cancel(job)
    assert cluster.wait_end(job) == "CANCELLED"
    assert sorted(lines(cluster, job, "TERM")) == cluster.names
    cluster.expect_empty()


def test_a_signal_reaches_tasks_or_the_script(slurm):
    cluster = slurm(4)
    job = submit(cluster, TELLING)
    wait_started(cluster, job)
    cluster.cancel(job, "--signal=USR2")
    wait_for(lambda: sorted(lines(cluster, job, "USR2")) == cluster.names, what="USR2")
    cluster.cancel(job, "--signal=USR1", "--batch")
    wait_for(lambda: lines(cluster, job, "batch") == ["USR1"], what="USR1")


def test_a_requeued_job_starts_again(slurm):
    cluster = slurm(4, requeue_after_s=5)
    job = submit(cluster, TELLING)
    wait_started(cluster, job)
    cluster.run("scontrol", "requeue", job)
    wait_started(cluster, job, times=2)
    assert lines(cluster, job, "run") == ["0", "1"]
    assert cluster.show(job)["Restarts"] == "1"


def test_the_time_limit_ends_a_job(slurm):
    cluster = slurm(4)
    job = submit(cluster, TELLING, "--time=60")
    wait_started(cluster, job)
    cluster.end_in(job, 1)
    assert cluster.wait_end(job, within_s=150) == "TIMEOUT"
    assert set(lines(cluster, job, "TERM")) == set(cluster.names)
    cluster.expect_empty()


def test_a_preempted_job_is_requeued(slurm):
    cluster = slurm(4, kill_wait_s=3, grace_s=3, requeue_after_s=5)
    job = submit(cluster, STUBBORN)
    wait_started(cluster, job)
    urgent = submit(cluster, "#!/bin/sh\nexit 0", "--partition=high", "--exclusive")
    assert cluster.wait_end(urgent, within_s=150) == "COMPLETED"
    assert set(lines(cluster, job, "TERM")) == set(cluster.names)
    wait_started(cluster, job, times=2)
    assert lines(cluster, job, "run") == ["0", "1"]


def test_a_draining_node_keeps_its_job(slurm):
    cluster = slurm(2)
    job = cluster.sbatch("#!/bin/sh\nexec sleep 1000", "--nodes=2")
    cluster.wait_state(job, "RUNNING")
    cluster.drain("n2")
    cluster.wait_node("n2", "draining")
    assert cluster.state(job) == "RUNNING"
    cluster.cancel(job)
    cluster.wait_node("n2", "drained")
    cluster.resume("n2")
    cluster.wait_idle()


@pytest.mark.parametrize("options, state", [((), "NODE_FAIL"), (("--no-kill",), "RUNNING")])
def test_a_dead_node(slurm, options, state):
    cluster = slurm(3, kill_wait_s=1)
    job = cluster.sbatch("#!/bin/sh\nexec sleep 1000", "--nodes=3", "--no-requeue", *options)
    cluster.wait_state(job, "RUNNING")
    cluster[3].die()
    assert not cluster[3].processes()
    cluster.declare_down("n3")
    cluster.wait_state(job, state)
    cluster[3].boot()
    cluster.resume("n3")
    cluster.wait_node("n3", "idle")


def test_steps_outlive_a_slurmd(slurm):
    cluster = slurm(2)
    job = cluster.sbatch("#!/bin/sh\nsrun --overlap /bin/sleep 1000", "--nodes=2",
                         "--ntasks-per-node=1")
    wait_for(lambda: len(cluster[2].processes()) >= 3, what="the task on n2")
    before = [pid for pid in cluster[2].processes() if pid != cluster[2].process.pid]
    cluster[2].kill_slurmd()
    assert all(map(is_alive, before))
    cluster[2].boot()
    cluster.cancel(job)
    assert cluster.wait_end(job) == "CANCELLED"
    cluster.expect_empty()


def sruns(cluster):
    return sorted(pid for pid in cluster.processes() if b"srun" in command_of(pid)[:1])


@pytest.mark.parametrize("whole", [False, True])
def test_killing_srun_ends_its_tasks_unless_its_helper_dies_as_well(slurm, whole):
    """srun has a child that cancels the step when srun is gone."""
    cluster = slurm(2)
    job = cluster.sbatch("#!/bin/sh\nsrun --overlap /bin/sleep 1000\nexec sleep 1000",
                         "--nodes=2", "--ntasks-per-node=1")
    wait_for(lambda: all(len(node.processes()) >= 3 for node in cluster.nodes), what="the tasks")
    script, helper = wait_for(lambda: len(found := sruns(cluster)) == 2 and found, what="srun")
    tasks = cluster[2].processes()
    if not whole:
        os.kill(script, signal.SIGKILL)
        wait_for(lambda: len(cluster[2].processes()) == 1, what="the end of the step")
        return
    kill_at_once([script, helper])
    # Another step comes and goes, and the first is still there.
    out = cluster.run("srun", f"--jobid={job}", "--overlap", "--nodes=1", "--ntasks=1",
                      "--nodelist=n2", "echo", "here").stdout
    assert out == "here\n"
    assert all(map(is_alive, tasks))


@pytest.mark.skipif(not can_track_by_cgroup(), reason="no cgroup v1 freezer that is ours")
def test_with_cgroups_no_process_outlives_a_step(slurm):
    cluster = slurm(2, proctrack="cgroup")
    cluster.run("srun", "--nodes=2", "sh", "-c", "setsid setsid sleep 1000 </dev/null >/dev/null "
                "2>&1 & sleep 0.2")
    cluster.expect_empty()
    cluster.close()
    assert not list(pathlib.Path("/sys/fs/cgroup/freezer").glob(f"slurm_{cluster.names[0]}*"))
