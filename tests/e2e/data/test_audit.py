"""`robustrun data audit`: histories of a training, and what it says of them."""

import collections
import json
import os
import random
import re
import subprocess
import sys

import pytest
import torch
from data.token_sets import SPEC, write
from helpers.runner import BUILD, ROOT

sys.path.insert(0, str(ROOT / "python"))
os.environ["ROBUSTRUN_BUILD_DIR"] = str(BUILD.resolve())
from robustrun import checkpoint, data  # noqa: E402
from robustrun._data.audit import History  # noqa: E402
from robustrun._data.marks import Mark  # noqa: E402

WHOLE = "Each step of the data was given once, up to the newest checkpoint."


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Data in which a sample's first token tells which one it is."""
    made = tmp_path_factory.mktemp("audited")
    (made / "data.toml").write_text(SPEC)
    drawn = random.Random(4)
    for name, first, count in (("web-0", 0, 400), ("web-1", 400, 300), ("code", 10_000, 250)):
        write(made / name, [[first + i] * drawn.randint(2, 90) for i in range(count)])
    return made


def audit(folder, *paths, code=0, options=("--json",)):
    done = subprocess.run(
        [BUILD / "bin" / "robustrun", "data", "audit", "data.toml", *paths, *options], cwd=folder,
        capture_output=True, text=True, env=dict(os.environ, PYTHON_EXEC=sys.executable))
    assert done.returncode == code, done.stdout + done.stderr
    return json.loads(done.stdout) if options and code < 2 else done.stdout + done.stderr


class Training:
    """A model that is a list of the samples that it was given. Checkpoints are files of torch.save,
    written by `rank 0`; `steps` counts the steps of the model."""

    def __init__(self, folder, saves):
        self.folder, self.saves = folder, saves
        saves.mkdir()
        self.steps, self.given = 0, []

    def start(self, ranks, state=None):
        self.loaders = [data.loader(self.folder / "data.toml", rank, ranks)
                        for rank in range(ranks)]
        for one in self.loaders:
            if state:
                one.load_state_dict(state)

    def train(self, steps):
        for _ in range(steps):
            of_step = collections.Counter()
            for one in self.loaders:
                for batch in one:
                    of_step.update(set(batch["tokens"].flatten().tolist()) - {0})
                    if batch["last"]:
                        break
            self.steps += 1
            self.given.append(set(of_step))

    def save(self):
        path = self.saves / f"{self.steps}.pt"
        torch.save({"step": self.steps, "given": [sorted(each) for each in self.given],
                    "data": self.loaders[0].state_dict()}, path)
        return path

    def load(self, path):
        saved = torch.load(path)
        self.steps, self.given = saved["step"], [set(each) for each in saved["given"]]
        return saved["data"]

    def audit(self, **options):
        return audit(self.folder, *sorted(self.saves.glob("*.pt")), **options)


@pytest.mark.parametrize("seed", [0, 1] + [pytest.param(seed, marks=pytest.mark.nightly)
                                           for seed in (2, 3)])
def test_kills_and_other_numbers_of_ranks_lose_and_repeat_nothing(folder, tmp_path, seed):
    drawn = random.Random(seed)
    training = Training(folder, tmp_path / "saves")
    training.start(2)
    saved = None
    for _ in range(5):
        for _ in range(drawn.randint(0, 2)):
            training.train(drawn.randint(1, 4))
            saved = training.save()
        training.train(drawn.randint(0, 3))  # lost in the kill
        ranks = drawn.choice((1, 2, 3, 4))
        if saved:
            training.start(ranks, training.load(saved))
        else:
            training.steps, training.given = 0, []
            training.start(ranks)
    training.train(2)
    training.save()
    found = training.audit()
    assert found["findings"] == found["doubts"] == []
    assert [each["step"] for each in found["checkpoints"]] \
        == [each["data_step"] for each in found["checkpoints"]]
    quiet = Training(folder, tmp_path / "quiet")
    quiet.start(1)
    quiet.train(training.steps)
    assert training.given == quiet.given  # so it is true


def as_tokens(samples):
    """The first tokens of samples, without 0, which is also padding."""
    return {number + (10_000 if source == "code" else 0)
            for source, numbers in samples.items() for number in numbers} - {0}


def test_a_script_that_does_not_load_the_loaders_state_gives_samples_twice(folder, tmp_path):
    training = Training(folder, tmp_path / "saves")
    training.start(2)
    training.train(3)
    training.save()
    training.train(4)
    saved = training.save()
    training.load(saved)
    training.start(3)  # from the beginning of the data
    training.train(2)
    training.save()
    found = training.audit(code=1)
    finding, = found["findings"]
    assert (finding["what"], finding["first_step"], finding["end_step"]) == ("given twice", 0, 2)
    assert finding["after_checkpoint"].endswith("7.pt")
    assert as_tokens(finding["samples"]) == set().union(*training.given[:2])
    assert training.given[7:] == training.given[:2]
    text = training.audit(code=1, options=())
    assert "given twice: steps 0 to 1 of the data, again after the checkpoint of step 7" in text
    assert "9.pt goes on with step 9 of the model and step 2 of the data." in text
    assert re.search(r"^  web: samples \d+, \d+, ", text, re.M)
    assert WHOLE not in text


