"""When the stages of a start begin and end, in the record of an unchanged script."""

import sys

import pytest
from conftest import HELPERS, NEEDS_TORCH, PACKAGE

sys.path.insert(0, str(PACKAGE))
from robustrun._progress import progress  # noqa: E402

NAMES = ("imports_done", "group_begin", "group_done", "load_begin", "load_done", "optimizer")


def marks(record):
    """Seconds of the monotonic clock; 0: none."""
    return {name: record.word(8 * getattr(progress, name.upper() + "_AT_NS")) / 1e9
            for name in NAMES}


@pytest.fixture
def run(record, boot, tmp_path):
    def start(text, code=0):
        (tmp_path / "t.py").write_text(text)
        done = boot("script", "t.py", env=record.environment())
        assert done.returncode == code, done.stderr
        start.said = done.stdout.decode(), done.stderr.decode()
        return marks(record)

    return start


def test_imports_end_with_the_last_one_that_the_script_asks_for(run, tmp_path):
    (tmp_path / "slow.py").write_text(
        "import time\ntime.sleep(0.2)\nimport inner\ndone = time.monotonic()\n")
    (tmp_path / "inner.py").write_text("import json.tool\n")
    (tmp_path / "named.py").write_text("import time\ntime.sleep(0.2)\ndone = time.monotonic()\n")
    (tmp_path / "late.py").write_text("import wave, time\ntime.sleep(1.5)\n")
    found = run(
        "import time, zlib\nimport slow\n"
        "def work():\n    from slow import done\n    import chunked\n"
        "open('chunked.py', 'w').write('')\nwork()\n"
        "import importlib\nimportlib.import_module('named')\n"
        "try:\n    import not_there\nexcept ImportError:\n    pass\n"
        "asked = time.monotonic()\nimport robustrun\nrobustrun.step(1)\n"
        "import named\nprint(named.done, asked)\nimport late\n")
    done, asked = map(float, run.said[0].split())
    assert done <= found["imports_done"]
    # robustrun is imported already, and imports after the first step do not belong to the start.
    assert found["imports_done"] <= asked + 1.4
    assert found["group_begin"] == found["load_begin"] == found["optimizer"] == 0


def test_the_record_shows_an_import_in_progress(run, tmp_path):
    (tmp_path / "fatal.py").write_text("import os\nos._exit(3)\n")
    assert run("import zlib\nimport fatal\n", code=3)["imports_done"] == 1e-9


def test_an_import_that_fails_looks_as_without_us_and_is_over(run, boot, tmp_path):
    (tmp_path / "broken.py").write_text("def f():\n    raise ValueError('no')\nf()\n")
    found = run("import broken\n", code=1)
    assert found["imports_done"] > 1e-9
    plain = boot("script", "t.py")
    assert run.said[1] == plain.stderr.decode()
    assert "robustrun" not in run.said[1]


def test_specs_and_finders_are_pythons_own_afterwards(run, tmp_path):
    (tmp_path / "helper.py").write_text("")
    run("import sys, helper\nfrom importlib.machinery import ModuleSpec\n"
        "assert type(helper.__spec__) is ModuleSpec\n"
        "assert helper.__spec__._initializing is False\n"
        "import robustrun\nrobustrun.step(1)\n"
        "import importlib\nimportlib.reload(helper)\n")


def test_a_module_from_a_foreign_finder_is_imported_as_ever(run, tmp_path):
    run("import sys, types\n"
        "from importlib.machinery import ModuleSpec\n"
        "class Own(ModuleSpec): pass\n"
        "class Finder:\n"
        "    def find_spec(self, name, path=None, target=None):\n"
        "        return Own(name, self) if name == 'made' else None\n"
        "    def create_module(self, spec): return None\n"
        "    def exec_module(self, module): module.x = 7\n"
        "sys.meta_path.append(Finder())\nimport made\n"
        "assert made.x == 7 and type(made.__spec__) is Own\n")


