"""`robustrun data prepare`: text is tokenized once, and read as its records say."""

import array
import gzip
import itertools
import json
import os
import random
import re
import signal
import struct
import subprocess
import sys

import pytest
from helpers.processes import wait_for
from helpers.runner import BUILD, ROOT

sys.path.insert(0, str(ROOT / "python"))
os.environ["ROBUSTRUN_BUILD_DIR"] = str(BUILD.resolve())
from robustrun import data  # noqa: E402

BATCH = """
[batch]
tokens = 256
context = 64
[shuffle]
block = 8
"""
LETTERS = "def tokenize(text):\n    return [ord(letter) for letter in text]\n"


def prepare(folder, *options, code=0):
    done = subprocess.run([BUILD / "bin" / "robustrun", "data", "prepare", "data.toml", *options],
                          cwd=folder, capture_output=True, text=True,
                          env=dict(os.environ, PYTHON_EXEC=sys.executable))
    assert done.returncode == code, done.stdout + done.stderr
    return done


def specify(folder, *sources):
    text = "".join("[[source]]\n" + "".join(f"{key} = {json.dumps(value)}\n"
                                            for key, value in source.items())
                   for source in sources)
    (folder / "data.toml").write_text(text + BATCH)
    return folder


def documents(folder, name):
    """The documents that were made of a file, in their order, as lists of tokens."""
    (index,) = (folder / "tokens").glob(f"{name}-*.idx")
    head = struct.Struct("<9sQBQQ")
    magic, version, code, count, _ = head.unpack(index.read_bytes()[:head.size])
    assert (magic, version) == (b"MMIDIDX\0\0", 1)
    lengths = array.array("i", index.read_bytes()[head.size:head.size + 4 * count])
    tokens = array.array({8: "H", 4: "i"}[code], index.with_suffix(".bin").read_bytes())
    ends = [0, *itertools.accumulate(lengths)]
    assert ends[-1] == len(tokens)
    return [list(tokens[begin:end]) for begin, end in itertools.pairwise(ends)]


def words(count, seed=1):
    drawn = random.Random(seed)
    return ["".join(drawn.choices("abcdefghij", k=drawn.randint(1, 60))) for _ in range(count)]


def write_lines(path, texts, opened=open):
    with opened(path, "wt") as file:
        file.writelines(json.dumps({"id": i, "text": text}) + "\n" for i, text in enumerate(texts))


def letters(texts):
    return [[ord(letter) for letter in text] for text in texts]


LINES = {"name": "web", "format": "jsonl", "paths": "*.jsonl*", "column": "text",
         "transform": "prep:tokenize"}


def test_lines_become_samples_in_their_order(tmp_path):
    texts = words(90)
    write_lines(tmp_path / "a.jsonl", texts[:50])
    write_lines(tmp_path / "b.jsonl.gz", texts[50:], gzip.open)
    with open(tmp_path / "a.jsonl", "a") as file:
        file.write("\n  \n" + json.dumps({"text": "last line"}))  # without an end
    (tmp_path / "prep.py").write_text(LETTERS)
    specify(tmp_path, LINES)
    with pytest.raises(data.DataError, match="a.jsonl has not been tokenized yet, or has changed "
                                             "since; run `robustrun data prepare`"):
        data.loader(tmp_path / "data.toml", 0, 1)
    done = prepare(tmp_path)
    assert "web: 91 samples with" in done.stdout and "from 2 files" in done.stdout
    assert documents(tmp_path, "a.jsonl") == letters([*texts[:50], "last line"])
    assert documents(tmp_path, "b.jsonl.gz") == letters(texts[50:])

    # What is loaded is made of them.
    one = data.loader(tmp_path / "data.toml", 0, 1)
    batch = next(one)
    tokens, ends = batch["tokens"].flatten().tolist(), batch["cu_seqlens"].tolist()
    loaded = [tokens[begin:end] for begin, end in itertools.pairwise(ends)
              if any(tokens[begin:end])]
    known = {tuple(each) for each in letters([*texts, "last line"])}
    assert len(loaded) >= 4 and {tuple(each) for each in loaded} <= known

    # The plan now knows all lengths; what is there is not made again.
    plan = subprocess.run([BUILD / "bin" / "robustrun", "data", "plan", "data.toml", "--json"],
                          cwd=tmp_path, capture_output=True, text=True, check=True)
    for _ in range(19):
        next(one)
    assert json.loads(plan.stdout)["digest"] == f"{one.digest:016x}"
    assert "0 files tokenized" in prepare(tmp_path).stdout


