"""Jobs of `robustrun submit` on a private Slurm cluster: how they react to Slurm without anyone's
help.
"""

import json
import os
import re
import signal
import subprocess
import sys

import pytest
from helpers.jobs import FINISH, Job
from helpers.processes import is_alive, wait_for
from helpers.runner import ROOT
from slurm.cluster import can_track_by_cgroup

# Counts, and ends on request.
SCRIPT = r"""
import os, sys, time
import robustrun
rank = int(os.environ["RANK"])
print(f"hello from {rank}, start {os.environ.get('SLURM_RESTART_COUNT', '0')}", flush=True)
n = 0
while not os.path.exists("enough"):
    n += 1
    robustrun.step(n)
    time.sleep(0.02)
sys.exit(int(open("enough").read() or 0))
"""


@pytest.fixture
def submitted(robustrun, slurm):
    class Submitted:
        def __init__(self, *words, nodes=2, size=None, exclude=None, script=SCRIPT, **options):
            """A job of `nodes` nodes on a cluster of `size`; `exclude`: the number of a node."""
            robustrun.write("job.py", script)
            # Slurm does not end processes of a test's step that it does not know.
            proctrack = "cgroup" if can_track_by_cgroup() else "linuxproc"
            self.cluster = slurm(size or nodes, proctrack=proctrack, **options)
            self.nodes = nodes
            self.sbatch = "--output=%j.out"
            if exclude:
                self.sbatch += f" --exclude={self.cluster[exclude].name}"
            self.job = self.submit(*words)

        def submit(self, *words, script="job.py", arguments=()):
            done = robustrun.run(
                "submit", f"--nodes={self.nodes}", f"--sbatch={self.sbatch}", *words, script,
                *arguments, env=self.cluster.environment(),
            )
            assert done.code == 0, done.errors
            return int(done.text)

        def excluded(self):
            listed = self.cluster.show(self.job)["ExcNodeList"]
            return self.cluster.run("scontrol", "show", "hostnames", listed).stdout.split()

        def directory(self, start=0):
            name = f"slurm-{self.job}" + (f"-{start}" if start else "")
            return robustrun.folder / "robustrun-runs" / name

        def status(self, start=0):
            done = robustrun.run("status", self.directory(start), "--json")
            return json.loads(done.text) if done.code in (0, 1) else {}

        def steps(self, count=5, start=0):
            def look():
                return (self.directory(start) / "control").exists() and (
                    self.status(start).get("steps", 0) >= count)

            self.wait(look, 150, f"{count} steps")

        def second_start(self):
            """Waits long enough for Slurm's own timers, on a busy machine too."""
            self.wait(lambda: self.directory(1).exists(), 180, "the second start")

        def wait(self, condition, deadline_s, what):
            try:
                wait_for(condition, deadline_s, what)
            except AssertionError as error:
                raise AssertionError(f"{error}\n{self.output()}\n{self.cluster.logs()}") from None

        def report(self, start=0):
            return robustrun.report(self.directory(start))

        def ends(self):
            return Job(None, None, self.directory(), None, None).records(FINISH)

        def output(self):
            path = robustrun.folder / f"{self.job}.out"
            return path.read_text(errors="replace") if path.exists() else ""

        def enough(self, code=0):
            (robustrun.folder / "enough.new").write_text(str(code))
            (robustrun.folder / "enough.new").rename(robustrun.folder / "enough")

        def preempt(self):
            """A job of higher priority takes all processors for a moment."""
            self.cluster.sbatch(
                "#!/bin/bash\nexec sleep 1\n", f"--nodes={self.nodes}", "--partition=high",
                "--ntasks-per-node=1", "--cpus-per-task=8",
            )

    return Submitted


def test_a_job_runs_on_its_nodes_and_ends(submitted):
    job = submitted()
    job.steps()
    job.enough()
    assert job.cluster.wait_end(job.job) == "COMPLETED"
    report = job.report()
    assert report["outcome"] == "succeeded"
    assert report["nodes"] == 2
    for rank in range(2):
        assert f"hello from {rank}, start 0" in job.output()
    job.cluster.expect_empty()


