"""Boxes within boxes: which bytes robustrun.dcp reads."""

import itertools
import pathlib
import random
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "python"))
from robustrun._dcp import layout  # noqa: E402


def test_spans_cover_a_box_and_little_else():
    seed = random.randrange(2**32)
    rng = random.Random(seed)
    for _ in range(400):
        shape = [rng.randrange(1, 7) for _ in range(rng.randrange(5))]
        offsets = [rng.randrange(size) for size in shape]
        lengths = [rng.randrange(1, size - begin + 1)
                   for size, begin in zip(shape, offsets, strict=True)]
        apart = rng.choice([1, 8, 40, 1 << 20])
        strides = layout.strides_of(shape)
        wanted = {4 * sum(i * stride for i, stride in zip(at, strides, strict=True))
                  for at in itertools.product(*(range(begin, begin + length) for begin, length in
                                                zip(offsets, lengths, strict=True)))}
        spans = layout.spans_of(shape, offsets, lengths, 4, apart)
        said = (seed, shape, offsets, lengths, apart, spans)
        covered = {at for begin, size in spans for at in range(begin, begin + size, 4)}
        assert wanted <= covered, said
        assert spans[0][0] == min(wanted) and sum(spans[-1]) == max(wanted) + 4, said
        assert all(sum(a) <= b[0] for a, b in zip(spans, spans[1:], strict=False)), said
        # A gap within a span is no larger than what counts as apart.
        left = sorted(wanted)
        gaps = [b - a - 4 for a, b in zip(left, left[1:], strict=False)
                if any(begin <= a and b < begin + size for begin, size in spans)]
        assert max(gaps, default=0) <= apart, said
        assert layout.is_inside(shape, offsets, lengths), said
        assert layout.is_one_run(shape, lengths) == (
            max(wanted) - min(wanted) == 4 * (len(wanted) - 1)), said
        if layout.is_one_run(shape, lengths):
            assert len(spans) == 1, said


def test_a_box_that_reaches_out_is_not_inside():
    assert not layout.is_inside((4, 4), (3, 0), (2, 4))
    assert not layout.is_inside((4, 4), (0, 0), (0, 4))
    assert not layout.is_inside((4, 4), (-1, 0), (1, 4))
    assert not layout.is_inside((4, 4), (0,), (4,))
