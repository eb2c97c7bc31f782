"""librobustrun.so: its dependencies, its exports, and its handling of input."""

import array
import ctypes
import fcntl
import os
import pathlib
import re
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor

import pytest
from helpers.runner import BUILD, ROOT

sys.path.insert(0, str(ROOT / "python"))
os.environ["ROBUSTRUN_BUILD_DIR"] = str(BUILD.resolve())
from robustrun._checkpoint import c_api  # noqa: E402
from robustrun._checkpoint.c_api import Checkpoint, Engine, Shard, Structure  # noqa: E402

LIBRARY = (BUILD / "share" / "robustrun" / "librobustrun.so").resolve()
NEEDED = {"libc.so.6", "libm.so.6", "libgcc_s.so.1", "ld-linux-x86-64.so.2"}
GLIBC_OLDEST = (2, 34)


def read(*command):
    return subprocess.run([*command, LIBRARY], capture_output=True, text=True, check=True).stdout


def test_it_needs_only_libraries_that_python_has():
    dynamic = read("readelf", "-dW")
    assert set(re.findall(r"NEEDED.*\[(.*)\]", dynamic)) <= NEEDED
    assert "TEXTREL" not in dynamic and "RUNPATH" not in dynamic


def test_it_runs_with_the_libc_of_older_systems():
    versions = re.findall(r"GLIBC_(\d+)\.(\d+)", read("objdump", "-T"))
    assert versions and max(tuple(map(int, version)) for version in versions) <= GLIBC_OLDEST


def test_it_exports_the_functions_of_its_headers_and_nothing_else():
    header = "".join((ROOT / name).read_text() for name in (
        "checkpoint/c_api/api.h", "checkpoint/c_api/memory.h", "checkpoint/c_api/local.h",
        "loader/c_api/api.h"))
    declared = set(re.findall(r"^RR_(?:DATA_)?API [\w *]+\b(rr_\w+)\(", header, re.M))
    shown = {line.split()[2] for line in read("nm", "-D", "--defined-only").splitlines()}
    assert shown == declared and len(declared) > 15
    assert set(c_api._FUNCTIONS) < declared


def test_the_header_is_plain_c(tmp_path):
    source = tmp_path / "includes.c"
    source.write_text('#include "checkpoint/c_api/api.h"\n#include "loader/c_api/api.h"\n'
                      'int main(void) { return RR_OK; }\n')
    subprocess.run(["cc", "-std=c99", "-Wall", "-Wextra", "-Werror", "-pedantic", f"-I{ROOT}",
                    "-fsyntax-only", source], check=True)


@pytest.fixture
def places(tmp_path):
    made = [str(tmp_path / name) for name in "ab"]
    for place in made:
        os.mkdir(place)
    return made


def shard(name, count, rank=0):
    return Shard(name, "F32", rank, (count,), (0,), (count,), 4 * count)


def put(engine, step, values, writers=("rank-0",), writer="rank-0", states=()):
    with engine.begin(step, list(writers), max(1, len(writers))) as save:
        save.write(writer, [shard("w", len(values))], [values.buffer_info()[0]], states)
        return save.commit(), save.attempt


def test_two_writers_of_the_same_step_write_one_checkpoint(places):
    values = array.array("f", range(5000))
    one, two = Engine(places, "run-1", 0), Engine(places, "run-1", 0)
    assert one.generation == two.generation == 1
    writers = ["rank-0", "rank-1"]
    assert put(one, 7, values, writers, "rank-0", [(0, "loader", b"\x00\xff")])[0] is False
    with pytest.raises(c_api.NotFound, match="no committed checkpoint"):
        Checkpoint(places)
    assert put(two, 7, values, writers, "rank-1")[0] is True
    with Checkpoint(places[::-1]) as found:
        assert (found.step, found.world_size, found.writers) == (7, 2, writers)
        assert found.states == [(0, "loader", b"\x00\xff")]
        assert found.shards == [shard("w", 5000)] * 2
        back = array.array("f", [0]) * 5000
        at = back.buffer_info()[0]
        found.read([(1, 0, 20000, at)])
        assert back == values
        found.read([(0, 400, 8, at + 4)])  # a part of a piece
        assert list(back[:4]) == [0, 100, 101, 3]
        assert found.verify() == [] and c_api.catalogue(places)[0].verified
        for bad in [(2, 0, 4, at), (0, 20000, 1, at), (0, 2**64 - 1, 4, at), (0, 0, 4, 0)]:
            with pytest.raises(c_api.CheckpointError, match="cannot read"):
                found.read([bad])


def test_of_writers_that_finish_at_once_one_commits(places):
    values = array.array("f", range(50))
    writers = ["rank-0", "rank-1"]
    saves = []
    for writer in writers:
        saves.append(Engine(places, "run-1", 0).begin(7, writers, 2))
        saves[-1].write(writer, [shard("w", 50)], [values.buffer_info()[0]], [])
    folder = pathlib.Path(places[0]) / saves[0].attempt
    with open(os.path.join(places[0], ".lock")) as lock, ThreadPoolExecutor() as threads:
        fcntl.flock(lock, fcntl.LOCK_EX)
        commits = [threads.submit(save.commit) for save in saves]
        until = time.monotonic() + 60
        while len(list(folder.glob("part-*"))) < 2 and time.monotonic() < until:
            os.sched_yield()
        fcntl.flock(lock, fcntl.LOCK_UN)
        assert sorted(each.result(60) for each in commits) == [False, True]


