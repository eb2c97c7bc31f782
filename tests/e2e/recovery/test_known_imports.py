"""The first workers of a run whose imports are known from an earlier run: one interpreter imports,
and all workers of the node are forked from it."""

import json
import os
import signal

import pytest
from helpers.processes import wait_for

WORKERS = 2
# In the folder of installed packages: notes each process that imports it, and keeps its pid.
LIBRARY = r"""
import os
PID = os.getpid()
with open("imported", "a") as file:
    print(PID, file=file)
"""
SCRIPT = r"""
import os, sys
is_warm = "library" in sys.modules
import json, time
import library, model
import robustrun
rank, attempt = os.environ["RANK"], os.environ["TORCHELASTIC_RESTART_COUNT"]
if model.ONE_PROCESS and library.PID != os.getpid():
    sys.exit("library was imported by another process")
robustrun.step(1)
with open(f"facts.{rank}.{attempt}.part", "w") as file:
    json.dump({"pid": os.getpid(), "warm": is_warm, "argv": sys.argv[1:]}, file)
os.rename(f"facts.{rank}.{attempt}.part", f"facts.{rank}.{attempt}")
while not os.path.exists("go"):
    time.sleep(0.01)
"""


@pytest.fixture
def job(robustrun):
    libraries = robustrun.folder / "libraries" / "site-packages"
    libraries.mkdir(parents=True)
    (libraries / "library.py").write_text(LIBRARY)
    robustrun.write("model.py", "ONE_PROCESS = False\n")
    robustrun.write("job.py", SCRIPT)
    return Job(robustrun, libraries)


class Job:
    def __init__(self, robustrun, libraries):
        self.robustrun, self.libraries = robustrun, libraries

    def start(self, *arguments, options=()):
        for name in ("go", "imported", *self.names("facts.*")):
            (self.robustrun.folder / name).unlink(missing_ok=True)
        return self.robustrun.start(*options, "--nproc-per-node", str(WORKERS), "job.py",
                                    *arguments, env={"PYTHONPATH": str(self.libraries)})

    def names(self, pattern):
        return [path.name for path in self.robustrun.folder.glob(pattern)]

    def facts(self, attempt=0):
        def read():
            files = [self.robustrun.folder / f"facts.{rank}.{attempt}" for rank in range(WORKERS)]
            return all(f.exists() for f in files) and [json.loads(f.read_text()) for f in files]

        return wait_for(read, 120, f"attempt {attempt}")

    def imported_by(self):
        return [int(line) for line in (self.robustrun.folder / "imported").read_text().split()]

    def kept(self):
        """The lists of imports in the cache, by name."""
        folder = self.robustrun.folder / "cache" / "robustrun" / "hot"
        return {path.name: path.read_text() for path in folder.glob("*.imports")}

    def end(self, running):
        (self.robustrun.folder / "go").touch()
        finished = running.finish()
        assert finished.code == 0, finished.errors
        self.robustrun.expect_nothing_left()
        return finished

    def learn(self, *arguments):
        """A run that leaves its list."""
        before = self.kept()
        running = self.start(*arguments)
        assert not any(each["warm"] for each in self.facts())
        wait_for(lambda: self.kept() != before, 60, "the list of imports in the cache")
        self.end(running)
        return self.kept()


def test_the_next_run_imports_once_for_all_its_workers(job):
    kept, = job.learn("--lr", "1").values()
    assert "module library\n" in kept and "module model\n" not in kept
    assert any(line.startswith("file ") and line.endswith(" model.py")
               for line in kept.splitlines())

    running = job.start("--lr", "1")
    first = job.facts()
    assert [each["warm"] for each in first] == [True] * WORKERS
    assert [each["argv"] for each in first] == [["--lr", "1"]] * WORKERS
    made_by, = job.imported_by()
    assert made_by not in [each["pid"] for each in first]
    # Its standbys are there at once, from the same interpreter.
    os.kill(first[1]["pid"], signal.SIGKILL)
    assert [each["warm"] for each in job.facts(1)] == [True] * WORKERS
    assert job.imported_by() == [made_by]
    job.end(running)
    incident, = job.robustrun.report()["incidents"]
    assert incident["warm"] == WORKERS and not incident["cold"]


