"""torch's process groups are in the record's table of communicators, however they are made."""

import inspect
import re
import sys

import pytest
from conftest import PACKAGE, ROOT, WHOLE_RECORD_BYTES, RecordFile

torch = pytest.importorskip("torch")
sys.path.insert(0, str(PACKAGE))
from robustrun._diagnose import groups  # noqa: E402
from robustrun._progress import progress  # noqa: E402

with_descriptions = pytest.mark.skipif(
    "group_desc" not in inspect.signature(torch.distributed.new_group).parameters,
    reason="torch before 2.4")
HEADER = (ROOT / "tracer" / "record_collectives.h").read_text()


def test_words_are_those_of_the_header():
    def constant(name):
        return int(re.search(name + r" = (\d+);", HEADER).group(1))

    field = r"^  (?:std::uint\d+_t|std::array<.*?>) (\w+);\s+//\s+(\d+)"
    communicator = HEADER.partition("struct RecordOperation")[0]
    at = {name: int(offset) for name, offset in re.findall(field, communicator, re.MULTILINE)}
    ours = {"comm": groups.COMM, "size": groups.SIZE_AND_RANK, "source": groups.SOURCE,
            "name": groups.NAME, "label": groups.LABEL, "entered": groups.ENTERED,
            "started": groups.STARTED, "done": groups.DONE, "entered_at_ns": groups.ENTERED_AT,
            "done_at_ns": groups.DONE_AT}
    assert {name: at[name] for name in ours} == {name: 8 * word for name, word in ours.items()}
    assert 8 * progress.COMMUNICATORS == constant("kCommunicatorsAt")
    assert progress.COMMUNICATOR_SLOTS == constant("kCommunicatorSlots")
    assert progress.COMMUNICATOR_NAME_BYTES == constant("kCommunicatorNameBytes")
    assert 8 * progress.COMMUNICATOR_WORDS == 8 * groups.SLOT_WORDS == 256
    assert progress.COMMUNICATORS_END == WHOLE_RECORD_BYTES == 4096 + 128 * 256
    assert "kTorchGroup = %d" % groups.KIND_TORCH_GROUP in HEADER
    assert "kInterposer = %d" % groups.KIND_INTERPOSER in HEADER


def test_keys_are_fnv_1a():
    # Vectors of draft-eastlake-fnv for the empty string and "a" show the constants.
    def fnv(data):
        value = 0xCBF29CE484222325
        for byte in data:
            value = (value ^ byte) * 0x100000001B3 % 2**64
        return value

    assert (fnv(b""), fnv(b"a")) == (0xCBF29CE484222325, 0xAF63DC4C8601EC8C)
    assert groups.key("dp", [3, 256]) == fnv(b"dp\0\x03\0\0\0\0\1\0\0")
    assert groups.key("dp", {256: 1, 3: 0}) == groups.key("dp", [3, 256])
    assert groups.key("dp", [3]) != groups.key("dp", [4])


GROUPS = """
named = dist.new_group([0, 1], group_desc="dp_1")
dist.new_group([1])
from torch.distributed.device_mesh import init_device_mesh
mesh = init_device_mesh("cpu", (2, 1), mesh_dim_names=("dp", "tp"))
pause("made")
dist.all_reduce(torch.ones(1), group=named)
dist.destroy_process_group(named)
pause("destroyed")
dist.new_group([0, 1], group_desc="again")
pause("again")
dist.destroy_process_group()
pause("gone")
"""


def shown(record):
    return {slot: (c["label"], c["size"], c["rank"]) for slot, c in record.communicators().items()}


