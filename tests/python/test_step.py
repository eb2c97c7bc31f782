"""Steps are counted through torch's optimizers, and the script's own count replaces it."""

import mmap
import sys

import pytest
from conftest import HELPERS, PACKAGE

torch = pytest.importorskip("torch")
sys.path.insert(0, str(PACKAGE))
from robustrun._progress import progress, steps  # noqa: E402
from torch.optim.optimizer import (  # noqa: E402
    register_optimizer_step_post_hook,
    register_optimizer_step_pre_hook,
)

OPTIMIZER = sys.modules["torch.optim.optimizer"]
STEPS, FIRST_STEP, LAST_STEP, HAS_STEP, STEP = 96, 104, 112, 120, 128
STEPS_BEFORE, LOAD_BEGIN = 56, 680


def make(cls=torch.optim.SGD, **kw):
    w = torch.nn.Parameter(torch.ones(3))
    w.grad = torch.ones(3)
    return cls([w], lr=0.1, **kw)


# name -> (script, steps expected)
COUNTS = {
    "no step": ("make()", 0),
    "plain": ("o = make()\nfor _ in range(5): o.step()", 5),
    "closure": ("o = make(torch.optim.LBFGS)\n"
                "o.step(lambda: (o.param_groups[0]['params'][0] ** 2).sum())", 1),
    "scheduler": ("o = make(); s = torch.optim.lr_scheduler.StepLR(o, 1)\n"
                  "for _ in range(3): o.step(); s.step()", 3),
    "two optimizers": ("a, b = make(), make(torch.optim.AdamW)\n"
                       "for _ in range(4): a.step(); b.step(); b.step()", 4),
    "one per parameter": ("all = [make() for _ in range(7)]\n"
                          "for _ in range(3):\n    for o in all: o.step()", 3),
    "wrapper around an inner optimizer": ("""
class Outer(torch.optim.Optimizer):
    def __init__(self, inner):
        super().__init__(inner.param_groups, {}); self.inner = inner
    def step(self): self.inner.step()
o = Outer(make())
for _ in range(6): o.step()""", 6),
    "subclass that calls super().step()": ("""
make()  # wraps SGD.step before the subclass has its own
class Mine(torch.optim.SGD):
    @torch.no_grad()
    def step(self, closure=None): return super().step(closure)
o = make(Mine)
for _ in range(6): o.step()""", 6),
    "a step that raises is not counted, later ones are": ("""
o = make()
def bad(): raise ValueError
for _ in range(3):
    try: o.step(bad)
    except ValueError: pass
    o.step()""", 3),
    "first optimizer gone": ("make().step()\no = make()\nfor _ in range(2): o.step()", 3),
    "gradient scaler": ("s = torch.amp.GradScaler('cpu')\no = make()\n"
                        "w = o.param_groups[0]['params'][0]\n"
                        "for _ in range(3):\n"
                        "    w.grad = None; s.scale(w.sum()).backward(); s.step(o); s.update()", 3),
}
if not hasattr(torch.amp, "GradScaler"):  # torch before 2.3
    del COUNTS["gradient scaler"]


@pytest.fixture
def counting(record, monkeypatch):
    """The hook in this process, with a record of its own."""
    with open(record.path, "r+b") as file:
        mapping = mmap.mmap(file.fileno(), 0)
    monkeypatch.setattr(progress, "_current", progress.Record(mapping))
    handles = [register_optimizer_step_pre_hook(steps._make_first_look(torch, OPTIMIZER)),
               register_optimizer_step_post_hook(steps._make_hook(torch, OPTIMIZER))]
    yield record
    for handle in handles:
        handle.remove()


@pytest.mark.parametrize("name", COUNTS)
def test_steps(name, counting):
    script, expected = COUNTS[name]
    exec(script, {"torch": torch, "make": make})
    assert counting.word(STEPS) == expected
    assert (counting.word(FIRST_STEP) > 0) == (expected > 0)
    assert counting.word(LAST_STEP) >= counting.word(FIRST_STEP)
    assert counting.word(HAS_STEP) == 0


# name -> (script, what is known of the steps of processes before: their number plus one, or 0)
BEFORE = {
    "Adam anew": ("o = make(torch.optim.Adam)\nfor _ in range(3): o.step()", 1),
    "momentum anew": ("o = make(momentum=0.9)\nfor _ in range(3): o.step()", 1),
    "plain SGD keeps no state": ("o = make()\nfor _ in range(3): o.step()", 0),
    "Adam goes on": ("a = make(torch.optim.AdamW)\nfor _ in range(7): a.step()\n"
                     "restart()\n"
                     "o = make(torch.optim.AdamW); o.load_state_dict(a.state_dict()); o.step()", 8),
    "momentum continues from an unknown step": (
        "a = make(momentum=0.9); a.step()\nrestart()\n"
        "o = make(momentum=0.9); o.load_state_dict(a.state_dict()); o.step()", 0),
    "the model alone was loaded": ("loads()\no = make(torch.optim.Adam); o.step()", 0),
    "a step that only makes a state to load into": (
        "a = make(torch.optim.Adam)\nfor _ in range(7): a.step()\nrestart()\n"
        "o = make(torch.optim.Adam); o.param_groups[0]['lr'] = 0.0; o.step()\n"
        "o.load_state_dict(a.state_dict()); o.step()", 7),
    "a warm-up that begins with a rate of 0": (
        "o = make(torch.optim.Adam)\n"
        "for n in range(3): o.param_groups[0]['lr'] = 0.1 * n; o.step()", 1),
    "a wrapper": ("""
class Outer(torch.optim.Optimizer):
    def __init__(self, inner):
        super().__init__(inner.param_groups, {}); self.inner = inner
    def step(self): self.inner.step()
o = Outer(make(torch.optim.Adam))
for _ in range(3): o.step()""", 1),
    "an unknown optimizer": ("""
class Odd(torch.optim.SGD):
    state = property(lambda self: 7, lambda self, value: None)
    def __init__(self, *args, **kw):
        try: super().__init__(*args, **kw)
        except Exception: pass
    def step(self): pass
o = make(Odd); o.step()""", 0),
}


