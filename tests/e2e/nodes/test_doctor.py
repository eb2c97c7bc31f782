"""`robustrun doctor --hosts` with real sshds: what differs, what fails, and silent hosts."""

import json
import os
import pathlib
import pwd
import sys

import pytest
from helpers.builds import installed_copy, make_other
from helpers.runner import BINARY, BUILD
from helpers.ssh_server import NEEDS_ROOT

TRANSPORTS = pytest.mark.parametrize("transport", ["libssh2", "openssh"])


@pytest.fixture
def ask(robustrun):
    def run(hosts, *arguments, env=None, **options):
        environment = {**hosts.home.environment(), "PYTHON_EXEC": sys.executable,
                       "NCCL_PROFILER_PLUGIN": "", **(env or {})}
        return robustrun.run("doctor", *arguments, env=environment, **options)

    return run


def checks_of(answer):
    return {check["name"]: check for check in answer["checks"]}


@TRANSPORTS
def test_hosts_answer_as_one_machine_does(farm, ask, robustrun, transport):
    hosts = farm(3)
    done = ask(hosts, "--hosts=h[1-3]", f"--ssh-transport={transport}", "--json")
    answers = json.loads(done.text)
    assert [answer["host"] for answer in answers] == ["h1", "h2", "h3"], done.errors
    own = json.loads(ask(hosts, "--json").text)
    for answer in answers:
        checks = checks_of(answer)
        assert list(checks) == list(checks_of(own))
        assert checks["kernel"] == checks_of(own)["kernel"]
        assert checks["Python"]["found"].endswith(f"({sys.executable})")
        assert set(answer) == set(own)
    assert done.code == (1 if any(answer["bad"] for answer in answers) else 0)
    hosts.expect_empty()
    robustrun.expect_nothing_left()


@TRANSPORTS
def test_a_host_without_an_answer_is_named_with_the_reason(farm, ask, transport):
    hosts = farm(3)
    hosts["h2"].die()
    hosts.home.add("nowhere", "no-such-host.invalid", 22)
    robust = ("--hosts=h1,h2,h3,nowhere", f"--ssh-transport={transport}")
    done = ask(hosts, *robust, env={"COLUMNS": "100"})
    assert done.code == 1
    lines = done.text.splitlines()
    silent = next(i for i, line in enumerate(lines) if line.startswith("bad   no answer"))
    text = " ".join(" ".join(lines[silent:]).split())
    assert "h2: " in text and "refused" in text.lower()
    assert "nowhere: " in text and "name" in text.lower()
    assert lines[-1].startswith("bad: 2 of 4 hosts: h2,nowhere")
    assert any(line.startswith("alike and ok: kernel") for line in lines), done.text
    answers = json.loads(ask(hosts, *robust, "--json").text)
    assert [sorted(answer) == ["error", "host"] for answer in answers] == [
        False, True, False, True]
    hosts.expect_empty()


def test_what_differs_is_shown_with_its_host(farm, ask, robustrun):
    hosts = farm(3)
    tools = robustrun.folder / "tools"
    tools.mkdir()
    for name, text in (("srun", "echo slurm 23.11.4"), ("sbatch", ""), ("scontrol", "")):
        (tools / name).write_text(f"#!/bin/sh\n{text}\n")
        (tools / name).chmod(0o755)
    hosts["h2"].restart_with({"PATH": f"{tools}:/usr/bin:/bin"})
    done = ask(hosts, "--hosts=h[1-3]", env={"NCCL_PROFILER_PLUGIN": "none", "COLUMNS": "90"})
    text = " ".join(done.text.split())
    # The others have no Slurm, or this machine's.
    assert " h2: 23.11.4" in text and " h1,h3: " in text, done.text + done.errors
    # The asking user's variable counts, on all hosts.
    assert "warn NCCL profiler all: switched off: NCCL_PROFILER_PLUGIN=none" in text
    assert max(map(len, done.text.splitlines())) <= 90


@TRANSPORTS
def test_an_interpreter_that_a_host_lacks_is_bad_there(farm, ask, robustrun, transport):
    hosts = farm(1)
    hidden = robustrun.folder / "python"
    hidden.symlink_to(sys.executable)
    for env, state in (({"PYTHON_EXEC": str(hidden)}, "ok"),
                       ({"PYTHON_EXEC": "/nowhere/python"}, "bad")):
        done = ask(hosts, "--hosts=h1", f"--ssh-transport={transport}", "--json", env=env)
        (answer,) = json.loads(done.text)
        assert checks_of(answer)["Python"]["state"] == state, done.text


@NEEDS_ROOT
def test_hosts_without_this_build_get_it_and_answer(farm, ask, robustrun):
    """One has nothing, one another build at our path, one a program that knows no question."""
    hosts = farm(3)
    cache = pathlib.Path(pwd.getpwuid(os.geteuid()).pw_dir) / ".cache"
    cache.mkdir(exist_ok=True)
    other = make_other(installed_copy(robustrun.folder / "other"))
    older = robustrun.write("older", "#!/bin/sh\necho 'cannot start agent' >&2\nexit 2\n")
    older.chmod(0o755)
    hosts["h1"].hide(BUILD / "bin", cache)
    hosts["h2"].hide(cache, over={BINARY: other})
    hosts["h3"].hide(cache, over={BINARY: older})
    done = ask(hosts, "--hosts=h[1-3]", "--json")
    for answer in json.loads(done.text):
        found = checks_of(answer)["robustrun"]["found"]
        assert found.startswith("0.1.0 in ") and "/.cache/robustrun/" in found, done.text
    assert done.errors.count("does not have this build") == 3, done.errors
    hosts.expect_empty()


def test_bad_input(farm, ask):
    hosts = farm(1)
    for arguments, words in ((["--ssh-fanout=3"], "needs --hosts or --hostfile"),
                             (["--hosts=h[1-"], "cannot use --hosts=h[1-"),
                             (["--hosts=h1", "--hostfile=f"], "leave one of them out"),
                             (["--hosts=h1", "--ssh-fanout=0"], "--ssh-fanout"),
                             (["--hostfile=/nowhere"], "cannot use --hostfile=/nowhere")):
        refused = ask(hosts, *arguments)
        assert refused.code == 2 and words in refused.errors, (arguments, refused.errors)
        assert refused.text == ""
