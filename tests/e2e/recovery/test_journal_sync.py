"""Records that a successor needs are on the disk before they have an effect: an attempt's number
before its workers run. The supervisor runs with tests/recorder's library in front of libc."""

from helpers import power_loss
from helpers.runner import BUILD

RECORDER = (BUILD / "test-helpers" / "disk_recorder.so").resolve()
FAILS_ONCE = """
import os, sys
attempt = os.environ["TORCHELASTIC_RESTART_COUNT"]
open(os.path.join(sys.argv[1], attempt), "w").close()
sys.exit(attempt == "0")
"""


def test_the_journal_is_synced_before_workers_start(robustrun):
    marks = robustrun.folder / "marks"
    marks.mkdir()
    log = robustrun.folder / "log"
    done = robustrun.run(
        "--run-dir=run", "--standby=off", robustrun.write("t.py", FAILS_ONCE), str(marks),
        env={"LD_PRELOAD": str(RECORDER), "DISK_RECORDER_LOG": str(log),
             "DISK_RECORDER_ROOTS": f"{robustrun.folder / 'run'}:{marks}"})
    assert done.code == 0, done.errors
    # In the order in which they happened, over all processes.
    seen = []
    for kind, _, _, first, _ in power_loss.read_log(log):
        name = first.decode(errors="replace").rpartition("/")
        if kind == "sync" and name[2] == "journal":
            seen.append("sync")
        elif kind == "create" and name[0] == str(marks):
            seen.append(f"attempt {name[2]}")
    assert seen[:1] == ["sync"] and "attempt 0" in seen, seen
    between = seen[seen.index("attempt 0") + 1:seen.index("attempt 1")]
    assert "sync" in between, seen
