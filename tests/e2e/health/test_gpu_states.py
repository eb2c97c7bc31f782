"""The agent's helper that asks NVIDIA's library for the state of GPUs (agent/gpu/gpu_state.h)."""

import subprocess


def states(robustrun, folder, says):
    file = robustrun.write("gpus", says)
    done = subprocess.run(
        [robustrun.binary, "agent", "--gpu-states"], stdout=subprocess.PIPE, check=True,
        timeout=60, env={"LD_LIBRARY_PATH": str(folder), "NVML_MOCK": str(file)})
    return done.stdout.decode().splitlines()


def test_the_state_of_each_gpu_is_printed(robustrun, nvml):
    assert states(robustrun, nvml, "550.54.15 3\n") == [
        "gpu 0", "name Mock GPU 0", "uuid GPU-00000000", "pci 00000000:3b:00.0",
        "utilisation_percent 97", "power_w 90", "power_limit_w 700",
        "error 5000000000 uncorrected memory errors since its driver began", "used_mib 600",
        "pid 100", "pid 101",
        "gpu 1", "error 15 (Unknown Error)",
        "gpu 2", "name Mock GPU 2", "uuid GPU-00000002", "pci 00000000:3d:00.0", "used_mib 600",
        "pid 300", "pid 301",
    ]


def test_a_library_that_refuses_is_quoted(robustrun, nvml):
    assert states(robustrun, nvml, "fail 18\n") == [
        "refused nvmlInit failed with 18 (Driver/library version mismatch)"]


def test_a_machine_without_the_library_prints_no_state(robustrun, tmp_path):
    assert states(robustrun, tmp_path, "550.54.15 8\n") == []


def test_the_number_of_gpus_is_limited(robustrun, nvml):
    lines = states(robustrun, nvml, "550.54.15 4000000\n")
    assert sum(line.startswith("gpu ") for line in lines) == 64
