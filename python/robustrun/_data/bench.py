"""`robustrun data bench`: how fast this machine feeds one rank.

    python -m robustrun._data.bench [--json] [--ranks N] [--seconds S] FILE

The loader of rank 0 gives batches as fast as it can, as to a script that computes nothing. Then
each source is read alone: a slow one is on slow storage, or has short documents.
"""

import argparse
import json
import os
import signal
import sys
import time

from .loader import Loader
from .spec import DataError, is_while_training, read

SOURCES_MAX = 16  # that are read alone
SOURCE_SHARE = 4  # a source is read alone for 1/4 of the time, all together at most as long again


class Speed:
    """Of the batches of a loader, read for a time in seconds; at least one batch."""

    def __init__(self, loader, context, seconds):
        began, processor = time.monotonic(), time.process_time()
        self.waits, self.tokens = [], 0
        while not self.waits or time.monotonic() - began < seconds:
            asked = time.monotonic()
            sequences = _receive(loader)
            self.waits.append(time.monotonic() - asked)
            self.tokens += sequences * context
        self.seconds = time.monotonic() - began
        self.processor_seconds = time.process_time() - processor
        self.waits.sort()

    @property
    def rate(self):
        return self.tokens / self.seconds

    @property
    def processor_rate(self):
        return self.tokens / max(self.processor_seconds, 1e-9)

    def wait(self, share):
        """Seconds within which this share of the batches came."""
        return self.waits[min(len(self.waits) - 1, int(share * len(self.waits)))]


class Bench:
    """What `data bench` measures of a specification (_data/spec.py), with relative paths from the
    working directory."""

    def __init__(self, values, ranks, seconds):
        self.ranks, self.batch = ranks, values["batch"]
        began = time.monotonic()
        loader = Loader(_given(values), 0, ranks)
        _receive(loader)
        self.opened_s = time.monotonic() - began
        self.all = Speed(loader, self.batch["context"], seconds)
        self.is_tokenized = is_while_training(values)
        self.sources = {}
        names = [] if self.is_tokenized or len(values["source"]) == 1 else values["source"]
        each_s = seconds / max(SOURCE_SHARE, min(len(names), SOURCES_MAX))
        for source in names[:SOURCES_MAX]:
            alone = Loader(_given(values, source), 0, 1)
            _receive(alone)
            self.sources[source["name"]] = Speed(alone, self.batch["context"], each_s)
        self.left_out = len(names[SOURCES_MAX:])

    @property
    def step_s(self):
        """How long the batches of a rank take for one optimizer step."""
        return self.batch["micro"] * self.all.seconds / len(self.all.waits)

    def text(self, path):
        one = self.all
        ranks = "" if self.ranks == 1 else " of %d" % self.ranks
        lines = [
            "%s, rank 0%s, on this machine" % (path, ranks), "",
            "open     %s until the first batch" % _time(self.opened_s),
            "batches  %d of %d tokens in %s" % (len(one.waits), one.tokens // len(one.waits),
                                                _time(one.seconds)),
            "speed    %s tokens per second, %s per second of a processor" % (
                _count(one.rate), _count(one.processor_rate)),
            "waits    %s (median), %s (99 %%), %s (the longest)" % (
                _time(one.wait(0.5)), _time(one.wait(0.99)), _time(one.waits[-1])),
            "",
            "A step takes %s of reading. Training steps that take longer do not wait for data."
            % _time(self.step_s)]
        if self.is_tokenized:
            lines.append("Text was tokenized meanwhile, by processes of their own, and is now in "
                         "the cache as far as it was read.")
        if self.sources:
            width = max(len("source"), *map(len, self.sources))
            lines += ["", "%-*s  tokens per second, read alone" % (width, "source")]
            lines += ["%-*s  %s" % (width, name, _count(speed.rate))
                      for name, speed in self.sources.items()]
            if self.left_out:
                lines.append("and %d more, not read alone" % self.left_out)
        return "\n".join(lines)

    def value(self):
        one = self.all
        return {"ranks": self.ranks, "opened_s": self.opened_s, "batches": len(one.waits),
                "tokens": one.tokens, "seconds": one.seconds, "tokens_per_second": one.rate,
                "tokens_per_processor_second": one.processor_rate,
                "wait_s": {"median": one.wait(0.5), "p99": one.wait(0.99),
                           "longest": one.waits[-1]},
                "step_s": self.step_s,
                "sources": {name: {"tokens_per_second": speed.rate}
                            for name, speed in self.sources.items()}}


def _receive(loader):
    """The next batch's number of sequences. No tensors are made, which takes torch."""
    batch = loader._take()
    loader._taken = batch.step, batch.micro
    return batch.sequences


def _given(values, source=None):
    """A specification as Loader takes it: with all sources, or with one."""
    weights = {name: [[step, weight / 1e6] for step, weight in points]
               for name, points in values["mixture"].items()}
    if source is None:
        return dict(values, mixture=weights)
    return dict(values, source=[source], mixture={source["name"]: 1})


def _time(seconds):
    for unit, factor in (("s", 1), ("ms", 1e3), ("µs", 1e6)):
        if seconds * factor >= 1 or unit == "µs":
            return "%.3g %s" % (seconds * factor, unit)


def _count(number):
    for words, size in ((" billion", 1e9), (" million", 1e6), ("", 1)):
        if number >= size or size == 1:
            return "%.3g%s" % (number / size, words) if size > 1 else "%d" % number


def main():
    parser = argparse.ArgumentParser(prog="robustrun data bench")
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--ranks", type=int, default=1)
    parser.add_argument("--seconds", type=float, default=10)
    parser.add_argument("file")
    given = parser.parse_args()
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    try:
        values, folder = read(given.file)
        os.chdir(folder)
        bench = Bench(values, given.ranks, given.seconds)
    except OSError as error:
        print("robustrun: cannot read %s: %s" % (error.filename or given.file, error.strerror),
              file=sys.stderr)
        return 2
    except DataError as error:
        print("robustrun: %s" % error, file=sys.stderr)
        return 2
    print(json.dumps(bench.value()) if given.json else bench.text(given.file))
    return 0


if __name__ == "__main__":
    sys.exit(main())
