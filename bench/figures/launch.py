"""Launch overhead: wall time of N times /bin/true, against torchrun."""

from harness import ROBUSTRUN, TORCHRUN, Figure, Quick, Scratch, in_turns, median_ratio, timed

TARGETS = {1: 1 / 20, 8: None, 64: 1 / 5}
ROUNDS = 10
QUICK = Quick(25, "3 rounds instead of 10", rounds=3)


def compare(count, rounds):
    arguments = ["--no-python", "--nproc-per-node", str(count), "/bin/true"]
    with Scratch() as folder:
        return in_turns(
            rounds,
            lambda: timed([ROBUSTRUN, *arguments], folder) * 1e3,
            lambda: timed([*TORCHRUN, *arguments], folder) * 1e3,
        )


def measure(quick):
    for count, limit in TARGETS.items():
        ours, peer = compare(count, QUICK.rounds if quick else ROUNDS)
        met = limit is None or median_ratio(ours, peer) <= limit
        target = f"at most 1/{round(1 / limit)}" if limit else "-"
        yield Figure(f"launch of {count}", "ms", ours, peer, target, met)
