"""examples/pretrain.py: a rank is killed, and the run goes on as if it had not been."""

import subprocess
import sys

from helpers.runner import ROOT

SCRIPT = str(ROOT / "examples" / "pretrain.py")


def test_a_killed_run_repeats_the_curve_of_a_quiet_one(robustrun):
    folder = robustrun.folder
    subprocess.run([sys.executable, SCRIPT, "--make-data", folder / "data"], check=True,
                   env={"PYTHONPATH": str(ROOT / "python")})

    def train(name, *options):
        done = robustrun.run("--nproc-per-node=2", "--standby=off", SCRIPT,
                             "--data", str(folder / "data" / "data.toml"), "--steps=24",
                             "--curve", str(folder / name), *options)
        assert done.code == 0, done.errors
        return (folder / name).read_text().splitlines()

    quiet = train("quiet")
    killed = train("killed", "--checkpoint", str(folder / "checkpoint.pt"), "--every=8",
                   "--die-at=19")
    # Steps 17 to 19 were done twice.
    assert [line.split()[0] for line in killed] == [
        *map(str, range(1, 20)), *map(str, range(17, 25))]
    assert killed[:19] == quiet[:19] and killed[19:] == quiet[16:]