def test_a_later_attempt_takes_over_and_the_earlier_one_gets_an_error(places):
    values = array.array("f", [1, 2])
    old = Engine(places, "run-1", 0)
    assert put(old, 1, values)[0]
    new = Engine(places, "run-1", 1)
    with pytest.raises(c_api.Conflict):
        put(old, 2, values)
    with pytest.raises(c_api.Conflict, match="attempt 1 was here"):
        Engine(places, "run-1", 0)
    assert put(new, 1, values)[0] and Checkpoint(places).generation == 2
    # Attempts of a later supervisor come after all attempts of the first one.
    first, second = Engine(places, "run-1", 9, 1), Engine(places, "run-1", 2, 2)
    assert put(second, 5, values)[0]
    with pytest.raises(c_api.Conflict):
        put(first, 5, values)
    with pytest.raises(c_api.Conflict, match="attempt 2 of a later supervisor"):
        Engine(places, "run-1", 10, 1)


def test_checkpoints_are_poisoned_pinned_and_pruned(places):
    engine, values = Engine(places, "run-1"), array.array("f", [1])
    names = [put(engine, step, values)[1] for step in range(1, 6)]
    with Checkpoint(places) as newest, Checkpoint(places, names[0]) as first:
        newest.poison("nan")
        first.pin()
        with pytest.raises(c_api.CheckpointError, match="one word"):
            newest.poison("two words")
    assert Checkpoint(places).attempt == names[3]
    removed, notes = c_api.prune(places, 1)
    assert set(removed) == {names[1], names[2]} and not notes
    kept = {each.attempt: each for each in c_api.catalogue(places)}
    assert set(kept) == {names[0], names[3], names[4]}
    assert kept[names[4]].poisoned == "nan" and kept[names[0]].pinned and kept[names[3]].verified
    with pytest.raises(c_api.CheckpointError, match="at least"):
        c_api.prune(places, 0)


def test_data_that_changes_during_a_save_is_named(places):
    engine, values = Engine(places, "run-1"), array.array("f", range(100))
    with engine.begin(1, ["r"]) as save:
        with pytest.raises(c_api.CheckpointError, match="not written"):
            save.recheck([0])
        save.write("r", [shard("same", 100), shard("torn", 50)],
                   [values.buffer_info()[0], values.buffer_info()[0] + 200])
        assert save.recheck([0, 1]) == []
        values[80] = -1
        assert save.recheck([0, 1]) == ["same", "torn"] and save.recheck([]) == []
    assert c_api.catalogue(places)[0].state == "incomplete"


def test_truncated_or_contradictory_descriptions_are_refused(places):
    engine, values = Engine(places, "run-1"), array.array("f", range(64))
    address = values.buffer_info()[0]
    good = Structure([shard("w", 64), shard("v", 3)])
    with engine.begin(1, ["r"]) as save:
        for size in range(len(good.blob)):
            cut = Structure([])
            cut.blob = good.blob[:size]
            with pytest.raises(c_api.CheckpointError, match="cannot understand the description"):
                save.write("r", cut, [address, address])
        for bad in [shard("w", 64)._replace(bytes=255), shard("w", 64, rank=1), shard("", 64),
                    shard("a\nb", 64), shard("w", 64)._replace(offsets=(1,)),
                    shard("w", 64)._replace(shape=(2**40,), global_shape=(2**40,)),
                    shard("w", 64)._replace(shape=(1,) * 33, offsets=(0,) * 33,
                                            global_shape=(1,) * 33)]:
            with pytest.raises(c_api.CheckpointError):
                save.write("r", [bad], [address])
        for states in (b"\xff\xff\xff\xff", b"\x01\x00\x00\x00abc"):
            assert c_api._load().rr_save_write(
                save._handle, b"r", good.blob, len(good.blob), (ctypes.c_void_p * 2)(), 2,
                states, len(states), None) == 1
        with pytest.raises(c_api.CheckpointError, match="do not match"):
            save.write("r", good, [address])
        with pytest.raises(c_api.CheckpointError, match="no buffer"):
            save.write("r", good, [address, None])
        with pytest.raises(c_api.CheckpointError, match="not begun for it"):
            save.write("another", good, [address, address])
        save.write("r", good, [address, address])
        assert save.commit()
    for writers in ([], [""], ["a/b"], [".."]):
        with pytest.raises(c_api.CheckpointError):
            engine.begin(2, writers)
    with pytest.raises(ValueError, match="negative"):
        engine.begin(-1, ["r"])


def test_an_open_error_is_reported(tmp_path):
    with pytest.raises(c_api.NotFound, match="no such directory"):
        Engine([tmp_path / "none"], "run-1")
    with pytest.raises(c_api.CheckpointError, match="one word"):
        Engine([tmp_path], "two words")
    with pytest.raises(c_api.CheckpointError, match="weight"):
        Engine([tmp_path], "run-1", weights=[0.0])
    with pytest.raises(c_api.CheckpointError, match="twice"):
        Engine([tmp_path, tmp_path], "run-1")
    with pytest.raises(c_api.NotFound):
        Checkpoint([tmp_path], "step-000000000001/g1-abc")
