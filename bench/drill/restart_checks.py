"""Restarts of jobs with memory on a GPU: standby workers, and a state from memory copies. torchrun
does the same beside."""

import importlib.util
import os
import signal
import time

import harness

from drill.frame import Check, Skip, Wrong
from drill.tools import TRAIN, job, last_lines, output_of, waiting_standbys

HOLD = 0.8
MODEL_MIB, CPU_MODEL_MIB = 1024, 64
STEPS = 8


def note_s(running, name, which=0):
    return int(running.note(name, 90)[which]) / 1e9


def killed_to(running, wait_standby, marks):
    """Kills rank 0 of the first attempt; seconds until each mark of the second."""
    running.note("trained.0.0", 120)
    pid = int(running.note("place.0.0")[0])
    standbys = []
    if wait_standby:
        standbys = harness.wait_for(lambda: waiting_standbys(running),
                                    "a standby worker that has imported torch", 120)
        time.sleep(1)
    users = output_of("nvidia-smi", "--query-compute-apps=pid", "--format=csv,noheader") or ""
    killed = time.monotonic()
    os.kill(pid, signal.SIGKILL)
    seconds = {mark: note_s(running, f"{mark}.0.1") - killed for mark in marks}
    return seconds, standbys, users.split()


def restart_of(drill, words, mark, peer, extra=()):
    """One restart: seconds until `mark`, and until the first step."""
    marks = ("first-line", "imported", *mark, "first-step")
    with job(drill, "--max-restarts=3", TRAIN, "--wait", *words, peer=peer) as running:
        seconds, standbys, users = killed_to(running, not peer, marks)
        code = running.ended(60)
        if code != 0:
            raise Wrong(f"the restarted job ended with {code}: {last_lines(running.errors)}")
        report = {} if peer else running.report()
        notes = {name: running.note(name) for name in extra}
    return seconds, standbys, users, report, notes


def standby_of(drill, words, name):
    marks = ("held",)
    ours, standbys, users, report, _ = restart_of(drill, words, marks, False)
    incident = (report.get("incidents") or [{}])[0]
    drill.figure(f"{name}: ours", ours)
    drill.figure(f"{name}: phases", incident.get("phases"))
    drill.claim(f"{name}: a standby worker takes over", incident.get("warm") == 1,
                [incident.get("warm"), incident.get("cold")])
    drill.claim(f"{name}: standby workers use no GPU",
                not set(map(str, standbys)) & set(users), [standbys, users])
    theirs, *_ = restart_of(drill, words, marks, True)
    drill.figure(f"{name}: torchrun", theirs)
    ratio = ours["first-step"] / theirs["first-step"]
    drill.figure(f"{name}: ratio", ratio)
    drill.claim(f"{name}: the next step comes before torchrun's", ratio < 1,
                f"{ours['first-step']:.2f} s against {theirs['first-step']:.2f} s")
    return f"{name} {ours['first-step']:.2f} s to the next step, torchrun " \
           f"{theirs['first-step']:.2f} s"


def standby(drill):
    """a warm restart gets the dead worker's GPU memory, sooner than under torchrun"""
    if not drill.cpu:
        drill.need_gpu()
    return standby_of(drill, ["--alone", "--hold", HOLD, "--steps", STEPS], "80 % of the GPU")


def standby_imports(drill):
    """the same with a trainer's packages imported"""
    if not drill.cpu:
        drill.need_gpu()
    names = [name for name in ("transformers", "lightning") if importlib.util.find_spec(name)]
    if not names:
        raise Skip("neither transformers nor lightning is installed")
    return standby_of(drill, ["--alone", "--hold", 0.1, "--steps", STEPS, "--import",
                              ",".join(names)], ", ".join(names))


def memory(drill):
    """a state of 1 GiB on the GPU comes back from memory copies, bit by bit, before torch.save's"""
    if not drill.cpu:
        drill.need_gpu()
    mib = CPU_MODEL_MIB if drill.cpu else MODEL_MIB
    seconds, lines = {}, []
    for save in ("memory", "torch"):
        words = ["--alone", "--model", mib, "--steps", STEPS, "--pace", "0.2", "--save", save]
        seconds[save], _, _, report, notes = restart_of(
            drill, words, ("loaded",), save == "torch", ("loaded.0.1", "stalls.0.0"))
        loaded = notes["loaded.0.1"]
        stalls = sorted(map(float, notes["stalls.0.0"]))
        middle = stalls[len(stalls) // 2]
        drill.figure(f"{save}: seconds after the kill", seconds[save])
        drill.figure(f"{save}: stall of a save, s", {"all": list(map(float, notes["stalls.0.0"])),
                                                     "median": middle})
        drill.claim(f"{save}: the step before the kill is restored", loaded[1] == str(STEPS),
                    loaded)
        drill.claim(f"{save}: bits are equal", loaded[3] == "equal", loaded)
        if save == "memory":
            drill.claim("all bytes come from memory", int(loaded[2]) >= mib << 20, loaded)
            drill.figure("phases", (report.get("incidents") or [{}])[0].get("phases"))
        lines.append(f"{save} {seconds[save]['first-step']:.2f} s, stall {middle * 1e3:.0f} ms")
    drill.claim("the next step comes before that of torch.save and torchrun",
                seconds["memory"]["first-step"] < seconds["torch"]["first-step"], lines)
    return "; ".join(lines)


CHECKS = [Check("standby", standby, 240, 45), Check("memory", memory, 240, 50),
          Check("standby-imports", standby_imports, 150, 60)]
