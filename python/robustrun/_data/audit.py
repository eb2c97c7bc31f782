"""`robustrun data audit`: whether a training was given every sample once.

    python -m robustrun._data.audit [--json] FILE CHECKPOINT...

A checkpoint has two numbers: the steps that its model was trained, and the step at which its loader
was. Which samples a step has, and the loader's cursor there, follow from the specification alone.
So it is enough to check that
- each cursor is the one that the plan has at its step, and
- from one checkpoint to the next, model and loader went on by the same number of steps. Otherwise
  the loader began elsewhere than the model when the training went on, and some steps of the data
  were given twice or left out.
"""

import argparse
import json
import signal
import sys

from . import c_api, marks
from .spec import DataError, check_state, read

SHOWN = 8  # samples of a source, in the text


class Finding:
    """Steps `first` to `end` - 1 of the data were given twice, or left out, when the training went
    on from `mark`."""

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


class Audit:
    """The findings on the marks of one training, by rising steps."""

    def __init__(self, values, folder, found):
        self.spec, self.marks = values, found
        self._feed = c_api.Feed(values, folder, 0, found[-1].state["ranks"])
        self.sizes = [self._feed.samples(i) for i in range(len(values["source"]))]
        for mark in found:
            try:
                check_state(mark.state, values, self._feed.fingerprints())
            except DataError as error:
                raise DataError("%s: %s" % (mark.name, error)) from None
            if mark.state["micro"]:
                raise DataError("%s was saved within step %d of the data; only states after whole "
                                "steps can be audited" % (mark.name, mark.state["cursor"]["step"]))
        self.findings, self.doubts = [], []
        self._check_plan()
        self._check_first()
        for one, other in zip(found, found[1:]):
            self._check_link(one, other)

    def _check_plan(self):
        there = c_api.beginning(len(self.spec["source"]))
        for mark in sorted(self.marks, key=lambda mark: mark.state["cursor"]["step"]):
            if self._feed.arrives(there, mark.state["cursor"]):
                there = mark.state["cursor"]
            else:
                self.doubts.append("%s: its loader's state is not that of step %d of the plan, so "
                                   "what was given before is unknown"
                                   % (mark.name, mark.state["cursor"]["step"]))

    def _check_first(self):
        """What was before the first checkpoint that there is."""
        mark = self.marks[0]
        ahead = mark.state["cursor"]["step"] - mark.step
        if ahead not in (0, 1):
            self.doubts.append(
                "%s: its model was trained %s and its loader was at step %d; without an earlier "
                "checkpoint the samples cannot be named" % (
                    mark.name, _count(mark.step), mark.state["cursor"]["step"]))

    def _check_link(self, one, other):
        before, after = (mark.state["cursor"]["step"] for mark in (one, other))
        begun = after - (other.step - one.step)  # where the loader went on
        if begun < 0:
            self.doubts.append(
                "%s to %s: %s of the model with a loader at step %d and then at %d; it began anew "
                "more than once, or does not make one step for each of the model's"
                % (one.name, other.name, _count(other.step - one.step), before, after))
        elif begun != before:
            finding = Finding("given twice" if begun < before else "left out",
                              min(begun, before), max(begun, before), one)
            finding.name_samples(self._feed, [source["name"] for source in self.spec["source"]])
            self.findings.append(finding)

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
        lines += [finding.text() for finding in self.findings] + self.doubts
        if self.is_clean:
            lines.append("Each step of the data was given once, up to the newest checkpoint.")
            if self.marks[0].state["cursor"]["step"] == self.marks[0].step + 1:
                lines.append("The loader is one step ahead of each checkpoint: right if the script "
                             "counts steps from 0, else each restart leaves one out.")
        return "\n".join(lines)

    def value(self):
        cursor = self.marks[-1].state["cursor"]
        return {"checkpoints": [{"name": mark.name, "step": mark.step,
                                 "data_step": mark.state["cursor"]["step"]} for mark in self.marks],
                "samples": {source["name"]: position for source, position in
                            zip(self.spec["source"], cursor["positions"])},
                "dropped": cursor["dropped"], "waiting": len(cursor["carry"]),
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
