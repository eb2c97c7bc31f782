"""--trackers: one run and one curve over a kill, a resume and a requeue. The kill with the real
packages, all in one job, as their imports take longest; the rest with a played one.

W&B runs offline, or with a played server (wandb_server.py). Aim is in the packages of
`scripts/install-deps.sh packages`."""

import importlib.util
import json
import os
import re
import signal
import struct
import subprocess
import sys

import pytest
from helpers.processes import sleeps_on_a_socket, wait_for
from helpers.runner import ROOT
from trainers.wandb_server import WandbServer

STEPS = 40
# Logs every step to all trackers of its argument, saves every fifth one, and kills itself at step
# 13 of the first attempt. The trackers are called as in any script.
SCRIPT = r"""
import os, sys, time
try:
    import robustrun
    note_step = robustrun.step
except ImportError:  # --inject=off
    note_step = lambda step: None
rank, attempt = int(os.environ["RANK"]), os.environ["TORCHELASTIC_RESTART_COUNT"]
saved = int(open("saved").read()) if os.path.exists("saved") else 0

def begin(kind):
    if kind.startswith("wandb"):
        import wandb
        given = {"id": f"mine-{attempt}"} if kind == "wandb-id" else {}
        run = wandb.init(project="p", **given)
        return lambda step: wandb.log({"loss": 1 / step, "text": "x" * 9000}, step=step)
    if kind == "mlflow":
        import mlflow
        mlflow.start_run()
        mlflow.log_params({"lr": 0.1, "begin": saved})
        return lambda step: mlflow.log_metric("loss", 1 / step, step=step)
    if kind == "aim":
        import aim
        run = aim.Run(repo=".", system_tracking_interval=None, capture_terminal_logs=False)
        return lambda step: run.track(1 / step, name="loss", step=step)
    from torch.utils.tensorboard import SummaryWriter
    import socket
    made = "out/runs/" + time.strftime("%b%d_%H-%M-%S_") + socket.gethostname()
    folder = {"tensorboard": None, "tensorboard-made": made, "tensorboard-own": "own"}[kind]
    writer = SummaryWriter(folder)
    def log(step):
        writer.add_scalar("loss", 1 / step, step)
        writer.flush()
    return log

logs = [begin(kind) for kind in sys.argv[1].split(",") if rank == 0 or kind == "wandb-all"]
print(f"begin {rank} {attempt} {saved}", flush=True)
for step in range(saved + 1, 41):
    note_step(step)
    for log in logs:
        log(step)
    open(f"logged.{rank}", "w").close()
    if rank == 0 and step % 5 == 0:
        with open("saved.new", "w") as file:
            file.write(str(step))
        os.rename("saved.new", "saved")
    if attempt == "0" and rank == 0 and step == 13:
        while os.environ.get("WAIT") and not os.path.exists("go"):
            time.sleep(0.01)
        while os.environ["WORLD_SIZE"] == "2" and not os.path.exists("logged.1"):
            time.sleep(0.01)
        time.sleep(0.5)
        os.kill(os.getpid(), 9)
    time.sleep(0.01 if rank == 0 else 0.2)
"""


# The newest run of each is in `played-ID`, a line per step.
PLAYED = """
import os, types
run = None
def init(entity=None, project=None, id=None, name=None, group=None, job_type=None, mode=None,
         reinit=None, resume=None, resume_from=None, fork_from=None, settings=None):
    global run
    run = types.SimpleNamespace(id=id or os.urandom(4).hex(),
                                settings=types.SimpleNamespace(sweep_id=None))
    return run
def log(values, step):
    with open(f"played-{run.id}", "a") as file:
        print(step, file=file)
"""


def needs(*modules):
    lacking = [each for each in modules if importlib.util.find_spec(each) is None]
    return pytest.mark.skipif(bool(lacking), reason=f"{' '.join(lacking)} is not installed")


ALL = needs("tensorboard", "mlflow", "wandb")
MLFLOW, WANDB = needs("mlflow"), needs("wandb")


def python_with(module):
    if importlib.util.find_spec(module) is not None:
        return sys.executable
    python = ROOT / ".venv-packages" / "bin" / "python"
    if not python.exists():
        pytest.skip("scripts/install-deps.sh packages")
    return str(python)


