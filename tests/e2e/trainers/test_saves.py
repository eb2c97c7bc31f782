"""Lightning and HF Trainer that save through robustrun's engine end as an undisturbed run does."""

import os
import pathlib
import re
import subprocess
import sys

import pytest
from helpers.runner import BUILD

HERE = pathlib.Path(__file__).parent
LAST_LINE = re.compile(r"resumed from (\S+), (?:epoch|step) (\d+), weights (\w+)")


def run(robustrun, name, *arguments):
    folder = robustrun.folder / name
    folder.mkdir()
    done = robustrun.run("--nproc-per-node=2", "--max-restarts=1", "--standby=off", *arguments,
                         cwd=folder, env={"OMP_NUM_THREADS": "1"}, timeout=400)
    assert done.code == 0, done.errors
    return LAST_LINE.findall(done.text)


def test_a_killed_run_of_lightning_ends_with_the_weights_of_a_calm_one(robustrun):
    killed, calm = run(robustrun, "both", str(HERE / "lightning_saves_job.py"))
    assert calm[0] == "None"
    assert killed == ("out/last.ckpt", "5", calm[2])


@pytest.mark.nightly
def test_a_killed_run_of_hf_trainer_ends_with_the_weights_of_a_calm_one(robustrun):
    (calm,) = run(robustrun, "calm", str(HERE / "hf_saves_job.py"), "calm")
    (killed,) = run(robustrun, "killed", str(HERE / "hf_saves_job.py"))
    assert calm[0] == "None"
    assert killed == ("out/.robustrun-resume/checkpoint-6", "10", calm[2])


IN_ONE_PROCESS = """
import os, torch
from robustrun.integrations.lightning import RobustCheckpointIO

io = RobustCheckpointIO()

def raises(kind, call, *arguments):
    try:
        call(*arguments)
    except kind:
        return True

def state(step, value):
    return {"global_step": step, "state_dict": {"a": torch.full((3,), value)}}

for step, value in ((3, 1), (3, 2), (2, 3)):
    io.save_checkpoint(state(step, value), "last.ckpt")
    loaded = io.load_checkpoint("last.ckpt")
    assert loaded["global_step"] == step and loaded["state_dict"]["a"].tolist() == [value] * 3
torch.save(state(1, 1), "torch.ckpt")
assert io.load_checkpoint("torch.ckpt")["global_step"] == 1
assert raises(FileExistsError, io.save_checkpoint, state(2, 2), "torch.ckpt")
assert raises(FileNotFoundError, io.load_checkpoint, "missing.ckpt")
os.mkdir("empty.ckpt")
assert raises(FileNotFoundError, io.load_checkpoint, "empty.ckpt")
assert raises(TypeError, io.save_checkpoint, {"call": print}, "refused.ckpt")
io.remove_checkpoint("last.ckpt")
assert sorted(os.listdir(".")) == ["empty.ckpt", "torch.ckpt"]
"""


def test_lightnings_files_may_be_overwritten_and_older_ones_are_read(tmp_path):
    python_path = str(BUILD / "share" / "robustrun" / "python")
    subprocess.run([sys.executable, "-c", IN_ONE_PROCESS], cwd=tmp_path, check=True, timeout=180,
                   env={**os.environ, "PYTHONPATH": python_path})


RESUMED = """
import os, pathlib, types, warnings, torch
from transformers import TrainerControl, TrainerState
from robustrun import checkpoint
from robustrun._checkpoint import c_api, earlier_saves, sessions
from robustrun.integrations.hf import RobustSaves

told = []
earlier_saves.settle = lambda: told.append("settled")
checkpoint.note = lambda event, attempt, **_: told.append((event, attempt.split("/")[0]))
trainer = types.SimpleNamespace(args=types.SimpleNamespace(output_dir="out", should_save=True))

def saves():
    # As a process of the next attempt.
    checkpoint._close()
    sessions._session = None
    os.environ["ROBUSTRUN_ATTEMPT"] = str(int(os.environ["ROBUSTRUN_ATTEMPT"]) + 1)
    return RobustSaves("saves")

def damage(step):
    (path,) = pathlib.Path("saves").glob("step-*%d/*/d-rank-0-m0.safetensors" % step)
    data = bytearray(path.read_bytes())
    data[len(data) // 2] ^= 4
    path.write_bytes(data)

model = torch.nn.Linear(64, 64)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
optimizer.scaler = torch.amp.GradScaler("cpu", init_scale=8.0)  # as accelerate's with fp16
scheduler = torch.optim.lr_scheduler.ConstantLR(optimizer)
first = saves()
assert first.resume(trainer) is None
for step in (1, 2):
    model.weight.data.fill_(step)
    first.on_step_end(None, TrainerState(global_step=step), TrainerControl(should_save=True),
                      model=model, optimizer=optimizer, lr_scheduler=scheduler)
damage(2)
second, earlier = saves(), c_api.Engine(["saves"], "run", 1)
told.clear()
with warnings.catch_warnings(record=True) as warned:
    warnings.simplefilter("always")
    assert second.resume(trainer) == "out/.robustrun-resume/checkpoint-1"
assert "step-000000000002" in str(warned[0].message), warned
assert torch.load("out/.robustrun-resume/checkpoint-1/pytorch_model.bin")["weight"].eq(1).all()
scaler = torch.load("out/.robustrun-resume/checkpoint-1/scaler.pt")
assert scaler == optimizer.scaler.state_dict() and scaler["scale"] == 8, scaler
assert told[0] == "settled" and told[-1] == ("loaded", "step-000000000001"), told
assert [found.poisoned for found in c_api.catalogue(["saves"])] == ["damaged", ""]
try:
    earlier.begin(3, ["w"]).write("w", [], [])
except checkpoint.Conflict:
    pass
else:
    raise AssertionError("an earlier attempt can still save")
damage(1)
try:
    saves().resume(trainer)
except checkpoint.Corrupt:
    pass
else:
    raise AssertionError("a damaged checkpoint was taken, or training began anew")
"""


