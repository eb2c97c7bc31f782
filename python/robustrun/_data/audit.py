"""`robustrun data audit`: whether a training was given every sample once.

    python -m robustrun._data.audit [--json] FILE CHECKPOINT...

A checkpoint has two numbers: the steps that its model was trained, and the step at which its loader
was. Which samples a step has, and the loader's cursor there, follow from the specification alone.
So it is enough to check that
- each cursor is the one that the plan has at its step, and
- from one checkpoint to the next, model and loader went on by the same number of steps. Otherwise
  the loader began elsewhere than the model when the training went on, at a step that the two
  numbers tell. So it is known which steps were given, up to each checkpoint.
"""

import argparse
import json
import signal
import sys

from . import c_api, marks, pieces
from .skips import Skips
from .spec import DataError, check_state, is_while_training, read

STEPS_MAX = 10 ** 8  # of the data; the plan is walked from its beginning
SHOWN = 8  # samples of a source, in the text


class Finding:
    """Steps `first` to `end` - 1 of the data were given again, or passed over, when the training
    went on from `mark`."""

    def __init__(self, what, first, end, mark):
        self.what, self.first, self.end, self.mark = what, first, end, mark
        self.samples = {}  # of each source: sorted numbers; of which a part, at least

    def name_samples(self, feed, names):
        pairs = set(feed.pieces(self.first, self.end))
        for number, name in enumerate(names):
            samples = sorted(sample for source, sample in pairs if source == number)
            if samples:
                self.samples[name] = samples

    def text(self):
        lines = ["%s: %s of the data, %s after the checkpoint of step %d (%s)" % (
            self.what, _steps(self.first, self.end),
            "again" if self.what == "given twice" else "passed over", self.mark.step,
            self.mark.name)]
        for name, samples in self.samples.items():
            more = len(samples) - SHOWN
            lines.append("  %s: sample%s %s%s" % (
                name, "s" * (len(samples) > 1), ", ".join(map(str, samples[:SHOWN])),
                " and %d more" % more if more > 0 else ""))
        return "\n".join(lines)

    def value(self):
        return {"what": self.what, "first_step": self.first, "end_step": self.end,
                "after_checkpoint": self.mark.name, "samples": self.samples}


def _steps(first, end):
    return "step %d" % first if end == first + 1 else "steps %d to %d" % (first, end - 1)


class History:
    """Which steps of the data were given, from one mark to the next."""

    def __init__(self, first):
        self._marks = [first]
        self._given = [(0, _place(first))]  # sorted, apart
        self._begun = {}  # step of the data: the mark after which the loader first went on there
        self.findings, self.doubts = [], []

    def add(self, mark):
        last = self._marks[-1]
        before, after = _place(last), _place(mark)
        begun = after - (mark.step - last.step)  # where the loader went on
        others = self._other_predecessors(mark) if begun != before else []
        self._marks.append(mark)
        if begun < 0:
            self._doubt(after, "%s to %s: %s of the model with a loader at step %d and then at %d; "
                        "it began anew more than once, or does not make one step for each of the "
                        "model's" % (last.name, mark.name, _count(mark.step - last.step), before,
                                     after))
        elif others:
            self._doubt(after, "%s: its loader did not go on where its model did; which steps were "
                        "given twice or left out depends on the checkpoint that it went on from: %s"
                        % (mark.name, " or ".join(each.name for each in [last] + others)))
        else:
            for one, end in self._given:
                self._again(max(one, begun), min(end, after), last)
            self._begun.setdefault(begun, last)
            self._given = _united(self._given + [(begun, after)])

    def _again(self, first, end, mark):
        if first >= end:
            return
        if self.findings and self.findings[-1].end == first == _place(mark):  # it goes on
            self.findings[-1].end = end
        else:
            self.findings.append(Finding("given twice", first, end, mark))

    def _other_predecessors(self, mark):
        """Apart from the newest one: work of an earlier attempt may have been lost although no
        later checkpoint has a smaller step."""
        if mark.generation == self._marks[-1].generation:
            return []
        return [one for one in self._marks[-2::-1] if _place(mark) - (mark.step - one.step) >= 0]

    def _doubt(self, after, text):
        self.doubts.append(text)
        self._given = [(0, after)]  # so that no finding rests on what is unknown

    def left_out(self):
        """Steps that were not given, below the furthest one."""
        found, there = [], 0
        for first, end in self._given:
            if first > there:
                found.append(Finding("left out", there, first, self._begun[first]))
            there = end
        return found


def _place(mark):
    return mark.state["cursor"]["step"]


def _united(intervals):
    """The same steps, in intervals that are sorted and apart."""
    united = []
    for first, end in sorted(intervals):
        if united and first <= united[-1][1]:
            united[-1] = (united[-1][0], max(united[-1][1], end))
        elif first < end:
            united.append((first, end))
    return united