def test_a_list_is_used_only_for_what_it_was_made_of(job):
    job.learn()
    job.robustrun.write("model.py", "ONE_PROCESS = False  # changed\n")
    before = job.kept()
    running = job.start()
    assert [each["warm"] for each in job.facts()] == [False] * WORKERS
    wait_for(lambda: job.kept() != before, 60, "a new list")
    job.end(running)
    assert len(job.learn("--other", "arguments")) == 2

    running = job.start(options=["--standby=off"])
    assert [each["warm"] for each in job.facts()] == [False] * WORKERS
    job.end(running)

    running = job.start()
    assert [each["warm"] for each in job.facts()] == [True] * WORKERS
    finished = job.end(running)
    assert "standby" not in finished.errors


def test_damaged_lists_and_those_of_others_are_ignored(job):
    name, = job.learn()
    path = job.robustrun.folder / "cache" / "robustrun" / "hot" / name
    text = path.read_text()
    for damaged in ("", "module os\n", text.replace("module library", "module \0"),
                    text.replace("same script ", "same script 1"), text + "file x x\n"):
        path.write_text(damaged)
        running = job.start()
        assert not any(each["warm"] for each in job.facts())
        job.end(running)
    path.write_text(text)
    path.chmod(0o666)  # anyone may have written it
    running = job.start()
    assert [each["warm"] for each in job.facts()] == [False] * WORKERS
    job.end(running)


def test_a_list_with_which_workers_fail_is_not_used_again(job):
    job.robustrun.write("model.py", "import os\nONE_PROCESS = os.path.exists('strict')\n")
    job.learn()
    job.robustrun.write("strict", "")
    running = job.start()
    assert not any(each["warm"] for each in job.facts(1))  # the first attempt failed
    # From now on there is a list again that could be kept.
    wait_for(lambda: len(job.robustrun.standbys()) == WORKERS, 60, "standby workers")
    finished = job.end(running)
    assert "library was imported by another process" in finished.text + finished.errors
    running = job.start(options=["--max-restarts=0"])
    assert not any(each["warm"] for each in job.facts())
    job.end(running)


def test_imports_that_read_the_rank_are_done_by_each_worker(job):
    (job.libraries / "library.py").write_text(LIBRARY + 'RANK = os.environ["RANK"]\n')
    running = job.start()
    first = job.facts()
    # Each rank has a template of its own. Two standby workers and two templates:
    wait_for(lambda: len(job.robustrun.standbys()) == 2 * WORKERS, 60, "standby workers")
    os.kill(first[0]["pid"], signal.SIGKILL)
    assert all(each["warm"] for each in job.facts(1))
    job.end(running)
    assert job.kept() == {}


GATED = LIBRARY + r"""
import time
while os.path.exists("gate"):
    time.sleep(0.01)
"""


def template_of(job):
    """Waits for the interpreter that imports for the first workers."""
    def find():
        imported = job.robustrun.folder / "imported"
        pids = imported.read_text().split() if imported.exists() else []
        return len(pids) == 1 and int(pids[0])

    return wait_for(find, 60, "an import")


def test_a_template_that_dies_delays_the_first_workers_once(job):
    (job.libraries / "library.py").write_text(GATED)
    job.learn()
    job.robustrun.write("gate", "")
    running = job.start()
    os.kill(template_of(job), signal.SIGKILL)
    wait_for(lambda: len(job.imported_by()) == 1 + WORKERS, 60, "workers that import")
    (job.robustrun.folder / "gate").unlink()
    assert not any(each["warm"] for each in job.facts())
    job.end(running)
    assert job.robustrun.report()["incidents"] == []
    running = job.start()
    assert not any(each["warm"] for each in job.facts())
    job.end(running)


def test_a_run_can_be_stopped_while_its_first_workers_wait_for_imports(job):
    (job.libraries / "library.py").write_text(GATED)
    job.learn()
    job.robustrun.write("gate", "")
    running = job.start()
    template_of(job)
    running.process.send_signal(signal.SIGTERM)
    assert running.finish().code == 143
    job.robustrun.expect_nothing_left()
    # That was not the list's fault.
    (job.robustrun.folder / "gate").unlink()
    running = job.start()
    assert [each["warm"] for each in job.facts()] == [True] * WORKERS
    job.end(running)


@pytest.mark.parametrize("words", [("--config", "config.yaml"), ("--config=config.yaml",)])
def test_a_configuration_that_an_argument_names_is_part_of_what_a_list_is_for(job, words):
    config = job.robustrun.write("config.yaml", "back_end: one\n")
    job.learn(*words)
    for text, is_warm in (("two", False), ("one", True)):
        config.write_text(f"back_end: {text}\n")
        running = job.start(*words)
        assert [each["warm"] for each in job.facts()] == [is_warm] * WORKERS
        job.end(running)