@pytest.mark.parametrize("code, state", [
    (1, "FAILED"), pytest.param(93, "FAILED", marks=pytest.mark.nightly)])
def test_failures_of_the_script_do_not_requeue_the_job(submitted, code, state):
    job = submitted("--max-restarts=0")
    job.steps()
    job.enough(code)
    assert job.cluster.wait_end(job.job) == state
    assert job.cluster.show(job.job)["ExitCode"] == f"{code}:0"
    assert job.cluster.show(job.job)["Restarts"] == "0"
    # Nor does an option that only the nodes can judge.
    job.job = job.submit("--nproc-per-node=nosuch")
    assert job.cluster.wait_end(job.job) == "FAILED"
    assert job.cluster.show(job.job)["ExitCode"] == "2:0"
    assert job.cluster.show(job.job)["Restarts"] == "0"
    said = " ".join(job.output().split())
    assert "cannot use --nproc-per-node=nosuch: Unsupported nproc_per_node value: nosuch" in said
    assert "agents/agent.1.0.log" in said


# The example without torch's compiler, which takes as long as torch itself.
TRAINING = f"""
import runpy, sys
sys.path.append({str(ROOT / "tests/e2e/helpers")!r})
import light_torch
sys.argv[0] = {str(ROOT / "examples/train.py")!r}
runpy.run_path(sys.argv[0], run_name="__main__")
"""


def test_a_preempted_training_resumes_from_its_checkpoint_by_itself(submitted, robustrun, tmp_path):
    steps, arguments = 150, ["--slow=0.15", "--every=1000", "--save-on-stop"]
    curves = tmp_path / "undisturbed", tmp_path / "preempted"
    robustrun.write("train.py", TRAINING)
    alone = robustrun.run("--nproc-per-node=2", "--standby=off", "train.py", f"--steps={steps}",
                          f"--curve={curves[0]}")
    assert alone.code == 0, alone.errors
    job = submitted(grace_s=20, requeue_after_s=5)
    job.enough()
    job.cluster.wait_end(job.job)
    job.job = job.submit(
        script="train.py",
        arguments=[f"--steps={steps}", f"--curve={curves[1]}", f"--checkpoint={tmp_path / 'c'}",
                   *arguments],
    )
    job.steps(20)
    job.preempt()
    job.second_start()
    assert job.cluster.wait_end(job.job, within_s=240) == "COMPLETED", job.output()
    first, second = job.report(), job.report(1)
    assert (first["exit_code"], second["exit_code"]) == (94, 0)
    assert f"Slurm preempts job {job.job}" in json.dumps(first)
    # No step was lost or repeated, and every loss is the same as in an undisturbed run.
    assert "resumed from" in job.output()
    assert curves[1].read_text() == curves[0].read_text()
    job.cluster.expect_empty()


def test_a_cancelled_job_reports_it_and_stays_cancelled(submitted):
    job = submitted(kill_wait_s=15)
    job.steps()
    job.cluster.cancel(job.job)
    assert job.cluster.wait_end(job.job) == "CANCELLED"
    wait_for(lambda: len(job.ends()) == 1, what="the end of the run")
    report = job.report()
    assert report["exit_code"] == 128 + signal.SIGTERM
    assert f"job {job.job} was cancelled" in json.dumps(report)
    job.cluster.expect_empty()


def test_a_requeued_job_starts_again(submitted):
    job = submitted(kill_wait_s=15, requeue_after_s=5)
    job.steps()
    job.cluster.run("scontrol", "requeue", job.job)
    job.second_start()
    job.steps(start=1)
    assert f"job {job.job} is requeued" in json.dumps(job.report())
    job.enough()
    assert job.cluster.wait_end(job.job) == "COMPLETED"
    assert job.cluster.show(job.job)["Restarts"] == "1"


# The second node fails as a broken one does, once and on request.
BREAKS_ONCE = SCRIPT.replace("    n += 1", """
    if rank == 1 and os.path.exists("break"):
        os.remove("break")
        print("CUDA error: uncorrectable ECC error encountered", file=sys.stderr, flush=True)
        sys.exit(1)
    n += 1""", 1)
