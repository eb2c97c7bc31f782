"""Worker argv and environment: side by side with the real torchrun."""

import json
import os
import resource
import sys

import pytest

SHOW = r"""
import json, os, sys
names = ["LOCAL_RANK", "RANK", "GROUP_RANK", "ROLE_RANK", "ROLE_WORLD_SIZE", "ROLE_NAME",
         "LOCAL_WORLD_SIZE", "WORLD_SIZE", "GROUP_WORLD_SIZE", "MASTER_ADDR", "MASTER_PORT",
         "TORCHELASTIC_RESTART_COUNT", "TORCHELASTIC_MAX_RESTARTS", "TORCHELASTIC_RUN_ID",
         "TORCHELASTIC_USE_AGENT_STORE", "TORCH_NCCL_ASYNC_ERROR_HANDLING",
         "TORCHELASTIC_ERROR_FILE", "OMP_NUM_THREADS", "TORCHELASTIC_SIGNALS_TO_HANDLE",
         "CUDA_VISIBLE_DEVICES", "NODE_RANK"]
seen = {name: os.environ.get(name) for name in names}
seen["argv"] = sys.argv
seen["cwd"] = os.getcwd()
seen["path0"] = sys.path[0]
with open(os.path.join(os.environ["OUT"], "rank" + os.environ["RANK"] + ".json"), "w") as out:
    json.dump(seen, out)
"""

# These differ between runs, or by design (docs/compat.md); rules below compare them.
FREE = {
    "MASTER_PORT",
    "MASTER_ADDR",
    "TORCHELASTIC_RUN_ID",
    "TORCHELASTIC_ERROR_FILE",
    "NODE_RANK",
}


def collect(folder, count):
    return [json.loads((folder / f"rank{rank}.json").read_text()) for rank in range(count)]


@pytest.fixture
def shown(robustrun):
    robustrun.write("show.py", SHOW)

    def run(command, count, *arguments, env=None):
        out = robustrun.folder / f"out{len(robustrun.started)}"
        out.mkdir()
        finished = robustrun.start(
            *command[1:], "--nproc-per-node", str(count), *arguments, "show.py", "a", "--b=c d",
            argv0=command[0], env={"OUT": str(out), **(env or {})},
        ).finish(300)
        assert finished.code == 0, finished.errors
        return collect(out, count), finished

    return run


TORCHRUN = [sys.executable, "-m", "torch.distributed.run"]


@pytest.mark.parametrize("count", [1, 2, 8])
def test_the_compat_environment_is_the_same_as_with_torchrun(robustrun, shown, count):
    theirs, _ = shown(TORCHRUN, count)
    ours, _ = shown([str(robustrun.binary), "--compat=torchrun"], count)
    for rank in range(count):
        for name, value in theirs[rank].items():
            if name not in FREE:
                assert ours[rank][name] == value, name
    assert len({seen["MASTER_PORT"] for seen in ours}) == 1


