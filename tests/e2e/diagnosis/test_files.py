"""`robustrun diagnose --from`: a job under plain torchrun hangs, its ranks have written dumps of
PyTorch's Flight Recorder, and the dumps name the rank that blocks the others."""

import json
import os
import pathlib
import shutil
import sys

import pytest
from helpers.processes import wait_for
from helpers.runner import ROOT

FIXTURES = ROOT / "tests" / "fixtures"
WORLD = 4
ABSENT = 2

# Every rank trains; then ABSENT stays away while the others wait in all_reduce for ever. Then a
# thread of each rank writes the dump of torch's own recorder.
SCRIPT = '''
import os, pathlib, pickle, sys, threading, time
os.environ["TORCH_FR_BUFFER_SIZE"] = "2000"
import torch
import torch.distributed as dist
from torch._C import _distributed_c10d as c10d

folder, absent = pathlib.Path(sys.argv[1]), int(sys.argv[2])
dist.init_process_group("gloo")
rank = dist.get_rank()
pairs = [dist.new_group([0, 1]), dist.new_group([2, 3])]


def is_waiting():
    entries = pickle.loads(c10d._dump_fr_trace(True, False, False))["entries"]
    # What is done is retired a moment later: only the last operation counts.
    return entries[-1]["input_sizes"] == [[12_000]]


def write(name, data):
    part = folder / f"part_{rank}"
    part.write_bytes(data)
    (folder / name).mkdir(exist_ok=True)
    part.rename(folder / name / f"trace_{rank}")


def dump():
    others = folder / "pickle"
    if rank == absent:
        while not others.is_dir() or len(list(others.iterdir())) < dist.get_world_size() - 1:
            time.sleep(0.01)
    else:
        while not is_waiting():
            time.sleep(0.01)
    write("json", c10d._dump_fr_trace_json(True, False))
    write("pickle", c10d._dump_fr_trace(True, False, False))


for step in range(3):
    dist.all_reduce(torch.ones(10), group=pairs[rank // 2])
    dist.all_reduce(torch.ones(1000))
dist.barrier()
dumping = threading.Thread(target=dump)
dumping.start()
if rank == absent:
    dumping.join()
    threading.Event().wait()
dist.all_reduce(torch.ones(12_000))
'''


@pytest.fixture
def dumps(robustrun):
    """Folders "json" and "pickle" with the dumps of a hung job."""
    script = robustrun.write("train.py", SCRIPT)
    job = robustrun.start(
        "-m", "torch.distributed.run", "--standalone", f"--nproc-per-node={WORLD}", str(script),
        str(robustrun.folder), str(ABSENT), argv0=sys.executable,
        stdout=(robustrun.folder / "job.log").open("wb"),
    )

    def are_written():
        assert job.process.poll() is None, job.process.communicate()[1]
        return len(list(robustrun.folder.glob("pickle/trace_*"))) == WORLD

    wait_for(are_written, 300, "the dump of every rank")
    job.process.terminate()
    job.finish()
    return robustrun.folder


@pytest.mark.parametrize("form", ["json", "pickle"])
def test_the_rank_that_never_enters_is_named(robustrun, dumps, form):
    shown = robustrun.run("diagnose", "--from", str(dumps / form))
    assert shown.code == 0, shown.errors
    assert shown.text.startswith(f"hang: rank {ABSENT} has not entered all_reduce #5 (48 kB")
    assert "default_pg" in shown.text
    assert f"{WORLD - 1} ranks wait for it" in shown.text

    verdict = json.loads(robustrun.run("diagnose", "--json", "--from", str(dumps / form)).out)
    assert verdict["finding"] == "never entered"
    assert verdict["culprits"] == [ABSENT]
    assert verdict["victims"] == [rank for rank in range(WORLD) if rank != ABSENT]
    assert verdict["operation"]["ordinal"] == 5
    assert verdict["operation"]["count"] == 12_000

    # A rank without a dump (killed, its node gone) is reported, and no other is blamed.
    (dumps / form / f"trace_{ABSENT}").unlink()
    verdict = json.loads(robustrun.run("diagnose", "--json", "--from", str(dumps / form)).out)
    assert verdict["culprits"] in ([], [ABSENT])
    assert verdict["notes"] == [f"no data of rank {ABSENT}"]


