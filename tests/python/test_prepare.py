"""robustrun.prepare(): the same result at once and beforehand, without a trace in the script's
generators of random numbers. What cannot be made beforehand is left to the worker."""

import json
import random
import subprocess
import sys

import pytest
from conftest import BOOT, NEEDS_TORCH, PACKAGE, clean_environment
from test_standby_template import template  # noqa: F401

sys.path.insert(0, str(PACKAGE))
from robustrun._api import prepared  # noqa: E402
from robustrun._progress import import_list  # noqa: E402

MODEL = """
import random

def note(word):
    with open("made", "a") as file:
        file.write(word + " ")

note("import")

def build(size, scale=1.0):
    note("build")
    return [scale * random.random() for _ in range(size)]
"""
CALL = json.dumps(["model:build", {"size": 2}, 0, {}])
SCRIPT = """
import random, robustrun
random.seed(7)
print(random.random(), robustrun.prepare("model:build", {"size": 2}), random.random())
"""
NUMBERS = random.Random(0)
RESULT = [NUMBERS.random(), NUMBERS.random()]


@pytest.fixture
def job(tmp_path):
    (tmp_path / "model.py").write_text(MODEL)
    (tmp_path / "job.py").write_text(SCRIPT)
    return tmp_path


def made(folder):
    return (folder / "made").read_text().split()


def fresh(folder, script="job.py"):
    done = subprocess.run([sys.executable, "-u", str(BOOT), "script", script], cwd=folder,
                          stdin=subprocess.DEVNULL, capture_output=True, text=True,
                          env=clean_environment())
    return done.returncode, done.stdout + done.stderr


def test_a_call_is_a_call_and_the_scripts_generators_do_not_move(job):
    (job / "plain.py").write_text("import random\nrandom.seed(7)\n"
                                  f"print(random.random(), {RESULT}, random.random())\n")
    assert fresh(job) == fresh(job, "plain.py")
    assert made(job) == ["import", "build"]


def test_standbys_have_the_result_of_their_template(job, template):  # noqa: F811
    expected = fresh(job)
    (job / "made").unlink()
    parent = template("job.py", "random", "json", calls=[CALL])
    assert "unforkable" not in parent.ready()
    first, second = parent.fork(), parent.fork()
    assert made(job) == ["import", "build"]
    assert str(job / "model.py").encode() in first.report  # the agent looks whether it changes
    assert first.become() == second.become() == expected
    assert made(job) == ["import", "build"]


def test_a_result_is_used_once_and_only_for_the_same_call(job, template):  # noqa: F811
    (job / "job.py").write_text("import robustrun\n"
                                "for size in (3, 2, 2):\n"
                                "    print(robustrun.prepare('model:build', {'size': size}))\n")
    parent = template("job.py", calls=[CALL])
    parent.ready()
    code, out = parent.fork().become()
    assert code == 0 and out.splitlines()[1] == out.splitlines()[2] == str(RESULT)
    assert made(job) == ["import", "build", "build", "build"]


def test_what_fails_beforehand_fails_in_the_worker_as_without(job, template):  # noqa: F811
    (job / "model.py").write_text("def build(size):\n    raise SystemExit('no data')\n")
    parent = template("job.py", calls=[CALL])
    assert "unforkable" not in parent.ready()
    code, out = parent.fork().become()
    assert code == 1
    assert "robustrun: prepare: cannot make model:build beforehand: SystemExit: no data\n" in out
    assert out.endswith("no data\n") and out.count("no data") == 2


@pytest.mark.parametrize("text, reason", [
    ("import threading\n"
     "def build(size):\n"
     "    threading.Thread(target=threading.Event().wait, daemon=True).start()",
     "robustrun.prepare() has left 1 thread running"),
    ("def build(size, held=[]):\n"
     "    held.append(open('/dev/full', 'wb'))",
     "robustrun.prepare() has opened /dev/full"),
])
def test_what_cannot_be_forked_is_told(job, template, text, reason):  # noqa: F811
    (job / "model.py").write_text(text + "\n")
    assert template("job.py", calls=[CALL]).ready()["unforkable"] == reason


