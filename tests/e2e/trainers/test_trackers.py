"""--trackers with the real packages: one run and one curve over a kill, a resume and a requeue.

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
from helpers.processes import wait_for
from helpers.runner import ROOT
from trainers.wandb_server import WandbServer

STEPS = 40
# Logs every step, saves every fifth one, and kills itself at step 13 of the first attempt. The
# trackers are called as in any script; torch is imported where the tracker needs it.
SCRIPT = r"""
import os, sys, time
try:
    import robustrun
    note_step = robustrun.step
except ImportError:  # --inject=off
    note_step = lambda step: None
rank, attempt, kind = int(os.environ["RANK"]), os.environ["TORCHELASTIC_RESTART_COUNT"], sys.argv[1]
saved = int(open("saved").read()) if os.path.exists("saved") else 0
if rank > 0 and kind != "wandb-all":
    log = lambda step: None
elif kind.startswith("wandb"):
    import wandb
    given = {"id": f"mine-{attempt}"} if kind == "wandb-id" else {}
    run = wandb.init(project="p", **given)
    log = lambda step: wandb.log({"loss": 1 / step, "text": "x" * 9000}, step=step)
elif kind == "mlflow":
    import mlflow
    mlflow.start_run()
    mlflow.log_params({"lr": 0.1, "begin": saved})
    log = lambda step: mlflow.log_metric("loss", 1 / step, step=step)
elif kind == "aim":
    import aim
    run = aim.Run(repo=".", system_tracking_interval=None, capture_terminal_logs=False)
    log = lambda step: run.track(1 / step, name="loss", step=step)
else:
    from torch.utils.tensorboard import SummaryWriter
    import socket
    made = "out/runs/" + time.strftime("%b%d_%H-%M-%S_") + socket.gethostname()
    folder = {"tensorboard": None, "tensorboard-made": made, "tensorboard-own": "own"}[kind]
    writer = SummaryWriter(folder)
    def log(step):
        writer.add_scalar("loss", 1 / step, step)
        writer.flush()
print(f"begin {rank} {attempt} {saved}", flush=True)
for step in range(saved + 1, 41):
    note_step(step)
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


def needs(module):
    return pytest.mark.skipif(importlib.util.find_spec(module) is None,
                              reason=f"{module} is not installed")


TENSORBOARD, MLFLOW, WANDB = needs("tensorboard"), needs("mlflow"), needs("wandb")
KINDS = [pytest.param("tensorboard", marks=TENSORBOARD),
         pytest.param("tensorboard-made", marks=TENSORBOARD),
         pytest.param("tensorboard-own", marks=TENSORBOARD),
         pytest.param("mlflow", marks=MLFLOW), pytest.param("wandb", marks=WANDB),
         pytest.param("aim", marks=pytest.mark.nightly)]


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
        ranks = 2 if kind in ("wandb-all", "tensorboard") else 1  # each takes torch's start
        done = robustrun.run(f"--nproc-per-node={ranks}", *options, "job.py", kind, env=env,
                             timeout=300)
        assert done.code == code, done.errors
        return done

    run.folder = robustrun.folder
    run.runner = robustrun
    return run


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


READERS = {"tensorboard": tensorboard_runs, "mlflow": mlflow_runs, "wandb": wandb_runs,
           "aim": aim_runs}


def curves(kind, folder):
    return READERS[kind.partition("-")[0]](folder)


def is_whole(steps):
    return [step for step in steps if step > 13] == list(range(14, STEPS + 1)) and \
        steps == sorted(steps)


@pytest.mark.parametrize("kind", KINDS)
def test_a_killed_training_leaves_one_run_and_one_curve(training, kind):
    done = training(kind, "--trackers=resume")
    (steps,) = curves(kind, training.folder)
    assert is_whole(steps), steps
    if kind != "wandb":
        assert steps[0] == 1
    assert re.search(r"robustrun: trackers: \w+ (run|folder) \S+ is continued", done.errors)
    assert "will be split" not in done.errors


@pytest.mark.parametrize("kind, line", [
    pytest.param("wandb", r"wandb run \w+ will be split in two: --trackers=resume continues it",
                 marks=WANDB),
    pytest.param("mlflow", r"mlflow run \w+ will be split in two: --trackers=resume continues it",
                 marks=MLFLOW),
    pytest.param("tensorboard", None, marks=TENSORBOARD)])
def test_without_the_option_runs_are_split_and_the_option_suggested_once(training, kind, line):
    done = training(kind)
    assert len(curves(kind, training.folder)) == 2
    found = re.findall(r"\w+ run \w+ will be split.*", done.errors)
    assert len(found) == (line is not None)
    assert line is None or re.fullmatch(line, found[0])
    assert "robustrun: trackers" not in done.errors
    assert not list(training.folder.glob("robustrun-runs/*/trackers"))


