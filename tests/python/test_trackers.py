"""Which earlier run a tracker's run continues (--trackers), with played trackers; the real ones are
in tests/e2e/trainers/test_trackers.py."""

import json
import sys

import pytest
from conftest import PACKAGE, RecordFile, clean_environment

sys.path.insert(0, str(PACKAGE))
from robustrun._trackers.runs import Runs  # noqa: E402

# As much of wandb as the hook touches. A broken one cannot be continued.
WANDB = """
import os
run = None
class Run:
    def __init__(self, given):
        settings = given["settings"] or {}
        self.id = given["id"] or settings.get("run_id") or os.environ.get("WANDB_RUN_ID") or (
            os.urandom(4).hex())
        self.given, self.settings = given, type("S", (), {"sweep_id": None, "resume": None})
        self.disabled, self._is_finished = given["mode"] == "disabled", False
    def alert(self, title, text, level): print("alert", title, "|", text, "|", level)
    def finish(self):
        global run
        self._is_finished, run = True, None
def init(entity=None, project=None, id=None, name=None, group=None, job_type=None, mode=None,
         reinit=None, resume=None, resume_from=None, fork_from=None, settings=None):
    global run
    if id and os.environ.get("BROKEN"):
        raise ValueError("no such run\\nat all")
    if run is None or reinit == "create_new":
        run = Run(dict(locals()))
    return run
"""
MLFLOW = """
import os, types
runs = {}
class MlflowClient:
    tracking_uri = "played"
    def create_run(self, experiment_id, start_time=None, tags=None, run_name=None):
        return self.get_run(os.urandom(4).hex())
    def get_run(self, run_id):
        info = types.SimpleNamespace(run_id=run_id, lifecycle_stage="active", status="RUNNING")
        return types.SimpleNamespace(info=info, data=types.SimpleNamespace(params={}))
    def update_run(self, run_id, status=None): print("update", status)
    def set_tag(self, run_id, key, value): print("tag", key, value)
    def log_param(self, run_id, key, value):
        raise ValueError("Changing param values is not allowed. " + key)
    def log_batch(self, run_id, metrics=(), params=()): pass
"""


@pytest.fixture
def attempt(boot, tmp_path):
    """attempt(source, …): runs it as an attempt's worker; returns the lines that it prints and the
    lines of ours."""
    (tmp_path / "wandb.py").write_text(WANDB)
    package = tmp_path / "mlflow" / "tracking"
    package.mkdir(parents=True)
    for folder in (package.parent, package):
        (folder / "__init__.py").write_text("")
    (package / "client.py").write_text(MLFLOW)

    def run(source, words="resume", folder=tmp_path / "state", rank=0, code=0, **extra):
        (tmp_path / "job.py").write_text(source)
        done = boot("script", "job.py", env=clean_environment(
            RANK=str(rank), ROBUSTRUN_TRACKER_STATE=f"{words}:{folder}", **extra))
        assert done.returncode == code, done.stderr.decode()
        return done.stdout.decode().split("\n")[:-1], done.stderr.decode().split("\n")[:-1]

    run.boot = boot
    return run


ONE = "import wandb\nprint(wandb.init(project='p').id)\n"


def test_the_next_attempt_continues_the_run(attempt, tmp_path):
    (first,), said = attempt(ONE)
    assert said == []
    for _ in range(2):
        (again,), said = attempt(ONE)
        assert again == first
        assert said == [f"robustrun: trackers: wandb run {first} is continued"]
    content = json.loads((tmp_path / "state" / "rank-0.json").read_text())
    assert [run["id"] for run in content["runs"]] == [first]
    source = "import wandb\nrun = wandb.init(project='p')\nprint(run.given['resume'])\n"
    assert attempt(source)[0] == ["allow"]


def test_a_package_may_be_looked_for_before_it_is_imported(attempt):
    source = "import importlib.util\nimportlib.util.find_spec('wandb')\n" + ONE
    (first,), _ = attempt(source)
    assert attempt(source)[0] == [first]


def test_every_rank_has_its_own_run(attempt):
    (zero,), _ = attempt(ONE)
    (one,), _ = attempt(ONE, rank=1)
    assert zero != one
    assert attempt(ONE)[0] == [zero]
    assert attempt(ONE, rank=1)[0] == [one]


@pytest.mark.parametrize("call", [
    "id='mine'", "settings={'run_id': 'mine'}", "settings={'sweep_id': 's'}", "resume='never'",
    "resume='must'", "resume='auto'", "resume_from='x?_step=3'", "fork_from='x?_step=3'",
    "mode='disabled'", "mode='shared'"])
