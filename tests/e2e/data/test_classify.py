"""examples/classify.py: a rank is killed within an epoch, and every later step repeats what it was
before the kill, to the last bit."""

from helpers.runner import ROOT

SCRIPT = str(ROOT / "examples" / "classify.py")


def test_a_killed_run_repeats_the_steps_of_the_quiet_one(robustrun):
    done = robustrun.run(
        "--nproc-per-node=2", "--standby=off", SCRIPT, "--epochs=2", "--every=13", "--die-at=25",
        "--checkpoint", str(robustrun.folder / "checkpoint.pt"),
        "--curve", str(robustrun.folder / "curve"))
    assert done.code == 0, done.errors
    lines = (robustrun.folder / "curve").read_text().splitlines()
    # Epochs of 17 steps. The first attempt was quiet up to its end; rank 0 may not have noted its
    # last step any more. The second one began with step 14.
    steps = [int(line.split()[0]) for line in lines]
    ended = steps.index(14, 14)
    assert ended in (24, 25)
    assert steps == [*range(1, ended + 1), *range(14, 35)]
    assert lines[ended:2 * ended - 13] == lines[13:ended]
    assert len({line.split()[1] for line in lines}) == 34  # no loss occurs twice by chance