class Audit:
    """The findings on the marks of one training, by rising steps."""

    def __init__(self, values, folder, found):
        self.spec, self.marks = values, found
        texts = skips = None
        if is_while_training(values):
            texts = {number: (of_source, pieces.fingerprint(values, folder, of_source))
                     for number, of_source in pieces.require(values, folder).items()}
            skips = Skips(values, {number: of_source for number, (of_source, _) in texts.items()})
        self._feed = c_api.Feed(values, folder, 0, found[-1].state["ranks"], texts)
        self.sizes = [self._feed.samples(i) for i in range(len(values["source"]))]
        for mark in found:
            try:
                check_state(mark.state, values, self._feed.fingerprints())
                if skips:
                    skips.check(mark.state)
            except DataError as error:
                raise DataError("%s: %s" % (mark.name, error)) from None
            if _place(mark) > STEPS_MAX:
                raise DataError("%s: its loader was at step %d; only the first %d steps can be "
                                "audited" % (mark.name, _place(mark), STEPS_MAX))
            if mark.state["micro"]:
                raise DataError("%s was saved within step %d of the data; only states after whole "
                                "steps can be audited" % (mark.name, _place(mark)))
        self.findings, self.doubts = [], []
        self._check_plan()
        self._check_first()
        self._check_links()

    def _check_plan(self):
        there = c_api.beginning(len(self.spec["source"]))
        for mark in sorted(self.marks, key=_place):
            if self._feed.arrives(there, mark.state["cursor"]):
                there = mark.state["cursor"]
            else:
                self.doubts.append("%s: its loader's state is not that of step %d of the plan, so "
                                   "what was given before is unknown"
                                   % (mark.name, _place(mark)))

    def _check_first(self):
        """What was before the first checkpoint that there is."""
        mark = self.marks[0]
        ahead = _place(mark) - mark.step
        if ahead not in (0, 1):
            self.doubts.append(
                "%s: its model was trained %s and its loader was at step %d; without an earlier "
                "checkpoint the samples cannot be named" % (
                    mark.name, _count(mark.step), _place(mark)))

    def _check_links(self):
        history = History(self.marks[0])
        for mark in self.marks[1:]:
            history.add(mark)
        self.doubts += history.doubts
        self.findings = history.findings + history.left_out()
        for finding in self.findings:
            finding.name_samples(self._feed, [source["name"] for source in self.spec["source"]])

    @property
    def is_clean(self):
        return not self.findings and not self.doubts

    def text(self, path):
        last = self.marks[-1]
        cursor = last.state["cursor"]
        lines = ["%s: %d checkpoint%s, the newest of step %d after %s of data" % (
            path, len(self.marks), "s" * (len(self.marks) > 1), last.step,
            _count(cursor["step"])), ""]
        width = max(len("source"), *(len(source["name"]) for source in self.spec["source"]))
        lines.append("%-*s  %12s  %8s" % (width, "source", "samples", "epochs"))
        for source, size, position in zip(self.spec["source"], self.sizes, cursor["positions"]):
            lines.append("%-*s  %12d  %8.2f" % (width, source["name"], position, position / size))
        lines.append("")
        if cursor["dropped"]:
            lines.append("%d pieces of documents were dropped (batch.leftover)" % cursor["dropped"])
        if cursor["carry"]:
            lines.append("%d pieces of documents wait for the next step" % len(cursor["carry"]))
        skipped = sum(map(len, last.state.get("skips", {}).values()))
        if skipped:
            lines.append("%d record%s of text %s skipped (max_skips)" % (
                skipped, "s" * (skipped > 1), "was" if skipped == 1 else "were"))
        lines += [finding.text() for finding in self.findings] + self.doubts
        if cursor["step"] - last.step not in (0, 1):
            lines.append("Work on %s goes on with step %d of the model and step %d of the data."
                         % (last.name, last.step, cursor["step"]))
        if self.is_clean:
            lines.append("Each step of the data was given once, up to the newest checkpoint.")
            if self.marks[0].state["cursor"]["step"] == self.marks[0].step + 1:
                lines.append("The loader is one step ahead of each checkpoint: right if the script "
                             "counts steps from 0, else each restart leaves one out.")
        return "\n".join(lines)

    def value(self):
        cursor = self.marks[-1].state["cursor"]
        return {"checkpoints": [{"name": mark.name, "step": mark.step,
                                 "data_step": _place(mark)} for mark in self.marks],
                "samples": {source["name"]: position for source, position in
                            zip(self.spec["source"], cursor["positions"])},
                "dropped": cursor["dropped"], "waiting": len(cursor["carry"]),
                "skipped": self.marks[-1].state.get("skips", {}),
                "findings": [finding.value() for finding in self.findings],
                "doubts": self.doubts}


def _count(steps):
    return "%d step%s" % (steps, "s" * (steps != 1))


def main():
    parser = argparse.ArgumentParser(prog="robustrun data audit")
    parser.add_argument("--json", action="store_true")
    parser.add_argument("file")
    parser.add_argument("checkpoints", nargs="+")
    given = parser.parse_args()
    signal.signal(signal.SIGINT, signal.SIG_DFL)  # the library walks a long plan in one call
    try:
        values, folder = read(given.file)
        audit = Audit(values, folder, marks.read(given.checkpoints))
    except OSError as error:
        print("robustrun: cannot read %s: %s" % (error.filename or given.file, error.strerror),
              file=sys.stderr)
        return 2
    except (DataError, marks.checkpoints.CheckpointError, marks.codec.Damaged) as error:
        print("robustrun: %s" % error, file=sys.stderr)
        return 2
    print(json.dumps(audit.value()) if given.json else audit.text(given.file))
    return 0 if audit.is_clean else 1


if __name__ == "__main__":
    sys.exit(main())
