"""Help as users meet it: pages, usage lines under mistakes, and --quiet."""

import pytest


def test_the_first_page_fits_a_screen(robustrun):
    for columns in ("80", "100"):
        page = robustrun.run("--help", env={"COLUMNS": columns}).text.splitlines()
        assert len(page) <= 60 and max(map(len, page)) <= int(columns)
    assert robustrun.run("help").text == robustrun.run("--help").text


def test_help_has_a_page_for_each_topic(robustrun):
    assert robustrun.run("help", "status").text == robustrun.run("status", "--help").text
    assert "--max-restarts N *" in robustrun.run("help", "failures").text
    everything = robustrun.run("help", "all").text
    assert "--rdzv-endpoint" in everything and "usage: robustrun ckpt ls" in everything
    unknown = robustrun.run("help", "failure")
    assert unknown.code == 2 and "did you mean failures?" in unknown.errors


@pytest.mark.parametrize("words, usage, error", [
    (["status", "--jsn"], "usage: robustrun status [RUN]", "--jsn (did you mean --json?)"),
    (["stop", "a", "b"], "usage: robustrun stop [RUN]", "unrecognized arguments: b"),
    (["ckpt", "verfy", "d"], "usage: robustrun ckpt ls", "(did you mean verify?)"),
    (["plan", "--explian=n1"], "usage: robustrun plan", "(did you mean --explain?)"),
    (["--nprc=2", "t.py"], "usage: robustrun [options] SCRIPT", "(did you mean --nproc-per-node?)"),
])
def test_a_mistake_shows_the_usage_of_its_subcommand(robustrun, words, usage, error):
    done = robustrun.run(*words)
    assert done.code == 2 and done.errors.startswith(usage)
    assert error in done.errors and "(robustrun " in done.errors.splitlines()[-1]


def test_a_mistyped_subcommand_names_the_nearest_one(robustrun):
    done = robustrun.run("statsu")
    assert done.code == 2 and "did you mean robustrun status?" in done.errors


def test_quiet_leaves_workers_and_errors(robustrun):
    good = robustrun.write("good.py", "print('from the worker')")
    done = robustrun.run("--quiet", good)
    assert done.code == 0 and done.text == "from the worker\n" and done.errors == ""
    bad = robustrun.write("bad.py", "import sys; sys.exit(3)")
    done = robustrun.run("-q", "--max-restarts=0", bad)
    assert done.code == 3 and "exit code 3" in done.errors