@pytest.mark.parametrize("name", BEFORE)
def test_steps_of_earlier_processes_are_read_from_the_optimizers_state(name, counting,
                                                                       monkeypatch):
    script, expected = BEFORE[name]
    handles = []

    def restart():
        counting.put_word(STEPS, 0)
        counting.put_word(STEPS_BEFORE, 0)
        progress._current.begins_anew = False
        for hook in (register_optimizer_step_pre_hook(steps._make_first_look(torch, OPTIMIZER)),
                     register_optimizer_step_post_hook(steps._make_hook(torch, OPTIMIZER))):
            handles.append(hook)

    exec(script, {"torch": torch, "make": make, "restart": restart,
                  "loads": lambda: counting.put_word(LOAD_BEGIN, 1)})
    for handle in handles:
        handle.remove()
    assert counting.word(STEPS_BEFORE) == expected


def test_the_scripts_own_count_replaces_the_optimizers(record, boot, tmp_path):
    (tmp_path / "t.py").write_text(
        "import sys\nassert 'torch' not in sys.modules\n"
        "sys.path.append(%r)\n"
        "import light_torch, robustrun, torch\n"
        "w = torch.nn.Parameter(torch.ones(1)); w.grad = torch.ones(1)\n"
        "o = torch.optim.SGD([w], lr=1)\n"
        "for n in range(10, 14): o.step(); robustrun.step(n); o.step()\n" % HELPERS)
    done = boot("script", "t.py", env=record.environment())
    assert done.returncode == 0, done.stderr.decode()
    assert (record.word(STEPS), record.word(HAS_STEP), record.word(STEP)) == (4, 1, 13)


def test_forked_and_spawned_children_do_not_count(record, boot, tmp_path):
    (tmp_path / "t.py").write_text(
        "import sys\nsys.path.append(%r)\n"
        "import light_torch, torch, torch.multiprocessing as m\n"
        "def f(i):\n"
        "    import robustrun\n"
        "    w = torch.nn.Parameter(torch.ones(1)); w.grad = torch.ones(1)\n"
        "    torch.optim.SGD([w], lr=1).step(); robustrun.step(9)\n"
        "if __name__ == '__main__':\n"
        "    m.spawn(f, nprocs=1)\n"
        "    m.start_processes(f, (), 1, start_method='fork')\n" % HELPERS)
    done = boot("script", "t.py", env=record.environment())
    assert done.returncode == 0, done.stderr.decode()
    assert record.word(STEPS) == 0


def test_the_hook_leaves_no_trace_in_the_import_system(record, boot, tmp_path):
    (tmp_path / "t.py").write_text(
        "import sys, importlib, torch, torch.optim.optimizer as o\n"
        "torch.optim.SGD([torch.nn.Parameter(torch.ones(1))], lr=0.1)\n"
        "print([f for f in sys.meta_path if 'robustrun' in repr(f)],"
        " 'exec_module' in vars(o.__spec__.loader))\n"
        "importlib.reload(o)\n")
    done = boot("script", "t.py", env=record.environment())
    assert (done.returncode, done.stdout) == (0, b"[] False\n"), done.stderr


def test_a_compiled_step_makes_no_more_graphs_than_without_us(record, boot, tmp_path):
    (tmp_path / "t.py").write_text(
        "import torch\n"
        "w = torch.nn.Parameter(torch.ones(1)); w.grad = torch.ones(1)\n"
        "o = torch.optim.SGD([w], lr=1)\n"
        "graphs = []\n"
        "def backend(graph, inputs): graphs.append(graph); return graph.forward\n"
        "@torch.compile(backend=backend)\n"
        "def train(): o.step()\n"
        "for _ in range(3): train()\n"
        "from torch._dynamo.utils import counters\n"
        "print(len(graphs), counters['graph_break'])\n")
    counted = boot("script", "t.py", env=record.environment())
    assert (counted.returncode, counted.stdout) == (0, boot("script", "t.py").stdout)


def test_tensors_are_taken_as_metrics(record, boot, tmp_path):
    (tmp_path / "t.py").write_text(
        "import sys\nsys.path.append(%r)\n"
        "import light_torch, torch, robustrun\n"
        "loss = torch.tensor(0.75, requires_grad=True)\n"
        "robustrun.step(1, loss=loss, many=torch.ones(2), meta=torch.ones((), device='meta'))\n"
        % HELPERS)
    done = boot("script", "t.py", env=record.environment())
    assert done.returncode == 0, done.stderr.decode()
    metrics = record.metrics()
    assert metrics["loss"] == 0.75
    assert metrics["many"] != metrics["many"] and metrics["meta"] != metrics["meta"]  # NaN


def test_a_device_is_waited_for_once_a_second_at_most(record, boot, tmp_path):
    (tmp_path / "t.py").write_text(
        "import robustrun, time\n"
        "class Device: type = 'cuda'\n"
        "class Tensor:\n"
        "    device, reads = Device(), 0\n"
        "    def __float__(self): Tensor.reads += 1; return float(Tensor.reads)\n"
        "start = time.monotonic()\n"
        "while time.monotonic() - start < 0.3: robustrun.step(1, a=Tensor(), b=Tensor())\n"
        "print(Tensor.reads)\n")
    assert boot("script", "t.py", env=record.environment()).stdout == b"2\n"
    assert record.metrics() == {"a": 1.0, "b": 2.0}