@WANDB
def test_every_rank_continues_its_own_run(training):
    training("wandb-all", "--trackers=resume")
    files = wandb_files(training.folder)
    names = [identity for identity, _ in files]
    assert len(files) == 4 and len(set(names)) == 2
    for rank in range(2):
        (state,) = training.folder.glob(f"robustrun-runs/*/trackers/rank-{rank}.json")
        (run,) = json.loads(state.read_text())["runs"]
        assert names.count(run["id"]) == 2


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
def test_an_id_of_the_script_stays(training):
    done = training("wandb-id", "--trackers=resume")
    assert [identity for identity, _ in wandb_files(training.folder)] == ["mine-0", "mine-1"]
    assert "robustrun: trackers" not in done.errors


@WANDB
def test_runs_of_a_sweep_are_left_alone(training):
    done = training("wandb", "--trackers=resume", WANDB_SWEEP_ID="s1")
    names = [identity for identity, _ in wandb_files(training.folder)]
    assert len(set(names)) == 2
    assert "robustrun: trackers" not in done.errors


@pytest.mark.parametrize("kind", [pytest.param("wandb", marks=WANDB),
                                  pytest.param("mlflow", marks=MLFLOW)])
def test_incidents_are_written_to_the_tracker(training, kind):
    training(kind, "--trackers=resume,annotate")
    if kind == "mlflow":
        (tag,) = training.folder.glob("mlruns/0/*/tags/robustrun.incident.*")
        text = tag.read_text()
    else:
        (text,) = [record.alert.text for _, path in wandb_files(training.folder)
                   for record in wandb_records(path)
                   if record.WhichOneof("record_type") == "alert"]
    assert "rank 0" in text and "SIGKILL" in text


@MLFLOW
def test_a_folder_that_cannot_be_written_costs_a_line_and_nothing_else(training):
    training.runner.write("blocked", "")
    training.runner.write("sitecustomize.py", (
        "import os\nstate = os.environ.get('ROBUSTRUN_TRACKER_STATE')\n"
        "if state:\n    os.environ['ROBUSTRUN_TRACKER_STATE'] = 'resume:blocked/x'\n"))
    done = training("mlflow", "--trackers=resume", PYTHONPATH=str(training.folder))
    assert len(mlflow_runs(training.folder)) == 2
    assert "robustrun: trackers: mlflow: --trackers has" in done.errors


@TENSORBOARD
def test_a_standby_worker_continues_the_run(training):
    runner = training.runner
    running = runner.start("--nproc-per-node=2", "--trackers=resume", "--events=events", "job.py",
                           "tensorboard", env={"PYTHON_EXEC": sys.executable, "WAIT": "1"})
    runner.waiting_standbys(2)
    runner.write("go", "")
    done = running.finish()
    assert done.code == 0, done.errors
    (steps,) = tensorboard_runs(training.folder)
    assert steps == list(range(1, STEPS + 1))
    events = [json.loads(line) for line in (training.folder / "events").read_text().splitlines()]
    starts = [event["text"] for event in events
              if event["event"] == "worker_started" and event["attempt"] == 1]
    assert starts == ["warm", "warm"]


@TENSORBOARD
def test_a_resumed_run_continues(training):
    runner = training.runner
    running = runner.start("--nproc-per-node=2", "--trackers=resume", "job.py", "tensorboard",
                           env={"PYTHON_EXEC": sys.executable, "WAIT": "1"})
    wait_for(lambda: (training.folder / "saved").exists()
             and (training.folder / "saved").read_text() == "10", what="step 10")
    running.process.send_signal(signal.SIGKILL)
    running.finish()
    runner.expect_nothing_left()
    done = runner.run("resume", runner.newest_run())
    assert done.code == 0, done.errors
    (steps,) = tensorboard_runs(training.folder)
    assert steps == list(range(1, STEPS + 1))


@TENSORBOARD
def test_a_requeued_job_continues_the_runs_of_its_first_start(training):
    """Starts as by the batch script of `robustrun submit`, without Slurm."""
    options = ("--trackers=resume", "--standalone")
    job = {"SLURM_JOB_ID": "7"}
    training("tensorboard", "--max-restarts=0", "--run-dir=robustrun-runs/slurm-7", *options,
             code=128 + signal.SIGKILL, **job)
    training("tensorboard", "--run-dir=robustrun-runs/slurm-7-1", *options,
             SLURM_RESTART_COUNT="1", **job)
    (steps,) = tensorboard_runs(training.folder)
    assert [step for step in steps if step <= 10] == list(range(1, 11))
    assert steps[-1] == STEPS and steps == sorted(set(steps))
    # Another job of the same user begins anew.
    os.remove(training.folder / "saved")
    training("tensorboard", "--run-dir=robustrun-runs/slurm-8", *options, SLURM_JOB_ID="8")
    assert len(tensorboard_runs(training.folder)) == 2


def test_an_unknown_word_is_refused(training):
    done = training("tensorboard", "--trackers=resume,anotate", code=2)
    assert "'anotate': expected resume, annotate or both (did you mean annotate?)" in done.errors


@TENSORBOARD
def test_without_the_boot_module_the_option_warns(training):
    done = training("tensorboard", "--trackers=resume", "--inject=off")
    assert "--trackers=resume has no effect" in done.errors
    assert len(tensorboard_runs(training.folder)) == 2
