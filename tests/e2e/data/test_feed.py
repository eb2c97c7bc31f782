"""robustrun.data: the same steps for any number of ranks, each token once, over any restart."""

import collections
import contextlib
import itertools
import json
import linecache
import os
import random
import subprocess
import sys

import pytest
import torch
from data.token_sets import SPEC, write
from helpers.runner import BUILD, ROOT

sys.path.insert(0, str(ROOT / "python"))
os.environ["ROBUSTRUN_BUILD_DIR"] = str(BUILD.resolve())
from robustrun import data  # noqa: E402
from robustrun._data import c_api  # noqa: E402


@pytest.fixture(scope="module")
def samples(tmp_path_factory):
    """Every token tells its sample: (source, number) → tokens."""
    folder = tmp_path_factory.mktemp("data")
    (folder / "data.toml").write_text(SPEC)
    drawn = random.Random(3)
    made = {}
    files = (("web-0", "web", 0, 400), ("web-1", "web", 400, 700), ("code", "code", 0, 250))
    for name, source, first, last in files:
        texts = []
        for number in range(first, last):
            length = min(600, 1 + int(drawn.lognormvariate(4, 1)))
            base = (number * 7 + (31 if source == "code" else 0)) % 30_000
            texts.append([base + i for i in range(length)])
            made[source, number] = texts[-1]
        write(folder / name, texts, *((5, "q") if source == "code" else ()))
    return folder, made


def step_of(loaders):
    """The pieces of documents of one step over all ranks, sorted."""
    pieces, labels = [], set()
    for one in loaders:
        for batch in one:
            tokens, ends = batch["tokens"].flatten(), batch["cu_seqlens"].tolist()
            assert tokens.numel() == ends[-1] and ends == sorted(ends)
            labels.add(batch["step_loss_tokens"])
            for begin, end in itertools.pairwise(ends):
                piece = tokens[begin:end].tolist()
                assert batch["positions"].flatten()[begin:end].tolist() == list(range(end - begin))
                if any(piece) or len(set(piece)) > 1:
                    pieces.append(tuple(piece))
            if batch["last"]:
                break
    assert len(labels) == 1
    return sorted(pieces)


def loaders(folder, ranks):
    return [data.loader(folder / "data.toml", rank, ranks) for rank in range(ranks)]


def test_a_step_has_the_same_documents_for_any_number_of_ranks(samples):
    folder, _ = samples
    of_one, of_four = loaders(folder, 1), loaders(folder, 4)
    for _ in range(8):
        assert step_of(of_one) == step_of(of_four)
        assert len({one.digest for one in of_one + of_four}) == 1


def test_ranks_come_and_go_and_every_token_is_read_once(samples):
    folder, made = samples
    quiet = loaders(folder, 2)
    expected = [step_of(quiet) for _ in range(15)]
    state, got = None, []
    for ranks, steps in ((4, 5), (2, 4), (3, 6)):
        present = loaders(folder, ranks)
        for one in present:
            if state:
                one.load_state_dict(json.loads(json.dumps(state)))
        got += [step_of(present) for _ in range(steps)]
        states = [one.state_dict() for one in present]
        assert all(one == states[0] for one in states)
        state = states[0]
    assert got == expected
    read = collections.Counter(token for step in got for piece in step for token in piece)
    assert sum(read.values()) > 10_000


def test_a_run_goes_on_within_a_step(samples):
    folder, _ = samples
    whole, part = (data.loader(folder / "data.toml", 0, 2) for _ in range(2))
    for at in range(9):
        a, b = next(whole), next(part)
        assert all(torch.equal(a[key], b[key]) for key in ("tokens", "labels", "cu_seqlens"))
        if at % 2 == 0:
            state = part.state_dict()
            assert state["micro"] == 1
            part = data.loader(folder / "data.toml", 0, 2)
            part.load_state_dict(state)
            assert part.state_dict() == state
    with pytest.raises(data.DataError, match="within step 4, where only 2 ranks with 2"):
        data.loader(folder / "data.toml", 0, 3).load_state_dict(state)


def test_labels_are_the_next_tokens_of_the_same_document(samples):
    folder, made = samples
    ends = {tuple(tokens[-1:]) for tokens in made.values()}
    assert ends
    one = data.loader(folder / "data.toml", 0, 1)
    counted = 0
    for batch in one:
        tokens, labels = batch["tokens"].flatten(), batch["labels"].flatten()
        labelled = labels != -100
        assert torch.equal(labels[labelled], tokens[labelled] + 1)  # as the samples were made
        assert batch["loss_tokens"] == int(labelled.sum())
        counted += batch["loss_tokens"]
        if batch["last"]:
            assert counted == batch["step_loss_tokens"]
            break


def test_robustrun_data_plan_plans_the_same_steps(samples):
    folder, _ = samples
    robustrun = BUILD / "bin" / "robustrun"
    done = subprocess.run([robustrun, "data", "plan", "data.toml", "--json", "--steps", "6",
                           "--ranks", "2"], cwd=folder, capture_output=True, text=True, check=True)
    one = data.loader(folder / "data.toml", 0, 2)
    for _ in range(6):
        step_of([one])
    assert json.loads(done.stdout)["digest"] == f"{one.digest:016x}"


