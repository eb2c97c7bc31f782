"""Nodes are checked before anything starts on them; `robustrun check` only checks."""

import contextlib
import os
import pathlib
import re
import signal
import sys
import threading
import time

import pytest
from helpers.fake_clock import HOUR_S, FakeClock
from helpers.jobs import DECISION, QUICK, WORKER_STARTED, lockstep, start_job
from helpers.machines import run as run_tool
from helpers.processes import command_of, wait_for
from recovery.test_resume import kill_supervisor, resume

HELLO = "import os; print('rank', os.environ['RANK'])\n"


def check(runner, *arguments, prefix=(), env=None, timeout=180):
    program, *rest = map(str, (*prefix, runner.binary, "check", *arguments))
    return runner.run(*rest, argv0=program, env=env, timeout=timeout)


def rows(finished):
    """Node to its verdict and findings, from the table."""
    table, name = {}, None
    for line in finished.text.splitlines()[1:]:
        if line.startswith("    "):
            table[name][1].append(line.strip())
        else:
            name, verdict = line.split()[:2]
            table[name] = (verdict, [])
    return table


def only(finished, level):
    """The one finding of that level in the whole table, with its node."""
    found = [
        (node, words) for node, (_, findings) in rows(finished).items() for words in findings
        if words.startswith(f"{level}: ")
    ]
    assert len(found) == 1, finished.text
    return found[0]


@pytest.mark.parametrize("depth", [pytest.param("fast", marks=pytest.mark.nightly), "full"])
def test_a_check_of_sound_nodes_prints_a_table_and_leaves_nothing(robustrun, depth):
    done = check(robustrun, "--launcher=processes", "--nnodes=4", f"--preflight={depth}")
    table = rows(done)
    assert len(table) == 4
    # The speed of four agents on a busy machine is random.
    allowed = {"ok", "warning"} | ({"slow"} if depth == "full" else set())
    verdicts = {verdict for verdict, _ in table.values()}
    assert verdicts <= allowed, done.text
    assert done.code == (94 if "slow" in verdicts else 0), done.errors
    version = ".".join(map(str, sys.version_info[:3]))
    assert done.text.count(version) == 4
    assert f"pre-flight ({depth}): 4 nodes checked" in done.errors
    assert not (robustrun.folder / "robustrun-runs").exists()
    assert list(robustrun.folder.glob("robustrun-*/runs/*")) == []
    robustrun.expect_nothing_left()


def test_one_machine_is_checked_on_request(robustrun):
    done = check(robustrun)
    assert done.code == 0 and len(rows(done)) == 1, done.errors
    robustrun.write("hello.py", HELLO)
    plain = robustrun.run("hello.py")
    asked = robustrun.run("--preflight=fast", "hello.py")
    assert plain.code == asked.code == 0
    assert "pre-flight" not in plain.errors and "pre-flight" in asked.errors


def test_a_check_takes_the_options_of_a_run(robustrun):
    assert "robustrun check" in check(robustrun, "--help").text
    assert check(robustrun, "--nnodes=none").code == 2
    missing = check(robustrun, "--launcher=processes", "--nnodes=2", "no-such-script.py")
    assert missing.code == 2 and "no-such-script.py" in missing.errors


def test_several_nodes_are_checked_before_the_first_worker_starts(nodes):
    job = nodes("--nnodes=3", *QUICK, *lockstep(nodes.runner, 3))
    finished = job.finish()
    assert finished.code == 0, finished.errors
    records = job.records(DECISION, WORKER_STARTED)
    started = [i for i, r in enumerate(records) if r.kind == WORKER_STARTED]
    checked = [
        i for i, r in enumerate(records)
        if r.kind == DECISION and r.text(3).startswith("pre-flight (fast): 3")
    ]
    assert len(checked) == 1 and checked[0] < started[0]
    off = nodes("--nnodes=3", "--preflight=off", *QUICK, *lockstep(nodes.runner, 3))
    assert off.finish().code == 0
    assert "pre-flight" not in off.err()