@pytest.fixture
def training(robustrun):
    robustrun.write("job.py", SCRIPT)
    robustrun.environment.update(
        WANDB_MODE="offline", WANDB_SILENT="true", MLFLOW_TRACKING_URI="file:./mlruns",
        MLFLOW_ALLOW_FILE_STORE="true", MLFLOW_DISABLE_TELEMETRY="true")

    def run(kind, *options, code=0, **env):
        env["PYTHON_EXEC"] = python_with("aim") if kind == "aim" else sys.executable
        ranks = 2 if "wandb-all" in kind else 1
        done = robustrun.run(f"--nproc-per-node={ranks}", *options, "job.py", kind, env=env,
                             timeout=300)
        assert done.code == code, done.errors
        return done

    run.folder = robustrun.folder
    run.runner = robustrun
    return run


@pytest.fixture
def played(training):
    """A training whose wandb is played."""
    libraries = training.folder / "libraries" / "site-packages"
    libraries.mkdir(parents=True)
    (libraries / "wandb.py").write_text(PLAYED)
    training.runner.environment["PYTHONPATH"] = str(libraries)
    return training


def played_runs(folder):
    """The steps of each run, in the order of their first mention."""
    return [list(dict.fromkeys(map(int, path.read_text().split())))
            for path in folder.glob("played-*")]


def tensorboard_runs(folder):
    from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

    curves = []
    for path in {file.parent for file in folder.glob("**/events.out.tfevents.*")}:
        events = EventAccumulator(str(path))
        events.Reload()
        curves.append([event.step for event in events.Scalars("loss")])
    return curves


def mlflow_runs(folder):
    """The steps of each run, in the order of their first mention: MLflow keeps both values of a
    step that is logged twice."""
    return [list(dict.fromkeys(int(line.split()[2]) for line in file.read_text().splitlines()))
            for file in folder.glob("mlruns/0/*/metrics/loss")]


def wandb_records(path):
    """Records of an offline run's file, which is in the format of LevelDB's log."""
    from wandb.proto.wandb_internal_pb2 import Record

    data, at, whole = path.read_bytes(), 7, b""
    while at + 7 <= len(data):
        if 32768 - at % 32768 < 7:
            at += 32768 - at % 32768
            continue
        _, size, kind = struct.unpack_from("<IHB", data, at)
        whole += data[at + 7:at + 7 + size]
        at += 7 + size
        if kind in (1, 4):
            record = Record()
            record.ParseFromString(whole)
            yield record
            whole = b""


def wandb_files(folder):
    """The files of offline runs, the oldest first: (id, path)."""
    files = sorted(folder.glob("wandb/offline-run-*/*.wandb"))
    return [(path.stem.removeprefix("run-"), path) for path in files]


def wandb_runs(folder):
    """The steps of each run; killed processes lose what wandb had in memory."""
    curves = {}
    for identity, path in wandb_files(folder):
        steps = curves.setdefault(identity, {})
        for record in wandb_records(path):
            if record.WhichOneof("record_type") == "history":
                steps[record.history.step.num] = None
    return [list(steps) for steps in curves.values()]


def aim_runs(folder):
    """The steps of each run: the logged value is 1 / step, and Aim keeps hashes of steps."""
    reader = ("import aim, json, sys\nfrom aim.storage.context import Context\nfound = []\n"
              "for name in sys.argv[1:]:\n"
              "    run = aim.Run(name, repo='.', system_tracking_interval=None,\n"
              "                  capture_terminal_logs=False, force_resume=True)\n"
              "    found.append(run.get_metric('loss', Context({})).values.sparse_list()[1])\n"
              "print(json.dumps(found))\n")
    names = [path.name for path in (folder / ".aim" / "meta" / "chunks").iterdir()]
    done = subprocess.run([python_with("aim"), "-c", reader, *names], cwd=folder,
                          capture_output=True, text=True, check=True)
    return [sorted(round(1 / value) for value in run) for run in json.loads(done.stdout)]


def is_whole(steps):
    return [step for step in steps if step > 13] == list(range(14, STEPS + 1)) and \
        steps == sorted(steps)