# Keeps a job COMPLETING until the test has looked at the one that waits for its end.
EPILOG = """#!/bin/sh
for _ in $(seq 600); do [ -e {folder}/looked ] && exit 0; sleep 0.1; done
"""


def test_where_slurm_refuses_to_requeue_a_copy_of_the_script_goes_on(submitted, robustrun):
    epilog = robustrun.write("epilog", EPILOG.format(folder=robustrun.folder))
    epilog.chmod(0o755)
    job = submitted("--max-restarts=0", "--wait-for-nodes=0.5", "--preflight=off",
                    script=BREAKS_ONCE, kill_wait_s=15, options=(f"Epilog={epilog}",))
    job.steps()
    first = job.job
    job.cluster.run("scontrol", "update", f"JobId={first}", "Requeue=0")
    robustrun.write("break", "")
    job.wait(lambda: "goes on with it" in job.output(), 90, "a word about the next job")
    said = r"robustrun: Slurm does not requeue this job: job (\d+) goes on with it\n"
    (job.job,) = map(int, re.findall(said, job.output()))
    assert job.cluster.show(job.job)["Dependency"] == f"afterany:{first}(unfulfilled)"
    robustrun.write("looked", "")
    assert job.cluster.wait_end(first) == "FAILED"
    assert job.cluster.show(first)["ExitCode"] == "94:0"
    # Not two minutes later.
    job.cluster.run("scontrol", "update", f"JobId={job.job}", "StartTime=now")
    job.steps()
    job.enough()
    assert job.cluster.wait_end(job.job) == "COMPLETED"
    assert job.report()["outcome"] == "succeeded"
    assert "could not be queued again" not in job.output()
    listed = job.cluster.run("scontrol", "show", "job", "--oneliner").stdout
    assert re.findall(r"JobId=(\d+)", listed) == [str(first), str(job.job)]
    job.cluster.expect_empty()


# A Slurm that refuses to requeue, and a robustrun whose run asks for it.
REFUSING = {
    "scontrol": """#!/bin/sh
case $1 in
  show) [ "$4" = "$NAME" ] && echo "JobId=7 JobName=job JobState=$STATE Requeue=0" ;;
  write) cat script ;;
  *) exit 1 ;;
esac
""",
    "sbatch": """#!/bin/sh
echo "$*" >asked
cat >next
echo 8
exit $REFUSES
""",
    "robustrun": "#!/bin/sh\nexit 94\n",
}


@pytest.fixture
def refused(robustrun):
    """Runs the file `script` as job 7, which its copy replaces; returns the lines on stderr."""
    tools = robustrun.folder / "tools"
    tools.mkdir()
    for name, text in REFUSING.items():
        (tools / name).write_text(text)
        (tools / name).chmod(0o755)
    robustrun.write("job.py", "")
    printed = robustrun.run("submit", "--nodes=2", "--dry-run", "job.py").text
    robustrun.write("script", re.sub("^robustrun=.*", f"robustrun={tools}/robustrun", printed,
                                     flags=re.MULTILINE))

    def run(**environment):
        done = subprocess.run(
            ["bash", "script"], cwd=robustrun.folder, stdin=subprocess.DEVNULL, text=True,
            capture_output=True, env={
                "SLURM_JOB_ID": "7", "NAME": "7", "STATE": "RUNNING", "REFUSES": "0",
                "PATH": f"{tools}:{os.environ['PATH']}", **environment})
        assert done.returncode == 94
        if (robustrun.folder / "next").exists():
            (robustrun.folder / "next").replace(robustrun.folder / "script")
        first, *rest = done.stderr.splitlines()
        assert first == "robustrun: exit code 94: queueing the job again"
        return rest
    return run


@pytest.mark.parametrize("state, is_asked", [("RUNNING", True), ("COMPLETING", False)])
def test_a_job_that_goes_on_nowhere_is_named(robustrun, refused, state, is_asked):
    assert refused(STATE=state, REFUSES="1") == ["robustrun: the job could not be queued again"]
    assert (robustrun.folder / "asked").exists() == is_asked


