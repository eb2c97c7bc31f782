"""A site for runs with dependencies: wheels and packages made by the test, pip or uv."""

import base64
import hashlib
import os
import pathlib
import subprocess
import sys
import zipfile

TOOLS = pathlib.Path(sys.executable).parent
SCRIPT = "import tiny\nprint('tiny', tiny.VERSION, tiny.__file__)\n"
# The script of a --setup-cmd: counts its runs, waits for a file, and installs a module.
BUILD = """
import os, pathlib, time
with open("count", "a") as count:
    count.write("x")
while not os.path.exists("go"):
    time.sleep(0.01)
prefix = pathlib.Path(os.environ["ROBUSTRUN_PREFIX"])
(prefix / "tiny.py").write_text("VERSION = '9'\\n")
"""


# Builds a wheel of the module beside it (PEP 517) without other packages; an editable wheel names
# the folder instead.
BACKEND = """
import os, zipfile

def build_wheel(folder, settings=None, metadata=None, link=None):
    info, name = "tiny-1.dist-info", "tiny-1-py3-none-any.whl"
    with zipfile.ZipFile(folder + "/" + name, "w") as wheel:
        wheel.writestr("tiny.pth", link) if link else wheel.write("tiny.py")
        wheel.writestr(info + "/METADATA", "Metadata-Version: 2.1\\nName: tiny\\nVersion: 1\\n")
        wheel.writestr(info + "/WHEEL", "Wheel-Version: 1.0\\nGenerator: test\\n"
                       "Root-Is-Purelib: true\\nTag: py3-none-any\\n")
        wheel.writestr(info + "/RECORD", "tiny.py,,\\n" + "".join(
            info + "/" + part + ",,\\n" for part in ("METADATA", "WHEEL", "RECORD")))
    return name

def build_editable(folder, settings=None, metadata=None):
    return build_wheel(folder, settings, metadata, os.getcwd())
"""


def write_package(folder, version):
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "pyproject.toml").write_text(
        "[build-system]\nrequires = []\nbuild-backend = 'backend'\nbackend-path = ['.']\n"
        "[project]\nname = 'tiny'\nversion = '1'\n")
    (folder / "backend.py").write_text(BACKEND)
    (folder / "tiny.py").write_text(f"VERSION = '{version}'\n")


def make_wheel(folder, name, version, size=0, program=False):
    """A wheel by PEP 427, with a module that knows its version."""
    info = f"{name}-{version}.dist-info"
    files = {
        f"{name}.py": f"VERSION = '{version}'\ndef main():\n    print('program', VERSION)\n",
        f"{info}/METADATA": f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n",
        f"{info}/WHEEL": "Wheel-Version: 1.0\nGenerator: test\nRoot-Is-Purelib: true\n"
                         "Tag: py3-none-any\n",
    }
    if size:
        files[f"{name}_data.bin"] = os.urandom(size)
    if program:
        files[f"{info}/entry_points.txt"] = f"[console_scripts]\n{name}={name}:main\n"
    record = ""
    for path, content in files.items():
        content = content.encode() if isinstance(content, str) else content
        digest = base64.urlsafe_b64encode(hashlib.sha256(content).digest()).rstrip(b"=").decode()
        record += f"{path},sha256={digest},{len(content)}\n"
    files[f"{info}/RECORD"] = record + f"{info}/RECORD,,\n"
    folder.mkdir(exist_ok=True)
    with zipfile.ZipFile(folder / f"{name}-{version}-py3-none-any.whl", "w") as wheel:
        for path, content in files.items():
            wheel.writestr(path, content)


def plain_interpreter(folder):
    """An interpreter with pip and without uv."""
    subprocess.run([sys.executable, "-m", "venv", folder / "env"], check=True)
    return folder / "env" / "bin" / "python"


class Site:
    """A folder with a program, its requirements and the wheels for them."""

    def __init__(self, robustrun, plain, installer):
        self.robustrun = robustrun
        self.folder = robustrun.folder
        self.wheels = self.folder / "wheels"
        self.uses = self.folder / "uses"
        make_wheel(self.wheels, "tiny", "1")
        robustrun.write("t.py", SCRIPT)
        robustrun.write("requirements.txt", "tiny==1\n")
        path = [p for p in os.environ["PATH"].split(":") if not os.path.exists(f"{p}/uv")]
        if installer == "uv":
            tools = self.folder / "tools"
            tools.mkdir()
            wrapper = tools / "uv"
            wrapper.write_text(f"#!/bin/sh\necho used >> {self.uses}\nexec {TOOLS}/uv \"$@\"\n")
            wrapper.chmod(0o755)
            path.insert(0, str(tools))
        self.variables = {
            "PATH": ":".join(path), "PYTHON_EXEC": str(plain), "PIP_NO_INDEX": "1",
            "PIP_FIND_LINKS": str(self.wheels), "PIP_LOG": str(self.folder / "pip.log"),
            "UV_NO_INDEX": "1", "UV_FIND_LINKS": str(self.wheels), "UV_OFFLINE": "1",
            "UV_CACHE_DIR": str(self.folder / "uv-cache"), "PIP_NO_CACHE_DIR": "1",
        }
        self.installer = installer

    def trace(self):
        """Grows with every call of the installer."""
        return (self.uses if self.installer == "uv" else self.folder / "pip.log").stat().st_size

    def run(self, *options, script="t.py", **others):
        return self.robustrun.run(*options, script, env=self.variables, **others)

    def start(self, *options, script="t.py", **others):
        return self.robustrun.start(*options, script, env=self.variables, **others)

    def snapshots(self):
        return sorted((self.folder / "cache" / "robustrun" / "deps").glob("*.sqfs"))

    def logs(self):
        return list(self.folder.glob("robustrun-runs/*/**/deps.node*.log"))


def has_uv():
    return (TOOLS / "uv").exists()


def setup_command(site):
    site.robustrun.write("build.py", BUILD)
    return f"--setup-cmd='{site.variables['PYTHON_EXEC']}' build.py"