def changed(text, *pairs):
    for before, after in pairs:
        assert before in text
        text = text.replace(before, after)
    return text


@pytest.mark.parametrize("pairs, error", [
    ((("context = 128", "contxt = 128"),), "unknown key 'contxt'; did you mean 'context'?"),
    ((("tokens = 6144", "tokens = 6145"),), "batch.tokens = 6145 must be a multiple of"),
    ((('"web-*.idx"', '"none-*.idx"'),), "source web: .*none-\\*.idx matches no file"),
    ((('"code.bin"', '"nothing"'),), "source code: cannot .*nothing.idx: No such file"),
    ((("code = 0.3", "cod = 0.3"),), "unknown key 'cod'; did you mean 'code'?"),
    ((("code = 0.3", ""),), "source code is missing in \\[mixture\\]"),
    ((("micro = 2", "micro = 5"),), "1 ranks with 5 micro-batches each cannot share the 48"),
    ((("micro = 2", 'pack = "tight"'),), "batch.pack must be one of next-fit, best-fit"),
    ((("seed = 5", "seed = ["),), "data.toml: "),
])
def test_a_mistake_is_one_sentence(samples, tmp_path, pairs, error):
    folder, _ = samples
    for file in folder.glob("*.[ib]*"):
        (tmp_path / file.name).symlink_to(file)
    (tmp_path / "data.toml").write_text(changed(SPEC, *pairs))
    with pytest.raises(data.DataError, match=error):
        data.loader(tmp_path / "data.toml", 0, 1)


def test_a_state_of_other_data_is_refused(samples, tmp_path):
    folder, _ = samples
    state = data.loader(folder / "data.toml", 0, 1).state_dict()
    for file in folder.glob("*.[ib]*"):
        (tmp_path / file.name).write_bytes(file.read_bytes())
    spec = tmp_path / "data.toml"
    spec.write_text(SPEC)
    data.loader(spec, 0, 1).load_state_dict(state)  # moved data are the same data
    spec.write_text(changed(SPEC, ("seed = 5", "seed = 6"), ("block = 16", "block = 8")))
    with pytest.raises(data.DataError, match="seed was 5 and is 6; shuffle.block was 16 and is 8"):
        data.loader(spec, 0, 1).load_state_dict(state)
    spec.write_text(SPEC)
    write(tmp_path / "code", [[1, 2, 3]] * 250)
    with pytest.raises(data.DataError, match="the samples of source code have changed"):
        data.loader(spec, 0, 1).load_state_dict(state)


def test_a_file_that_becomes_shorter_is_named(samples, tmp_path):
    folder, _ = samples
    for file in folder.glob("*"):
        (tmp_path / file.name).write_bytes(file.read_bytes())
    one = data.loader(tmp_path / "data.toml", 0, 1)
    for name in ("web-0.bin", "web-1.bin", "code.bin"):
        (tmp_path / name).write_bytes(b"")
    with pytest.raises(data.DataError, match="the file has become shorter"):
        next(one)


def script(folder, text):
    """Runs a script that has imported what it needs."""
    head = "import os, sys, torch\nfrom robustrun import data\ntorch.set_num_threads(1)\n"
    return subprocess.run(
        [sys.executable, "-Wignore::DeprecationWarning", "-c", head + text], cwd=folder,
        capture_output=True, text=True, timeout=120,
        env=dict(os.environ, PYTHONPATH=str(ROOT / "python")))


def test_a_child_process_goes_on_where_its_parent_was(samples):
    done = script(samples[0], """
one, other = (data.loader("data.toml", 0, 2) for _ in range(2))
expected = [next(other)["tokens"].tolist() for _ in range(30)]
for at in range(20):  # the thread has read the batch after it, or is reading it
    assert next(one)["tokens"].tolist() == expected[at]
    child = os.fork()
    if child == 0:
        state = one.state_dict()
        got = [next(one)["tokens"].tolist() for _ in range(3)]
        one.load_state_dict(state)
        got += [next(one)["tokens"].tolist() for _ in range(3)]
        # One ends as scripts do; torch takes half a second of processor time for that.
        leave = sys.exit if at == 19 else os._exit
        leave(0 if got == 2 * expected[at + 1:at + 4] else 1)
    assert os.waitpid(child, 0)[1] == 0
print("all equal")
""")
    assert (done.stdout, done.stderr, done.returncode) == ("all equal\n", "", 0)


@pytest.mark.parametrize("end", ["sys.exit(0)", "os._exit(0)", "del one", "raise SystemExit"])
def test_a_script_may_end_while_the_thread_reads(samples, end):
    done = script(samples[0], "one = data.loader('data.toml', 0, 1)\nnext(one)\n" + end)
    assert (done.stdout, done.stderr, done.returncode) == ("", "", 0)