def test_what_the_script_has_set_stays(attempt, tmp_path, call):
    attempt(ONE)
    before = (tmp_path / "state" / "rank-0.json").read_text()
    (made,), said = attempt(ONE.replace("project='p'", "project='p', " + call))
    assert said == []
    assert made == "mine" or made not in before
    assert (tmp_path / "state" / "rank-0.json").read_text() == before


@pytest.mark.parametrize("name", ["WANDB_RUN_ID", "WANDB_SWEEP_ID", "WANDB_RESUME"])
def test_what_the_environment_has_set_stays(attempt, tmp_path, name):
    attempt(ONE)
    before = (tmp_path / "state" / "rank-0.json").read_text()
    (made,), said = attempt(ONE, **{name: "must"})
    assert said == [] and made not in before
    assert (tmp_path / "state" / "rank-0.json").read_text() == before


def test_several_runs_are_told_apart_by_labels_names_and_order(attempt):
    source = ("import wandb\ndef make(**given):\n"
              "    print(wandb.init(reinit='create_new', **given).id)\n")
    calls = ["make(project='a')", "make(project='a')", "make(project='b')",
             "make(project='a', name='x')", "make(project='a', name='y')"]
    first, _ = attempt(source + "\n".join(calls))
    assert len(set(first)) == 5
    turned = [calls[2], calls[4], calls[0], calls[3], calls[1]]
    again, _ = attempt(source + "\n".join(turned))
    assert again == [first[2], first[4], first[0], first[3], first[1]]
    (other,), _ = attempt(source + "make(project='a', name='z')")
    assert other not in first


def test_a_second_init_returns_the_active_run_and_claims_nothing(attempt, tmp_path):
    attempt("import wandb\nwandb.init()\nwandb.init(reinit='create_new')\n")
    attempt("import wandb\na = wandb.init()\nassert wandb.init() is a\n")
    content = json.loads((tmp_path / "state" / "rank-0.json").read_text())
    assert len(content["runs"]) == 2


def test_a_name_with_another_date_fits_a_run_that_was_not_finished(attempt):
    source = "import wandb\nrun = wandb.init(name='run-%s')\nprint(run.id)\n"
    (first,), _ = attempt(source % "2026-08-01")
    assert attempt(source % "2026-08-02")[0] == [first]
    # Of two seeds in turn, the first one is over.
    seed = source.replace("run-", "seed-") + "run.finish()\n"
    (one, two), _ = attempt(seed % 1 + seed.removesuffix("run.finish()\n") % 2)
    (three,), _ = attempt(seed % 3)
    assert three == two


def test_a_run_that_cannot_be_continued_is_made_anew(attempt):
    (first,), _ = attempt(ONE)
    (again,), said = attempt(ONE, BROKEN="1")
    assert again != first
    assert said == ["robustrun: trackers: wandb: the run cannot be continued, another one is "
                    "created: ValueError: no such run"]


def test_an_error_of_the_script_stays_what_it_was(attempt):
    _, said = attempt("import wandb\nwandb.init(nonsense=1)\n", code=1)
    assert said[-1].startswith("TypeError: init() got an unexpected keyword argument 'nonsense'")


@pytest.mark.parametrize("spoil", ["file", "text", "version"])
def test_a_state_that_cannot_be_used_costs_a_line(attempt, tmp_path, spoil):
    if spoil == "file":
        (tmp_path / "state").write_text("not a folder")
    else:
        (tmp_path / "state").mkdir()
        (tmp_path / "state" / "rank-0.json").write_text(
            "{" if spoil == "text" else '{"version": 2, "runs": [], "told": 0}')
    (made,), said = attempt(ONE)
    assert len(made) == 8
    assert len(said) == 1 and said[0].startswith("robustrun: trackers: wandb: ")


def test_children_of_the_worker_make_their_own_runs(attempt):
    source = ("import os, wandb\nif os.fork() == 0:\n    print(wandb.init().id)\n    os._exit(0)\n"
              "os.wait()\n")
    (first,), _ = attempt(source)
    (again,), said = attempt(source)
    assert first != again and said == []


def test_nothing_is_loaded_without_a_tracker(attempt, tmp_path):
    (loaded,), _ = attempt("import sys\nprint([n for n in sys.modules if '_trackers' in n])\n")
    assert loaded == "['robustrun._trackers', 'robustrun._trackers.hooks']"
    assert not (tmp_path / "state").exists()