def test_copies_that_soon_end_are_bounded_and_a_task_of_an_array_goes_on_alone(robustrun, refused):
    goes_on = ["robustrun: Slurm does not requeue this job: job 8 goes on with it"]
    script, asked = robustrun.folder / "script", robustrun.folder / "asked"
    assert refused() == goes_on
    assert "\nrobustrun_copies=1 " in script.read_text()
    assert "--dependency=afterany:7 " in asked.read_text()
    task = {"SLURM_ARRAY_JOB_ID": "5", "SLURM_ARRAY_TASK_ID": "3", "NAME": "5_3"}
    assert refused(**task) == goes_on
    assert "--dependency=afterany:5_3 --begin=now+2minutes --array=3\n" in asked.read_text()
    script.write_text(script.read_text().replace("robustrun_copies=2 ", "robustrun_copies=10 "))
    asked.unlink()
    assert refused() == [
        "robustrun: 10 copies in a row have failed within an hour each: no other one is queued",
        "robustrun: the job could not be queued again"]
    assert not asked.exists()
    # One that lived for an hour begins a new row.
    older = script.read_text().replace("quick_deaths=0\n", "quick_deaths=0 SECONDS=3600\n")
    script.write_text(older)
    assert refused() == goes_on
    assert "\nrobustrun_copies=0 " in script.read_text()


# The second node fails as a broken one does, in the first two starts.
BROKEN = SCRIPT.replace("while not", """
if rank == 1 and os.environ.get("SLURM_RESTART_COUNT", "0") in "01":
    robustrun.step(1)
    print("CUDA error: uncorrectable ECC error encountered", file=sys.stderr, flush=True)
    sys.exit(1)
while not""", 1)


def test_a_requeued_job_leaves_out_the_hosts_that_failed_it(submitted, robustrun):
    job = submitted("--max-restarts=0", "--wait-for-nodes=0.5", "--preflight=off",
                    size=4, exclude=4, script=BROKEN, kill_wait_s=15, requeue_after_s=5)
    _, n2, n3, n4 = job.cluster.names
    job.second_start()
    assert job.excluded() == [n2, n4]
    assert f"the job leaves out {n2} (unfit)" in job.output()
    assert job.cluster.show(job.job)["NumNodes"] == "2"
    # Now the third one fails as well: without both the job would not start.
    job.wait(lambda: f"{n2} (unfit) may be used again" in job.output(), 60, "the second requeue")
    assert f"the job leaves out {n3} (unfit)" in job.output()
    assert job.excluded() == [n3, n4]
    job.cluster.cancel(job.job)
    # All starts are one run.
    name = f"slurm-{job.job}"
    assert robustrun.run("nodes", f"--run={name}", "--names").text == f"{n3},{n2}\n"
    (row,) = json.loads(robustrun.run("ls", "--json").text)["runs"]
    assert (row["run"], row["starts"], row["exit_code"]) == (name, 2, 94)
    report = json.loads(robustrun.run("report", name, "--json").text)
    assert [(one["run_id"], one["exit_code"]) for one in report["earlier_starts"]] == [(name, 94)]
    assert f"before    {name}: exit code 94 after" in robustrun.run("status", name).text
    assert robustrun.run("rm", name).text.splitlines() == [
        str(job.directory()), str(job.directory(1))]


def test_a_lost_host_that_comes_back_is_left_out_at_once(submitted):
    # Slurm waits for the batch script before it changes a job that has lost a node.
    job = submitted("--wait-for-nodes=0", "--preflight=off", size=3, kill_wait_s=30,
                    requeue_after_s=5)
    job.steps()
    lost = job.cluster[2]
    lost.die()
    job.cluster.declare_down(lost.name)
    said = f"the job leaves out {lost.name} (lost)"
    job.wait(lambda: said in job.output(), 60, "a word about the host")
    lost.boot()
    # Not after KillWait.
    job.wait(lambda: job.cluster.state(job.job) == "PENDING", 15, "the end of the first start")
    job.second_start()
    assert job.excluded() == [lost.name]
    job.steps(start=1)
    assert {node["name"] for node in job.status(1)["nodes"]} == {
        job.cluster[1].name, job.cluster[3].name}
    job.enough()
    assert job.cluster.wait_end(job.job) == "COMPLETED"


