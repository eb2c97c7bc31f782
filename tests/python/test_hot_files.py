"""The list of files that a worker read until its first step."""

import os
import subprocess
import sys
import zlib

import pytest
from conftest import ROOT  # noqa: F401

STEP = "import robustrun; robustrun.step(1)\n"


@pytest.fixture
def touched(record, boot, tmp_path):
    """Runs a script as a worker; returns its list as pairs."""
    asked = record.path.with_suffix(".files")

    def run(text, ask=True, **options):
        if ask:
            asked.write_bytes(b"")
        (tmp_path / "t.py").write_text(text)
        done = boot("script", "t.py", env=record.environment(), **options)
        assert done.returncode == 0, done.stderr
        if not asked.exists() or not asked.stat().st_size:
            return None
        head, *lines = asked.read_text(errors="surrogateescape").splitlines()
        assert head == "robustrun-files 1"
        return [tuple(line.split(" ", 1)) for line in lines]

    return run


def test_files_come_in_the_order_of_the_first_touch(touched, tmp_path):
    (tmp_path / "helper.py").write_text("x = 1\n")
    (tmp_path / "data.bin").write_bytes(b"x")
    files = touched("import helper\nopen('data.bin', 'rb').read()\nimport json.tool\n" + STEP)
    paths = [path for _, path in files]
    helper = next(i for i, p in enumerate(paths) if p.startswith(str(tmp_path / "helper.py")))
    data = paths.index(str(tmp_path / "data.bin"))
    tool = next(i for i, p in enumerate(paths) if "json" in p and "tool" in p)
    assert helper < data < tool
    assert len(set(paths)) == len(paths)
    assert all(path.startswith("/") for path in paths)


def test_libraries_are_mapped_and_the_interpreter_is_among_them(touched):
    files = touched("import zlib, ctypes\nctypes.CDLL('libm.so.6')\n" + STEP)
    mapped = [path for kind, path in files if kind == "mapped"]
    assert os.path.realpath(sys.executable) in [os.path.realpath(path) for path in mapped]
    assert any("libc.so" in path for path in mapped)
    if getattr(zlib, "__file__", None):
        assert zlib.__file__ in mapped


def test_what_is_written_or_comes_after_the_step_is_not_among_them(touched, tmp_path):
    (tmp_path / "late.txt").write_text("x")
    files = touched("open('out.txt', 'w').write('x')\nopen('both.txt', 'w+')\n" + STEP +
                    "open('late.txt').read()\nopen('/proc/self/stat').read()\n")
    paths = [path for _, path in files]
    for name in ("out.txt", "both.txt", "late.txt"):
        assert str(tmp_path / name) not in paths
    assert not any(path.startswith(("/proc/", "/dev/", "/sys/")) for path in paths)
    assert not any(path.endswith("record") for path in paths)


def test_nothing_is_watched_unless_the_agent_asks(touched):
    text = "import sys\nassert 'robustrun._progress.hot_files' not in sys.modules\n" + STEP
    assert touched(text, ask=False) is None


def test_a_program_without_a_step_leaves_nothing(touched):
    assert touched("print('done')") is None


def test_a_forked_child_leaves_nothing(touched):
    files = touched("import os\nif os.fork() == 0:\n    import robustrun._progress.hot_files as h\n"
                    "    h.write()\n    os._exit(0)\nos.wait()\n")
    assert files is None


def test_names_that_a_line_cannot_hold_are_left_out(touched, tmp_path):
    (tmp_path / "two\nlines").write_text("x")
    (tmp_path / os.fsdecode(b"\xff")).write_text("x")
    files = touched("open('two\\nlines').read()\nopen(b'\\xff').read()\n" + STEP)
    paths = [path for _, path in files]
    assert not any("lines" in path for path in paths)
    assert os.fsdecode(bytes(tmp_path) + b"/\xff") in paths


def test_invalid_arguments_in_the_hook_do_not_stop_the_program(touched):
    files = touched("import sys\nsys.audit('open')\nsys.audit('open', 1, 2, 3)\n"
                    "sys.audit('import', 'x', 7)\nsys.audit('ctypes.dlopen', None)\n" + STEP)
    assert files


def test_at_the_limit_of_time_the_list_is_left_without_a_step(touched):
    files = touched("import sys\nfrom robustrun._progress import hot_files as h\n"
                    "h._end = 0.0\nopen(__file__).read()\n")
    assert files and files[-1][1]


def test_reading_the_maps_does_not_trigger_another_read(touched, tmp_path):
    """Opening them is an event as well, and the next one is due later."""
    (tmp_path / "one.txt").write_text("x")
    (tmp_path / "two.txt").write_text("x")
    text = ("import robustrun._progress.hot_files as h\nlooks = []\nlook = h._look_at_maps\n"
            "h._look_at_maps = lambda: (looks.append(1), look())\n"
            "h._pause, h._next_look = 100.0, 0.0\n"
            "open('one.txt').read()\nopen('two.txt').read()\n"
            "assert len(looks) == 1 and h._pause == 200.0, (looks, h._pause)\n"
            "h._next_look = 0.0\nh.write()\nassert len(looks) == 2, looks\n")
    assert touched(text)


def test_watching_costs_a_start_of_torch_less_than_a_twentieth():
    """A bound for a busy machine; what it costs is a figure (bench/run startup)."""
    probe = ("import sys, time, os\nsys.path.insert(0, %r)\n"
             "from robustrun._progress import hot_files as h\n"
             "if %d:\n    h._touched, h._end, h._pause = {}, 1e18, .05\n"
             "    h._next_look = time.monotonic()\n"
             "    sys.addaudithook(h._on_audit)\n"
             "a = time.process_time()\nimport torch\nprint(time.process_time() - a)\n")
    package = str(ROOT / "python")

    def measure(watch):
        done = subprocess.run([sys.executable, "-c", probe % (package, watch)], check=True,
                              capture_output=True, text=True)
        return float(done.stdout)

    measure(0)
    off, on = [], []
    for _ in range(20):  # the minimum of each does not depend on other load
        off.append(measure(0))
        on.append(measure(1))
        if len(on) >= 5 and min(on) <= 1.05 * min(off):
            return
    raise AssertionError(f"{min(on)} s of a processor, and {min(off)} s without")