def test_a_batch_that_a_signal_interrupts_is_the_next_one(samples, monkeypatch):
    one, other = (data.loader(samples[0] / "data.toml", 0, 1) for _ in range(2))
    assert torch.equal(next(one)["tokens"], next(other)["tokens"])
    before = one.state_dict()

    def interrupted(*_, **__):
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(torch, "frombuffer", interrupted)
        with pytest.raises(KeyboardInterrupt):
            next(one)
    assert one.state_dict() == before
    assert torch.equal(next(one)["tokens"], next(other)["tokens"])


def test_a_signal_at_any_line_loses_no_batch(samples):
    """An exception at each line of the loader's code in turn."""
    expected, one = (data.loader(samples[0] / "data.toml", 0, 1) for _ in range(2))
    at = {"now": 0, "wanted": 0}

    def interrupts(frame, event, _):
        code = frame.f_code
        # Python handles no signal right before `return`, and ignores exceptions of __del__.
        if (event == "line" and "/robustrun/" in code.co_filename and code.co_name != "__del__"
                and linecache.getline(code.co_filename, frame.f_lineno).strip() != "return found"):
            at["now"] += 1
            if at["now"] == at["wanted"]:
                sys.settrace(None)
                raise KeyboardInterrupt
        return interrupts

    def interrupted(call):
        at["now"] = 0
        sys.settrace(interrupts)
        try:
            return call()
        finally:
            sys.settrace(None)

    for at["wanted"] in range(1, 500):
        state = expected.state_dict()
        try:
            interrupted(lambda: next(one))
        except KeyboardInterrupt:  # the script has no batch
            with contextlib.suppress(KeyboardInterrupt):
                interrupted(one.state_dict)
            if at["wanted"] % 2:
                assert one.state_dict() == state
            assert torch.equal(next(one)["tokens"], next(expected)["tokens"])
        else:
            next(expected)
            break
    assert at["wanted"] > 10
    assert torch.equal(next(one)["tokens"], next(expected)["tokens"])


def test_memory_is_given_back_whatever_comes_after_the_call_that_takes_it(samples, monkeypatch):
    one = data.loader(samples[0] / "data.toml", 0, 1)
    taken, released = [], []

    class Library:
        def __getattr__(self, name):
            return getattr(library, name)

        def rr_data_ready(self, handle, batch):
            assert library.rr_data_ready(handle, batch) == 0
            taken.append(batch._obj.memory)
            raise KeyboardInterrupt  # a signal during the call

        def rr_data_release(self, memory):
            released.append(memory)
            library.rr_data_release(memory)

    library = c_api._library()
    with monkeypatch.context() as patch:
        patch.setattr(c_api, "_library", Library)
        for _ in range(3):
            with pytest.raises(KeyboardInterrupt):
                next(one)
    assert len(taken) == 3 and released == taken


def test_batches_belong_to_the_script(samples):
    """It may keep them, change them in place, and use them after the loader's end."""
    one, other = (data.loader(samples[0] / "data.toml", 0, 1) for _ in range(2))
    kept = [next(one) for _ in range(5)]
    for _ in range(20):
        changed = next(one)
        for name in ("tokens", "labels", "positions", "cu_seqlens"):
            changed[name].fill_(-7)
            assert changed[name]._version == 1
            assert changed[name].untyped_storage().nbytes() == changed[name].nbytes
    del one, changed
    for batch in kept:
        expected = next(other)
        for name in ("tokens", "labels", "positions", "cu_seqlens"):
            assert torch.equal(batch[name], expected[name])


@pytest.mark.parametrize("change, error", [
    ({"source": 5}, "source must be list, not 5"), ({"source": ["web"]}, "source must be dict"),
    ({"batch": 5}, "batch must be dict"), ({"mixture": 5}, "mixture must be dict")])
def test_a_specification_of_other_types_is_refused(change, error):
    with pytest.raises(data.DataError, match=error):
        data.loader(change)


def test_a_damaged_state_is_refused(samples):
    one = data.loader(samples[0] / "data.toml", 0, 1)
    state = one.state_dict()
    for change in ({"micro": None}, {"cursor": dict(state["cursor"], owed=[0])},
                   {"cursor": dict(state["cursor"], carry=[[0, 0, 0]])}, {"spec": []},
                   {"spec": dict(state["spec"], source=5)}, {"ranks": -1}, {"ranks": 2 ** 32},
                   {"spec": dict(state["spec"], source=[{}])},
                   {"spec": dict(state["spec"], batch={})},
                   {"spec": {**state["spec"], 5: 5}},
                   {"cursor": dict(state["cursor"], step=-1)},
                   {"cursor": dict(state["cursor"], positions=[0, 2 ** 64])},
                   {"cursor": dict(state["cursor"], carry=[[2 ** 32, 0, 0, 1]])}):
        with pytest.raises(data.DataError, match="cannot use the state: it is damaged"):
            one.load_state_dict({**state, **change})
    with pytest.raises(data.DataError, match="it is damaged"):
        one.load_state_dict(None)
    with pytest.raises(data.DataError, match="no such micro-batch"):
        one.load_state_dict(dict(state, micro=2))
    assert one.state_dict() == state
