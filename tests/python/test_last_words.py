"""A failing program leaves its last calls in a file beside its record, and ends as before."""

import json
import os
import stat
import sys

import pytest
from conftest import JOB, PACKAGE

torch = pytest.importorskip("torch")
sys.path.insert(0, str(PACKAGE))
from robustrun._diagnose import flight  # noqa: E402

pytestmark = pytest.mark.skipif(
    not hasattr(torch._C._distributed_c10d, "_dump_fr_trace_json"), reason="torch before 2.8")
CALLS = "dist.all_reduce(torch.ones(4))\ndist.all_reduce(torch.ones(5))\n"


def left_by(job):
    """File of last words -> its content."""
    return {path: json.loads(path.read_bytes()) for path in sorted(job.runtime.glob("*.flight*"))}


@pytest.mark.parametrize(("end", "code", "words"), [
    ("raise RuntimeError('on purpose')", 1, "RuntimeError: on purpose\n"),
    ("sys.exit(7)", 7, ""),
    pytest.param("sys.exit('a reason')", 1, "a reason\n", marks=pytest.mark.nightly),
])
def test_a_program_that_fails_leaves_what_it_called(ranks, end, code, words):
    job = ranks(CALLS + end + "\n")
    for ended, _, error in job.finish():
        # torch may abort by itself when an interpreter ends with a group (pytorch#190489).
        assert (ended == code and error.endswith(words)) or (ended == -6 and words in error)
        assert "robustrun" not in error
    left = left_by(job)
    assert [path.name for path in left] == ["0.0.flight", "1.0.flight"]
    for path, dump in left.items():
        assert stat.S_IMODE(path.stat().st_mode) == 0o600
        calls = [(e["collective_seq_id"], e["input_sizes"]) for e in dump["entries"]]
        assert calls == [(1, [[4]]), (2, [[5]])]


@pytest.mark.parametrize("end", [
    "", "sys.exit(0)", pytest.param("sys.exit()", marks=pytest.mark.nightly),
    # The child ends before torch takes its groups down, whose threads it does not have.
    "import atexit\nchild = os.fork()\nif not child:\n    atexit.register(os._exit, 1)\n"
    "    raise RuntimeError('in a child')\nos.waitpid(child, 0)",
])
def test_other_ends_leave_nothing(ranks, end):
    job = ranks(CALLS + end + "\n", size=1)
    # torch may abort by itself when an interpreter ends with a group (pytorch#190489).
    assert job.finish()[0][0] in (0, -6)
    assert left_by(job) == {}


def test_a_program_without_a_process_group_leaves_nothing(tmp_path, ranks):
    job = ranks("", size=1)
    job.finish()
    (tmp_path / "job.py").write_text(JOB.replace("dist.init", "0 and dist.init") + "1 / 0\n")
    again = type(job)(tmp_path, (tmp_path / "job.py").read_text(), 1)
    try:
        code, _, error = again.finish()[0]
        assert code == 1 and error.endswith("ZeroDivisionError: division by zero\n")
        assert left_by(again) == {}
    finally:
        again.close()


def test_the_words_of_a_program_before_an_exec_do_not_stay(ranks):
    job = ranks("if 'again' not in os.environ:\n"
                "    open(os.environ['ROBUSTRUN_RECORD'][:-7] + '.flight', 'w').write('old')\n"
                "    os.environ['again'] = '1'\n"
                "    os.unlink(sys.argv[1])\n"
                "    os.execv(sys.executable, sys.orig_argv[:1] + ['-u', %r, 'script', 'job.py',"
                " sys.argv[1]])\n" % str(PACKAGE / "robustrun" / "boot.py"), size=1)
    assert job.finish()[0][0] == 0
    assert left_by(job) == {}


class Recorder:
    """Stands in for torch."""

    def __init__(self, dump):
        self.calls, self.dump, self._C = 0, dump, self
        self._distributed_c10d = self

    def _dump_fr_trace_json(self):  # of torch before 2.14
        self.calls += 1
        if isinstance(self.dump, Exception):
            raise self.dump
        return self.dump


@pytest.mark.parametrize(("dump", "folder"), [
    (RuntimeError("the recorder is broken"), ""), (b"x" * 100, ""), (b"{}", "missing/")])
def test_what_cannot_be_left_is_not(tmp_path, monkeypatch, dump, folder):
    recorder = Recorder(dump)
    monkeypatch.setitem(sys.modules, "torch", recorder)
    monkeypatch.setattr(flight, "LAST_WORDS_BYTES_MAX", 99)
    monkeypatch.setattr(flight, "_last_words", [os.getpid(), f"{tmp_path}/{folder}1.flight"])
    flight.leave_last_words()
    assert recorder.calls == 1 and list(tmp_path.iterdir()) == []


def test_each_recorder_leaves_its_own_words(tmp_path, monkeypatch):
    class Newer(Recorder):
        def _dump_fr_trace_json(self, *, backend="gloo"):
            entries = {} if backend == "nccl-lazy" else {"entries": [1]}
            return json.dumps({"backend": backend, **entries}).encode()

    monkeypatch.setitem(sys.modules, "torch", Newer(b""))
    monkeypatch.setattr(flight, "_last_words", [os.getpid(), f"{tmp_path}/1.flight"])
    flight.leave_last_words()
    left = {path.name: json.loads(path.read_bytes())["backend"] for path in tmp_path.iterdir()}
    assert left == {"1.flight": "gloo", "1.flight.nccl2": "nccl2"}  # the third has recorded nothing