def copy(robustrun, pattern):
    folder = robustrun.folder / "left"
    folder.mkdir()
    for path in sorted(FIXTURES.glob(pattern)):
        shutil.copy(path, folder)
    return folder


@pytest.mark.parametrize("name", ["nccl-2.4.pickle", "nccl-2.9.pickle", "nccl-2.10.json"])
def test_dumps_of_nccl_jobs_name_the_rank(robustrun, name):
    folder = copy(robustrun, f"flight_recorder/{name}.*")
    (folder / "train.log").write_text("step 1\n")
    verdict = json.loads(robustrun.run("diagnose", "--from", str(folder), "--json").out)
    assert verdict["culprits"] == [1]
    assert verdict["operation"]["ordinal"] == 3
    assert verdict["operation"]["group"] == "default_pg"


@pytest.mark.parametrize(
    "name, finding, culprit",
    [
        ("never-entered-2.29.2.json", "never entered", 2),
        ("never-entered-2.28.3.txt", "never entered", 2),
        ("missing-2.28.9.json", "died", 3),
        ("unresponsive-2.29.2.json", "stopped", 2),
    ],
)
def test_reports_of_ras_name_the_rank(robustrun, name, finding, culprit):
    report = FIXTURES / "ras" / name
    verdict = json.loads(robustrun.run("diagnose", "--json", "--from", str(report)).out)
    assert (verdict["finding"], verdict["culprits"]) == (finding, [culprit])


def test_dumps_of_a_job_that_does_not_hang_name_no_rank(robustrun):
    folder = copy(robustrun, "flight_recorder/gloo.json.2")
    finished = robustrun.run("diagnose", "--from", str(folder))
    assert finished.code == 0
    assert finished.text.startswith("no rank is blocked")


def test_unusable_files_are_named(robustrun):
    def refused(*arguments, code=1):
        finished = robustrun.run("diagnose", *arguments)
        assert (finished.code, finished.out) == (code, b"")
        return finished.errors

    folder = copy(robustrun, "flight_recorder/gloo.pickle.*")
    assert "no-such-folder" in refused("--from", "no-such-folder")
    assert "--form" in refused("--form", "x", code=2)
    empty = robustrun.folder / "empty"
    empty.mkdir()
    assert f"cannot diagnose {empty}" in refused("--from", str(empty))
    notes = robustrun.write("notes.txt", "hello")
    assert "notes.txt: it is neither a progress record" in refused("--from", str(notes))

    # The same rank twice, and a dump without a rank: only the user knows what is meant.
    shutil.copy(folder / "gloo.pickle.1", folder / "again_1")
    error = refused("--from", str(folder))
    assert "again_1" in error and "gloo.pickle.1" in error and "rank 1" in error
    (folder / "again_1").rename(folder / "final")
    assert "final: its name does not end with its rank" in refused("--from", str(folder))
    (folder / "final").unlink()

    # A truncated file is left out with a warning, unless the user named it.
    cut = folder / "gloo.pickle.3"
    cut.write_bytes(cut.read_bytes()[:-100])
    finished = robustrun.run("diagnose", "--from", str(folder))
    assert finished.code == 0
    assert "gloo.pickle.3" in finished.text and "cut short" in finished.text
    assert finished.text.startswith("hang: rank 2")
    assert "cut short" in refused("--from", *[str(path) for path in sorted(folder.iterdir())])


def test_a_folder_of_too_many_files_is_refused(robustrun):
    folder = robustrun.folder / "many"
    folder.mkdir()
    for number in range(65_537):
        os.close(os.open(folder / str(number), os.O_CREAT | os.O_WRONLY))
    finished = robustrun.run("diagnose", "--from", str(folder))
    assert finished.code == 1
    assert "more than 65536 files" in finished.errors


def test_a_pickle_that_would_run_something_runs_nothing(robustrun):
    witness = robustrun.folder / "witness"
    robustrun.write("trace_0", "")
    (robustrun.folder / "trace_0").write_bytes(
        b"\x80\x02cos\nsystem\nX" + len(f"touch {witness}").to_bytes(4, "little")
        + f"touch {witness}".encode() + b"\x85R."
    )
    finished = robustrun.run("diagnose", "--from", "trace_0")
    assert finished.code == 1
    assert "GLOBAL" in finished.errors
    assert not pathlib.Path(witness).exists()
