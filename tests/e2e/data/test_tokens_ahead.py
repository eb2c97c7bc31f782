"""Text that is tokenized while the training runs: the same batches as after `data prepare`, over
kills and changes of the number of ranks; and records that cannot be used."""

import contextlib
import gzip
import json
import os
import random
import re
import shutil
import signal
import subprocess
import sys

import pytest
from data.test_prepare_data import LETTERS, prepare, words, write_lines
from helpers.jobs import start_job
from helpers.processes import children_of, is_alive, read_environ, wait_for
from helpers.runner import BUILD, ROOT

JOB = ROOT / "tests/e2e/data/ahead_job.py"
SPEC = """
seed = 3
%s
[[source]]
name = "web"
format = "jsonl"
paths = "web-*"
column = "text"
transform = "prep:tokenize"
end = 7
%s
[[source]]
name = "code"
format = "jsonl"
paths = ["code.jsonl"]
column = "text"
transform = "prep:tokenize"
[mixture]
web = [[0, 0.9], [20, 0.4]]
code = 0.3
[batch]
tokens = 6144
context = 128
micro = 2
[shuffle]
block = 128
window = 1
[resources]
cpus = 2
"""
STEPS = 30


class Data:
    """Text in a folder, and jobs that read it."""

    def __init__(self, folder, training='prepare = "training"', options="", code=LETTERS):
        self.folder, self.jobs = folder, []
        folder.mkdir(exist_ok=True)
        for name, count in (("web-0.jsonl", 1500), ("web-1.jsonl", 90), ("web-2.jsonl", 1100)):
            write_lines(folder / name, words(count, name))
        with open(folder / "web-1.jsonl", "a") as file:
            file.write("\n\n" + json.dumps({"text": "last"}))
        write_lines(folder / "web-3.jsonl.gz", words(1200, 3), gzip.open)
        write_lines(folder / "code.jsonl", words(2100, 5))
        for path in folder.iterdir():
            os.utime(path, (1e9, 1e9))
        (folder / "prep.py").write_text(code)
        (folder / "data.toml").write_text(SPEC % (training, options))

    def start(self, ranks, steps=STEPS, name="log", machine=0, machines=1, late=()):
        """The ranks of one machine, `ranks` of `ranks * machines`."""
        place = self.folder / f"machine{machine}"
        place.mkdir(exist_ok=True)
        started = []
        for rank in range(ranks):
            environment = dict(
                os.environ, LOCAL_WORLD_SIZE=str(ranks), WORLD_SIZE=str(ranks * machines),
                GROUP_RANK=str(machine), TORCHELASTIC_RUN_ID="run7", TMPDIR=str(place),
                PYTHONPATH=str(ROOT / "python"), PYTHONDONTWRITEBYTECODE="1",
                ROBUSTRUN_BUILD_DIR=str(BUILD.resolve()))
            started.append(subprocess.Popen(
                [sys.executable, JOB, self.folder / "data.toml", str(machine * ranks + rank),
                 str(ranks * machines), self.folder / "state", str(steps), self.folder / name,
                 *late], stderr=subprocess.PIPE, text=True, env=environment))
        self.jobs += started
        return started

    def log(self, rank, name="log"):
        with contextlib.suppress(FileNotFoundError):
            return [line.split() for line in
                    (self.folder / f"{name}.{rank}").read_text().splitlines()]
        return []

    def steps(self, rank, name="log"):
        return int(self.log(rank, name)[-1][0]) if self.log(rank, name) else -1

    def pieces(self):
        return [path for path in (self.folder / "tokens").glob("*.pieces*/*")
                if path.name.isdecimal()]

    def end(self):
        for job in self.jobs:
            if job.poll() is None:
                job.kill()
            job.wait()
            job.stderr.close()
        wait_for(lambda: not self.running(), 30, "the end of all processes")

    def running(self):
        """Processes of its jobs, and those that they have left behind."""
        mark = b"TMPDIR=%s/machine" % os.fsencode(self.folder)
        return [pid for pid in os.listdir("/proc") if pid.isdecimal()
                and mark in read_environ(pid) and is_alive(pid)]


