"""Every option of the installed torch's torchrun is known here, under each of its names."""

import re
import subprocess
import sys

# Options of torch 2.14, with which nightly_torches.py runs this test.
NEWER = {"--log-line-prefix-template", "--log_line_prefix_template", "--print-completion"}  # 2.14


def options_of_torchrun():
    """Option -> whether it takes a value, from argparse's help."""
    text = subprocess.run(
        [sys.executable, "-m", "torch.distributed.run", "--help"], capture_output=True, text=True,
        timeout=300, check=True).stdout
    rows = re.findall(r"^  (-.*?)(?:  |$)", text.split("\noptions:\n", 1)[1], re.MULTILINE)
    found = {}
    for row in rows:
        for spelling in row.split(", "):
            name, _, value = spelling.partition(" ")
            found[name] = bool(value)
    assert len(found) > 40, text
    return found


def complaint(robustrun, *arguments):
    """The error of a run that is refused."""
    done = robustrun.run("--dry-run", *arguments)
    return "" if done.code == 0 else re.search(r"error: .*", done.errors).group()


def test_every_option_of_the_installed_torch_is_known(robustrun):
    robustrun.write("job.py", "")
    known = options_of_torchrun()
    unknown = []
    for name, has_value in known.items():
        if name in ("-h", "--help"):
            continue
        # A missing value is an error that names the option; so is a value too many.
        said = complaint(robustrun, name) if has_value else complaint(robustrun, f"{name}=x")
        if "expected one argument" not in said and "ignored explicit argument" not in said:
            unknown.append((name, said))
    assert not unknown


def test_options_of_newer_torch_are_known(robustrun):
    for name in NEWER:
        assert "expected one argument" in complaint(robustrun, name)


def test_the_prefix_of_lines_names_the_host(robustrun):
    robustrun.write("job.py", "import os; print('hello from', os.environ['RANK'], flush=True)\n")
    host = subprocess.run(["hostname"], capture_output=True, text=True, check=True).stdout.strip()
    template = "${hostname}/${role_name}/${local_rank}/${rank}: "
    for option in ([f"--log-line-prefix-template={template}"], []):
        done = robustrun.run("--compat=torchrun", "--tee=3", "--role=gpu", "--nproc-per-node=2",
                             *option, "job.py",
                             env={"TORCHELASTIC_LOG_LINE_PREFIX_TEMPLATE": template.replace(
                                 "/", "+" if option else "/")})
        assert done.code == 0, done.errors
        assert sorted(done.text.splitlines()) == [
            f"{host}/gpu/{rank}/{rank}: hello from {rank}" for rank in range(2)]