def test_what_has_changed_is_made_again(tmp_path):
    write_lines(tmp_path / "a.jsonl", words(20))
    write_lines(tmp_path / "b.jsonl", words(20, seed=2))
    (tmp_path / "prep.py").write_text(LETTERS)
    specify(tmp_path, LINES)
    prepare(tmp_path)
    state = data.loader(tmp_path / "data.toml", 0, 1).state_dict()
    for old in (tmp_path / "tokens").glob("b.jsonl-*"):
        old.unlink()
    write_lines(tmp_path / "b.jsonl", words(21, seed=3))
    assert "1 file tokenized" in prepare(tmp_path).stdout
    assert documents(tmp_path, "b.jsonl") == letters(words(21, seed=3))
    assert data.loader(tmp_path / "data.toml", 0, 1)
    with pytest.raises(data.DataError, match="the samples of source web have changed"):
        data.loader(tmp_path / "data.toml", 0, 1).load_state_dict(state)

    (tmp_path / "prep.py").write_text(LETTERS.replace("ord(letter)", "70000 + ord(letter)"))
    assert "2 files tokenized" in prepare(tmp_path).stdout
    assert documents(tmp_path, "a.jsonl") == [
        [70000 + token for token in each] for each in letters(words(20))]

    for old in (tmp_path / "tokens").iterdir():
        old.unlink()
    specify(tmp_path, dict(LINES, end=2))
    assert "2 files tokenized" in prepare(tmp_path).stdout
    assert all(each[-1] == 2 for each in documents(tmp_path, "b.jsonl"))


def test_a_tokenizer_of_hugging_face(tmp_path):
    tokenizers = pytest.importorskip("tokenizers")
    vocabulary = {"[UNK]": 0, "hello": 1, "world": 2, "of": 3, "text": 4}
    made = tokenizers.Tokenizer(tokenizers.models.WordLevel(vocabulary, unk_token="[UNK]"))
    made.pre_tokenizer = tokenizers.pre_tokenizers.Whitespace()
    made.enable_truncation(2)
    made.enable_padding()
    made.save(str(tmp_path / "tokenizer.json"))
    write_lines(tmp_path / "a.jsonl", ["hello world", "world of text", "text"])
    specify(tmp_path, {"name": "web", "format": "jsonl", "paths": ["a.jsonl"],
                       "tokenizer": "tokenizer.json", "end": 9})
    prepare(tmp_path)
    assert documents(tmp_path, "a.jsonl") == [[1, 2, 9], [2, 3, 4, 9], [4, 9]]


def test_columns_of_parquet_and_arrow(tmp_path):
    pyarrow = pytest.importorskip("pyarrow")
    from pyarrow import ipc, parquet

    (tmp_path / "prep.py").write_text(
        LETTERS + "def whole(row):\n    return [row['first'], *map(ord, row['text'])]\n")
    texts = words(1200)
    table = pyarrow.table({"first": list(range(1, 1201)), "text": texts,
                           "tokens": [[1, len(text)] for text in texts]})
    parquet.write_table(table, tmp_path / "a.parquet", row_group_size=100)
    with pyarrow.OSFile(str(tmp_path / "file.arrow"), "wb") as file, \
            ipc.new_file(file, table.schema) as out:
        out.write_table(table, max_chunksize=700)
    with pyarrow.OSFile(str(tmp_path / "stream.arrow"), "wb") as file, \
            ipc.new_stream(file, table.schema) as out:
        out.write_table(table, max_chunksize=70)
    expected = {"letters": letters(texts),
                "whole": [[i, *map(ord, text)] for i, text in enumerate(texts, 1)],
                "tokens": [[1, len(text)] for text in texts]}
    kinds = {"letters": {"column": "text", "transform": "prep:tokenize"},
             "whole": {"transform": "prep:whole"}, "tokens": {"column": "tokens"}}
    for kind, path in (("letters", "a.parquet"), ("whole", "file.arrow"),
                       ("tokens", "stream.arrow")):
        specify(tmp_path, {"name": kind, "format": path.rpartition(".")[2], "paths": [path],
                           **kinds[kind]})
        prepare(tmp_path)
        assert documents(tmp_path, path) == expected[kind]


