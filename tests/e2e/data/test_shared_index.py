"""Ranks of a machine have one copy of the index, also in a later attempt."""

import pathlib

from data.token_sets import write

SCRIPT = pathlib.Path(__file__).parent / "index_job.py"
RANKS = 4
SAMPLES = 400_000
SPEC = """
[[source]]
name = "web"
paths = "web"
[batch]
tokens = 8192
context = 256
"""


def test_ranks_share_the_index_and_a_later_attempt_uses_it_again(robustrun):
    folder = robustrun.folder
    (folder / "data.toml").write_text(SPEC)
    write(folder / "web", [[7, 8, 9]] * SAMPLES)
    done = robustrun.run(f"--nproc-per-node={RANKS}", "--standby=off", SCRIPT,
                         str(folder / "data.toml"), str(folder / "seen"))
    assert done.code == 0, done.errors
    inodes, losses = set(), set()
    for attempt in (0, 1):
        total = 0
        for rank in range(RANKS):
            inode, pss, tokens = (folder / f"seen.{rank}.{attempt}").read_text().split()
            inodes.add(inode)
            losses.add(tokens)
            total += int(pss) << 10
        assert SAMPLES * 12 <= total < SAMPLES * 12 * 1.1, total
    assert len(inodes) == 1 and len(losses) == 1
    robustrun.expect_nothing_left()
    assert not list(pathlib.Path("/tmp").glob(f"robustrun-*/{robustrun.newest_run().name}*"))
