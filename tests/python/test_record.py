"""The record's Python constants are those of the C++ header, and the file takes what is written."""

import os
import re
import signal
import subprocess
import sys

import pytest
from conftest import PACKAGE, ROOT

sys.path.insert(0, str(PACKAGE))
from robustrun._progress import progress  # noqa: E402

HEADER = (ROOT / "tracer" / "progress_record.h").read_text()
WORKER_PID, BOOT_AT, USER_CODE_AT, SEQUENCE, STEPS = 64, 72, 80, 88, 96
FIRST_STEP, LAST_STEP, HAS_STEP, STEP = 104, 112, 120, 128


def header_offsets():
    field = r"^\s+std::(?:u?int64_t|array<RecordMetric.*?>) (\w+);.*?//\s+(\d+)"
    fields = re.findall(field, HEADER, re.MULTILINE)
    return {name: int(offset) for name, offset in fields}


def test_offsets_are_those_of_the_header():
    offsets = header_offsets()
    assert len(offsets) == 27
    assert {name: getattr(progress, name.upper()) * 8 for name in offsets} == offsets


def test_sizes_are_those_of_the_header():
    def constant(name):
        return int(re.search(name + r" = (\d+);", HEADER).group(1))

    assert progress.BYTES == constant("kRecordBytes")
    assert progress.MAJOR == constant("kRecordMajor")
    assert progress.METRICS_MAX == constant("kMetricsMax")
    assert progress.METRIC_NAME_BYTES == constant("kMetricNameBytes")
    assert progress.DATA_SOURCE_BYTES == constant("kDataSourceBytes")
    assert progress.DATA_PATH_BYTES == constant("kDataPathBytes")
    assert 8 * progress.DATA_PATH == 8 * progress.DATA_SOURCE + progress.DATA_SOURCE_BYTES
    magic = re.findall(r"'(.)'", HEADER[HEADER.index("kRecordMagic") :].split("}")[0])
    assert progress.MAGIC == "".join(magic).encode()


def test_boot_leaves_pid_and_times(record, boot, tmp_path):
    (tmp_path / "t.py").write_text("import os; print(os.getpid())")
    done = boot("script", "t.py", env=record.environment())
    assert record.word(WORKER_PID) == int(done.stdout)
    assert 0 < record.word(BOOT_AT) <= record.word(USER_CODE_AT)
    assert record.word(STEPS) == 0 and record.word(SEQUENCE) == 0


RETURNED, FINISHED = 896, 904
ENDS = {  # what a script does, and which marks it leaves
    "pass": (True, True),
    "raise SystemExit": (True, True),
    "import sys; sys.exit(0)": (True, True),
    "raise SystemExit(3)": (False, False),
    "1 / 0": (False, False),
    "import os; os.abort()": (False, False),
    "import os; os._exit(0)": (False, False),
    "import atexit, os; atexit.register(os.abort)": (True, False),
    "import ctypes; c = ctypes.CDLL(None); c.__cxa_atexit(c.abort, None, None)": (True, True),
    # A thread is waited for before the second mark, an exit handler runs before it.
    "import os, threading, time\n"
    "threading.Thread(target=lambda: (time.sleep(0.2), os.abort())).start()": (True, False),
    "import multiprocessing\nmultiprocessing.get_context('fork').Process(target=print).start()":
        (True, True),
    "import os, sys\nif os.fork() == 0: sys.exit(0)\nos.wait(); os._exit(0)": (False, False),
}


@pytest.mark.parametrize("script", ENDS)
def test_two_marks_show_how_far_the_end_has_come(record, boot, tmp_path, script):
    (tmp_path / "t.py").write_text(script)
    boot("script", "t.py", env=record.environment())
    returned, finished = record.word(RETURNED), record.word(FINISHED)
    assert (returned > 0, finished > 0) == ENDS[script]
    if finished:
        assert record.word(USER_CODE_AT) < returned <= finished


def test_what_was_written_survives_sigkill(record, boot, tmp_path):
    (tmp_path / "t.py").write_text(
        "import os, robustrun\n"
        "robustrun.step(41, loss=0.5)\nrobustrun.step(42, loss=0.25, accuracy=1)\n"
        "os.kill(os.getpid(), 9)\n")
    done = boot("script", "t.py", env=record.environment())
    assert done.returncode == -signal.SIGKILL
    assert (record.word(STEPS), record.word(HAS_STEP), record.word(STEP)) == (2, 1, 42)
    assert 0 < record.word(FIRST_STEP) <= record.word(LAST_STEP)
    assert record.word(SEQUENCE) % 2 == 0
    assert record.metrics() == {"loss": 0.25, "accuracy": 1.0}