def test_processes_and_parts_make_the_same_files(tmp_path):
    folders = []
    for number, options in enumerate(((["--processes=1"],), (["--processes=3"],),
                                      (["--part=2/2"], ["--part=1/2", "--processes=2"]))):
        folder = tmp_path / str(number)
        folder.mkdir()
        for seed in range(3):
            path = folder / f"{seed}.jsonl"
            write_lines(path, words(40_000, seed))
            os.utime(path, (1e9, 1e9))
        (folder / "prep.py").write_text(LETTERS)
        specify(folder, LINES)
        for each in options:
            prepare(folder, *each)
        folders.append({path.name: path.read_bytes() for path in (folder / "tokens").iterdir()})
    assert len(folders[0]) == 9 and folders[0] == folders[1] == folders[2]


@pytest.mark.parametrize("number, line, error", [
    (1, "{]", "a.jsonl, line 1 is no JSON: "),
    (40_001, '{"id": 1}', "a.jsonl, line 40001 has no 'text'; it has 'id'"),
    (3, "[1]", "a.jsonl, line 3 is [1] and no object"),
    (2, '{"text": 5}', "a.jsonl, line 2: prep:tokenize failed: TypeError: 'int' object is not"),
    (2, '{"text": ["x", "\\u00e9"], "b": 1}', None),
    (5, '{"text": "\\ud800"}', None),
    (7, '{"text": "none"}', "a.jsonl, line 7: what should be tokens is None"),
    (7, '{"text": "minus"}', "a.jsonl, line 7: a token is below 0"),
    (7, '{"text": "float"}', "a.jsonl, line 7: what should be tokens is [1.5]"),
    (7, '{"text": "bytes"}', "bytes are no list of tokens"),
    (7, "[" * 100_000, "a.jsonl, line 7 is no JSON: RecursionError"),
])
def test_a_bad_record_is_named_and_nothing_is_left(tmp_path, number, line, error):
    texts = [json.dumps({"text": text}) for text in words(max(10, number))]
    texts.insert(number - 1, line)
    (tmp_path / "a.jsonl").write_text("\n".join(texts))
    strange = "{'none': None, 'minus': [-1], 'float': [1.5], 'bytes': b'abcd'}"
    (tmp_path / "prep.py").write_text(
        "def tokenize(text):\n"
        f"    if text.__hash__ and text in {strange}:\n        return {strange}[text]\n"
        "    return [ord(letter) for letter in text]\n")
    specify(tmp_path, LINES)
    if error is None:
        prepare(tmp_path)
        return
    done = prepare(tmp_path, code=2)
    assert error in done.stderr and len(done.stderr.splitlines()) == 1, done.stderr
    assert list((tmp_path / "tokens").iterdir()) == []


@pytest.mark.parametrize("change, error", [
    ({"transform": "prep:nothing"}, "source web: the module prep has no function nothing"),
    ({"transform": "missing:tokenize"}, "cannot import the module missing of its transform: "),
    ({"transform": "tokenize"}, "is not of the form module:function"),
    ({"tokenizer": "x.json"}, "source web has a tokenizer and a transform; choose one of them"),
    ({"paths": "none*.jsonl"}, "none*.jsonl matches no file"),
    ({"format": "csv"}, "one of megatron, jsonl, parquet, arrow"),
    ({"transform": ""}, "a string"),
])
def test_a_mistake_is_one_sentence(tmp_path, change, error):
    write_lines(tmp_path / "a.jsonl", ["text"])
    (tmp_path / "prep.py").write_text(LETTERS)
    specify(tmp_path, dict(LINES, **change))
    done = prepare(tmp_path, code=2)
    assert error in done.stderr and len(done.stderr.splitlines()) == 1, done.stderr