def test_hf_trainer_resumes_from_the_previous_checkpoint_if_the_newest_is_damaged(tmp_path):
    environment = {"PYTHONPATH": str(BUILD / "share" / "robustrun" / "python"),
                   "ROBUSTRUN_RUN_ID": "run", "ROBUSTRUN_ATTEMPT": "0"}
    subprocess.run([sys.executable, "-c", RESUMED], cwd=tmp_path, check=True, timeout=180,
                   env={**os.environ, **environment})


def on_two_ranks(script, folder):
    environment = {"PYTHONPATH": str(BUILD / "share" / "robustrun" / "python"),
                   "ROBUSTRUN_RUN_ID": "run", "ROBUSTRUN_ATTEMPT": "0"}
    ranks = [subprocess.Popen([sys.executable, "-c", script, str(rank), folder / "meet"],
                              cwd=folder, env={**os.environ, **environment}) for rank in range(2)]
    try:
        assert [rank.wait(timeout=180) for rank in ranks] == [0, 0]
    finally:
        for rank in ranks:
            rank.kill()


ONE_OF_TWO_NODES = """
import os, sys, types, torch
from transformers import TrainerControl, TrainerState
from robustrun.integrations.hf import RobustSaves

rank = int(sys.argv[1])
torch.distributed.init_process_group("gloo", init_method="file://" + sys.argv[2], rank=rank,
                                     world_size=2)
model = torch.nn.Linear(8, 8)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
saves = RobustSaves("saves")
saves.on_step_end(None, TrainerState(global_step=3), TrainerControl(should_save=True), model=model,
                  optimizer=optimizer, lr_scheduler=torch.optim.lr_scheduler.ConstantLR(optimizer))
torch.distributed.barrier()

def resumed(should_save):
    return saves.resume(types.SimpleNamespace(args=types.SimpleNamespace(
        output_dir="out%d" % rank, should_save=should_save)))

try:
    resumed(rank == 0)
except RuntimeError as error:
    assert "save_on_each_node" in str(error), error
else:
    raise AssertionError("the ranks would begin at different steps")
assert resumed(True) == "out%d/.robustrun-resume/checkpoint-3" % rank
os._exit(0)  # gloo's threads may abort the interpreter's own end
"""


def test_hf_trainer_does_not_begin_if_some_ranks_do_not_see_the_resumed_files(tmp_path):
    on_two_ranks(ONE_OF_TWO_NODES, tmp_path)


ON_LOCAL_DISKS = """
import os, sys, types, torch
from transformers import TrainerControl, TrainerState
from robustrun import checkpoint
from robustrun._checkpoint import c_api, loading, sessions
from robustrun.integrations.hf import RobustSaves

rank = int(sys.argv[1])
torch.distributed.init_process_group("gloo", init_method="file://" + sys.argv[2], rank=rank,
                                     world_size=2)
# Two machines whose ranks see each other's disks, so they share the work as on one machine.
sessions.machine = lambda: "machine-%d" % rank
loading._turn_of = lambda rank, machines: (rank, len(machines))
model = torch.nn.Linear(64, 64)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
saves = RobustSaves("saves", local=["disk%d" % rank], drain_every=2)
for step in (1, 2):
    saves.on_step_end(None, TrainerState(global_step=step), TrainerControl(should_save=True),
                      model=model, optimizer=optimizer,
                      lr_scheduler=torch.optim.lr_scheduler.ConstantLR(optimizer))
torch.distributed.barrier()
assert [(each.step, each.local) for each in c_api.catalogue(["saves"])][0] == (2, True)

# As processes of the next attempt.
checkpoint._close()
sessions._session = None
os.environ["ROBUSTRUN_ATTEMPT"] = "1"
read, load = [], checkpoint._load_for_all

def load_for_all(places, take):
    read.extend(c_api.catalogue(places)[:1])
    load(places, take)

checkpoint._load_for_all = load_for_all
assert saves.resume(types.SimpleNamespace(args=types.SimpleNamespace(
    output_dir="out", should_save=rank == 0))) == "out/.robustrun-resume/checkpoint-2"
assert [(each.step, each.local) for each in read] == [(2, False)] * (rank == 0), read
os._exit(0)  # gloo's threads may abort the interpreter's own end
"""


def test_hf_trainer_resumes_from_what_is_only_on_the_local_disks_of_several_machines(tmp_path):
    on_two_ranks(ON_LOCAL_DISKS, tmp_path)
