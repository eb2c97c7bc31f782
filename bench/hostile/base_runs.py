"""A place with runs, checkpoints and caches to damage: play an input, then restore() it."""

import pathlib
import shutil
import signal
import subprocess

from harness import HELPERS, wait_for
from helpers.jobs import WORKER_STARTED, kill_at_once, read_journal
from hostile.place import Place

SAVER = HELPERS / "checkpoint_saver"
SAVES = 3
# The second run's workers wait in their first life, so that its supervisor can be killed.
WAITING = """#!/bin/sh
echo here
while [ ! -e go ]; do sleep 0.05; done
"""


def specials(folder, names):
    """Sockets and the like, which cannot be copied."""
    paths = {name: pathlib.Path(folder, name) for name in names}
    return [name for name, path in paths.items()
            if not (path.is_symlink() or path.is_file() or path.is_dir())]


class BaseRuns(Place):
    """A finished run `done`, a run `cut` whose supervisor was killed, checkpoints in two
    folders `a` and `b`, and what these left in cache and state."""

    def __init__(self):
        super().__init__()
        self.runs = self.folder / "robustrun-runs"
        self.runner.write("wait.sh", WAITING).chmod(0o755)
        try:
            self.make_runs()
            self.make_checkpoints()
            self.runner.write("go", "")
            self.kept = self.folder / "kept"
            for name in self.names():
                shutil.copytree(self.folder / name, self.kept / name, symlinks=True,
                                ignore=specials)
        except BaseException:
            self.close()
            raise

    def names(self):
        return [name for name in ("robustrun-runs", "a", "b", "cache", "state", "robustrun")
                if (self.folder / name).is_dir()]

    def make_runs(self):
        done = self.run("--standby=off", "--nproc-per-node=2", "--prefetch=on", "--stage=end.py",
                        "--run-dir", self.runs / "done", "end.py")
        assert done.code == 0, done.err
        cut = self.start("--standby=off", "--nproc-per-node=2", "--run-dir", self.runs / "cut",
                         "--no-python", "./wait.sh")
        journal = self.runs / "cut" / "journal"
        wait_for(lambda: sum(each.kind == WORKER_STARTED for each in read_journal(journal)) == 2,
                 "the workers of the run that is cut")
        kill_at_once([cut.pid], signal.SIGKILL)
        cut.process.wait()
        assert not self.left()

    def make_checkpoints(self):
        folders = [self.folder / "a", self.folder / "b"]
        for folder in folders:
            folder.mkdir()
        with subprocess.Popen([SAVER, *folders], stdout=subprocess.PIPE) as saver:
            try:
                for _ in range(SAVES):
                    assert saver.stdout.readline().strip().isdigit()
            finally:
                saver.kill()

    def files(self, *names):
        """All files below these folders, relative, in order."""
        return sorted(path.relative_to(self.folder) for name in names if name in self.names()
                      for path in (self.folder / name).rglob("*")
                      if path.is_file() and not path.is_symlink())

    def restore(self):
        """Makes everything as it was."""
        for name in self.names():
            shutil.rmtree(self.folder / name)
        for kept in self.kept.iterdir():
            shutil.copytree(kept, self.folder / kept.name, symlinks=True)


class PlayerOfRuns:
    """Plays all of its inputs in one BaseRuns."""

    def __enter__(self):
        self.place = BaseRuns()
        return self

    def __exit__(self, *_):
        self.place.close()