def incident(folder, text, attempt=0):
    folder.mkdir(exist_ok=True)
    with open(folder / "incidents.jsonl", "a") as file:
        event = {"time": "2026-08-01T10:00:02Z", "attempt": attempt, "text": text}
        file.write(json.dumps(event) + "\n")


def test_incidents_become_alerts_once(attempt, tmp_path):
    assert len(attempt(ONE, words="annotate")[0]) == 1
    incident(tmp_path / "state", "rank 1 was killed\n\x1b[31m" + "x" * 5000)
    lines, _ = attempt(ONE, words="resume,annotate")
    told = "2026-08-01T10:00:02Z: rank 1 was killed  [31mxxx"
    assert lines[0].startswith(f"alert robustrun: incident | {told}")
    assert lines[0].endswith("| WARN") and len(lines[0]) < 1100
    assert len(attempt(ONE, words="resume,annotate")[0]) == 1
    incident(tmp_path / "state", "rank 2 was killed", 2)
    lines, _ = attempt("import wandb\nwandb.init()\nwandb.init()\n", words="annotate")
    assert lines == ["alert robustrun: incident | 2026-08-01T10:00:02Z: rank 2 was killed "
                     "(attempt 2) | WARN"]


def test_at_most_ten_incidents_are_passed_on(attempt, tmp_path):
    for number in range(15):
        incident(tmp_path / "state", f"incident {number}")
    lines, _ = attempt(ONE, words="annotate")
    assert [line.split()[6] for line in lines[:-1]] == [str(number) for number in range(5, 15)]


MLFLOW_JOB = ("from mlflow.tracking.client import MlflowClient\nclient = MlflowClient()\n"
              "run = client.create_run('0', tags={'mine': 'x', 'mlflow.user': 'u'})\n"
              "print(run.info.run_id)\n")


def test_mlflow_runs_are_continued_with_the_scripts_tags(attempt, tmp_path):
    (first,), _ = attempt(MLFLOW_JOB)
    incident(tmp_path / "state", "it broke")
    lines, said = attempt(MLFLOW_JOB, words="resume,annotate")
    assert lines == ["update RUNNING", "tag mine x",
                     "tag robustrun.incident.1 2026-08-01T10:00:02Z: it broke (attempt 0)", first]
    assert said == [f"robustrun: trackers: mlflow run {first} is continued"]


def test_nested_mlflow_runs_are_left_alone(attempt, tmp_path):
    nested = MLFLOW_JOB.replace("'mine': 'x'", "'mlflow.parentRunId': 'p'")
    attempt(nested)
    assert not (tmp_path / "state").exists()


def test_a_continued_mlflow_run_keeps_a_parameters_first_value(attempt):
    source = MLFLOW_JOB + "client.log_param(run.info.run_id, 'host', 'n2')\n"
    _, said = attempt(source, code=1)
    assert "Changing param" in said[-1]
    _, said = attempt(source)
    assert "robustrun: trackers: mlflow keeps the first value of the parameter host" in said


def test_at_most_200_runs_are_remembered(tmp_path):
    runs = Runs(str(tmp_path), "0", True, False)
    for number in range(250):
        runs.note("aim", [], None, str(number))
    assert len(json.loads((tmp_path / "rank-0.json").read_text())["runs"]) == 200


STEP = ("import robustrun, wandb\nwandb.init(%s)\n"
        "for step in 1, 2:\n    robustrun.step(step)\n")


def test_the_first_attempt_leaves_the_runs_name_for_the_suggestion(attempt, tmp_path):
    def left(source, **extra):
        (tmp_path / "job.py").write_text(source)
        record = RecordFile(tmp_path / "record")
        env = record.environment(**{"ROBUSTRUN_ATTEMPT": "0", **extra})
        done = boot("script", "job.py", env=env)
        assert done.returncode == 0, done.stderr
        path = tmp_path / "record.trackers"
        text = path.read_text() if path.exists() else None
        path.unlink(missing_ok=True)
        return text

    boot = attempt.boot
    assert left(STEP % "id='abc'") == "wandb run abc"
    assert not left(STEP % "mode='disabled'")
    assert not left(STEP % "", ROBUSTRUN_ATTEMPT="1")
    assert not left(STEP % "", WANDB_RUN_ID="abc")
    assert not left(STEP % "", ROBUSTRUN_TRACKER_STATE=f"resume:{tmp_path}/state")
    assert left(STEP % "", ROBUSTRUN_TRACKER_STATE=f"annotate:{tmp_path}/state")
