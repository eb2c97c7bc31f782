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


def test_the_file_is_what_kubernetes_takes(robustrun):
    """And what `robustrun k8s` prints. Checked by the API's own schema where kubernetes-validate is
    installed."""
    service, job = manifest()
    assert job["spec"]["completions"] == job["spec"]["parallelism"]
    pod = job["spec"]["template"]["spec"]
    assert service["metadata"]["name"] == pod["subdomain"]
    assert service["spec"]["selector"] == {"batch.kubernetes.io/job-name": job["metadata"]["name"]}
    names = {volume["name"] for volume in pod["volumes"]}
    (container,) = pod["containers"]
    assert {mount["name"] for mount in container["volumeMounts"]} == names
    validate = pytest.importorskip("kubernetes_validate")
    for resource in (service, job, *rendered(robustrun, *AS_FILE)):
        for version in ("1.31", validate.latest_version()):  # 1.31: stable podFailurePolicy
            validate.validate(resource, version, strict=True)


def rendered(robustrun, *options, code=0):
    done = robustrun.run("k8s", *options)
    assert done.code == code, done.errors
    return list(yaml.safe_load_all(done.out)) if code == 0 else done.errors


AS_FILE = ("--nodes=4", "--gpus-per-node=8", "--pod-image=registry.example/train:1",
           "--pod-queue=default", "/app/train.py", "--checkpoint=/data/checkpoints")


def test_render_prints_what_the_example_has(robustrun):
    service, job = rendered(robustrun, *AS_FILE)
    expected_service, expected = manifest()
    assert service == expected_service
    commands = []
    for each in (job, expected):
        pod = each["spec"]["template"]["spec"]
        commands.append(sorted(pod["containers"][0].pop("command")))
        for volume in pod["volumes"]:
            volume.get("emptyDir", {}).pop("sizeLimit", None)
    assert job == expected
    assert commands[0] == sorted([*commands[1], "--"])


def test_a_jobset_has_the_same_pods(robustrun):
    (jobset,) = rendered(robustrun, "--jobset", *AS_FILE)
    _, job = rendered(robustrun, *AS_FILE)
    assert (jobset["apiVersion"], jobset["kind"]) == ("jobset.x-k8s.io/v1alpha2", "JobSet")
    assert jobset["metadata"] == job["metadata"]
    # jobset_types.go of v1alpha2 has these fields.
    assert jobset["spec"].keys() == {"network", "replicatedJobs"}
    assert jobset["spec"]["network"] == {"enableDNSHostnames": True, "subdomain": "train",
                                         "publishNotReadyAddresses": True}
    (replicated,) = jobset["spec"]["replicatedJobs"]
    assert replicated.keys() == {"name", "replicas", "template"} and replicated["replicas"] == 1
    spec, expected = replicated["template"]["spec"], job["spec"]
    assert expected["template"]["spec"].pop("subdomain") == "train"  # JobSet sets it
    first = f"--master-addr=train-{replicated['name']}-0-0.train"
    command = expected["template"]["spec"]["containers"][0]["command"]
    command[command.index("--master-addr=train-0.train")] = first
    assert spec == expected