# Faults of packets between h1 and h2, and the findings.
CUTS = {
    "all packets": (
        "h1", "output ip daddr {h2} drop", "what h1 sends to h2 is lost (timeout after 3 s); what "
        "h2 sends arrives",
    ),
    "all packets, at their end": (
        "h2", "input ip saddr {h1} drop", "what h1 sends to h2 is lost (timeout after 3 s); what "
        "h2 sends arrives",
    ),
    "new connections": (
        "h2", "input ip saddr {h1} tcp flags & (syn|ack) == syn drop",
        "h1 cannot reach h2: timeout after 3 s; the other direction works",
    ),
    "new connections, refused": (
        "h2", "input ip saddr {h1} tcp flags & (syn|ack) == syn reject with tcp reset",
        "h1 cannot reach h2: connection refused; the other direction works",
    ),
    "no route": (
        "h1", None, "h1 cannot reach h2 (no route), nor h2 h1 (timeout after 3 s)",
    ),
}


def cut(machines, name):
    where, rule, words = CUTS[name]
    machine = machines[where]
    if rule is None:
        machine.within("ip", "route", "add", "unreachable", machines["h2"].address)
        return words
    direction, condition = rule.format(
        h1=machines["h1"].address, h2=machines["h2"].address
    ).split(" ", 1)
    machine.within("nft", f"add table inet cut; add chain inet cut {direction} "
                          f"{{ type filter hook {direction} priority 0; }}; "
                          f"add rule inet cut {direction} {condition}")
    return words


@pytest.mark.parametrize("name", CUTS)
def test_only_the_broken_direction_is_named(lab, robustrun, name):
    machines = lab(4)
    words = cut(machines, name)
    began = time.monotonic()
    done = check(robustrun, "--hosts=h[1-4]", "--iface=eth0", prefix=machines.prefix,
                 env=machines.home.environment())
    assert time.monotonic() - began < 60
    assert done.code == 94, done.errors
    assert only(done, "unfit") == ("h2", f"unfit: {words}")
    verdicts = {node: verdict for node, (verdict, _) in rows(done).items()}
    assert [node for node, verdict in verdicts.items() if verdict == "unfit"] == ["h2"]


def test_a_spare_takes_the_place_of_a_node_that_cannot_be_reached(lab, robustrun):
    machines = lab(3)
    cut(machines, "new connections")
    job = start_job(robustrun, "--hosts=h[1-3]", "--nnodes=2", "--iface=eth0", *QUICK,
                    *lockstep(robustrun, 20), env=machines.home.environment(),
                    prefix=machines.prefix)
    finished = job.finish()
    assert finished.code == 0, finished.errors
    assert job.group_names() == ["h1", "h3"]
    assert "pre-flight: h2 left out: h1 cannot reach h2: timeout after 3 s" in finished.errors


def test_without_a_spare_the_run_does_not_start_and_gives_the_reason(lab, robustrun):
    machines = lab(2)
    words = cut(machines, "all packets")
    job = start_job(robustrun, "--hosts=h[1-2]", "--iface=eth0", *QUICK,
                    *lockstep(robustrun, 20), env=machines.home.environment(),
                    prefix=machines.prefix)
    finished = job.finish()
    assert finished.code == 94
    assert words in " ".join(finished.errors.split())
    assert job.records(WORKER_STARTED) == []


def within_mounts(machine, *words):
    run_tool("nsenter", "-t", machine.init, "-m", *words)


@pytest.mark.parametrize("what", [
    "shared memory", pytest.param("disk", marks=pytest.mark.nightly), "torch", "script"])
