"""The dispatcher's interposer counts every collective on CPU tensors.

It is meant for torch 2.2 to 2.7; here it is installed by hand, whatever torch there is.
"""

import itertools
import sys
import time

import pytest
from conftest import PACKAGE, WHOLE_RECORD_BYTES, RecordFile

torch = pytest.importorskip("torch")
sys.path.insert(0, str(PACKAGE))
from robustrun._diagnose import groups, interposer  # noqa: E402

pytestmark = pytest.mark.skipif(
    not hasattr(torch._C._distributed_c10d.ProcessGroup, "unbox"), reason="torch before 2.2")

INSTALL = "from robustrun._diagnose import interposer; interposer.install()\n"


def counts(record):
    """Label of the group -> (entered, done)."""
    return {one["label"]: (one["entered"], one["done"])
            for one in record.communicators().values()}


def wait_for(condition):
    end = time.monotonic() + 60
    while not condition():
        assert time.monotonic() < end
        time.sleep(0.005)


COLLECTIVES = {  # what is called -> operations of the dispatcher
    "dist.all_reduce(x)": 1,
    "dist.all_reduce(x, async_op=True).wait()": 1,
    "dist.broadcast(x, 0)": 1,
    "dist.reduce(x, 0)": 1,
    "dist.barrier()": 1,
    "dist.all_gather([torch.zeros(4) for _ in range(size)], x)": 1,
    "dist.all_gather_into_tensor(torch.zeros(4 * size), x)": 1,
    "dist.gather(x, [torch.zeros(4) for _ in range(size)] if not rank else None)": 1,
    "dist.scatter(x, [torch.zeros(4) for _ in range(size)] if not rank else None)": 1,
    "dist.all_to_all_single(torch.zeros(4), x)": 1,
    "dist.reduce_scatter_tensor(torch.zeros(2), x)": 1,
    "dist.all_gather_object([None] * size, 'text')": 2,
    "[w.wait() for w in [dist.all_reduce(x, async_op=True) for _ in range(50)]]": 50,
    "dist.send(x, 1) if not rank else dist.recv(x, 0)": 0,
}


def test_every_collective_is_counted_and_done(ranks):
    source = INSTALL + "x = torch.ones(4)\n"
    for call in COLLECTIVES:
        source += call + "\npause('called')\n"
    # A thread of gloo that outlives the interpreter would end the process (pytorch#190489).
    job = ranks(source + "pause('over')\ndist.destroy_process_group()\n")
    for expected in itertools.accumulate(COLLECTIVES.values()):
        job.wait_for("called")
        for record in job.records:
            wait_for(lambda r=record, n=expected: counts(r) == {"default_pg": (n, n)})
        job.go_on()
    job.wait_for("over")
    slot, = job.records[0].communicators().values()
    assert slot["source"] == groups.KIND_INTERPOSER
    assert 0 < slot["entered_at"] <= slot["done_at"] and slot["started"] == slot["entered"]
    job.go_on()
    assert [code for code, _, _ in job.finish()] == [0, 0]


def test_the_collectives_of_ddps_reducer_are_counted_in_its_group(ranks):
    job = ranks(INSTALL + """
group = dist.new_group([0, 1], group_desc="dp")
layer = torch.nn.Linear(4, 4)
model = torch.nn.parallel.DistributedDataParallel(layer, process_group=group)
def train(): model(torch.ones(1, 4)).sum().backward()
train(); train()  # the second call rebuilds the buckets
pause("made")
for _ in range(3): train()
pause("trained")
dist.destroy_process_group(group)
pause("destroyed")
""")
    job.wait_for("made")
    before = counts(job.records[0])["dp"][0]
    assert before > 2
    job.go_on()
    job.wait_for("trained")
    for record in job.records:
        wait_for(lambda r=record: counts(r)["dp"] == (before + 3, before + 3))
    job.go_on()
    job.wait_for("destroyed")
    assert set(counts(job.records[0])) == {"default_pg"}
    job.go_on()
    assert job.finish() == [(0, "", "")] * 2


def test_a_waiting_rank_has_entered_and_the_absent_one_has_not(ranks):
    job = ranks(INSTALL + "dist.barrier()\nprint('ready')\n"
                "if rank: input()\n"
                "dist.all_reduce(torch.ones(1))\nprint('done')\n")
    job.wait_for("ready")
    wait_for(lambda: [counts(record)["default_pg"] for record in job.records] == [(2, 1), (1, 1)])
    job.go_on()
    job.wait_for("done")
    for record in job.records:
        wait_for(lambda r=record: counts(r)["default_pg"] == (2, 2))
    job.finish()


def test_results_are_those_without_it(ranks):
    job = ranks(INSTALL + """
x = torch.full((3,), float(rank + 1), requires_grad=True)
with torch.no_grad(): dist.all_reduce(x)
print(x.tolist())
y = torch.empty(2 * size)
dist.all_gather(list(y.split(2)), torch.tensor([rank, 7.0]))
print(y.tolist())
dist.destroy_process_group()
""")
    assert job.finish() == [(0, "[3.0, 3.0, 3.0]\n[0.0, 7.0, 1.0, 7.0]\n", "")] * 2


def test_done_is_the_last_up_to_which_all_are():
    words = [0] * groups.SLOT_WORDS
    count = interposer._Count(0)
    assert [count.enter(words) for _ in range(4)] == [1, 2, 3, 4]
    seen = []
    for ordinal in (2, 4, 1, 3):
        count.finish(words, ordinal)
        seen.append(words[groups.DONE])
    assert seen == [0, 0, 2, 4] and words[groups.ENTERED] == 4


@pytest.mark.parametrize("recorder", [False, True])
@pytest.mark.parametrize("given", ["1", "0", ""])
def test_it_is_installed_when_ordered_and_torch_has_no_recorder(tmp_path, boot, given, recorder):
    record = RecordFile(tmp_path / "record", WHOLE_RECORD_BYTES)
    (tmp_path / "t.py").write_text(
        "import sys\nfrom robustrun._diagnose import flight\nflight.prepare = lambda: %r\n"
        "import torch.distributed as dist\n"
        "dist.init_process_group('gloo', store=dist.HashStore(), rank=0, world_size=1)\n"
        "ours = sys.modules.get('robustrun._diagnose.interposer')\n"
        "print(bool(ours and ours._library))\n" % recorder)
    env = record.environment(ROBUSTRUN_TRACE_DISPATCHER=given,
                             ROBUSTRUN_FLIGHT_SOCKET=str(tmp_path / "fr"))
    done = boot("script", "t.py", env=env)
    expected = given == "1" and not recorder
    assert (done.stdout, done.stderr) == (b"%r\n" % expected, b"")
    kind = groups.KIND_INTERPOSER if expected else groups.KIND_TORCH_GROUP
    assert [one["source"] for one in record.communicators().values()] == [kind]