def test_time_limits_are_warned_of_and_may_start_the_job_again(submitted):
    job = submitted("--requeue-on=infrastructure,time-limit", "--save-within=30", kill_wait_s=15,
                    requeue_after_s=5)
    job.steps()
    job.cluster.end_in(job.job, 85)  # the warning comes with the next look at the clock
    job.second_start()
    report = job.report()
    assert report["exit_code"] == 124
    assert f"the time limit of job {job.job} is near" in json.dumps(report)
    job.steps(start=1)
    job.enough()
    assert job.cluster.wait_end(job.job) == "COMPLETED"


# examples/train.py, with saves that take seconds.
SLOW_SAVES = f"""
import sys, time
sys.path.insert(0, {str(ROOT / "examples")!r})
import train
from robustrun._checkpoint.notes import note

save = train.save

def slow(args, step, *state):
    began = time.monotonic_ns()
    time.sleep(4)
    save(args, step, *state)
    note("saved", step=step, directories=[str(args.checkpoint)],
         total_ns=time.monotonic_ns() - began)

train.save = slow
train.main()
"""


@pytest.mark.nightly
def test_the_last_save_before_the_time_limit_begins_as_early_as_saves_need(
        submitted, robustrun, tmp_path):
    steps = 400
    curves = tmp_path / "undisturbed", tmp_path / "limited"
    alone = robustrun.run("--nproc-per-node=2", ROOT / "examples/train.py", f"--steps={steps}",
                          f"--curve={curves[0]}")
    assert alone.code == 0, alone.errors
    job = submitted(kill_wait_s=15, requeue_after_s=5)
    job.enough()
    job.cluster.wait_end(job.job)
    robustrun.write("job.py", SLOW_SAVES)
    saves = tmp_path / "saves"
    job.job = job.submit(
        "--requeue-on=infrastructure,time-limit", "--save-within=30", "--slurm-poll=0.5",
        arguments=[f"--steps={steps}", f"--curve={curves[1]}", f"--checkpoint={saves}",
                   "--every=30", "--slow=0.2", "--save-on-stop"],
    )
    job.wait(lambda: list(saves.glob("step-*.pt")), 150, "the first save")
    # Slurm warns 90 s before the end, which is early; half a minute before it would be late.
    job.cluster.end_in(job.job, 100)
    job.second_start()
    assert job.cluster.wait_end(job.job, within_s=300) == "COMPLETED", job.output()
    first = job.report()
    assert first["exit_code"] == 124
    said = rf"time limit of Slurm job {job.job} at \d\d:\d\d:\d\d; the longest save took 4\.\d s"
    assert re.search(said, json.dumps(first))
    one_start = job.output().split(f"job {job.job} is queued again")[0]
    assert len(re.findall(said + r": saving at \d\d:\d\d:\d\d", one_start)) == 1, one_start
    assert f"the time limit of job {job.job} is near; saving at" in one_start
    # No step was lost or repeated, and every loss is the same as in an undisturbed run.
    assert curves[1].read_text() == curves[0].read_text()
    job.cluster.expect_empty()


def test_a_time_limit_that_is_reached_is_named(submitted):
    job = submitted(kill_wait_s=15)
    job.steps()
    job.cluster.end_in(job.job, 1)
    assert job.cluster.wait_end(job.job, within_s=150) == "TIMEOUT"
    report = job.report()
    assert report["exit_code"] == 124
    assert re.search(rf"Slurm ends job {job.job} at its|limit of job {job.job} is near",
                     json.dumps(report))
    job.cluster.expect_empty()


def test_a_supervisor_that_dies_is_replaced_by_the_batch_script(submitted):
    job = submitted()
    job.steps()
    before = job.status()
    os.kill(before["pid"], signal.SIGKILL)
    wait_for(lambda: "starting another one" in job.output(), what="a word about it")
    wait_for(lambda: job.status().get("pid", before["pid"]) != before["pid"], what="another one")
    job.steps(before["steps"] + 50)
    assert job.status()["attempt"] == 0
    job.enough()
    assert job.cluster.wait_end(job.job) == "COMPLETED"
    assert job.output().count("hello from") == 2
    assert not is_alive(before["pid"])