@pytest.mark.parametrize("count", [1, 2, 8])
def test_native_environment(robustrun, shown, count):
    ours, _ = shown([str(robustrun.binary)], count)
    for rank, seen in enumerate(ours):
        assert seen["RANK"] == seen["LOCAL_RANK"] == seen["ROLE_RANK"] == str(rank)
        assert seen["WORLD_SIZE"] == seen["LOCAL_WORLD_SIZE"] == str(count)
        assert seen["GROUP_RANK"] == seen["NODE_RANK"] == "0"
        assert seen["ROLE_NAME"] == "default"
        assert seen["TORCHELASTIC_RESTART_COUNT"] == "0"
        assert seen["TORCHELASTIC_USE_AGENT_STORE"] == "True"
        assert seen["argv"] == ["show.py", "a", "--b=c d"]
        assert seen["path0"] == str(robustrun.folder)
        assert int(seen["OMP_NUM_THREADS"]) == max(1, len(os.sched_getaffinity(0)) // count)
        assert 1024 < int(seen["MASTER_PORT"]) < 65536
        assert seen["TORCHELASTIC_ERROR_FILE"].endswith(f"attempt_0/{rank}/error.json")


def test_arguments_are_substituted_as_torchrun_does(robustrun, shown):
    robustrun.write("args.py", "import sys; print(sys.argv[1:])\n")
    plain = ["$other", "a 'b' \"c\"", "", "--nnodes=2", "-m"]
    arguments = ["${local_rank}", "$local_rank", "$$", *plain]
    theirs = robustrun.run(*TORCHRUN[1:], "args.py", *arguments, argv0=TORCHRUN[0])
    ours = robustrun.run("args.py", *arguments)
    assert ours.text == theirs.text
    assert ours.text.strip() == str(["0", "0", "$", *plain])


def test_a_module_runs_as_python_m_would(robustrun):
    package = robustrun.folder / "pack"
    package.mkdir()
    (package / "__init__.py").write_text("")
    (package / "other.py").write_text("VALUE = 42\n")
    (package / "main.py").write_text(
        "from .other import VALUE\nimport sys\nprint(VALUE, sys.argv[1:])\n"
    )
    assert robustrun.run("-m", "pack.main", "x").text == "42 ['x']\n"


def test_an_executable_runs_without_python(robustrun):
    script = robustrun.write("run.sh", "#!/bin/sh\necho rank $RANK of $WORLD_SIZE: $1\n")
    script.chmod(0o755)
    finished = robustrun.run("--no-python", "--nproc-per-node=2", "./run.sh", "x y")
    assert sorted(finished.text.splitlines()) == ["rank 0 of 2: x y", "rank 1 of 2: x y"]


def test_a_megabyte_of_arguments_passes(robustrun):
    robustrun.write("args.py", "import sys; print(len(sys.argv), sum(map(len, sys.argv[1:])))\n")
    arguments = [f"{i:0>100}" for i in range(10_000)]
    assert robustrun.run("args.py", *arguments).text == "10001 1000000\n"


def test_bytes_that_are_not_text_pass_both_ways(robustrun):
    robustrun.write(
        "bytes.py",
        "import os, sys\nos.write(1, os.fsencode(sys.argv[1]) + b'\\xff\\x00\\xfe\\n')\n",
    )
    finished = robustrun.run("bytes.py", b"caf\xe9")
    assert finished.out == b"caf\xe9\xff\x00\xfe\n"


def test_stdin_goes_to_no_rank_unless_one_is_named(robustrun):
    robustrun.write(
        "read.py", "import os, sys; print(os.environ['RANK'], repr(sys.stdin.read()))\n"
    )
    source = robustrun.write("in.txt", "hello")
    with source.open() as stdin:
        finished = robustrun.run("--nproc-per-node=2", "read.py", stdin=stdin)
    assert sorted(finished.text.splitlines()) == ["0 ''", "1 ''"]
    with source.open() as stdin:
        finished = robustrun.run("--nproc-per-node=2", "--stdin=1", "read.py", stdin=stdin)
    assert sorted(finished.text.splitlines()) == ["0 ''", "1 'hello'"]


def test_closed_standard_descriptors_are_harmless(robustrun):
    robustrun.write(
        "fds.py", "import os\nopen('fds', 'w').write(str(sorted(os.listdir('/proc/self/fd'))))\n"
    )
    seen = []
    for closing in ("", "<&- >&- 2>&-"):
        script = f"exec {robustrun.binary} fds.py {closing}"
        running = robustrun.start("-c", script, argv0="/bin/sh")
        assert running.finish().code == 0
        seen.append((robustrun.folder / "fds").read_text())
    assert seen[0] == seen[1]


LIMITS = """
import os, pathlib, resource
shim = pathlib.Path(f"/proc/{os.getppid()}/stat").read_text()
agent = shim.rpartition(")")[2].split()[1]
limits = pathlib.Path(f"/proc/{agent}/limits").read_text()
agents = next(line for line in limits.splitlines() if line.startswith("Max open files"))
own = resource.getrlimit(resource.RLIMIT_NOFILE)
print("limits", *own, *agents.split()[3:5])
raise SystemExit(os.environ["TORCHELASTIC_RESTART_COUNT"] == "0")
"""


def test_workers_get_the_callers_limit_of_files_and_robustrun_itself_takes_the_hard_one(robustrun):
    robustrun.write("limits.py", LIMITS)
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    finished = robustrun.start(
        "--max-restarts=1", "limits.py",
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_NOFILE, (200, hard)),
    ).finish()
    assert finished.code == 0, finished.errors
    seen = [line for line in finished.text.splitlines() if line.startswith("limits")]
    assert seen == [f"limits 200 {hard} {hard} {hard}"] * 2


MEMORY = r"""
import ctypes, os
policy, nodes = ctypes.c_int(-1), (ctypes.c_ulong * 16)()
get_mempolicy = {"x86_64": 239, "aarch64": 236}[os.uname().machine]
ctypes.CDLL(None).syscall(get_mempolicy, ctypes.byref(policy), nodes, 1025, None, 0)
with open(os.path.join(os.environ["OUT"], os.environ["RANK"]), "w") as out:
    out.write(f"{policy.value} {nodes[0] != 0}")
"""
MPOL_DEFAULT, MPOL_PREFERRED, MPOL_BIND, MPOL_PREFERRED_MANY = 0, 1, 2, 5


@pytest.mark.skipif(not os.path.exists("/sys/devices/system/node/node0"), reason="no NUMA")
@pytest.mark.parametrize(
    ("arguments", "policies"),
    [
        ([], {MPOL_DEFAULT}),
        (["--numa-memory=bind"], {MPOL_BIND}),
        (["--numa-memory=prefer", "--numa-binding=socket"], {MPOL_PREFERRED, MPOL_PREFERRED_MANY}),
    ],
)
def test_memory_policy(robustrun, arguments, policies):
    robustrun.write("memory.py", MEMORY)
    finished = robustrun.start(
        "--nproc-per-node", "2", *arguments, "memory.py", env={"OUT": str(robustrun.folder)}
    ).finish()
    assert finished.code == 0, finished.errors
    for rank in range(2):
        policy, has_nodes = (robustrun.folder / str(rank)).read_text().split()
        assert int(policy) in policies
        assert (has_nodes == "True") == (policies != {MPOL_DEFAULT})