@pytest.fixture
def made():
    opened = []

    def make(*given, **options):
        opened.append(Data(*given, **options))
        return opened[-1]

    yield make
    for data in opened:
        data.end()


def finish(jobs, code=0):
    """What they have printed to stderr."""
    said = [job.communicate(timeout=120)[1] for job in jobs]
    assert all(job.returncode == code for job in jobs), said
    return said


def process_that_tokenizes(jobs):
    """(pid of a job's process that tokenizes, those of its pool)"""
    for job in jobs:
        for pid in children_of(job.pid):
            pool = children_of(pid)
            if len(pool) >= 2:
                return pid, pool
    return None


SLOWLY = "import time\n" + LETTERS.replace("return", "time.sleep(0.001)\n    return")


def test_batches_are_those_of_prepared_data_over_kills_and_other_numbers_of_ranks(tmp_path, made):
    data = made(tmp_path / "training", code=SLOWLY)
    before = made(tmp_path / "before", training="")
    prepare(before.folder)
    expected = {}
    for ranks in (4, 2, 3):
        finish(before.start(ranks, name=f"log{ranks}"))
        for rank in range(ranks):
            for step, micro, digest in before.log(rank, f"log{ranks}"):
                expected[ranks, rank, int(step), int(micro)] = digest

    def check(ranks, name):
        for rank in range(ranks):
            lines = data.log(rank, name)
            assert lines
            for step, micro, digest in lines:
                assert digest == expected[ranks, rank, int(step), int(micro)], (ranks, rank, step)

    def go(name, ranks, step):
        """Until these ranks have done the step; they may do one more."""
        pace = data.folder / f"{name}.pace"
        pace.with_suffix(".new").write_text(str(step + 2))
        pace.with_suffix(".new").rename(pace)
        wait_for(lambda: all(data.steps(rank, name) >= step for rank in ranks), 60, "the step")

    def kill(pids):
        for pid in pids:
            os.kill(pid, signal.SIGKILL)
        wait_for(lambda: not any(map(is_alive, pids)), 60, "their end")

    (data.folder / "a.pace").write_text("0")
    jobs = data.start(4, name="a")
    for step in range(3):
        ahead, pool = wait_for(lambda: process_that_tokenizes(jobs), 60, "the pool")
        kill([pool[-1]])
        go("a", range(4), step)
    kill([ahead])
    go("a", range(4), 8)
    assert process_that_tokenizes(jobs)[0] != ahead
    kill([jobs[0].pid])
    go("a", range(1, 4), 13)
    kill([job.pid for job in jobs[1:]])
    check(4, "a")

    (data.folder / "b.pace").write_text("0")
    shutil.copy(data.folder / "state", data.folder / "b.begin")
    jobs = data.start(2, name="b")
    go("b", range(2), 17)
    kill([job.pid for job in jobs])
    check(2, "b")
    shutil.copy(data.folder / "state", data.folder / "c.begin")
    finish(data.start(3, name="c"))
    check(3, "c")
    assert data.steps(0, "c") == STEPS - 1
    assert not list((data.folder / "tokens").rglob("*.idx"))


def test_what_was_prepared_is_used_and_what_was_used_is_there(tmp_path, made):
    data = made(tmp_path / "data")
    (data.folder / "tokens").mkdir()
    here, gone = (data.folder / "tokens" / f".machine-{job}-1" for job in ("here", "gone"))
    here.touch(), gone.touch()
    os.utime(gone, (1e9, 1e9))
    finish(data.start(1, steps=3))
    assert here.exists() and not gone.exists()
    first = data.log(0)
    begun = {path: path.stat().st_ino for path in data.pieces()}
    done = prepare(data.folder)
    assert int(re.search(r"(\d+) were there before", done.stdout)[1]) >= len(begun) > 0
    assert len(data.pieces()) == 2 + 1 + 2 + 2 + 3 and begun.items() <= {
        path: path.stat().st_ino for path in data.pieces()}.items()
    assert "0 pieces tokenized" in prepare(data.folder).stdout
    finish(data.start(1, steps=3, name="again"))
    assert data.log(0, "again") == first


