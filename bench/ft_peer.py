"""nvidia-resiliency-ext's ft_launcher, from PyPI, where it runs without a GPU."""

import contextlib
import subprocess
import sys
import tempfile

from harness import PYTHON, clean_environment

# ft_launcher and what it needs besides torch, which the environment has.
PACKAGES = ("nvidia-resiliency-ext", "pyyaml", "psutil", "pynvml", "defusedxml", "packaging")
FT_LAUNCHER = [PYTHON, "-m", "nvidia_resiliency_ext.fault_tolerance.launcher",
               "--ignore-missing-fault-tol-cfg"]


@contextlib.contextmanager
def ft_launcher():
    """The environment variables with which it runs; None if it cannot be installed or run."""
    with tempfile.TemporaryDirectory(prefix="robustrun-bench-ft-") as folder:
        variables = {"PYTHONPATH": folder}
        try:
            subprocess.run([PYTHON, "-m", "pip", "install", "--quiet", "--no-deps", "--target",
                            folder, *PACKAGES], check=True, timeout=180, capture_output=True)
            subprocess.run([*FT_LAUNCHER, "--help"], check=True, timeout=60, capture_output=True,
                           env=clean_environment(**variables))
        except (OSError, subprocess.SubprocessError) as why:
            print(f"ft_launcher does not run here: {why}", file=sys.stderr)
            variables = None
        yield variables