@ALL
def test_a_killed_training_leaves_one_run_and_one_curve_and_a_note_of_the_incident(training):
    folder = training.folder
    done = training("tensorboard,tensorboard-made,tensorboard-own,mlflow,wandb-all",
                    "--trackers=resume,annotate")
    boards, (mlflow,), ranks = tensorboard_runs(folder), mlflow_runs(folder), wandb_runs(folder)
    assert len(boards) == 3 and len(ranks) == 2
    for steps in (*boards, mlflow):
        assert is_whole(steps) and steps[0] == 1, steps
    assert "will be split" not in done.errors
    said = re.findall(r"robustrun: trackers: (\w+) (?:run|folder) \S+ is continued", done.errors)
    assert sorted(said) == ["mlflow"] + ["tensorboard"] * 3 + ["wandb"] * 2

    # Every rank of W&B continues its own run.
    files = wandb_files(folder)
    names = [identity for identity, _ in files]
    assert len(files) == 4 and len(set(names)) == 2
    for rank in range(2):
        (state,) = folder.glob(f"robustrun-runs/*/trackers/rank-{rank}.json")
        runs = json.loads(state.read_text())["runs"]
        (run,) = [run for run in runs if run["tracker"] == "wandb"]
        assert names.count(run["id"]) == 2
        if rank == 0:
            assert is_whole(ranks[names.index(run["id"])])

    (tag,) = folder.glob("mlruns/0/*/tags/robustrun.incident.*")
    alerts = [record.alert.text for _, path in files for record in wandb_records(path)
              if record.WhichOneof("record_type") == "alert"]
    for text in (tag.read_text(), *alerts):
        assert "rank 0" in text and "SIGKILL" in text
    assert alerts


@pytest.mark.nightly
def test_a_killed_training_leaves_one_run_of_aim(training):
    done = training("aim", "--trackers=resume")
    (steps,) = aim_runs(training.folder)
    assert is_whole(steps) and steps[0] == 1, steps
    assert re.search(r"robustrun: trackers: aim run \S+ is continued", done.errors)


@ALL
def test_without_the_option_runs_are_split_and_the_option_suggested_once(training):
    folder = training.folder
    done = training("tensorboard,mlflow,wandb")
    assert [len(read(folder)) for read in (tensorboard_runs, mlflow_runs, wandb_runs)] == [2] * 3
    line = r"(\w+) run \w+ will be split in two: --trackers=resume continues it"
    assert sorted(re.findall(line, done.errors)) == ["mlflow", "wandb"]
    assert len(re.findall(r"will be split", done.errors)) == 2
    assert "robustrun: trackers" not in done.errors
    assert not list(folder.glob("robustrun-runs/*/trackers"))


@pytest.fixture
def wandb_server():
    server = WandbServer()
    yield server
    server.close()


@WANDB
def test_wandb_goes_on_behind_the_steps_that_its_server_has(training, wandb_server):
    runner = training.runner
    running = runner.start(
        "--nproc-per-node=2", "--trackers=resume,annotate", "job.py", "wandb",
        env={"PYTHON_EXEC": sys.executable, "WAIT": "1", "WANDB_MODE": "online",
             "WANDB_BASE_URL": wandb_server.url, "WANDB_API_KEY": "k" * 40,
             "WANDB_X_FILE_STREAM_TRANSMIT_INTERVAL": "1"})
    wait_for(lambda: [steps for steps in wandb_server.runs.values() if len(steps) >= 12],
             what="12 steps at the server")
    runner.write("go", "")
    done = running.finish()
    assert done.code == 0, done.errors
    (name,) = wandb_server.runs
    assert wandb_server.asked[-1] == name
    assert wandb_server.runs[name] == list(range(1, STEPS + 1))
    (alert,) = wandb_server.alerts
    assert "SIGKILL" in alert


@WANDB
@pytest.mark.nightly
def test_the_parts_of_an_offline_run_are_synced_as_one(training, wandb_server):
    """One by one, as docs/trackers.md says."""
    training("wandb", "--trackers=resume")
    server = {"WANDB_BASE_URL": wandb_server.url, "WANDB_API_KEY": "k" * 40, "WANDB_MODE": "online"}
    parts = wandb_files(training.folder)
    for _, path in parts:
        subprocess.run([sys.executable, "-m", "wandb", "sync", "--yes", path.parent],
                       env={**os.environ, **server}, cwd=training.folder, check=True, timeout=120)
    assert len(parts) == 2
    (steps,) = wandb_server.runs.values()
    assert is_whole(steps)