def test_a_rank_gets_its_text_although_the_one_that_tokenizes_stands_still(tmp_path, made):
    data = made(tmp_path / "data")
    write_lines(data.folder / "web-4.jsonl", words(20_000, 9))
    spec = data.folder / "data.toml"  # fewer pieces are within reach
    spec.write_text(spec.read_text().replace("block = 128", "block = 1024"))
    (data.folder / "still.pace").write_text("0")
    (still,) = data.start(1, name="still")
    wait_for(lambda: process_that_tokenizes([still]), 60, "the pool")
    (data.folder / "log.pace").write_text("2")
    moving = data.start(1, late=["30", "15"], steps=60)
    wait_for(lambda: data.steps(0) == 1, 60, "steps with the text of the rank that stands still")
    ahead, pool = process_that_tokenizes([still])
    stopped = [ahead, *pool]
    try:
        for pid in (still.pid, *stopped):
            os.kill(pid, signal.SIGSTOP)
        (data.folder / "log.pace").write_text("20")
        own, _ = wait_for(lambda: process_that_tokenizes(moving), 60, "a process of its own")
        os.kill(own, signal.SIGSTOP)
        stopped.append(own)
        (data.folder / "log.pace").unlink()
        (said,) = finish(moving)
    finally:
        for pid in stopped:
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
    assert data.steps(0) == 59 and still.poll() is None
    assert re.search(r"^robustrun: the process that tokenizes for process %d, which has the lock "
                     r"\S+/data-ahead-\w+\.lock, stands still; this rank has one of its own$"
                     % still.pid, said, re.M), said
    assert f"robustrun: process {own}, which tokenizes, stands still and is replaced\n" in said


@pytest.mark.parametrize("killed", ["the pool", "the process that tokenizes"])
def test_a_transform_that_is_changed_meanwhile_ends_the_training(tmp_path, made, killed):
    data = made(tmp_path / "data", code=SLOWLY)
    write_lines(data.folder / "web-4.jsonl", words(20_000, 9))
    (data.folder / "log.pace").write_text("1")
    jobs = data.start(1, steps=2000)
    wait_for(lambda: data.steps(0) == 0, 60, "the first step")
    ahead, pool = wait_for(lambda: process_that_tokenizes(jobs), 60, "the pool")
    (data.folder / "prep.py").write_text(SLOWLY.replace("ord(letter)", "ord(letter) + 1"))
    for pid in pool if killed == "the pool" else [ahead]:
        os.kill(pid, signal.SIGKILL)
    (data.folder / "log.pace").unlink()
    (said,) = finish(jobs, code=1)
    assert "has changed since the training began" in said, said


def test_no_more_than_two_windows_are_tokenized_ahead(tmp_path, made):
    data = made(tmp_path / "data")
    write_lines(data.folder / "web-4.jsonl", words(20_000, 9))
    (data.folder / "data.toml").write_text(
        (data.folder / "data.toml").read_text().replace("block = 128", "block = 1024"))
    (data.folder / "log.pace").write_text("1")
    jobs = data.start(1, steps=2)
    seen = []

    def is_steady():
        seen.append(len(data.pieces()))
        return data.steps(0) == 0 and len(seen) > 200 and seen[-200] == seen[-1]

    wait_for(is_steady, 60, "the end of what is tokenized ahead")
    # Of each source at most the pieces of two blocks, which may be in the middle of pieces.
    assert 2 <= seen[-1] <= 2 * 2 * 3
    (data.folder / "log.pace").unlink()
    finish(jobs)


FAILS = LETTERS.replace("return", """if text in BAD:
        BAD[text]()
    return""")
BAD = "import os, signal, time\nBAD = {%r: lambda: %s}\n"


def bad(text, what):
    return BAD % (text, what) + FAILS


RAISES = "1 / 0"
KILLS = "os.kill(os.getpid(), signal.SIGKILL)"
HANGS = "time.sleep(3600)"


@pytest.mark.parametrize("what, error", [
    (RAISES, "web-0.jsonl, line 6: prep:tokenize failed: ZeroDivisionError: division by zero"),
    (KILLS, "web-0.jsonl, line 6: prep:tokenize killed its process twice"),
    (HANGS, "web-0.jsonl, line 6: prep:tokenize took longer than 1 s twice")],
    ids=["raises", "kills", "hangs"])
