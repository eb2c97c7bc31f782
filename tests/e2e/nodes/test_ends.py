"""How jobs on several nodes end: codes, signals, output and logs."""

import signal

import pytest
from helpers.jobs import lockstep

FAIL = """
import os, sys, time
rank = int(os.environ["RANK"])
open(f"ready.{rank}", "w").close()
while len([f for f in os.listdir(".") if f.startswith("ready.")]) < int(os.environ["WORLD_SIZE"]):
    time.sleep(0.01)
if rank == int(sys.argv[1]):
    print("the words of rank", rank, file=sys.stderr, flush=True)
    if sys.argv[2] == "kill":
        os.kill(os.getpid(), 9)
    sys.exit(int(sys.argv[2]))
time.sleep(300)
"""


@pytest.mark.parametrize(
    "arguments, code", [(["7"], 7), (["93"], 93), (["94"], 1), (["kill"], 137)]
)
@pytest.mark.parametrize("node", [0, 2])
def test_the_first_failing_worker_of_any_node_decides(nodes, node, arguments, code):
    nodes.runner.write("fail.py", FAIL)
    job = nodes("--nnodes=3", "--nproc-per-node=2", "--max-restarts=0", "fail.py",
                str(2 * node + 1), *arguments)
    finished = job.finish()
    assert finished.code == code, finished.errors
    assert f"the words of rank {2 * node + 1}" in finished.errors
    report = nodes.runner.report(job.run)
    assert report["incidents"][0]["rank"] == 2 * node + 1
    assert report["incidents"][0]["node"]
    assert (report["nodes"], report["world_size"]) == (3, 6)
    nodes.runner.expect_nothing_left()


def test_compat_turns_every_failure_into_1(nodes):
    nodes.runner.write("fail.py", FAIL)
    finished = nodes("--compat=torchrun", "--nnodes=2", "fail.py", "1", "7").finish()
    assert finished.code == 1, finished.errors


@pytest.mark.parametrize("how", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_one_signal_ends_everything(nodes, how):
    nodes.runner.write(
        "wait.py",
        "import os, signal, sys, time\nrank = os.environ['RANK']\n"
        "for n in (1, 2, 15):\n"
        "    signal.signal(n, lambda n, _: (print(rank, 'got', n, flush=True), sys.exit(0)))\n"
        "open('ready.' + rank, 'w').close()\ntime.sleep(300)\n",
    )
    job = nodes("--nnodes=3", "--spares=1", "wait.py")
    for rank in range(3):
        job.wait((nodes.runner.folder / f"ready.{rank}").exists, f"rank {rank}")
    job.process.send_signal(how)
    finished = job.finish()
    assert finished.code == 128 + how
    assert sorted(finished.text.split("\n")[:-1]) == [f"{r} got {int(how)}" for r in range(3)]
    nodes.runner.expect_nothing_left()


def test_user_signals_reach_every_node(nodes):
    nodes.runner.write(
        "wait.py",
        "import os, signal, time\nrank = os.environ['RANK']\n"
        "signal.signal(signal.SIGUSR1, lambda *_: open('got.' + rank, 'w').close())\n"
        "open('ready.' + rank, 'w').close()\n"
        "while not os.path.exists('got.' + rank): time.sleep(0.01)\n",
    )
    job = nodes("--nnodes=3", "wait.py")
    for rank in range(3):
        job.wait((nodes.runner.folder / f"ready.{rank}").exists, f"rank {rank}")
    job.process.send_signal(signal.SIGUSR1)
    assert job.finish().code == 0


def test_every_line_of_every_node_is_on_the_console_and_in_a_file_of_its_node(nodes):
    nodes.runner.write(
        "lines.py",
        "import os, sys\nrank = os.environ['RANK']\n"
        "for n in range(2000): print(f'out {rank} {n}')\n"
        "for n in range(200): print(f'err {rank} {n}', file=sys.stderr)\n",
    )
    job = nodes("--nnodes=3", "--nproc-per-node=2", "lines.py")
    finished = job.finish()
    assert finished.code == 0, finished.errors
    logs = job.run / "logs"
    folders = sorted(folder for folder in logs.iterdir())
    assert len(folders) == 3, folders
    for rank in range(6):
        expected = [f"out {rank} {n}" for n in range(2000)]
        shown = [line for line in finished.text.split("\n") if line.startswith(f"out {rank} ")]
        assert shown == expected
        errors = [line for line in finished.errors.split("\n") if line.startswith(f"err {rank} ")]
        assert errors == [f"err {rank} {n}" for n in range(200)]
        folder = folders[rank // 2] / "attempt_0" / str(rank % 2)
        assert (folder / "stdout.log").read_text().splitlines() == expected
        assert (folder / "stderr.log").read_text().count("\n") == 200


def test_prefixes_name_the_global_rank(nodes):
    nodes.runner.write("say.py", "print('hello')\n")
    finished = nodes("--nnodes=2", "--nproc-per-node=2", "--line-prefix=on", "say.py").finish()
    assert finished.code == 0, finished.errors
    seen = sorted(line.split("]")[0].strip("[ ") for line in finished.text.splitlines())
    assert [word.split()[-1] for word in seen] == ["0", "1", "2", "3"]


def test_workers_know_their_node(nodes):
    names = "RANK LOCAL_RANK GROUP_RANK WORLD_SIZE LOCAL_WORLD_SIZE GROUP_WORLD_SIZE".split()
    nodes.runner.write(
        "show.py", f"import os\nprint(*(os.environ[name] for name in {names!r}))\n"
    )
    finished = nodes("--nnodes=3", "--nproc-per-node=2", "show.py").finish()
    assert sorted(finished.text.splitlines()) == [
        f"{rank} {rank % 2} {rank // 2} 6 2 3" for rank in range(6)
    ]


def test_the_table_of_nodes_is_printed(nodes):
    finished = nodes("--nnodes=2", "--spares=1", "--nproc-per-node=2",
                     *lockstep(nodes.runner, 3)).finish()
    assert finished.code == 0
    assert "node 0" in finished.errors and "node 1" in finished.errors
    assert "spare" in finished.errors


def test_stop_after_steps_counts_all_nodes(nodes):
    finished = nodes("--nnodes=2", "--stop-after-steps=20", *lockstep(nodes.runner)).finish()
    assert finished.code == 0, finished.errors


def test_time_limit_ends_every_node(nodes):
    nodes.runner.write("wait.py", "import time; time.sleep(100)\n")
    finished = nodes("--nnodes=3", "--time-limit=1s", "wait.py").finish()
    assert finished.code == 124
    nodes.runner.expect_nothing_left()


def test_a_crash_loop_on_one_node_is_seen(nodes):
    nodes.runner.write(
        "crash.py", "import os\nif os.environ['RANK'] == '1': raise ValueError('no such dataset')\n"
        "import time; time.sleep(100)\n"
    )
    finished = nodes("--nnodes=2", "crash.py").finish()
    assert finished.code == 95
    assert "no such dataset" in finished.errors