def test_options_of_the_other_verb_are_refused(tmp_path):
    specify(tmp_path, LINES)
    done = prepare(tmp_path, "--ranks=2", code=2)
    assert "--ranks is an option of data plan and data bench" in done.stderr
    done = prepare(tmp_path, "--json", code=2)
    assert "--json is an option of data plan, bench and audit" in done.stderr
    assert "data prepare has one FILE, and no other" in prepare(tmp_path, "other", code=2).stderr
    for part in ("3/2", "0/2", "1", "a/b"):
        assert f"argument --part: '{part}' is not of the form I/N" in prepare(
            tmp_path, f"--part={part}", code=2).stderr


@pytest.mark.parametrize("end", [signal.SIGINT, signal.SIGTERM, signal.SIGKILL])
def test_an_interrupted_call_goes_on_where_it_was(tmp_path, end):
    for name in "abc":
        write_lines(tmp_path / f"{name}.jsonl", words(30_000, name))
    # The third file waits until the test has seen the second.
    (tmp_path / "prep.py").write_text(
        "import os, time\n" + LETTERS.replace("return", """if text == "wait":
        open("waits", "w").close()
        while not os.path.exists("go"):
            time.sleep(0.01)
    return"""))
    with open(tmp_path / "c.jsonl", "a") as file:
        file.write('{"text": "wait"}\n')
    specify(tmp_path, LINES)
    running = subprocess.Popen(
        [BUILD / "bin" / "robustrun", "data", "prepare", "data.toml", "--processes=2"],
        cwd=tmp_path, env=dict(os.environ, PYTHON_EXEC=sys.executable), start_new_session=True)
    tokens = tmp_path / "tokens"
    wait_for(lambda: (tmp_path / "waits").exists() and 2 == sum(
        path.stat().st_size > 0 for path in tokens.glob("*.made-by")), 60, "the third file")
    os.killpg(running.pid, end)
    (tmp_path / "go").touch()
    assert running.wait(60) == {signal.SIGINT: 130, signal.SIGTERM: 143, signal.SIGKILL: -9}[end]
    wait_for(lambda: end == signal.SIGKILL or not list(tokens.glob("*part*")), 20,
             "the end of unfinished files")
    done = prepare(tmp_path)
    assert "1 file tokenized" in done.stdout and "2 were there before" in done.stdout
    assert documents(tmp_path, "c.jsonl") == letters([*words(30_000, "c"), "wait"])


LARGE = """
import os, sys, time
from robustrun._data import prepare

class Large:
    def tokens_of(self, path, first, batch):
        open(path, "w").close()
        return bytes(1 << 28)

if __name__ == "__main__":
    for number, pause in enumerate((0.1, 0.2, 0.3, 0.4)):
        path = f"began{number}"
        try:
            with prepare._executor(2, {"all": Large()}) as pool:
                pool.submit(prepare._tokenize, "all", path, 0, 0)
                while not os.path.exists(path):
                    time.sleep(0.01)
                time.sleep(pause)  # now the result is on its way
                raise KeyboardInterrupt
        except KeyboardInterrupt:
            print("ended", flush=True)
"""


def test_an_interrupt_in_the_middle_of_a_large_result_ends_the_processes(tmp_path):
    (tmp_path / "large.py").write_text(LARGE)
    done = subprocess.run([sys.executable, "large.py"], cwd=tmp_path, timeout=120,
                          stdout=subprocess.PIPE, text=True,
                          env=dict(os.environ, PYTHONPATH=str(BUILD / "share/robustrun/python")))
    assert done.stdout.split() == ["ended"] * 4
    assert done.returncode == 0