@with_descriptions
def test_groups_come_and_go_however_they_are_made(ranks):
    job = ranks(GROUPS)
    job.wait_for("made")
    zero, one = job.records
    assert list(shown(zero).values())[::-1] == [
        ("default_pg", 2, 0), ("dp_1", 2, 0), ("mesh_tp", 1, 0)]
    assert list(shown(one).values())[::-1] == [
        ("default_pg", 2, 1), ("dp_1", 2, 1), ("2", 1, 0), ("mesh_tp", 1, 0)]
    assert max(zero.communicators()) == 127  # the plugin begins at 0
    all_of = zero.communicators()[127]
    assert all_of == {**one.communicators()[127], "rank": 0}
    assert all_of["comm"] == groups.key(all_of["name"], [0, 1])
    assert all_of["source"] == groups.KIND_TORCH_GROUP
    tp = [[c["comm"] for c in record.communicators().values() if c["label"] == "mesh_tp"]
          for record in (zero, one)]
    assert tp[0] != tp[1]  # two groups of one name in the mesh
    job.go_on()
    job.wait_for("destroyed")
    assert "dp_1" not in {label for label, _, _ in shown(zero).values()}
    job.go_on()
    job.wait_for("again")
    assert shown(zero)[126] == ("again", 2, 0)  # the slot that was freed
    job.go_on()
    job.wait_for("gone")
    assert shown(zero) == shown(one) == {}
    job.go_on()
    assert job.finish() == [(0, "", "")] * 2


def test_a_group_without_a_description_is_labelled_by_its_name(ranks):
    job = ranks("both = dist.new_group([0, 1])\npause('made')\n"
                "dist.destroy_process_group(both)\npause('destroyed')\n"
                "dist.destroy_process_group()\n")
    job.wait_for("made")
    for rank, record in enumerate(job.records):
        world, both = (record.communicators()[slot] for slot in (127, 126))
        assert both["label"] == both["name"] != world["name"]
        assert (both["size"], both["rank"]) == (2, rank)
        assert both["comm"] == groups.key(both["name"], [0, 1])
    job.go_on()
    job.wait_for("destroyed")
    assert [list(record.communicators()) for record in job.records] == [[127]] * 2
    job.go_on()
    assert job.finish() == [(0, "", "")] * 2


@with_descriptions
def test_more_groups_than_slots_leave_the_plugin_its_half(ranks):
    job = ranks("for n in range(70): dist.new_group([0], group_desc='g%d é' % n + 'é' * 40)\n"
                "pause('made')\n", size=1)
    job.wait_for("made")
    found = shown(job.records[0])
    assert sorted(found) == list(range(64, 128))
    assert found[126][0] == "g0 " + "é" * 30  # 64 bytes, cut between characters
    job.go_on()
    assert job.finish() == [(0, "", "")]


def test_a_forked_child_does_not_touch_the_workers_groups(ranks):
    job = ranks("import os\n"
                "child = os.fork()\n"
                "if not child: dist.destroy_process_group(); os._exit(0)\n"
                "os.waitpid(child, 0); pause('forked')\n", size=1)
    job.wait_for("forked")
    assert shown(job.records[0]) == {127: ("default_pg", 1, 0)}
    job.go_on()
    assert [code for code, _, _ in job.finish()] == [0]


TRACEBACK = """
import traceback
try: dist.new_group([0, 5])
except ValueError: traceback.print_exc()
try: dist.destroy_process_group(object())
except Exception: traceback.print_exc()
"""


def test_tracebacks_through_torch_do_not_show_us(ranks):
    job = ranks(TRACEBACK, size=1)
    (code, _, error), = job.finish()
    assert code == 0 and error.count("Traceback") == 2 and str(PACKAGE) not in error


COMPILED = """
graphs = []
def backend(graph, inputs): graphs.append(graph); return graph.forward
@torch.compile(backend=backend, fullgraph=True)
def train(x):
    ranks = dist.get_process_group_ranks(None)
    return x * len(ranks) + dist.get_rank() + dist.get_world_size()
print(train(torch.ones(2)).tolist(), len(graphs))
"""


def test_torch_compile_sees_the_groups_as_before(ranks):
    assert ranks(COMPILED, size=1, light=False).finish() == [(0, "[2.0, 2.0] 1\n", "")]


@pytest.mark.parametrize("size", [4096, 36000])
def test_a_record_without_that_part_is_left_alone(tmp_path, boot, size):
    record = RecordFile(tmp_path / "record", size)
    (tmp_path / "t.py").write_text(
        "import torch.distributed as dist\n"
        "dist.init_process_group('gloo', store=dist.HashStore(), rank=0, world_size=1)\n"
        "print(type(dist.distributed_c10d._pg_group_ranks))\n")
    env = record.environment(ROBUSTRUN_FLIGHT_SOCKET=str(tmp_path / "fr"))
    done = boot("script", "t.py", env=env)
    assert (done.stdout, done.stderr) == (b"<class 'dict'>\n", b"")
    assert record.communicators() == {}
