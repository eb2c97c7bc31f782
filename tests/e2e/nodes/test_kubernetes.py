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
with open(os.path.join(os.path.dirname(saved), "begun." + str(rank)), "a") as file:
    file.write(os.environ["HOST_OF_POD"] + " ")
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
        with open(self.folder / f"{uid}.err", "wb") as errors:
            running = self.robustrun.start(
                "-t", str(machine.init), "-n", "-u", "-m", "-p", "sh", "-c", script, "sh",
                *self.words(index, uid), argv0="nsenter", stderr=errors,
                env={"JOB_COMPLETION_INDEX": str(index), "PYTHON_EXEC": sys.executable,
                     "HOST_OF_POD": machine.name})
        self.pods[index] = (machine, running)

    def errors(self, index):
        return (self.folder / f"uid-{self.pods[index][0].name}.err").read_text()

    def end(self, index, timeout=180):
        """Waits for a pod's end; returns its exit code and what it printed."""
        process = self.pods[index][1].process
        out, _ = process.communicate(timeout=timeout)
        return process.returncode, out.decode()

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
        """Waits until both pods have workers and these do steps."""
        for index, (machine, _) in self.pods.items():
            begun = self.folder / f"begun.{index}"
            wait_for(lambda begun=begun, machine=machine: begun.exists() and
                     machine.name in begun.read_text().split(), 120, f"rank {index}")
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
    assert cluster.end(1)[0] in retried(), cluster.errors(1)
    saved = cluster.step()
    assert saved > 10
    # A guest may come first. It does not know the name of the first pod then, or knows the address
    # of the one that is gone.
    known = cluster.hosts.read_text()
    lines = known.splitlines(keepends=True)
    cluster.hosts.write_text("".join(line for line in lines if "train-0.train" not in line))
    cluster.start(1)
    wait_for(lambda: "trying again" in cluster.errors(1), 60, "a guest that waits")
    cluster.hosts.write_text(known)
    wait_for(lambda: "cannot reach the supervisor" in cluster.errors(1), 60, "a stale address")
    cluster.start(0)
    code, out = cluster.end(0)
    assert (code, cluster.end(1)[0]) == (0, 0), cluster.errors(0) + cluster.errors(1)
    assert f"rank 0 of 2 begins at {saved}" in out
    assert cluster.step() == STEPS


@pytest.mark.parametrize("script, code", [("import nothing_of_that_name", 1),
                                          ("raise SystemExit(93)", 93)])
def test_a_script_that_fails_for_good_fails_the_job(cluster, script, code):
    cluster.robustrun.write("train.py", script + "\n")
    cluster.start(0), cluster.start(1)
    ends = [cluster.end(index)[0] for index in (0, 1)]
    assert ends == [code, code], cluster.errors(0) + cluster.errors(1)
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
