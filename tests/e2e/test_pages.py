"""`robustrun plan --html` and `diagnose --html`: pages that need nothing else, also readable for
1,024 nodes, and inert whatever the names in them are."""

import pytest
from helpers.accessibility import check_accessibility
from helpers.browser import Browser
from helpers.pages import PageReader, check_policy
from helpers.runner import ROOT

DUMPS = sorted((ROOT / "tests/fixtures/flight_recorder").glob("nccl-2.10.json.*"))
HOSTILE = "</script><script>document.title='owned'</script><!--<img/src=x>"


def network(pods, leaves, nodes, name="pod{}"):
    """`pods` of `leaves` leaf switches of `nodes` nodes each, n1, n2, …, across the leaves."""
    parts = ["[level.pod]\ngbps = 400\n"]
    count = pods * leaves
    for pod in range(pods):
        own = f"leaf[{pod * leaves}-{(pod + 1) * leaves - 1}]"
        parts.append(f'[[switch]]\nname = "{name.format(pod)}"\nlevel = "pod"\n'
                     f'switches = ["{own}"]\n')
    for leaf in range(count):
        names = [f'"n{leaf + 1 + i * count}"' for i in range(nodes)]
        parts.append(f'[[switch]]\nname = "leaf{leaf}"\nnodes = [{", ".join(names)}]\n')
    return "".join(parts)


def plan(robustrun, hosts, *options):
    done = robustrun.run("plan", "--topology=net.toml", f"--hosts=n[1-{hosts}]", "--html=plan.html",
                         *options)
    assert done.code == 0, done.errors
    assert "wrote" in done.errors
    return robustrun.folder / "plan.html"


def test_the_plan_page_shows_who_sits_where_and_what_crosses_which_switch(robustrun, tmp_path):
    robustrun.write("net.toml", network(2, 2, 3))
    path = plan(robustrun, 12, "--nnodes=8", "--spares=2", "--nproc-per-node=2",
                "--parallel=tp=2,pp=2")
    reader = PageReader(path.read_text())
    check_policy(reader)
    data = reader.data()
    seats = sorted((node for node in data["nodes"] if node["use"] == "works"),
                   key=lambda node: node["place"])
    assert [node["first"] for node in seats] == list(range(0, 16, 2))
    assert [node["use"] for node in data["nodes"]].count("spare") == 2
    # Both stages of a replica are in one pod, so that no pp group reaches beyond it.
    pods = dict(zip([kind["name"] for kind in data["kinds"]],
                    data["levels"][1]["switches"][0]["crossing"], strict=True))
    assert pods["pp"][1] == 0 and pods["pp"][0] > 0
    assert pods["dp"][1] == pods["dp"][0] > 0
    with Browser(tmp_path / "profile") as browser:
        for width, dark in ((400, True), (1400, False)):
            browser.open(path, width, dark=dark)
            for part in ("tree", "crossing", "orders", "places"):
                assert browser.value(f"document.getElementById('{part}') !== null"), part
            assert browser.value("document.documentElement.scrollWidth") <= width, "it fits"
        assert browser.value("document.querySelectorAll('.tree .seat.works').length") == 8
        assert browser.value("document.querySelectorAll('.tree .switch').length") == 6
        colour = ("getComputedStyle(document.querySelectorAll('.tree .seat.works')[1])"
                  ".backgroundColor")
        before = browser.value(colour)
        browser.click(".tools button[aria-pressed='false']")
        assert browser.value(colour) != before
        browser.open(path, scripts=False)
        plain = browser.value("document.querySelector('noscript').innerText")
        assert "16 ranks on 8 nodes" in plain
        assert browser.complaints == []
        assert set(browser.requests) == {path.resolve().as_uri()}
        check_accessibility(browser, path)


def test_the_plan_of_1024_nodes_stays_readable(robustrun, tmp_path):
    robustrun.write("net.toml", network(4, 16, 16))
    path = plan(robustrun, 1024, "--nnodes=1000", "--spares=8", "--nproc-per-node=8",
                "--parallel=tp=8,pp=4")
    assert path.stat().st_size < 600_000
    with Browser(tmp_path / "profile") as browser:
        browser.open(path, 1400)
        assert browser.value("document.querySelectorAll('.tree .seat').length") == 1024
        for side in ("Width", "Height"):
            assert browser.value(f"document.querySelector('.tree .seat').offset{side}") >= 10
        # All of the tree at once on a large screen.
        assert browser.value("document.querySelector('.tree').offsetHeight") < 1600
        browser.click("#places button")
        assert browser.value("document.querySelectorAll('#places tbody tr').length") == 1024
        assert browser.complaints == []


def test_the_wait_graph_names_who_waits_for_whom(robustrun, tmp_path):
    done = robustrun.run("diagnose", "--from", *map(str, DUMPS), "--html=hang.html")
    assert done.code == 0, done.errors
    path = robustrun.folder / "hang.html"
    reader = PageReader(path.read_text())
    check_policy(reader)
    data = reader.data()
    assert data["culprits"] and data["victims"] and data["evidence"]
    assert data["title"] in done.text
    with Browser(tmp_path / "profile") as browser:
        for width, dark in ((400, False), (1200, True)):
            browser.open(path, width, dark=dark)
            assert browser.value("document.documentElement.scrollWidth") <= width, "it fits"
            assert (browser.value("document.querySelectorAll('.wait').length")
                    == len(data["victims"]))
            words = browser.value("document.getElementById('waits').innerText")
            assert f"rank {data['culprits'][0]}" in words
        assert browser.complaints == []
        assert browser.requests == [path.resolve().as_uri()] * 2
        check_accessibility(browser, path)


def test_hostile_names_are_inert(robustrun, tmp_path):
    robustrun.write("net.toml", network(2, 2, 3, name=HOSTILE + "{}"))
    path = plan(robustrun, 12, "--nproc-per-node=2", "--parallel=pp=2")
    reader = PageReader(path.read_text())
    assert [tag for tag, _ in reader.elements].count("script") == 2
    assert any("</script>" in one["name"] for one in reader.data()["levels"][1]["switches"])
    with Browser(tmp_path / "profile") as browser:
        browser.open(path)
        assert "owned" not in browser.value("document.title")
        assert browser.value("document.querySelectorAll('img').length") == 0
        assert browser.complaints == []


@pytest.mark.parametrize("words", [
    ("plan", "--hosts=a,b", "--html=no/such/folder/plan.html"),
    ("diagnose", "--from", str(DUMPS[0]), "--html=no/such/folder/hang.html"),
    ("diagnose", "--from", str(DUMPS[0]), "--html="),
])
def test_a_page_that_cannot_be_written_is_refused(robustrun, words):
    refused = robustrun.run(*words)
    assert refused.code == 2
    assert "html" in refused.errors