def test_compressed_with_zstandard(tmp_path):
    zstandard = pytest.importorskip("zstandard")
    texts = words(50_000)
    write_lines(tmp_path / "plain", texts)
    half = (tmp_path / "plain").stat().st_size // 2
    plain = (tmp_path / "plain").read_bytes()
    frames = b"".join(zstandard.compress(part) for part in (plain[:half], plain[half:]))
    (tmp_path / "a.jsonl.zst").write_bytes(frames)
    (tmp_path / "prep.py").write_text(LETTERS)
    specify(tmp_path, LINES)
    prepare(tmp_path)
    assert documents(tmp_path, "a.jsonl.zst") == letters(texts)
    (tmp_path / "a.jsonl.zst").write_bytes(frames[:-100])
    assert "a.jsonl.zst: the file is cut off" in prepare(tmp_path, code=2).stderr


def test_a_hanging_transform_can_be_ended(tmp_path):
    write_lines(tmp_path / "a.jsonl", words(100))
    (tmp_path / "prep.py").write_text(
        "import time\ndef tokenize(text):\n    open('hangs', 'w').close()\n    time.sleep(3600)\n")
    specify(tmp_path, LINES)
    running = subprocess.Popen(
        [BUILD / "bin" / "robustrun", "data", "prepare", "data.toml", "--processes=2"],
        cwd=tmp_path, env=dict(os.environ, PYTHON_EXEC=sys.executable))
    wait_for(lambda: (tmp_path / "hangs").exists(), 60, "the transform")
    running.terminate()
    assert running.wait(30) == 143
    assert list((tmp_path / "tokens").iterdir()) == []


def test_a_process_that_is_killed_is_named(tmp_path):
    write_lines(tmp_path / "a.jsonl", words(100_000))
    (tmp_path / "prep.py").write_text(
        "import os, signal\n" + LETTERS.replace(
            "return", "os.kill(os.getpid(), signal.SIGKILL)\n    return"))
    specify(tmp_path, LINES)
    done = prepare(tmp_path, "--processes=2", code=1)
    assert "a process that tokenized was killed" in done.stderr
    assert list((tmp_path / "tokens").iterdir()) == []


HALF = """
import multiprocessing, os, signal
from multiprocessing.connection import Connection
whole = Connection._send
def half(self, data, *rest):
    if len(data) > 100_000 and multiprocessing.parent_process():
        whole(self, data[:len(data) // 2], *rest)
        os.kill(os.getpid(), signal.SIGKILL)
    whole(self, data, *rest)
Connection._send = half
"""


def test_a_process_that_is_killed_in_the_middle_of_its_result_is_named(tmp_path):
    write_lines(tmp_path / "a.jsonl", words(100_000))
    (tmp_path / "prep.py").write_text(HALF + LETTERS)
    specify(tmp_path, LINES)
    done = prepare(tmp_path, "--processes=2", code=1)
    assert "a process that tokenized was killed" in done.stderr
    assert list((tmp_path / "tokens").iterdir()) == []


DRAWS = "import random\ndef tokenize(text):\n    return random.choices(range(9999), k=50)\n"
GROWS = "import itertools\ncalls = itertools.count(1)\n" \
    "def tokenize(text):\n    return [7] * next(calls)\n"
HASHES = "def tokenize(text):\n    return [hash(text) % 9999, hash(text + '.') % 9999]\n"


@pytest.mark.parametrize(("code", "processes", "change"), [
    (DRAWS, 1, r"token \d+ was \d+, then \d+"), (DRAWS, 2, r"token \d+ was \d+, then \d+"),
    (GROWS, 1, r"1, then 101"),
    (HASHES, 2, r"token [01] was \d+, then \d+")])  # the same only within one process