def listed(folder, script):
    """The calls that a worker of this script leaves."""
    wanted = folder / "0.0.modules"
    wanted.touch()
    (folder / "job.py").write_text(script + "from robustrun._progress import import_list\n"
                                   f"import_list.write_if_wanted({str(wanted)!r})\n")
    code, out = fresh(folder)
    assert code == 0, out
    calls = import_list.read(wanted)[3]
    wanted.unlink()
    return calls


@pytest.mark.parametrize("setting, named", [
    ("import sys\nsys.path.insert(0, 'other')\n", "sys.path"),
    ("import torch\ntorch.set_default_dtype(torch.float64)\ntorch.set_default_device('meta')\n",
     "torch's default dtype and torch's default device"),
])
def test_surroundings_that_a_script_changes_before_are_not_guessed(
        job, template, setting, named):  # noqa: F811
    modules = [name for name in ("torch",) if name in setting and pytest.importorskip(name)]
    (job / "other").mkdir()
    (job / "other" / "model.py").write_text(MODEL.replace("scale *", "1 + scale *"))
    script = setting + "import robustrun\nprint(robustrun.prepare('model:build', {'size': 2}))\n"
    calls = listed(job, script)
    expected = fresh(job)
    (job / "made").unlink()
    parent = template("job.py", *modules, calls=calls)
    parent.ready()
    code, out = parent.fork().become()
    told, result = out.splitlines()
    assert told == ("robustrun: prepare: cannot make model:build beforehand: RuntimeError: the "
                    f"script has changed {named} before")
    assert (code, result + "\n") == expected
    assert made(job) == ["import", "build"]


def test_a_module_is_stamped_as_it_was_when_it_was_read(job, template):  # noqa: F811
    (job / "model.py").write_text(
        "import os\n"
        "def build(size):\n"
        "    with open('model.new', 'w') as file:\n"
        "        file.write('def build(size): return size')\n"
        "    os.replace('model.new', 'model.py')\n")
    before = (job / "model.py").stat().st_ino
    parent = template("job.py", calls=[CALL])
    parent.ready()
    forked = parent.fork()
    assert (job / "model.py").stat().st_ino != before
    assert b"\0stamp=%d " % before in forked.report
    forked.become()


def test_what_cannot_be_watched_is_not_forked(job, template):  # noqa: F811
    (job / "many").mkdir()
    for number in range(1200):
        (job / "many" / f"module_{number}_{'x' * 60}.py").touch()
    (job / "model.py").write_text(
        "import importlib, sys\n"
        "def build(size):\n"
        "    for number in range(1200):\n"
        "        importlib.import_module(f\"many.module_{number}_{'x' * 60}\")\n")
    assert template("job.py", calls=[CALL]).ready()["unforkable"] == (
        "robustrun.prepare() needs modules in an archive, or too many to watch")


def test_a_module_that_runs_as_the_main_one_finds_its_neighbours(job, template):  # noqa: F811
    """`python -m job`: Python looks in the working directory first."""
    parent = template("job", calls=listed(job, SCRIPT), mode="module")
    assert "unforkable" not in parent.ready()
    (job / "made").unlink(missing_ok=True)
    code, out = parent.fork().become()
    assert (code, out) == fresh(job)
    assert made(job) == ["import", "build"]  # by the fresh one


def test_a_rank_that_is_read_is_told(job, template):  # noqa: F811
    (job / "model.py").write_text("import os\n"
                                  "def build(size):\n    return os.environ.get('RANK')\n")
    parent = template("job.py", calls=[CALL], RANK="0")
    parent.ready()
    forked = parent.fork()
    assert b"\0read=RANK\0" in forked.report
    forked.become()