def test_a_record_that_cannot_be_used_is_named_or_skipped_for_good(tmp_path, made, what, error):
    text = words(1500, "web-0.jsonl")[5]
    assert words(1500, "web-0.jsonl").count(text) == 1
    data = made(tmp_path / "data", code=bad(text, what))
    late = ["1"] if what == HANGS else []
    (said,) = finish(data.start(1, name="failed", late=late), code=1)
    assert said.splitlines()[-1] == f"data: {data.folder}/{error}"
    data = made(data.folder, options="max_skips = 1", code=bad(text, what))
    (said,) = finish(data.start(1, late=late))
    assert said.count("skipped for good: ") == 1 and error in said
    skips = list((data.folder / "tokens").glob("web-0*.pieces*/skip-*"))
    assert [path.name for path in skips] == ["skip-6"] and error in skips[0].read_text()
    # Each later run skips it, too, whatever is lost.
    first = data.log(0)
    for path in data.pieces():
        path.unlink()
    (said,) = finish(data.start(1, name="again", late=late))
    assert "skipped" not in said and data.log(0, "again") == first


SOMETIMES = """
import os, time
def tokenize(text):
    if text == %r and os.path.exists(%r):
        hold = %r
        while os.path.exists(hold):
            open(hold + ".is seen", "w").close()
            time.sleep(0.01)
        1 / 0
    return [ord(letter) for letter in text]
"""


@pytest.fixture
def sometimes(tmp_path, made):
    """Data with a record that fails if there is a file `fails`; before that it waits while there is
    a file `hold`."""
    text = words(1500, "web-0.jsonl")[5]
    data = made(tmp_path / "data", options="max_skips = 1", code=SOMETIMES % (
        text, str(tmp_path / "data" / "fails"), str(tmp_path / "data" / "hold")))
    data.fails, data.hold = data.folder / "fails", data.folder / "hold"
    return data


def half_way(data, name):
    """Runs to the end; returns the state after step 14, and what was printed."""
    (data.folder / "state").unlink(missing_ok=True)
    pace = data.folder / f"{name}.pace"
    pace.write_text("15")
    jobs = data.start(1, name=name)
    state = data.folder / "state"
    found = wait_for(lambda: state.exists() and json.loads(state.read_text()), 60, "a state")
    while found["cursor"]["step"] < 15:
        wait_for(lambda: data.steps(0, name) == 14, 60, "the step")
        found = json.loads(state.read_text())
    pace.unlink()
    return found, finish(jobs)[0]


def test_a_state_says_what_is_skipped_whatever_another_cache_does(tmp_path, sometimes):
    data = sometimes
    record = f"{data.folder}/web-0.jsonl, line 6"

    def go_on(name, state, cache, code=0):
        """With the state of half the way, and what is in another cache, if anything."""
        (data.folder / "tokens").rename(tmp_path / f"tokens before {name}")
        if cache:
            (tmp_path / cache).rename(data.folder / "tokens")
        (data.folder / f"{name}.begin").write_text(json.dumps(state))
        return finish(data.start(1, name=name), code)[0].splitlines()

    data.fails.touch()
    skips, said = half_way(data, "skips")
    assert said.count("skipped for good: ") == 1 and skips["skips"] == {"web": [[0, 6]]}
    # An empty cache, and a record that can be used now.
    data.fails.unlink()
    assert go_on("none", skips, None) == []
    assert data.log(0, "none") == data.log(0, "skips")[30:]
    assert json.loads((data.folder / "state").read_text())["skips"] == {"web": [[0, 6]]}
    # A record that was used, and fails.
    (data.folder / "tokens").rename(tmp_path / "tokens that skip")
    uses, said = half_way(data, "uses")
    assert said == "" and uses["skips"] == {"web": []}
    assert data.log(0, "uses")[30:] != data.log(0, "skips")[30:]
    data.fails.touch()
    said = go_on("fails", uses, None, 1)
    assert said[-1] == (f"data: {record}: prep:tokenize failed: ZeroDivisionError: division by zero"
                        "; this training has used it, so it cannot be skipped any more")
    # Caches that others have filled.
    said = go_on("skipped", uses, "tokens that skip", 1)
    piece = next((data.folder / "tokens").glob("web-0*.pieces*")) / "0"
    assert said == [f"data: {record} was used by the training so far, and in the cache it is "
                    f"skipped: remove {piece} and {piece.parent}/skip-6, and it is made again"]
    said = go_on("used", skips, "tokens before fails", 1)
    assert said == [f"data: {record} was skipped by the training so far, and in the cache it is "
                    f"not: remove {piece}, and it is made again"]
    piece.unlink()
    assert finish(data.start(1, name="used")) == [""]
    assert data.log(0, "used") == data.log(0, "skips")[30:]