def test_a_state_that_is_older_or_newer_than_the_model_is_found(folder, tmp_path):
    training = Training(folder, tmp_path / "saves")
    training.start(1)
    states = {}
    for step in range(1, 10):
        training.train(1)
        states[step] = training.loaders[0].state_dict()
        if step % 3 == 0:
            training.save()
    ahead = training.given[6:9]
    for begun, what, first, end in ((4, "given twice", 4, 6), (9, "left out", 6, 9)):
        training.load(tmp_path / "saves" / "6.pt")
        training.start(2, states[begun])
        training.train(2)
        training.save()
        (tmp_path / "saves" / "9.pt").unlink(missing_ok=True)
        finding, = training.audit(code=1)["findings"]
        assert (finding["what"], finding["first_step"], finding["end_step"]) == (what, first, end)
        expected = set().union(*(training.given[first:end] if what == "given twice" else ahead))
        assert as_tokens(finding["samples"]) == expected
        (tmp_path / "saves" / "8.pt").unlink()


def test_what_cannot_be_known_is_said(folder, tmp_path):
    training = Training(folder, tmp_path / "saves")
    training.start(1)
    training.train(4)
    training.steps = 30  # the checkpoints before it are gone
    training.save()
    doubt, = training.audit(code=1)["doubts"]
    assert "was trained 30 steps and its loader was at step 4" in doubt

    saved = torch.load(tmp_path / "saves" / "30.pt")
    saved["step"] = 4
    saved["data"]["cursor"]["positions"][0] += 1
    torch.save(saved, tmp_path / "saves" / "30.pt")
    doubt, = training.audit(code=1)["doubts"]
    assert "is not that of step 4 of the plan" in doubt

    saved["data"] = training.loaders[0].state_dict()
    saved["step"] = 3
    torch.save(saved, tmp_path / "saves" / "30.pt")
    text = training.audit(options=())
    assert WHOLE in text and "one step ahead of each checkpoint" in text


def test_checkpoints_of_robustrun_are_read_along_the_history_of_the_newest(folder, tmp_path):
    store = str(tmp_path / "store")

    def attempt(ranks, steps, saved_at, gives_up_loader=False):
        loader = data.loader(folder / "data.toml", 0, ranks)
        state = {"data": loader, "weight": torch.zeros(3)}
        begin = checkpoint.load_latest(state, directories=store) or 0
        if gives_up_loader:
            state["data"] = loader = data.loader(folder / "data.toml", 0, ranks)
        for step in range(begin + 1, begin + steps + 1):
            for batch in loader:
                if batch["last"]:
                    break
            if step in saved_at:
                checkpoint.save(state, step, directories=store)

    os.mkdir(store)
    attempt(2, 6, (2, 4))      # two steps are lost
    attempt(3, 5, (5, 7, 9))
    attempt(1, 3, (12,))
    found = audit(folder, store)
    assert [each["step"] for each in found["checkpoints"]] == [2, 4, 5, 7, 9, 12]
    assert WHOLE in audit(folder, store, options=())
    attempt(2, 2, (14,), gives_up_loader=True)
    finding, = audit(folder, store, code=1)["findings"]
    assert (finding["first_step"], finding["end_step"]) == (0, 2)


def mark(step, place, generation=0):
    return Mark("%d/%d" % (step, place), step, {"cursor": {"step": place}}, generation)


def history(*marks):
    """(given twice, left out, doubts) as a History of these marks has it."""
    found = History(marks[0])
    for one in marks[1:]:
        found.add(one)
    return ([(each.first, each.end, each.mark.name) for each in found.findings],
            [(each.first, each.end, each.mark.name) for each in found.left_out()], found.doubts)


@pytest.mark.parametrize("marks, again, passed_over", [
    ([(12, 12), (14, 2)], [(0, 2, "12/12")], []),
    ([(12, 12), (14, 2), (17, 5)], [(0, 5, "12/12")], []),            # one finding that goes on
    ([(12, 12), (14, 2), (28, 16)], [(0, 12, "12/12")], []),          # until it has caught up
    ([(6, 6), (8, 11)], [], [(6, 9, "6/6")]),
    ([(6, 6), (8, 11), (14, 12)], [(9, 11, "8/11")], []),             # 6 to 8 given after all
    ([(0, 0), (2, 5)], [], [(0, 3, "0/0")]),
    ([(5, 6), (8, 9), (10, 11)], [], []),                             # it counts from 0
])
def test_only_what_was_given_counts(marks, again, passed_over):
    assert history(*(mark(*each) for each in marks)) == (again, passed_over, [])