@WANDB
@pytest.mark.nightly
def test_an_id_of_the_script_stays(training):
    done = training("wandb-id", "--trackers=resume")
    assert [identity for identity, _ in wandb_files(training.folder)] == ["mine-0", "mine-1"]
    assert "robustrun: trackers" not in done.errors


@WANDB
@pytest.mark.nightly
def test_runs_of_a_sweep_are_left_alone(training):
    done = training("wandb", "--trackers=resume", WANDB_SWEEP_ID="s1")
    names = [identity for identity, _ in wandb_files(training.folder)]
    assert len(set(names)) == 2
    assert "robustrun: trackers" not in done.errors


@MLFLOW
@pytest.mark.nightly
def test_a_folder_that_cannot_be_written_costs_a_line_and_nothing_else(training):
    training.runner.write("blocked", "")
    training.runner.write("sitecustomize.py", (
        "import os\nstate = os.environ.get('ROBUSTRUN_TRACKER_STATE')\n"
        "if state:\n    os.environ['ROBUSTRUN_TRACKER_STATE'] = 'resume:blocked/x'\n"))
    done = training("mlflow", "--trackers=resume", PYTHONPATH=str(training.folder))
    assert len(mlflow_runs(training.folder)) == 2
    assert "robustrun: trackers: mlflow: --trackers has" in done.errors


def test_a_standby_worker_continues_the_run(played):
    runner = played.runner
    running = runner.start("--nproc-per-node=2", "--trackers=resume", "--events=events", "job.py",
                           "wandb", env={"PYTHON_EXEC": sys.executable, "WAIT": "1"})
    wait_for(lambda: sum(map(sleeps_on_a_socket, runner.standbys())) == 2, 300, "standby workers")
    runner.write("go", "")
    done = running.finish()
    assert done.code == 0, done.errors
    (steps,) = played_runs(played.folder)
    assert steps == list(range(1, STEPS + 1))
    events = [json.loads(line) for line in (played.folder / "events").read_text().splitlines()]
    starts = [event["text"] for event in events
              if event["event"] == "worker_started" and event["attempt"] == 1]
    assert starts == ["warm", "warm"]


def test_a_resumed_run_continues(played):
    runner = played.runner
    running = runner.start("--nproc-per-node=2", "--trackers=resume", "job.py", "wandb",
                           env={"PYTHON_EXEC": sys.executable, "WAIT": "1"})
    wait_for(lambda: (played.folder / "saved").exists()
             and (played.folder / "saved").read_text() == "10", what="step 10")
    running.process.send_signal(signal.SIGKILL)
    running.finish()
    runner.expect_nothing_left()
    done = runner.run("resume", runner.newest_run())
    assert done.code == 0, done.errors
    (steps,) = played_runs(played.folder)
    assert steps == list(range(1, STEPS + 1))


def test_a_requeued_job_continues_the_runs_of_its_first_start(played):
    """Starts as by the batch script of `robustrun submit`, without Slurm."""
    options = ("--trackers=resume", "--standalone")
    job = {"SLURM_JOB_ID": "7"}
    played("wandb", "--max-restarts=0", "--run-dir=robustrun-runs/slurm-7", *options,
           code=128 + signal.SIGKILL, **job)
    played("wandb", "--run-dir=robustrun-runs/slurm-7-1", *options,
           SLURM_RESTART_COUNT="1", **job)
    (steps,) = played_runs(played.folder)
    assert [step for step in steps if step <= 10] == list(range(1, 11))
    assert steps[-1] == STEPS and steps == sorted(set(steps))
    # Another job of the same user begins anew.
    os.remove(played.folder / "saved")
    played("wandb", "--run-dir=robustrun-runs/slurm-8", *options, SLURM_JOB_ID="8")
    assert len(played_runs(played.folder)) == 2


def test_an_unknown_word_is_refused(played):
    done = played("wandb", "--trackers=resume,anotate", code=2)
    assert "'anotate': expected resume, annotate or both (did you mean annotate?)" in done.errors


def test_without_the_boot_module_the_option_warns(played):
    done = played("wandb", "--trackers=resume", "--inject=off")
    assert "--trackers=resume has no effect" in done.errors
    assert len(played_runs(played.folder)) == 2
