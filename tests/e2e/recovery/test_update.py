"""New code, variables and arguments for a running job: used, proven, rolled back."""

import json
import os
import signal

import pytest
from helpers.detached import SEVERAL, Detached
from helpers.processes import wait_for

# Prints its version, and steps until it is told to end.
SCRIPT = r"""
import os, sys, time
import flavour
try:
    from robustrun import step
except ImportError:   # --compat=torchrun
    step = int
attempt = os.environ["ROBUSTRUN_ATTEMPT"]
own = f"is.{attempt}.{os.getpid()}"
with open(own, "w") as note:
    note.write("|".join([flavour.NAME, os.environ.get("LR", "none"), os.environ.get("API_KEY", ""),
                         " ".join(sys.argv[1:]), os.getcwd(),
                         os.environ["TORCHELASTIC_RESTART_COUNT"]]))
os.replace(own, f"is.{attempt}")
n = 0
while not os.path.exists("enough"):
    n += 1
    step(n)
    if os.path.exists("fail"):
        os.unlink("fail")
        sys.exit(3)
    time.sleep(0.02)
"""


class Updated(Detached):
    def __init__(self, robustrun, *arguments, flavour="first", **options):
        robustrun.write("flavour.py", f"NAME = {flavour!r}\n")
        super().__init__(robustrun, "--max-restarts=1", *arguments, **{"script": SCRIPT, **options})

    def update(self, *words, code=0):
        done = self.do("update", *words)
        assert done.code == code, done.errors
        return done

    def versions(self):
        return json.loads(self.do("update", "--list", "--json").text)["versions"]

    def said(self, attempt):
        """Of attempt N: code, LR, API_KEY, arguments, working directory, restart count."""
        note = self.folder / f"is.{attempt}"
        return wait_for(lambda: note.exists() and note.read_text().split("|"), 150, note.name)

    def state_of(self, number, state):
        wait_for(lambda: self.versions()[number]["state"] == state, 150, f"{number} is {state}")

    def new_code(self, name, **files):
        folder = self.folder / name
        folder.mkdir()
        (folder / "job.py").write_text(files.get("job", SCRIPT))
        (folder / "flavour.py").write_text(f"NAME = {name!r}\n")
        return folder


@pytest.mark.parametrize("where", [(), SEVERAL], ids=["one", "several"])
def test_a_crashing_script_is_fixed_at_the_next_restart(robustrun, where):
    run = Updated(robustrun, *where)
    run.steps()
    assert run.said(0)[:2] == ["first", "none"]
    mended = run.new_code("mended")
    (mended / ".git").mkdir()
    (mended / ".git" / "config").write_text("secret")
    assert run.update("--code", str(mended)).text == "1\n"
    # It is a copy: later changes of the folder have no effect.
    (mended / "flavour.py").write_text("raise SystemExit(9)\n")
    assert run.versions()[1]["state"] == "pending"
    assert run.status()["attempt"] == 0
    (run.folder / "fail").touch()
    code, _, _, _, working_directory, _ = run.said(1)
    assert code == "mended"
    assert working_directory == str(run.folder)
    run.state_of(1, "proven")
    copy = run.directory / "versions" / "1" / "code"
    assert sorted(path.name for path in copy.iterdir() if path.name != "__pycache__") == [
        "flavour.py", "job.py"]
    first, second = run.versions()
    assert (first["attempt"], second["attempt"]) == (0, 1)
    assert second["present"] and str(mended) in second["changes"][0]
    run.enough()
    run.wait_end()


@pytest.mark.parametrize("mode", [[], ["--compat=torchrun", "--max-restarts=0"]])
def test_variables_and_arguments_are_changed_at_once(robustrun, mode):
    if mode:
        run = Updated(robustrun, "--run-dir", str(robustrun.folder / "run"), *mode)
        run.directory = run.folder / "run"
        run.name = str(run.directory)
    else:
        run = Updated(robustrun)
    run.said(0)
    run.update("--env", "LR=0.5", "--now")
    assert run.said(1)[1] == "0.5"
    run.update("--now", "--args", "--lr", "0.1", "--now")
    assert run.said(2)[1:4] == ["0.5", "", "--lr 0.1 --now"]
    run.update("--unset", "LR", "--now")
    assert run.said(3)[1] == "none"
    # torch counts spent restarts; an update spends none.
    assert run.said(3)[5] == ("0" if mode else "3")
    report = json.loads(run.do("report", "--json").text)
    assert report["incidents"] == []
    assert any(share["spent"] == "restarting" for share in report["time"]["shares"])
    run.enough()
    run.wait_end()
    assert json.loads(run.do("report", "--json").text)["exit_code"] == 0


@pytest.mark.parametrize(
    "broken", ["raise RuntimeError('new and wrong')\n", "import nothing_such\n"])