@pytest.mark.parametrize("seed", range(20))
def test_findings_are_what_counting_each_step_shows(seed):
    drawn = random.Random(seed)
    step = place = drawn.randint(0, 5)
    times, marks = collections.Counter(range(place)), [mark(step, place)]
    for _ in range(drawn.randint(1, 8)):
        if drawn.random() < 0.6:
            place = drawn.randint(0, place + 4)
        steps = drawn.randint(1, 6)
        times.update(range(place, place + steps))
        step, place = step + steps, place + steps
        marks.append(mark(step, place))
    again, passed_over, doubts = history(*marks)
    found = collections.Counter(each for first, end, _ in again for each in range(first, end))
    assert found == collections.Counter({each: n - 1 for each, n in times.items() if n > 1})
    assert [each for first, end, _ in passed_over for each in range(first, end)] \
        == [each for each in range(max(times, default=0)) if each not in times]
    assert not doubts


def test_where_a_later_attempt_may_have_gone_on_from_several_checkpoints_is_a_doubt():
    marks = [mark(2, 2, 1), mark(4, 4, 1), mark(6, 6, 1)]
    again, passed_over, (doubt,) = history(*marks, mark(8, 5, 2), mark(9, 6, 2))
    assert not again and not passed_over
    assert doubt.startswith("8/5: its loader did not go on where its model did")
    assert doubt.endswith(" went on from: 6/6 or 4/4")  # not 2/2: six steps would be below 0
    # Only one of them is possible, or all fit.
    assert history(*marks, mark(8, 2, 2)) == ([(0, 2, "6/6")], [], [])
    assert history(*marks, mark(8, 8, 2)) == ([], [], [])
    assert history(*marks, mark(8, 5, 1))[0] == [(3, 5, "6/6")]  # of the same attempt


@pytest.mark.parametrize("change, error", [
    (lambda saved: saved.pop("step"), "has no \"step\", the number of steps of its model"),
    (lambda saved: saved.pop("data"), "has no state of data.loader"),
    (lambda saved: saved["data"]["spec"].update(seed=9), "seed was 9 and is 5"),
    (lambda saved: saved["data"]["fingerprints"].reverse(), "samples of source web have changed"),
    (lambda saved: saved["data"].update(micro=1), "was saved within step 2 of the data"),
    (lambda saved: saved["data"].update(ranks=0), "cannot share"),
    (lambda saved: saved["data"].update(ranks="two"), "state of data.loader in it is damaged"),
    (lambda saved: saved["data"]["spec"].update(source=[{}]), "state of data.loader in it is dam"),
    (lambda saved: saved["data"]["spec"].update(source=5), "state of data.loader in it is damaged"),
    (lambda saved: saved["data"]["spec"].update(batch={}), "state of data.loader in it is damaged"),
    (lambda saved: saved["data"]["cursor"].update(dropped=-1), "state of data.loader in it is dam"),
    (lambda saved: saved["data"]["cursor"].update(step=2 ** 64), "state of data.loader in it is d"),
    (lambda saved: saved["data"]["cursor"].update(step=2 ** 62), "only the first 100000000 steps"),
    (lambda saved: saved["data"]["cursor"]["positions"].insert(0, -1), "data.loader in it is dam"),
    (lambda saved: saved.update(step=-1), "has no \"step\", the number of steps of its model"),
    (lambda saved: saved.update(other=dict(saved["data"], micro=1)), "two states of data.loader"),
])
def test_a_mistake_is_one_sentence(folder, tmp_path, change, error):
    training = Training(folder, tmp_path / "saves")
    training.start(1)
    training.train(2)
    path = training.save()
    saved = torch.load(path)
    change(saved)
    torch.save(saved, path)
    text = training.audit(code=2)
    assert error in text and len(text.splitlines()) == 1, text


def test_paths_that_are_no_checkpoints_are_refused(folder, tmp_path):
    (tmp_path / "text").write_text("no pickle")
    (tmp_path / "empty.pt").write_bytes(b"")
    assert "cannot read empty.pt: it is empty or cut off" in audit_in(tmp_path, folder, "empty.pt")
    assert "cannot read text" in audit_in(tmp_path, folder, "text")
    assert "No such file" in audit_in(tmp_path, folder, "nothing")
    assert "not both" in audit_in(tmp_path, folder, "text", tmp_path)
    assert "no checkpoint" in audit_in(tmp_path, folder, tmp_path)
    assert "needs a PATH" in audit(folder, code=2)


def audit_in(where, folder, *paths):
    done = subprocess.run(
        [BUILD / "bin" / "robustrun", "data", "audit", folder / "data.toml", *paths], cwd=where,
        capture_output=True, text=True, env=dict(os.environ, PYTHON_EXEC=sys.executable))
    assert done.returncode == 2 and len(done.stderr.splitlines()) == 1, done.stdout + done.stderr
    return done.stderr
