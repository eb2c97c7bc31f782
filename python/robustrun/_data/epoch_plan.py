"""How an epoch of a map-style dataset is divided into steps, and steps among ranks: arithmetic.

A step has `of_step` samples. Without drop_last the rest of an epoch is a step, too; if it would be
smaller than half a step, the last two steps share their samples evenly. So a rank is without a
sample only if there are more ranks than half a step has samples.
"""


class EpochPlan:
    """The steps of an epoch: which of its positions, 0 to samples - 1, each has."""

    def __init__(self, samples, of_step, drop_last):
        self.samples = samples
        self.of_step = of_step
        whole, rest = divmod(samples, of_step)
        self.steps = whole if drop_last or not rest else whole + 1
        # Steps from this one on are smaller: the last one, or the last two.
        self._full = whole
        if not drop_last and whole and 0 < 2 * rest < of_step:
            self._full = whole - 1

    def span(self, step):
        """(first position, number of positions) of a step."""
        first = min(step, self._full) * self.of_step
        if step < self._full:
            return first, self.of_step
        left = self.samples - first
        if self.steps - self._full == 1:
            return first, left
        larger = (left + 1) // 2  # of the last two
        return (first, larger) if step == self._full else (first + larger, left - larger)

    @property
    def smallest(self):
        """Number of samples of the smallest step."""
        return min(self.of_step, self.span(self.steps - 1)[1])

    def rank_samples(self, rank, ranks):
        """Number of samples that a rank has of an epoch."""
        return self._full * self.share(0, rank, ranks)[1] + sum(
            self.share(step, rank, ranks)[1] for step in range(self._full, self.steps))

    def share(self, step, rank, ranks):
        """(first position, number) of what a rank has of a step: every ranks-th position. The
        numbers of two ranks differ by one at most."""
        first, size = self.span(step)
        return first + rank, (size - rank + ranks - 1) // ranks