def test_what_a_host_lacks_is_named(lab, robustrun, what):
    machines = lab(3)
    logs = robustrun.folder / "logs"
    logs.mkdir()
    script = robustrun.write("hello.py", HELLO)
    other = machines["h2"]
    if what == "shared memory":
        within_mounts(other, "mount", "-t", "tmpfs", "-o", "size=8m", "none", "/dev/shm")
        words = "only 8 MiB of 8 MiB are free in /dev/shm"
    elif what == "disk":
        within_mounts(other, "mount", "-t", "tmpfs", "-o", "size=8m", "none", str(logs))
        words = f"only 8 MiB are free in {logs}"
    elif what == "torch":
        import torch

        fake = robustrun.write("version.py", "__version__ = '1.13.1+test'\n")
        real = pathlib.Path(torch.__file__).resolve().parent / "version.py"
        within_mounts(other, "mount", "--bind", str(fake), str(real))
        words = f"it has torch 1.13.1+test, the others have torch {torch.__version__}"
    else:
        empty = robustrun.folder / "empty"
        empty.mkdir()
        words = f"{script} is not on this machine"
    arguments = ["--hosts=h[1-3]", "--iface=eth0", f"--log-dir={logs}"]
    if what == "script":
        folder = robustrun.folder / "job"
        folder.mkdir()
        script = folder / "train.py"
        script.write_text(HELLO)
        within_mounts(other, "mount", "--bind", str(empty), str(folder))
        words = f"{script} is not on this machine"
        arguments.append(script)
    done = check(robustrun, *arguments, prefix=machines.prefix, env=machines.home.environment())
    assert done.code == 94, done.errors
    node, found = only(done, "unfit")
    assert node == "h2" and words in found


def test_a_clock_that_is_an_hour_off_is_a_warning(farm, robustrun):
    hosts = farm(3)
    clock = FakeClock(robustrun.folder)
    clock.set(HOUR_S)
    hosts["h2"].restart_with(clock.environment())
    job = start_job(robustrun, "--hosts=h[1-3]", *QUICK, *lockstep(robustrun, 5),
                    env=hosts.home.environment())
    finished = job.finish()
    assert finished.code == 0, finished.errors
    warnings = [line for line in finished.errors.splitlines() if "its clock is" in line]
    assert len(warnings) == 1
    ahead = re.search(r"pre-flight: h2: its clock is (\d+) s ahead", warnings[0])[1]
    assert abs(int(ahead) - HOUR_S) < 60


@contextlib.contextmanager
def sluggish(pid):
    """Slows a process down to a fiftieth of the time, less than it would get on a busy machine."""
    over = threading.Event()

    def pulse():
        with contextlib.suppress(ProcessLookupError):
            while not over.is_set():
                os.kill(pid, signal.SIGSTOP)
                over.wait(0.098)
                os.kill(pid, signal.SIGCONT)
                over.wait(0.002)

    thread = threading.Thread(target=pulse)
    thread.start()
    try:
        yield
    finally:
        over.set()
        thread.join()
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, signal.SIGCONT)


def finish_with_a_slow_node(nodes, spares):
    """A checked run whose second agent is slow, and its lines that name only that node as slow."""
    job = nodes("--nnodes=4", f"--spares={spares}", "--preflight=full", "--time-limit=400",
                *lockstep(nodes.runner, 3))
    agent = job.wait(lambda: job.agents().get(1), "the second agent")
    with sluggish(agent):
        job.wait(lambda: job.groups_formed(), "the group", 300)
    finished = job.finish(500)
    assert finished.code == 0, finished.errors
    named = "-1 left out:" if spares else "-1:"
    return job, finished, [line for line in finished.errors.splitlines()
                           if "slow, with two partners" in line and named in line]


@pytest.mark.parametrize("spares", [pytest.param(0, marks=pytest.mark.nightly), 1])
def test_a_slow_node_is_named_and_replaced_if_there_is_a_spare(nodes, spares):
    for _ in range(3):  # on a busy machine the others may be late as well
        job, finished, slow = finish_with_a_slow_node(nodes, spares)
        if slow:
            break
    assert len(slow) == 1, finished.errors
    assert (1 in job.group()) == (not spares)


