"""examples/ci: their commands are run as a CI job would, but for the installation."""

import subprocess
import xml.etree.ElementTree

import pytest
from helpers.packages import NEEDS_TORCH
from helpers.runner import BINARY, ROOT

pytestmark = NEEDS_TORCH
yaml = pytest.importorskip("yaml")

CI = ROOT / "examples" / "ci"


def commands_of_github():
    (job,) = yaml.safe_load((CI / "github-actions.yml").read_text())["jobs"].values()
    return [step["run"] for step in job["steps"] if "run" in step]


def commands_of_gitlab():
    (job,) = yaml.safe_load((CI / "gitlab-ci.yml").read_text()).values()
    return job["script"]


@pytest.mark.parametrize("commands", [commands_of_github, commands_of_gitlab])
def test_a_smoke_job_survives_a_killed_rank(robustrun, commands):
    install, smoke = commands()
    assert install.startswith("pip install ")
    (robustrun.folder / "examples").symlink_to(ROOT / "examples")
    summary = robustrun.folder / "summary"
    environment = {**robustrun.environment, "PATH": f"{BINARY.parent}:/usr/bin:/bin"}
    if commands is commands_of_github:
        environment.update(GITHUB_ACTIONS="true", GITHUB_STEP_SUMMARY=str(summary))
    done = subprocess.run(["sh", "-ec", smoke], cwd=robustrun.folder, env=environment,
                          capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr
    attempts = xml.etree.ElementTree.parse(robustrun.folder / "junit.xml").iter("testcase")
    assert len(list(attempts)) == 2
    if commands is commands_of_github:
        assert "SIGKILL" in summary.read_text()
        assert "::warning" in done.stderr
    robustrun.expect_nothing_left()


def test_a_smoke_job_of_a_broken_script_fails(robustrun):
    robustrun.write("broken.py", "import nothing_of_that_name\n")
    environment = {**robustrun.environment, "PATH": f"{BINARY.parent}:/usr/bin:/bin"}
    done = subprocess.run(["sh", "-e", str(CI / "smoke.sh"), "broken.py"], cwd=robustrun.folder,
                          env=environment, capture_output=True, text=True, timeout=300)
    assert done.returncode != 0
    assert "nothing_of_that_name" in done.stderr


@pytest.mark.parametrize("script", sorted((ROOT / "configs" / "batch").iterdir()),
                         ids=lambda path: path.name)
def test_the_batch_scripts_are_valid(script):
    checked = subprocess.run(["bash", "-n", script], capture_output=True, text=True)
    assert (checked.returncode, checked.stderr) == (0, "")