LEGACY = """
import sys, types
class Legacy:
    def find_module(self, name, path=None): return self if name == 'colorsys' else None
    def load_module(self, name):
        module = sys.modules[name] = types.ModuleType(name)
        module.is_ours = True
        return module
"""


def test_a_finder_without_find_spec_is_asked_as_python_asks_it(run, boot):
    source = LEGACY + (
        "sys.meta_path.append(Legacy())\n"
        "try:\n    import not_there\nexcept ModuleNotFoundError as error:\n    print(error)\n"
        "sys.meta_path.insert(1, sys.meta_path.pop())\n"
        "import colorsys\nprint(hasattr(colorsys, 'is_ours'))\n")
    run(source)
    assert run.said[0] == boot("script", "t.py").stdout.decode()
    assert run.said[0].startswith("No module named 'not_there'\n")


TRAINING = f"""
import sys
sys.path.append({HELPERS!r})
""" + """
import os, time
import light_torch, torch, torch.distributed as dist
imported = time.monotonic()
dist.init_process_group("gloo", store=dist.HashStore(), rank=0, world_size=1) if {store} else \
    dist.init_process_group("gloo", init_method="file://" + os.getcwd() + "/store",
                            rank=0, world_size=1)
grouped = time.monotonic()
c10d = sys.modules["torch.distributed.distributed_c10d"]
rendezvous = sys.modules["torch.distributed.rendezvous"]
assert type(c10d._pg_names) is dict and type(rendezvous._rendezvous_handlers) is dict or {store}
model = torch.nn.Linear(2, 2)
begins = time.monotonic()
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
made = time.monotonic()
assert "defaults" not in torch.optim.Optimizer.__dict__ and optimizer.defaults["lr"] == 0.1
dist.new_group([0])
torch.optim.Adam(model.parameters())
model(torch.ones(2, 2)).sum().backward()
optimizer.step()
print(imported, grouped, begins, made)
dist.destroy_process_group()
"""


@pytest.mark.parametrize("store", [False, True], ids=["rendezvous", "store of its own"])
@NEEDS_TORCH
def test_the_group_and_the_first_optimizer_leave_their_times(run, store):
    found = run(TRAINING.format(store=store))
    imported, grouped, begins, made = map(float, run.said[0].split())
    assert 0 < found["imports_done"] <= imported
    assert imported <= found["group_begin"] <= found["group_done"] <= grouped
    assert begins <= found["optimizer"] <= made


@NEEDS_TORCH
def test_a_load_before_the_first_step_leaves_its_time(run):
    found = run(
        "import time, robustrun\nfrom robustrun._progress import stages\nbegan = time.monotonic()\n"
        "with stages.loading():\n    time.sleep(1)\n"
        "with stages.loading():\n    pass\n"
        "done = time.monotonic()\nrobustrun.step(1)\n"
        "with stages.loading():\n    pass\n"
        "print(began, done)\n")
    began, done = map(float, run.said[0].split())
    assert began <= found["load_begin"] <= began + 0.9
    assert found["load_begin"] + 1 <= found["load_done"] <= done


@NEEDS_TORCH
def test_a_forked_child_leaves_nothing(run):
    found = run("import os, sys\nsys.path.append(%r)\nimport light_torch, torch\n"
                "if os.fork() == 0:\n"
                "    torch.optim.SGD([torch.nn.Parameter(torch.ones(1))], lr=0.1)\n"
                "    import wave\n    os._exit(0)\nos.wait()\n" % HELPERS)
    assert found["optimizer"] == 0


@NEEDS_TORCH
def test_an_unpickled_optimizer_has_its_defaults(run):
    run("import sys\nsys.path.append(%r)\nimport light_torch, torch\n"
        "blank = torch.optim.SGD.__new__(torch.optim.SGD)\n"
        "assert not hasattr(blank, 'defaults') and not hasattr(torch.optim.Optimizer, 'defaults')\n"
        "blank.__dict__['defaults'] = {'lr': 3}\n"
        "assert blank.defaults == {'lr': 3}\n" % HELPERS)