def test_metrics_beyond_the_limits_are_cut_not_fatal(record, boot, tmp_path):
    (tmp_path / "t.py").write_text(
        "import robustrun\n"
        "robustrun.step(-1, **{'é' * 20: 1.0, 'word': 'no number', 'big': 10**400})\n"
        "robustrun.step(-1, **{'m%d' % i: i for i in range(40)})\n")
    done = boot("script", "t.py", env=record.environment())
    assert done.returncode == 0, done.stderr
    metrics = record.metrics()
    assert len(metrics) == 16 and metrics["é" * 12] == 1.0 and metrics["m12"] == 12.0
    assert metrics["word"] != metrics["word"] and metrics["big"] != metrics["big"]  # NaN
    assert record.word(STEP) == 2**64 - 1


def test_a_step_that_is_no_number_leaves_the_record_as_it_was(record, boot, tmp_path):
    (tmp_path / "t.py").write_text(
        "import robustrun\nrobustrun.step(7, loss=0.5)\n"
        "for bad in (None, 'x', float('inf')):\n"
        "    try: robustrun.step(bad, loss=1.5)\n"
        "    except (TypeError, ValueError, OverflowError): print('refused')\n")
    done = boot("script", "t.py", env=record.environment())
    assert done.stdout == b"refused\n" * 3, done.stderr
    assert record.word(SEQUENCE) % 2 == 0
    assert (record.word(STEPS), record.word(STEP)) == (1, 7)
    assert record.metrics() == {"loss": 0.5}


def test_stop_requests_are_read_from_the_record(record, boot, tmp_path):
    (tmp_path / "t.py").write_text(
        "import robustrun\ns = robustrun.stop_requested()\n"
        "print(s and (s.reason, s.seconds_left), robustrun.attempt())\n")
    env = record.environment(ROBUSTRUN_ATTEMPT="7")
    assert boot("script", "t.py", env=env).stdout == b"None 7\n"
    record.put_word(24, 2)
    assert boot("script", "t.py", env=env).stdout == b"('preempt', None) 7\n"
    record.put_word(24, 3)
    record.put_word(32, 1)
    assert boot("script", "t.py", env=env).stdout == b"('stop', 0.0) 7\n"


def test_children_never_write_into_the_workers_record(record, boot, tmp_path):
    (tmp_path / "t.py").write_text(
        "import os, subprocess, sys, robustrun\n"
        "robustrun.step(1)\n"
        "child = os.fork()\n"
        "if not child:\n    robustrun.step(50); os._exit(0)\n"
        "os.waitpid(child, 0)\n"
        "subprocess.check_call([sys.executable, '-c', 'import robustrun; robustrun.step(60)'])\n")
    done = boot("script", "t.py", env=record.environment())
    assert done.returncode == 0, done.stderr
    assert (record.word(STEPS), record.word(STEP)) == (1, 1)


def test_without_boot_the_first_process_that_steps_has_the_record(record):
    program = "import os, robustrun; robustrun.step(5); print(os.getpid())"
    run = [sys.executable, "-c", program]
    first = subprocess.run(run, env=record.environment(), capture_output=True, check=True)
    assert (record.word(WORKER_PID), record.word(STEP)) == (int(first.stdout), 5)
    subprocess.run(run, env=record.environment(), check=True, stdout=subprocess.DEVNULL)
    assert record.word(STEPS) == 1


def test_a_useless_record_changes_nothing(boot, tmp_path, record):
    (tmp_path / "t.py").write_text("import robustrun; robustrun.step(1); print('ran')")
    record.path.write_bytes(b"short")
    assert boot("script", "t.py", env=record.environment()).stdout == b"ran\n"
    record.path.write_bytes(b"x" * 4096)
    assert boot("script", "t.py", env=record.environment()).stdout == b"ran\n"
    os.unlink(record.path)
    done = boot("script", "t.py", env=record.environment())
    assert (done.stdout, done.stderr) == (b"ran\n", b"")
