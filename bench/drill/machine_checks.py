"""The machine: versions, what NVML shows, and the tests of GPUs of robustrun-probe."""

import importlib.util
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import time

import harness

from drill.frame import Check, Skip, Wrong
from drill.tools import output_of, version_words

TEMPERATURE_APART_C = 3
MEMORY_APART_MIB = 1024  # what the driver reserves counts for one of them alone
PROBE_TESTS = ("copy", "gemm", "repeat", "all-to-all", "neighbours")
TORCH = """
import json, time
began = time.monotonic()
import torch
found = {"torch": torch.__version__, "imported_s": round(time.monotonic() - began, 1),
         "cuda": torch.version.cuda, "available": torch.cuda.is_available()}
if found["available"]:
    began = time.monotonic()
    torch.ones(1, device="cuda").item()
    found["first_kernel_s"] = round(time.monotonic() - began, 1)
    found["nccl"] = ".".join(map(str, torch.cuda.nccl.version()))
    found["gpus"] = [torch.cuda.get_device_name(i) for i in range(torch.cuda.device_count())]
print(json.dumps(found))
"""


def environment(drill):
    """driver, GPU, torch, NCCL, the profiler's versions, and what robustrun doctor says"""
    said = output_of(sys.executable, "-c", TORCH, seconds=120)
    if said is None:
        raise Wrong(f"{sys.executable} cannot import torch")
    torch = json.loads(said.strip().splitlines()[-1])
    drill.figure("torch", torch)
    drill.figure("python", sys.version.split()[0])
    drill.figure("kernel", os.uname().release)
    drill.figure("robustrun", (output_of(harness.ROBUSTRUN, "--version") or "").strip())
    driver = output_of("nvidia-smi", "--query-gpu=name,driver_version,memory.total",
                       "--format=csv,noheader")
    drill.figure("nvidia_smi", (driver or "").strip())
    drill.figure("nccl", {"file": str(drill.nccl), "version": version_words(drill.nccl_version),
                          "profiler_versions": drill.profiler_versions})
    doctor = subprocess.run([harness.ROBUSTRUN, "doctor", "--json"], capture_output=True,
                            text=True, timeout=60,
                            env=harness.clean_environment(PYTHON_EXEC=sys.executable))
    found = json.loads(doctor.stdout)
    drill.record("doctor.json", doctor.stdout)
    rows = {row["name"]: row for row in found["checks"]}
    drill.figure("doctor_bad", [row for row in found["checks"] if row["state"] == "bad"])
    drill.claim("doctor finds torch", torch["torch"].split("+")[0] in rows["torch"]["found"],
                rows["torch"]["found"])
    if driver and not drill.cpu:
        for name in ("NVIDIA driver", "NVML", "NCCL profiler"):
            drill.claim(f"doctor finds {name}", rows[name]["state"] == "ok",
                        f"{rows[name]['state']}: {rows[name]['found']}")
        number = driver.split(",")[1].strip()
        shown = rows["NVIDIA driver"]["found"] + rows["NVML"]["found"]
        drill.claim("doctor shows nvidia-smi's driver version", number in shown, shown)
    return (f"{(driver or 'no GPU').strip().splitlines()[0]}; torch {torch['torch']}, NCCL "
            f"{version_words(drill.nccl_version)} (profiler {drill.profiler_versions})")


def read_states(text):
    """The GPUs that `robustrun agent --gpu-states` prints, as dicts."""
    gpus = []
    for line in text.splitlines():
        name, _, value = line.partition(" ")
        if name == "gpu":
            gpus.append({"pid": [], "error": []})
        elif gpus and name in ("pid", "error"):
            gpus[-1][name].append(value)
        elif gpus:
            gpus[-1][name] = value
    return gpus


def smi(*columns):
    said = output_of("nvidia-smi", f"--query-gpu={','.join(columns)}",
                     "--format=csv,noheader,nounits")
    if said is None:
        raise Wrong(f"nvidia-smi does not answer for {columns}")
    return [dict(zip(columns, map(str.strip, line.split(",")), strict=True))
            for line in said.strip().splitlines()]


def first_lines(command, pattern, seconds):
    """What a command prints until a line fits, which is then ended."""
    process = subprocess.Popen(list(map(str, command)), stdout=subprocess.PIPE,
                               stderr=subprocess.STDOUT, stdin=subprocess.PIPE)
    os.set_blocking(process.stdout.fileno(), False)
    text, end = "", time.monotonic() + seconds
    while time.monotonic() < end and not re.search(pattern, text, re.M):
        text += (process.stdout.read() or b"").decode(errors="replace")
        time.sleep(0.05)
    process.kill()
    process.wait()
    return text


