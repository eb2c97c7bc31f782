"""Completion of command lines, in real shells, and the manual page."""

import re
import shutil
import subprocess

import pytest

HAS_ZSH = shutil.which("zsh") is not None

# Completes the words of its arguments, the last of which is under the cursor.
TRY = """
source completion.bash
COMP_WORDS=("$@")
COMP_CWORD=$(($# - 1))
_robustrun
printf '%s\\n' "${COMPREPLY[@]}"
"""


@pytest.fixture
def complete(robustrun):
    """`complete("status", "")`: what bash would offer, in order."""
    made = robustrun.run("completion", "bash")
    assert made.code == 0, made.errors
    robustrun.write("completion.bash", made.text)
    robustrun.write("try.bash", TRY)

    def words(*line):
        done = subprocess.run(
            ["bash", "--norc", "try.bash", str(robustrun.binary), *line], cwd=robustrun.folder,
            env=robustrun.environment, capture_output=True, text=True, timeout=60, check=True)
        assert done.stderr == ""
        return [word for word in done.stdout.splitlines() if word]

    return words


def test_bash_completes_subcommands_and_options(robustrun, complete):
    assert {"run", "status", "doctor", "completion"} <= set(complete(""))
    assert complete("re") == ["requeue", "resume", "report", "replay"]
    robustrun.write("draw.py", "")
    assert complete("d") == ["demo", "doctor", "diagnose", "data", "draw.py"]
    assert complete("--max-r") == ["--max-restarts"]
    assert complete("status", "--w") == ["--watch"]
    assert complete("plan", "--colour-") == ["--colour-by"]
    assert complete("plan", "--ssh-f") == ["--ssh-fanout"]
    assert complete("logs", "--stderr", "--gr") == ["--grep"]


@pytest.mark.parametrize("line, words", [
    (["--compat", "="], ["native", "torchrun"]),  # bash splits a word at "="
    (["--compat", "=", "t"], ["torchrun"]),
    (["--compat", ""], ["native", "torchrun"]),
    (["--compat=t"], ["--compat=torchrun"]),
    (["--numa_binding", "s"], ["socket"]),
    (["submit", "--nodes", "2", "--launcher", "sl"], ["slurm"]),
    (["plan", "--colour-by", ""], ["tp", "cp", "ep", "dp", "pp"]),
    (["ckpt", "ver"], ["verify"]),
    (["ckpt", "export", "dir", "--to", "s"], ["safetensors"]),
    (["stop", "--signal", "=", "SIGT"], ["SIGTERM"]),
    (["help", "fail"], ["failures"]),
    (["completion", ""], ["bash", "zsh"]),
    (["train.py", "--max-r"], []),  # the script's own arguments
    (["run", "--nnodes", "2", "train.py", "--max-r"], []),
])
def test_bash_completes_values(complete, line, words):
    assert complete(*line) == words


def test_bash_completes_ids_of_runs(robustrun, complete):
    assert complete("status", "") == ["latest"]
    robustrun.write("good.py", "")
    assert robustrun.run("good.py").code == 0
    run = robustrun.newest_run().name
    assert complete("status", "") == ["latest", run]
    assert complete("rm", run, run[:6]) == [run]
    assert robustrun.run("ls", "--ids").text == run + "\n"
    # In this directory "ls" would start a script, which completion must not do.
    robustrun.write("ls", "open('started', 'w').close()\n")
    assert complete("status", "") == ["latest"]
    assert not (robustrun.folder / "started").exists()


def test_a_script_that_is_called_as_torchrun_has_no_subcommands(robustrun):
    own = robustrun.run("--print-completion", "bash").text
    assert own == robustrun.run("completion", "bash").text
    link = robustrun.folder / "torchrun"
    link.symlink_to(robustrun.binary)
    made = subprocess.run([link, "--print-completion=bash"], capture_output=True, text=True,
                          env=robustrun.environment, timeout=60, check=True)
    assert made.stdout.endswith("complete -o default -F _torchrun torchrun\n")
    assert "diagnose" not in made.stdout
    subprocess.run(["bash", "-n"], input=made.stdout, text=True, timeout=60, check=True)


def test_shells_without_a_script_are_refused(robustrun):
    refused = robustrun.run("completion", "fish")
    assert refused.code == 2 and "(choose from bash, zsh)" in refused.errors
    refused = robustrun.run("--print-completion", "tcsh")
    assert refused.code == 2 and "--print-completion" in refused.errors


@pytest.mark.skipif(not HAS_ZSH, reason="no zsh")
def test_zsh_takes_the_script(robustrun):
    made = robustrun.run("completion", "zsh")
    assert made.code == 0, made.errors
    robustrun.write("_robustrun", made.text)
    done = subprocess.run(
        ["zsh", "-fc", "autoload -Uz compinit && compinit -u -D && source ./_robustrun && "
                       "print -r -- $_comps[robustrun]"],
        cwd=robustrun.folder, capture_output=True, text=True, timeout=60,
        env={**robustrun.environment, "HOME": str(robustrun.folder)})
    assert (done.returncode, done.stdout, done.stderr) == (0, "_robustrun\n", "")


def test_the_manual_page_is_what_man_takes(robustrun):
    page = robustrun.run("help", "--man")
    assert page.code == 0
    if shutil.which("groff") is None:
        pytest.skip("no groff")
    shown = subprocess.run(["groff", "-man", "-Tascii", "-ww"], input=page.text, text=True,
                           capture_output=True, timeout=60, check=True)
    assert shown.stderr == ""
    text = re.sub(".\x08", "", shown.stdout)  # bold is printed over itself
    assert "robustrun doctor" in text and "EXIT STATUS" in text