def test_a_drained_node_goes_on(submitted):
    job = submitted()
    job.steps()
    job.cluster.drain(job.cluster.names[1])
    steps = job.status()["steps"]
    job.steps(steps + 20)
    job.enough()
    assert job.cluster.wait_end(job.job) == "COMPLETED"


def test_the_printed_script_is_the_submitted_one(submitted, robustrun):
    job = submitted()
    printed = robustrun.run("submit", "--nodes=2", "--dry-run", "job.py")
    assert printed.code == 0
    job.enough()
    job.cluster.wait_end(job.job)
    again = job.cluster.sbatch(printed.text, cwd=robustrun.folder)
    assert job.cluster.wait_end(again) == "COMPLETED"
    assert (robustrun.folder / f"robustrun-runs/slurm-{again}/journal").exists()


def test_an_error_of_slurm_is_shown(submitted, robustrun):
    job = submitted()
    job.enough()
    refused = robustrun.run(
        "submit", "--nodes=2", "--partition=nowhere", "job.py", env=job.cluster.environment()
    )
    assert refused.code == 2
    assert re.search(r"cannot submit: sbatch ended with exit code 1: .*partition", refused.errors)
    nothing = robustrun.run("submit", "--nodes=2", "job.py",
                            env={"PATH": os.path.dirname(sys.executable)})
    assert nothing.code == 2
    assert "sbatch is not on PATH" in nothing.errors
    job.cluster.wait_end(job.job)


# Answers as Slurm 24.11.5 does during the grace of a preemption; "done" has what it was told to do.
SCONTROL = """#!/bin/sh
case "$*" in
  --version) echo slurm-wlm 24.11.5 ;;
  "show job --oneliner 7")
    echo JobId=7 Partition=low JobState=RUNNING PreemptTime=2026-11-29T17:40:48 ;;
  "show partition --oneliner low") echo PartitionName=low PreemptMode={mode} ;;
  *) echo "$*" >> {folder}/done ;;
esac
"""


@pytest.mark.parametrize("mode", ["REQUEUE", "CANCEL"])
def test_a_newer_slurm_queues_a_preempted_job_again_by_itself(robustrun, mode):
    tools = robustrun.folder / "tools"
    tools.mkdir()
    (tools / "scontrol").write_text(SCONTROL.format(mode=mode, folder=robustrun.folder))
    (tools / "scontrol").chmod(0o755)
    asked = robustrun.run("requeue", env={"SLURM_JOB_ID": "7",
                                          "PATH": f"{tools}:{os.environ['PATH']}"})
    assert asked.code == 0, asked.errors
    done = robustrun.folder / "done"
    if mode == "CANCEL":
        assert done.read_text().splitlines()[0] == "requeue 7"
        robustrun.run("requeue", env={"SLURM_JOB_ID": "7", "SLURM_ARRAY_JOB_ID": "7",
                                      "SLURM_ARRAY_TASK_ID": "2",
                                      "PATH": f"{tools}:{os.environ['PATH']}"})
        assert "requeue 7_2" in done.read_text().splitlines()
    else:
        assert "Slurm queues it again when this script has ended" in asked.errors
        assert not done.exists()


def test_a_job_whose_starts_are_all_in_vain_is_not_queued_again(robustrun):
    tools = robustrun.folder / "tools"
    tools.mkdir()
    for name, text in {"scontrol": "touch asked", "sbatch": "touch asked",
                       "robustrun": "[ $1 = requeue ] && exit 93; exit 94"}.items():
        (tools / name).write_text(f"#!/bin/sh\n{text}\n")
        (tools / name).chmod(0o755)
    robustrun.write("job.py", "")
    printed = robustrun.run("submit", "--nodes=2", "--dry-run", "job.py").text
    script = re.sub("^robustrun=.*", f"robustrun={tools}/robustrun", printed, flags=re.MULTILINE)
    done = subprocess.run(
        ["bash", "-c", script], cwd=robustrun.folder, stdin=subprocess.DEVNULL, text=True,
        capture_output=True, env={"SLURM_JOB_ID": "7", "PATH": f"{tools}:{os.environ['PATH']}"})
    assert done.returncode == 94
    assert done.stderr == "robustrun: exit code 94: queueing the job again\n"
    assert not (robustrun.folder / "asked").exists()