def sensors(drill):
    """NVML's readings, as robustrun takes them, against nvidia-smi"""
    drill.need_gpu()
    holder = subprocess.Popen(
        [sys.executable, "-c", "import torch, time; x = torch.ones(1 << 28, device='cuda'); "
         "print('holds', flush=True); time.sleep(100)"], stdout=subprocess.PIPE)
    holder.stdout.readline()
    states = output_of(harness.ROBUSTRUN, "agent", "--gpu-states") or ""
    columns = ("name", "uuid", "pci.bus_id", "memory.used", "power.limit", "temperature.gpu",
               "ecc.errors.uncorrected.volatile.total")
    shown = smi(*columns)
    watched = first_lines([harness.ROBUSTRUN, "agent", "--watch-gpus"], r"^gpu .*\n", 20)
    processes = output_of("nvidia-smi", "--query-compute-apps=pid", "--format=csv,noheader") or ""
    drill.record("nvml/gpu-states.txt", states)
    drill.record("nvml/watch-gpus.txt", watched)
    drill.record("nvml/nvidia-smi.json", json.dumps(shown, indent=1))
    drill.record("nvml/nvidia-smi-q.txt", output_of("nvidia-smi", "-q") or "")
    holder.kill()
    holder.wait()
    gpus = read_states(states)
    if len(gpus) != len(shown):
        raise Wrong(f"robustrun sees {len(gpus)} GPUs, nvidia-smi {len(shown)}: {states!r}")
    for own, other in zip(gpus, shown, strict=True):
        drill.claim("name, UUID and bus are nvidia-smi's",
                    (own.get("name"), own.get("uuid"), own.get("pci", "").lower())
                    == (other["name"], other["uuid"], other["pci.bus_id"].lower()), [own, other])
        used = int(own.get("used_mib", -10**6)) - int(float(other["memory.used"]))
        drill.claim("used memory is nvidia-smi's, within 1 GiB",
                    abs(used) <= MEMORY_APART_MIB, f"{used:+} MiB")
        drill.figure("used memory, difference in MiB", used)
        drill.claim("the power limit is nvidia-smi's", own.get("power_limit_w") ==
                    str(int(float(other["power.limit"]))), [own.get("power_limit_w"), other])
    pids = {pid for own in gpus for pid in own["pid"]}
    drill.claim("processes that use the GPU are NVML's to see", str(holder.pid) in pids or
                str(holder.pid) not in processes, f"{pids}, nvidia-smi: {processes.split()}, "
                f"the process: {holder.pid}")
    drill.figure("NVML lists the process", str(holder.pid) in pids)
    line = re.search(r"^gpu .*$", watched, re.M)
    if not line:
        raise Wrong(f"no reading of sensors within 20 s: {watched!r}")
    values = dict(word.split("=", 1) for word in line[0].split()[2:] if "=" in word)
    apart = abs(int(values.get("temperature", -999)) - int(shown[0]["temperature.gpu"]))
    drill.claim("temperature is nvidia-smi's", apart <= TEMPERATURE_APART_C,
                f"{line[0]}; nvidia-smi: {shown[0]['temperature.gpu']}")
    errors = shown[0]["ecc.errors.uncorrected.volatile.total"]
    drill.claim("uncorrected memory errors are nvidia-smi's",
                not errors.isdigit() or values.get("ecc") == errors, f"{line[0]}; {errors}")
    return f"{line[0]}; {len(pids)} processes named"


def find_probe():
    beside = harness.BIN / "robustrun-probe"
    found = str(beside) if beside.exists() else shutil.which("robustrun-probe")
    if found is None:
        raise Skip("robustrun-probe is neither beside robustrun nor on PATH: build with "
                   "cmake -DROBUSTRUN_CUDA=ON")
    return pathlib.Path(found)


def probe(drill):
    """robustrun-probe's tests find the GPU sound"""
    drill.need_gpu()
    program, lines, words = find_probe(), [], []
    for test in PROBE_TESTS:
        began = time.monotonic()
        try:
            done = subprocess.run([program, test], capture_output=True, text=True, timeout=60,
                                  env=drill.library_environment())
        except subprocess.TimeoutExpired as why:
            drill.claim(f"{test} ends", False, (why.stderr or b"")[-500:])
            continue
        found = [line for line in done.stdout.splitlines() if line.startswith('{"probe":')]
        if not drill.claim(f"{test} gives a result", found,
                           f"exit code {done.returncode}: {done.stderr[-500:]}"):
            continue
        lines.append(found[-1])
        result = json.loads(found[-1])
        sound = not result["error"] and not result["faults"]
        drill.claim(f"{test} finds nothing wrong", sound, result["error"] or result["faults"])
        drill.figure(test, {"seconds": round(time.monotonic() - began, 1),
                            "figures": result["figures"], "sums": result["sums"]})
        words += [f"{test} {each['value']:.4g} {each['unit']}" for each in result["figures"]][:1]
    drill.record("probe.jsonl", "".join(line + "\n" for line in lines))
    return ", ".join(words)


def check_gpu(drill):
    """robustrun check --gpu finds the machine fit"""
    drill.need_gpu()
    find_probe()
    environment = harness.clean_environment(PYTHON_EXEC=sys.executable)
    environment["LD_LIBRARY_PATH"] = drill.library_environment()["LD_LIBRARY_PATH"]
    done = subprocess.run([harness.ROBUSTRUN, "check", "--gpu"], capture_output=True, text=True,
                          timeout=120, env=environment)
    shown = done.stdout + done.stderr
    drill.record("check-gpu.txt", shown)
    drill.claim("exit code 0", done.returncode == 0, f"{done.returncode}: {shown[-800:]}")
    found = re.findall(r"gpu \d+ \([^)]*\): .*", shown)
    drill.claim("a line for each GPU", len(found) == drill.gpus, found or shown[-800:])
    return found[0] if found else ""


def trainers(drill):
    """which trainers' packages are there, for the checks of imports"""
    found = [name for name in ("transformers", "lightning", "accelerate", "deepspeed")
             if importlib.util.find_spec(name)]
    drill.figure("packages", found)
    return ", ".join(found) or "none"


FIRST = [Check("environment", environment, 150, 5)]
PROBE = [Check("probe", probe, 120, 45), Check("sensors", sensors, 60, 12)]
LAST = [Check("check-gpu", check_gpu, 130, 50), Check("trainers", trainers, 10, 1)]