def test_options_go_into_the_command_and_resources(robustrun):
    robustrun.write("job.toml", "max_restarts = 7\nshutdown_timeout = 300\n")
    service, job = rendered(
        robustrun, "-c", "job.toml", "--nodes=2", "--mem=200G", "--cpus-per-task=16",
        "--job-name=gpt-7b", "--pod-image=i", "--pod-volume=data", "--nproc-per-node=4",
        "--tee=0:3", "sub/Train_GPT.py", "--name=$(POD_UID) $HOME", 'a "b": #c', "")
    pod = job["spec"]["template"]["spec"]
    (container,) = pod["containers"]
    assert job["metadata"] == {"name": "gpt-7b"} and service["metadata"]["name"] == "gpt-7b"
    assert container["resources"] == {"limits": {"cpu": 16, "memory": "200Gi"}}
    assert pod["terminationGracePeriodSeconds"] == 320
    assert {"--max-restarts=7", "--shutdown-timeout=300", "--nproc-per-node=4", "--tee=0:3",
            "--nnodes=2", "--master-addr=gpt-7b-0.gpt-7b"} < set(container["command"])
    assert container["command"][-5:] == ["--", "sub/Train_GPT.py", "--name=$$(POD_UID) $$HOME",
                                         'a "b": #c', ""]
    _, job = rendered(robustrun, "--pod-image=i", "--save-within=10m", "sub/Train_GPT.v2.py")
    assert job["metadata"]["name"] == "train-gpt-v2"
    pod = job["spec"]["template"]["spec"]
    assert "resources" not in pod["containers"][0]
    assert pod["terminationGracePeriodSeconds"] == 620
    assert {"--save-within=10m", "--shutdown-timeout=600"} < set(pod["containers"][0]["command"])
    robustrun.write("job.toml", "standalone = false\nsecret_file = ''\njob_name = 'on'\n")
    _, job = rendered(robustrun, "-c", "job.toml", "--pod-image=i", "-m", "package.train")
    assert job["metadata"]["name"] == "on"
    (container,) = job["spec"]["template"]["spec"]["containers"]
    assert [word for word in container["command"] if word.startswith("--secret-file")] == [
        "--secret-file=/run/secrets/robustrun/secret"]
    assert "--module" in container["command"] and container["command"][-1] == "package.train"


@pytest.mark.parametrize("options, error", [
    (["t.py"], "the image is missing; add --pod-image=IMAGE"),
    (["--pod-image=i"], "the following arguments are required: training_script"),
    (["--pod-image=i", "--nnodes=4", "t.py"], "cannot use --nnodes=4: use --nodes=N"),
    (["--pod-image=i", "--partition=gpu", "t.py"], "it is an option of Slurm; leave it out"),
    (["--pod-image=i", "--job-name=My_Job", "t.py"], "a name in Kubernetes has small letters"),
    (["--pod-image=i", "--mem=much", "t.py"], "cannot use --mem=much: expected a size"),
    (["--pod-image=i", "--notify=slack:https://a/b", "t.py"],
     "put it into a Secret that sets the pods' variable ROBUSTRUN_NOTIFY"),
    (["--pod-image=i", "--unit=2", "t.py"], "argument --unit: only for robustrun replay"),
    (["--pod-image=i", "--gpus-per-node=0", "t.py"], "expected a number from 1 on"),
    (["--pod-image=i", "--spares=1", "t.py"], "a lost pod is started again; leave it out"),
    (["--pod-image=i", "--dry-run", "t.py"],
     "cannot use --dry-run: k8s only prints the objects; leave it out"),
    (["--pod-image=i", "--compat=torchrun", "t.py"], "do not tell Kubernetes what to start"),
])
def test_what_cannot_be_rendered_is_one_line(robustrun, options, error):
    assert error in rendered(robustrun, *options, code=2)


def test_variables_of_the_calling_shell_are_not_for_the_pods(robustrun):
    env = {"LOGLEVEL": "DEBUG", "ROBUSTRUN_NOTIFY": "slack:https://a/b", "PET_MAX_RESTARTS": "9",
           "ROBUSTRUN_PARTITION": "gpu"}
    done = robustrun.run("k8s", *AS_FILE, env=env)
    assert done.code == 0, done.errors
    assert list(yaml.safe_load_all(done.out)) == rendered(robustrun, *AS_FILE)


def test_the_commands_of_the_file_make_a_secret(tmp_path):
    (line,) = [line for line in FILE.read_text().splitlines() if "create secret" in line]
    quoted = line.partition("--from-literal=secret=")[2]
    made = subprocess.run(["sh", "-c", f"printf %s {quoted}"], capture_output=True, check=True)
    assert len(made.stdout) >= 32