def test_a_broken_update_is_rolled_back_automatically(robustrun, broken):
    run = Updated(robustrun)
    run.steps()
    run.update("--now", "--code", str(run.new_code("broken", job=broken)))
    assert run.said(2)[0] == "first"
    run.state_of(1, "rolled back")
    assert run.versions()[1]["why"].endswith(", in job.py:1")
    run.enough()
    run.wait_end()
    report = json.loads(run.do("report", "--json").text)
    assert (report["outcome"], report["attempts"]) == ("succeeded", 3)
    (incident,) = report["incidents"]
    assert "version 1 is given up" in incident["decision"]
    assert "free restart" in incident["decision"]


def test_a_machine_that_has_other_code_starts_nothing(robustrun):
    run = Updated(robustrun)
    run.steps()
    run.update("--code", str(run.new_code("other")))
    (run.directory / "versions" / "1" / "code" / "flavour.py").write_text("NAME = 'tampered'\n")
    (run.folder / "fail").touch()
    assert run.said(2)[0] == "first"
    assert "not what it was" in run.versions()[1]["why"]
    run.enough()
    run.wait_end()


def test_an_update_can_be_rolled_back_by_hand(robustrun):
    run = Updated(robustrun)
    run.said(0)
    run.update("--env", "LR=1", "--now")
    run.said(1)
    run.update("--env", "LR=2", "--now")
    assert run.said(2)[1] == "2"
    run.state_of(2, "proven")
    assert run.update("--rollback", "--now").text == "1\n"
    assert run.said(3)[1] == "1"
    run.update("--rollback", "0", "--now")
    assert run.said(4)[1] == "none"
    assert "is what the workers have" in run.update("--rollback", "0", code=1).errors
    assert "no version 7" in run.update("--rollback", "7", code=1).errors
    text = run.do("update", "--list").text
    assert text.splitlines()[0].startswith("* 0") and "LR=2" in text
    run.enough()
    run.wait_end()


def test_secrets_are_kept_out_of_journal_and_report(robustrun):
    run = Updated(robustrun)
    run.said(0)
    secret = "hunter2-and-more"
    run.update("--env", f"API_KEY={secret}", "--now", "--args", "--token", secret + "-too")
    assert run.said(1)[2:4] == [secret, f"--token {secret}-too"]
    run.enough()
    run.wait_end()
    assert b"API_KEY=***" in (run.directory / "journal").read_bytes()
    for path in run.directory.rglob("*"):
        if not path.is_file() or secret.encode() not in path.read_bytes():
            continue
        assert path.parent.parent.name == "versions", path
        assert path.stat().st_mode & 0o077 == 0
    for words in (["report"], ["report", "--json"], ["update", "--list"]):
        assert secret not in run.do(*words).text
    assert secret not in run.console()


def test_another_supervisor_continues_with_the_current_version(robustrun):
    run = Updated(robustrun)
    run.said(0)
    run.update("--env", "LR=3", "--now")
    run.said(1)
    run.state_of(1, "proven")
    os.kill(run.status()["pid"], signal.SIGKILL)
    wait_for(lambda: run.status()["supervisor"] == "silent", what="the supervisor's end")
    resumed = run.robustrun.run("resume", run.name, "--detach")
    assert resumed.code == 0, resumed.errors
    assert run.said(2)[1] == "3"
    run.enough()
    run.wait_end()


def test_invalid_updates_are_refused_early(robustrun):
    run = Updated(robustrun)
    run.said(0)

    def refused(*words):
        return run.update(*words, code=2).errors

    assert "--rollback or --list is required" in refused()
    assert "NAME=VALUE" in refused("--env", "LR")
    for name in ("RANK", "MASTER_PORT", "ROBUSTRUN_X", "TORCHELASTIC_RUN_ID"):
        assert f"{name} is set by robustrun" in refused("--env", f"{name}=1")
        assert f"{name} is set by robustrun" in refused("--unset", name)
    assert "nowhere: not a folder" in refused("--code", "nowhere")
    empty = run.folder / "empty"
    empty.mkdir()
    assert "it lacks the run's script job.py" in refused("--code", str(empty))
    assert "--now" in refused("--env", "A=1", "--now", "--within", "1h")
    assert "invalid time" in refused("--env", "A=1", "--within", "soon")
    assert "not allowed with" in refused("--rollback", "--env", "A=1")
    away = run.new_code("away")
    (away / "link").symlink_to("/etc/passwd")
    assert "outside of" in refused("--code", str(away))
    assert "may work" in run.update("--rollback", code=1).errors
    assert not (run.directory / "versions").exists() or not list(
        (run.directory / "versions").iterdir())
    assert robustrun.run("update", "no-such-run", "--env", "A=1").code == 2
    run.enough()
    run.wait_end()
    assert "it has ended" in run.update("--env", "A=1", code=1).errors
