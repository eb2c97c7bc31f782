"""examples/kubernetes/job.yaml: its command in pods that are played by machines with a network, a
host name and processes of their own. A pod that ends is followed by another one of the same index
and another address, as by the Job controller."""

import os
import signal
import subprocess
import sys

import pytest
from helpers.processes import wait_for
from helpers.runner import BINARY, ROOT

yaml = pytest.importorskip("yaml")
FILE = ROOT / "examples" / "kubernetes" / "job.yaml"
STEPS = 150

# Saves each step on rank 0; ranks need no torch to go on from the newest one.
SCRIPT = """
import os, sys, time
saved = sys.argv[1].partition("=")[2]
rank = int(os.environ["RANK"])
first = int(open(saved).read()) if os.path.exists(saved) else 0
print("rank", rank, "of", os.environ["WORLD_SIZE"], "begins at", first, flush=True)
for step in range(first, int(sys.argv[2])):
    if rank == 0:
        with open(saved + ".new", "w") as file:
            file.write(str(step + 1))
        os.rename(saved + ".new", saved)
    time.sleep(0.1)
"""


def manifest():
    service, job = yaml.safe_load_all(FILE.read_text())
    return service, job


class Cluster:
    """Two pods of the file's job, one after the other on machines of their own."""

    def __init__(self, robustrun, machines):
        self.robustrun, self.free = robustrun, list(machines.machines.values())
        self.folder = robustrun.folder
        self.hosts = robustrun.write("hosts", "127.0.0.1 localhost\n")
        robustrun.write("train.py", SCRIPT)
        secret = robustrun.write("secret", "a secret of more than sixteen bytes\n")
        secret.chmod(0o400)
        _, job = manifest()
        (container,) = job["spec"]["template"]["spec"]["containers"]
        self.command = container["command"]
        self.pods = {}

    def words(self, index, uid):
        places = {"robustrun": str(BINARY), "--nnodes=4": "--nnodes=2",
                  "--nproc-per-node=gpu": "--nproc-per-node=1",
                  "/app/train.py": str(self.folder / "train.py"),
                  "--secret-file=/run/secrets/robustrun/secret":
                      f"--secret-file={self.folder / 'secret'}"}
        made = []
        for word in self.command:
            word = places.get(word, word).replace("/data/", f"{self.folder}/")
            made.append(word.replace("$(JOB_COMPLETION_INDEX)", str(index))
                        .replace("$(POD_UID)", uid))
        assert not [word for word in made if "$(" in word]
        return [*made, str(STEPS)]

    def start(self, index):
        machine = self.free.pop(0)
        uid = f"uid-{machine.name}"
        # The headless service: names of pods lead to their present addresses.
        lines = [line for line in self.hosts.read_text().splitlines(keepends=True)
                 if f" train-{index}.train" not in line]
        self.hosts.write_text("".join(lines) + f"{machine.address} train-{index}.train\n")
        script = (f"mount --bind {self.hosts} /etc/hosts && hostname train-{index} && "
                  'exec "$@"')
        running = self.robustrun.start(
            "-t", str(machine.init), "-n", "-u", "-m", "-p", "sh", "-c", script, "sh",
            *self.words(index, uid), argv0="nsenter",
            env={"JOB_COMPLETION_INDEX": str(index), "PYTHON_EXEC": sys.executable})
        self.pods[index] = (machine, running)
        return running

    def kill(self, index):
        """The end of a pod: all of its processes at once."""
        machine, running = self.pods[index]
        for pid in machine.processes():
            try:
                os.kill(pid, signal.SIGKILL)
            except ProcessLookupError:
                pass
        running.process.wait(60)

    def step(self):
        path = self.folder / "checkpoints"
        return int(path.read_text()) if path.exists() else 0

    def goes_on(self):
        before = self.step()
        wait_for(lambda: self.step() > before + 5, 120, "more steps")


@pytest.fixture
def cluster(lab, robustrun):
    return Cluster(robustrun, lab(5))


def retried():
    """Exit codes after which Kubernetes starts a pod again."""
    _, job = manifest()
    rules = job["spec"]["podFailurePolicy"]["rules"]
    (values,) = [rule["onExitCodes"]["values"] for rule in rules if rule["action"] == "FailJob"]
    return values


def test_a_lost_pod_is_replaced_and_after_the_loss_of_the_first_all_begin_again(cluster):
    cluster.start(0), cluster.start(1)
    cluster.goes_on()
    cluster.kill(1)
    cluster.start(1)
    cluster.goes_on()
    # The first pod has the supervisor. Without it the others end so that Kubernetes starts them
    # again, and the training goes on from its checkpoint.
    cluster.kill(0)
    guest = cluster.pods[1][1].finish(120)
    assert guest.code in retried(), guest.errors
    saved = cluster.step()
    assert saved > 10
    pods = [cluster.start(0), cluster.start(1)]
    ends = [pod.finish(180) for pod in pods]
    assert [end.code for end in ends] == [0, 0], "\n".join(end.errors for end in ends)
    assert f"rank 0 of 2 begins at {saved}" in ends[0].text
    assert cluster.step() == STEPS


@pytest.mark.parametrize("script, code", [("import nothing_of_that_name", 1),
                                          ("raise SystemExit(93)", 93)])
def test_a_script_that_fails_for_good_fails_the_job(cluster, script, code):
    cluster.robustrun.write("train.py", script + "\n")
    pods = [cluster.start(0), cluster.start(1)]
    ends = [pod.finish(180) for pod in pods]
    assert [end.code for end in ends] == [code, code], "\n".join(end.errors for end in ends)
    assert code not in (0, *retried())


def test_the_file_is_what_kubernetes_takes():
    """Checked by the API's own schema where kubernetes-validate is installed."""
    service, job = manifest()
    assert job["spec"]["completions"] == job["spec"]["parallelism"]
    pod = job["spec"]["template"]["spec"]
    assert service["metadata"]["name"] == pod["subdomain"]
    assert service["spec"]["selector"] == {"batch.kubernetes.io/job-name": job["metadata"]["name"]}
    names = {volume["name"] for volume in pod["volumes"]}
    (container,) = pod["containers"]
    assert {mount["name"] for mount in container["volumeMounts"]} == names
    validate = pytest.importorskip("kubernetes_validate")
    for resource in (service, job):
        for version in ("1.31", validate.latest_version()):  # 1.31: stable podFailurePolicy
            validate.validate(resource, version, strict=True)


def test_the_commands_of_the_file_make_a_secret(tmp_path):
    (line,) = [line for line in FILE.read_text().splitlines() if "create secret" in line]
    quoted = line.partition("--from-literal=secret=")[2]
    made = subprocess.run(["sh", "-c", f"printf %s {quoted}"], capture_output=True, check=True)
    assert len(made.stdout) >= 32