def test_a_transform_that_gives_other_tokens_the_second_time_is_named(tmp_path, code, processes,
                                                                      change):
    write_lines(tmp_path / "a.jsonl", words(100))
    (tmp_path / "prep.py").write_text(code)
    specify(tmp_path, LINES)
    done = prepare(tmp_path, f"--processes={processes}", code=2)
    assert re.search(r"^robustrun: \S*a\.jsonl, line 1: prep:tokenize gave other tokens the second "
                     rf"time \({change}\): it must give the same each time$", done.stderr, re.M)
    assert len(done.stderr.splitlines()) == 1
    assert list((tmp_path / "tokens").iterdir()) == []


def test_one_record_in_a_thousand_is_tokenized_twice(tmp_path):
    texts = words(2500)
    write_lines(tmp_path / "a.jsonl", texts[:800])
    write_lines(tmp_path / "b.jsonl", texts[800:])
    # It may change the record that it gets.
    (tmp_path / "prep.py").write_text("""
def tokenize(record):
    with open("calls", "a") as file:
        print(record["id"], file=file)
    return [ord(letter) for letter in record.pop("text")]
""")
    specify(tmp_path, {key: value for key, value in LINES.items() if key != "column"})
    prepare(tmp_path, "--processes=1")
    assert documents(tmp_path, "a.jsonl") == letters(texts[:800])
    assert documents(tmp_path, "b.jsonl") == letters(texts[800:])
    assert len((tmp_path / "calls").read_text().splitlines()) == 2503


def test_a_full_disk_is_named(tmp_path):
    write_lines(tmp_path / "a.jsonl", words(20_000))
    (tmp_path / "prep.py").write_text(LETTERS)
    specify(tmp_path, LINES)
    limited = f"ulimit -f 64; exec {BUILD / 'bin' / 'robustrun'} data prepare data.toml"
    done = subprocess.run(["bash", "-c", limited], cwd=tmp_path, capture_output=True, text=True,
                          env=dict(os.environ, PYTHON_EXEC=sys.executable))
    assert done.returncode == 1 and ".bin'" in done.stderr, done.stderr
    assert len(done.stderr.splitlines()) == 1
    assert list((tmp_path / "tokens").iterdir()) == []


@pytest.mark.parametrize("training", [False, True], ids=["prepared", "tokenized meanwhile"])
def test_a_bench_reads_batches_and_then_each_source_alone(tmp_path, training):
    write_lines(tmp_path / "web.jsonl", words(500))
    write_lines(tmp_path / "code.jsonl", words(200, 2))
    (tmp_path / "prep.py").write_text(LETTERS)
    lines = dict(LINES, paths="web.jsonl")
    specify(tmp_path, lines, dict(lines, name="code", paths="code.jsonl"))
    # The second source comes later: alone it is read all the same.
    added = "[mixture]\nweb = 1\ncode = [[1000000, 0], [2000000, 1]]\n"
    text = (tmp_path / "data.toml").read_text() + added
    (tmp_path / "data.toml").write_text('prepare = "training"\n' * training + text)

    def bench(*options, folder=tmp_path):
        return subprocess.run(
            [BUILD / "bin" / "robustrun", "data", "bench", "data.toml", "--seconds=1", *options],
            cwd=folder, capture_output=True, text=True,
            env=dict(os.environ, PYTHON_EXEC=sys.executable))

    if not training:
        done = bench()
        assert done.returncode == 2 and "data prepare" in done.stderr, done.stderr
        prepare(tmp_path)
    done = bench("--json", "--ranks=2")
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    assert found["ranks"] == 2 and found["tokens"] == 128 * found["batches"]
    assert 0 < found["wait_s"]["median"] <= found["wait_s"]["p99"] <= found["wait_s"]["longest"]
    assert found["step_s"] == pytest.approx(found["seconds"] / found["batches"])
    assert list(found["sources"]) == ([] if training else ["web", "code"])
    assert all(each["tokens_per_second"] > 0 for each in found["sources"].values())
    shown = bench().stdout
    assert "Training steps that take longer do not wait for data." in shown
    assert ("Text was tokenized meanwhile" in shown) == training
