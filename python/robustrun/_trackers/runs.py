"""The tracker runs of a rank, in a file that later attempts of this rank read.

FOLDER/rank-N.json lists them in the order of their creation:
{"version": 1, "runs": [{"tracker", "labels", "name", "id", "over"}, …], "told": N}. `labels` tell
runs of different kinds apart (project, experiment); `told` counts the lines of
FOLDER/incidents.jsonl that have been passed on.
"""

import json
import os
import re

_RUNS_MAX = 200  # in one file; further runs are not remembered
_BYTES_MAX = 1 << 20
_INCIDENTS_MAX = 10  # passed on at one start
_TEXT_MAX = 1000

_book = None


class Runs:
    """Made once per process, so runs that are already taken are not given out twice."""

    @classmethod
    def of_this_rank(cls, folder, resume, annotate):
        global _book
        if _book is None:
            _book = cls(folder, os.environ.get("RANK", "0"), resume, annotate)
        return _book

    def __init__(self, folder, rank, resume, annotate):
        self._annotate = annotate
        self._annotated = set()  # trackers
        self._resume = resume
        self._folder = folder
        self._path = os.path.join(folder, "rank-%d.json" % int(rank))
        self._runs, self._told = self._read()
        self._earlier = len(self._runs)  # of earlier attempts
        self._taken = set()  # indices of earlier runs that this process has claimed
        self._begun = set()  # of those that it has told to be continued
        self._open = []  # (run, whether it is over) of this process
        self._news = None  # incidents since the last start

    def claim(self, tracker, labels, name=None):
        """The id of the earlier run that the next one continues; None: it is a new run.

        The first of the same labels and name in the order of creation. A name that differs only in
        digits (a date) fits as well, if that run was not ended properly."""
        if not self._resume:
            return None
        self._close()
        labels = [str(label) for label in labels]
        found = [i for i in range(self._earlier) if i not in self._taken
                 and self._runs[i]["tracker"] == tracker and self._runs[i]["labels"] == labels]
        same = [i for i in found if self._runs[i]["name"] == name]
        alike = [i for i in found if not self._runs[i].get("over")
                 and _pattern(self._runs[i]["name"]) == _pattern(name)]
        for index in same or alike:
            self._taken.add(index)
            return self._runs[index]["id"]
        return None

    def note(self, tracker, labels, name, identity, is_over=None):
        """A run that exists now; is_over() tells whether the script has ended it."""
        run = next((run for run in self._runs
                    if run["tracker"] == tracker and run["id"] == identity), None)
        if run is None:
            if len(self._runs) >= _RUNS_MAX:
                return
            run = {"tracker": tracker, "labels": [str(label) for label in labels], "name": name,
                   "id": identity}
            self._runs.append(run)
        run.pop("over", None)
        if is_over is not None:
            self._open.append((run, is_over))
        self._write()

    def continues(self, tracker, identity):
        """Whether the run is an earlier attempt's, claimed by this process. True only once."""
        for index in self._taken:
            run = self._runs[index]
            if run["tracker"] == tracker and run["id"] == identity and index not in self._begun:
                self._begun.add(index)
                return True
        return False

    def incidents(self, tracker):
        """(number, text) of what happened since the last start of this rank, the newest ones; once
        for each tracker in this process."""
        if not self._annotate or tracker in self._annotated:
            return []
        self._annotated.add(tracker)
        if self._news is None:
            lines = self._incident_lines()
            first = self._told if self._told <= len(lines) else 0
            self._news = [(number, _incident_text(line))
                          for number, line in enumerate(lines[first:], first + 1)]
            self._news = self._news[-_INCIDENTS_MAX:]
            if self._told != len(lines):
                self._told = len(lines)
                self._write()
        return self._news

    def _close(self):
        """Marks the runs that the script has ended."""
        still = []
        for run, is_over in self._open:
            if is_over():
                run["over"] = True
            else:
                still.append((run, is_over))
        if len(still) < len(self._open):
            self._open = still
            self._write()

    def _read(self):
        try:
            with open(self._path, "rb") as file:
                content = json.loads(file.read(_BYTES_MAX))
        except FileNotFoundError:
            return [], 0
        if content["version"] != 1:
            raise ValueError("%s is of another version" % self._path)
        return content["runs"], content["told"]

    def _write(self):
        os.makedirs(self._folder, 0o700, exist_ok=True)
        new = "%s.%d" % (self._path, os.getpid())
        with open(new, "w") as file:
            json.dump({"version": 1, "runs": self._runs, "told": self._told}, file)
            file.write("\n")
        os.replace(new, self._path)

    def _incident_lines(self):
        try:
            with open(os.path.join(self._folder, "incidents.jsonl"), "rb") as file:
                return file.read(_BYTES_MAX).splitlines()
        except FileNotFoundError:
            return []


def _pattern(name):
    return None if name is None else re.sub(r"\d+", "0", str(name))


def _incident_text(line):
    try:
        event = json.loads(line)
        text = "%s: %s" % (event["time"], event["text"])
        if "attempt" in event:
            text += " (attempt %d)" % event["attempt"]
    except (ValueError, KeyError, TypeError):
        text = line.decode(errors="replace")
    return "".join(c if c.isprintable() else " " for c in text)[:_TEXT_MAX]