def test_a_stopped_agent_is_named_and_delays_the_check_only_briefly(nodes):
    job = nodes("--nnodes=2", "--spares=1", "--preflight=full", *QUICK,
                *lockstep(nodes.runner, 3))
    agent = job.wait(lambda: job.agents().get(1), "the second agent")
    os.kill(agent, signal.SIGSTOP)
    finished = job.finish(300)
    assert finished.code == 0, finished.errors
    assert job.losses()[0][0] == 1 and "it was silent for" in job.losses()[0][1]
    nodes.runner.expect_nothing_left()


def with_gpus(nvml, file):
    return {"LD_LIBRARY_PATH": str(nvml), "NVML_MOCK": str(file)}


def test_gpus_are_counted_by_the_library(robustrun, nvml):
    file = robustrun.write("gpus", "550.54.15 8\n")
    done = check(robustrun, "--launcher=processes", "--nnodes=2", env=with_gpus(nvml, file))
    assert done.code == 0, done.errors
    assert done.text.count("550.54.15") == 2


@pytest.mark.parametrize(("says", "words"), [
    ("550.54.15 7\n", "it has 7 GPUs, the others have 8"),
    ("fail 18\n", "its GPUs cannot be counted: nvmlInit failed with 18 (Driver/library"),
    ("hang\n", "its GPUs cannot be counted: no answer within 5 s"),
])
def test_a_host_whose_gpus_differ_is_named(lab, robustrun, nvml, says, words):
    machines = lab(3)
    file = robustrun.write("gpus", "550.54.15 8\n")
    here = robustrun.write("gpus-of-h2", says)
    within_mounts(machines["h2"], "mount", "--bind", str(here), str(file))
    began = time.monotonic()
    done = check(robustrun, "--hosts=h[1-3]", "--iface=eth0", "--nproc-per-node=8",
                 prefix=machines.prefix,
                 env={**machines.home.environment(), **with_gpus(nvml, file)})
    assert time.monotonic() - began < 60
    assert done.code == 94, done.errors
    node, found = only(done, "unfit")
    assert node == "h2" and words in found
    wait_for(lambda: not machines["h2"]._with(b"--list-gpus"), what="the end of the helper")


def test_where_the_library_hangs_everywhere_the_run_starts_with_a_warning(nodes, nvml):
    file = nodes.runner.write("gpus", "hang\n")
    job = nodes("--nnodes=2", *lockstep(nodes.runner, 3), env=with_gpus(nvml, file))
    finished = job.finish()
    assert finished.code == 0, finished.errors
    assert "its GPUs cannot be counted: no answer within 5 s" in finished.errors
    nodes.runner.expect_nothing_left()


def under_way(job):
    """On all nodes, as long as the GPU library hangs."""
    def asks(node):
        return any(b"--list-gpus" in (command_of(p) or []) for p in job.node_processes(node))

    return len(job.agents()) == 3 and all(map(asks, job.agents()))


def test_another_supervisor_checks_again_and_goes_on(nodes, nvml):
    file = nodes.runner.write("gpus", "hang\n")
    job = nodes("--nnodes=3", "--orphan-grace=60", *lockstep(nodes.runner, 5),
                env=with_gpus(nvml, file))
    job.wait(lambda: under_way(job), "a check of all nodes")
    kill_supervisor(job)
    job = resume(job)
    kill_supervisor(job)
    file.write_text("550.54.15 8\n")
    assert job.groups_formed() == 0
    finished = resume(job).finish()
    assert finished.code == 0, finished.errors
    assert "pre-flight (fast): 3 nodes checked" in finished.errors
    assert "GPUs cannot be counted" not in finished.errors
    assert job.losses() == [] and job.joins() == 3
    nodes.runner.expect_nothing_left()


def test_an_absent_host_is_in_the_table(farm, robustrun):
    hosts = farm(2)
    hosts["h2"].die()
    done = check(robustrun, "--hosts=h[1-2]", env=hosts.home.environment())
    assert done.code == 94, done.errors
    assert rows(done)["h1"][0] in ("ok", "warning")
    assert rows(done)["h2"][0] == "unfit" and "no agent" in only(done, "unfit")[1]