def test_a_record_that_fails_on_one_machine_only_is_not_skipped(tmp_path, sometimes):
    data = sometimes
    prepare(data.folder)
    piece = next((data.folder / "tokens").glob("web-0*.pieces*")) / "0"
    piece.rename(tmp_path / "of the other machine")
    data.hold.touch()
    data.fails.touch()
    late = subprocess.Popen([BUILD / "bin" / "robustrun", "data", "prepare", "data.toml"],
                            cwd=data.folder, stderr=subprocess.PIPE, text=True,
                            env=dict(os.environ, PYTHON_EXEC=sys.executable))
    data.jobs.append(late)
    wait_for((data.folder / "hold.is seen").exists, 60, "the record")
    (tmp_path / "of the other machine").rename(piece)
    data.hold.unlink()
    assert finish([late]) == [""]
    assert not list(piece.parent.glob("skip-*"))


def test_more_bad_records_than_max_skips_stop_the_training(tmp_path, made):
    data = made(tmp_path / "data", options="max_skips = 2")
    with open(data.folder / "web-0.jsonl", "a") as file:
        file.write("{]\n[]\n{}\n")
    done = prepare(data.folder, code=2)
    assert done.stderr.splitlines()[-1].endswith(
        "web-0.jsonl, line 1503 has no 'text'; it has nothing; source web may skip 2 records "
        "(max_skips), and has")
    assert done.stderr.count("skipped for good: ") == 2


def test_a_transform_that_gives_other_tokens_the_second_time_is_named(tmp_path, made):
    data = made(tmp_path / "data",
                code="import random\ndef tokenize(text):\n"
                     "    return random.choices(range(99), k=9)\n")
    (said,) = finish(data.start(1, steps=5), code=1)
    assert ": prep:tokenize gave other tokens the second time (token " in said


CALLS = """
import os, time
def tokenize(text):
    with open(os.environ["TMPDIR"] + "/calls", "a") as file:
        file.write(text + "\\n")
    while not os.path.exists(%r):
        time.sleep(0.01)
    return [ord(letter) for letter in text]
"""


def know_each_other(data):
    """Whether both machines have looked for others after both had their marks."""
    times = [path.stat().st_mtime_ns for path in (data.folder / "tokens").glob(".machine-*")]
    data.first = getattr(data, "first", None) or (times if len(times) == 2 else None)
    return data.first and all(now > then for now, then in zip(times, data.first, strict=True))


def test_two_machines_share_a_cache_and_the_work(tmp_path, made):
    data = made(tmp_path / "data", code=CALLS % str(tmp_path / "go"))
    write_lines(data.folder / "web-4.jsonl", words(20_000, 9))
    os.utime(data.folder / "web-4.jsonl", (1e9, 1e9))
    jobs = [job for machine in range(2) for job in data.start(1, machine=machine, machines=2)]
    wait_for(lambda: know_each_other(data), 60, "the marks of both machines")
    (tmp_path / "go").touch()
    finish(jobs)
    calls = [len((data.folder / f"machine{i}" / "calls").read_text().splitlines())
             for i in range(2)]
    # What each had begun with before it knew of the other one may be made twice.
    assert min(calls) > 3000 and sum(calls) < 1024 * (len(data.pieces()) + 7)
    alone = made(tmp_path / "alone", training="")
    shutil.copy(data.folder / "web-4.jsonl", alone.folder)
    prepare(alone.folder)
    finish(alone.start(2))
    for rank in range(2):
        assert data.log(rank) == alone.log(rank)