LAYER = """
import numpy
import torch

def build():
    torch.manual_seed(5)  # as scripts do
    numpy.random.seed(5)
    first = torch.nn.Linear(64, 64).weight.sum().item()
    torch.randn(300, 300) @ torch.randn(300, 300)  # on several threads, if it may
    return first, numpy.random.rand(), torch.initial_seed()
"""


@NEEDS_TORCH
def test_generators_of_torch_and_numpy_are_left_alone_too(job, template):  # noqa: F811
    pytest.importorskip("numpy")
    (job / "model.py").write_text(LAYER)
    (job / "job.py").write_text(
        "import numpy, robustrun, torch\n"
        "torch.manual_seed(3)\nnumpy.random.seed(3)\n"
        "print(robustrun.prepare('model:build'), torch.rand(1), numpy.random.rand(),\n"
        "      torch.initial_seed(), torch.get_num_threads())\n")
    parent = template("job.py", "torch", "numpy", calls=[json.dumps(["model:build", {}, 0, {}])])
    assert "unforkable" not in parent.ready()
    assert parent.fork().become() == fresh(job)


def test_calls_come_into_the_list_of_modules(job, tmp_path):
    wanted = tmp_path / "0.0.modules"
    wanted.touch()
    (job / "job.py").write_text(
        "import robustrun\n"
        "from robustrun._progress import import_list\n"
        "for scale in (1.0, 1.0, 2.0):\n"
        "    robustrun.prepare('model:build', {'size': 2, 'scale': scale}, seed=4)\n"
        f"assert import_list.write_if_wanted({str(wanted)!r})\n")
    assert fresh(job) == (0, "")
    modules, _, _, calls, _ = import_list.read(wanted)
    assert "model" not in modules
    assert [json.loads(call)[:3] for call in calls] == [
        ["model:build", {"size": 2, "scale": scale}, 4] for scale in (1.0, 2.0)]
    assert json.loads(calls[0])[3]["sys.path"][0] == str(job)


def test_what_a_script_does_with_its_arguments_and_path_afterwards_does_no_harm(job):
    calls = listed(job, "import pathlib, sys\n"
                        "sys.path.append(pathlib.Path('elsewhere'))\n"
                        "import robustrun\n"
                        "arguments = {'size': 2}\n"
                        "robustrun.prepare('model:build', arguments)\n"
                        "arguments['size'] = object()\n")
    assert [json.loads(call)[:3] for call in calls] == [["model:build", {"size": 2}, 0]]


def test_calls_that_are_too_long_are_left_out_of_the_list(job):
    calls = listed(job, "import robustrun\n"
                        "for size in (70_000, 1):\n"
                        "    robustrun.prepare('builtins:dict', {'text': 'x' * size})\n")
    assert [len(json.loads(call)[1]["text"]) for call in calls] == [1]


@pytest.mark.parametrize("arguments, error, words", [
    (("build",), ValueError, "MODULE:FUNCTION"),
    ((":build",), ValueError, "MODULE:FUNCTION"),
    ((len,), ValueError, "MODULE:FUNCTION"),
    (("os:getcwd", {"x": (1, 2)}), TypeError, "plain values"),
    (("os:getcwd", {1: 2}), TypeError, "plain values"),
    (("os:getcwd", {"x": object()}), TypeError, "not JSON serializable"),
    (("__main__:build",), ValueError, "main script"),
    (("nothing_of_that_name:build",), ModuleNotFoundError, "nothing_of_that_name"),
    (("os:nothing_of_that_name",), AttributeError, "nothing_of_that_name"),
])
def test_bad_calls_are_errors(arguments, error, words):
    with pytest.raises(error, match=words):
        prepared.prepare(*arguments)


@pytest.mark.parametrize("seed", [-1, 1 << 32, True, 1.5, None])
def test_bad_seeds_are_errors(seed):
    with pytest.raises(ValueError, match="seed"):
        prepared.prepare("os:getcwd", seed=seed)