def test_an_audit_needs_the_pieces_up_to_its_checkpoints(tmp_path, made):
    torch = pytest.importorskip("torch")
    data = made(tmp_path / "data")
    finish(data.start(1, steps=9))
    state = json.loads((data.folder / "state").read_text())
    torch.save({"step": 9, "data": state}, data.folder / "nine.pt")

    def audit():
        return subprocess.run([BUILD / "bin" / "robustrun", "data", "audit", "data.toml",
                               "nine.pt"], cwd=data.folder, capture_output=True, text=True,
                              env=dict(os.environ, PYTHON_EXEC=sys.executable))

    assert audit().returncode == 0 and "Each step of the data was given once" in audit().stdout
    for path in data.pieces():
        path.unlink()
    gone = audit()
    assert gone.returncode == 2
    assert re.search(r"records \d+ to \d+ of \S+ have not been tokenized yet; run `robustrun data "
                     r"prepare`", gone.stderr)


def test_what_needs_all_lengths_says_so(tmp_path, made):
    data = made(tmp_path / "data")
    done = subprocess.run([BUILD / "bin" / "robustrun", "data", "plan", "data.toml"],
                          cwd=data.folder, capture_output=True, text=True)
    assert done.returncode == 2 and "has lengths that are known only while" in done.stderr
    (data.folder / "data.toml").write_text(
        (data.folder / "data.toml").read_text().replace("web-*", "web-*.jsonl"))
    done = subprocess.run([BUILD / "bin" / "robustrun", "data", "plan", "data.toml"],
                          cwd=data.folder, capture_output=True, text=True)
    assert done.returncode == 0 and "estimate" in done.stdout + done.stderr


def test_columns_are_tokenized_in_pieces(tmp_path, made):
    pyarrow = pytest.importorskip("pyarrow")
    from pyarrow import ipc, parquet

    drawn = random.Random(4)
    table = pyarrow.table({"text": words(2500), "tokens": [
        [drawn.randrange(70_000) for _ in range(drawn.randrange(9))] for _ in range(2500)]})
    found = {}
    for training in ("", 'prepare = "training"'):
        data = made(tmp_path / ("training" if training else "before"), training)
        (data.folder / "data.toml").write_text("""
%s
[[source]]
name = "a"
format = "parquet"
paths = "a.parquet"
column = "tokens"
[[source]]
name = "b"
format = "arrow"
paths = "b.arrow"
column = "text"
transform = "prep:tokenize"
[batch]
tokens = 2048
context = 128
""" % training)
        parquet.write_table(table, data.folder / "a.parquet", row_group_size=700)
        with pyarrow.OSFile(str(data.folder / "b.arrow"), "wb") as file, \
                ipc.new_stream(file, table.schema) as out:
            out.write_table(table, max_chunksize=300)
        if not training:
            prepare(data.folder)
        finish(data.start(1, steps=20))
        found[training] = data.log(0)
    first, second = found.values()
    assert len(first) == 20 and first == second


WAITS = """import os, time
while os.path.exists(%r):
    time.sleep(0.01)
"""


def test_status_names_what_is_awaited_and_the_report_counts_what_is_skipped(robustrun, made):
    hold = robustrun.folder / "hold"
    hold.touch()
    data = made(robustrun.folder / "data", options="max_skips = 1",
                code=WAITS % str(hold) + bad(words(1500, "web-0.jsonl")[5], RAISES))
    job = start_job(robustrun, "--nproc-per-node=2", "--standby=off", JOB,
                    str(data.folder / "data.toml"), "-", "-", str(data.folder / "state"), "8",
                    str(data.folder / "log"))
    named = re.compile(r"rank [01] waits for source (web|code), \S+/data/(web-\d|code)\.jsonl\S*, ")

    def told():
        done = subprocess.run([job.runner.binary, "status", str(job.run)], capture_output=True,
                              text=True, timeout=60)
        return named.search(" ".join(done.stdout.split()))

    job.wait(told, "the wait in status", 60)
    hold.unlink()
    job.finish()
    assert data.steps(0) == data.steps(1) == 7
    assert robustrun.report(job.run)["data_skipped"] == 1
    assert "1 record skipped" in job.err()
