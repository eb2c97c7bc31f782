"""`robustrun report --html` and `--trace`: of a real run that is killed once, of one that still
goes on, and in a browser."""

import base64
import json
import os
import re
import signal
import stat
import subprocess

import pytest
from helpers.accessibility import check_accessibility, load_axe
from helpers.browser import Browser
from helpers.jobs import lockstep
from helpers.pages import PageReader, check_policy
from helpers.processes import wait_for
from helpers.runner import BUILD, ROOT, Runner

STEPS = 60
HOSTILE = """
import os, sys, time
import robustrun
rank, attempt = os.environ["RANK"], os.environ["TORCHELASTIC_RESTART_COUNT"]
print("</script><script>document.title = 'owned'</script><!-- \\x1b[2J \\u202e", file=sys.stderr)
print("<img src=http://127.0.0.1:9/ onerror=alert(1)>" + "y" * (1 << 20), file=sys.stderr)
for step in range(1, 20):
    robustrun.step(step, **{"<b>loss</b>": 1 / step})
    time.sleep(0.02)
    if rank == "0" and attempt == "0" and step == 10:
        raise RuntimeError("</script><script>document.title = 'owned'</script>")
"""
# Kinds of bars in the timeline whose label has too little contrast with the bar: axe-core does not
# look at colours of pictures.
LABELS = """(() => {
  const {Color, getContrast} = axe.commons.color;
  const picture = document.querySelector(".gantt svg");
  const fill = (tag, css) => {
    const node = document.createElementNS(picture.namespaceURI, tag);
    node.setAttribute("class", css);
    picture.append(node);
    const colour = new Color();
    colour.parseString(getComputedStyle(node).fill);
    node.remove();
    return colour;
  };
  const kinds = [...data.spent, "stopping", "even", "odd",
    ...data.stages.map((_, i) => `stage${i}`)];
  return kinds.map((kind) => [kind, getContrast(fill("path", `k-${kind}`),
    fill("text", `label on-${kind}`))]).filter(([, contrast]) => contrast < 4.5);
})()"""
SPEEDSCOPE = ROOT / "node_modules/speedscope/dist/release/index.html"


def killed_once(robustrun):
    running = robustrun.start("--nproc-per-node=2", "--standby=off", *lockstep(robustrun, STEPS))
    wait_for(lambda: (robustrun.folder / "steps").exists()
             and len((robustrun.folder / "steps").read_text().splitlines()) > 20, what="steps")
    os.kill(running.workers(2)[1], signal.SIGKILL)
    finished = running.finish()
    assert finished.code == 0, finished.errors


def written(robustrun, *options):
    done = robustrun.run("report", *options)
    assert done.code == 0, done.errors
    assert done.text == "", "the file has it all"
    return done.errors


@pytest.fixture(scope="module")
def killed(tmp_path_factory):
    """A run whose rank 1 was killed once, in a folder with its page and its trace."""
    runner = Runner(tmp_path_factory.mktemp("killed"))
    try:
        killed_once(runner)
        assert "wrote" in written(runner, "--html", "page.html", "--trace", "trace.json")
        yield runner
    finally:
        runner.close()


def test_a_page_tells_what_happened_and_needs_nothing_else(killed):
    path = killed.folder / "page.html"
    reader = PageReader(path.read_text())
    assert path.stat().st_size < 150_000
    check_policy(reader)

    data, report = reader.data(), killed.report()
    assert data["outcome"] == "succeeded" and len(data["summary"]) == 3
    assert sum(share["ms"] for share in data["shares"]) == pytest.approx(data["duration"])
    assert data["duration"] == pytest.approx(1000 * report["duration_s"], rel=1e-6)
    (incident,) = data["incidents"]
    assert (incident["rank"], incident["attempt"]) == (1, 0)
    assert "SIGKILL" in incident["what"] and "restart" in incident["verdict"]
    assert sum(phase["ms"] for phase in incident["phases"]) == pytest.approx(incident["cost_ms"])
    assert [row[0] for row in data["attempts"]] == [0, 1]
    (node,) = data["nodes"]
    assert (node["first"], node["ranks"]) == (0, 2)
    assert [(row[0], len(row)) for row in node["parts"]] == [(0, 4), (1, 4)]
    assert all(0 <= started < step < gone for _, started, step, gone in node["parts"])
    stages = {stage for row in node["stages"] for stage in row[1::5]}
    assert {data["stages"][stage] for stage in stages} >= {"imports", "first step"}
    assert data["readings"][-1][3] == STEPS


def test_a_page_leaves_a_device_in_its_place(killed):
    full = killed.folder / "full"
    try:
        os.mknod(full, 0o600 | stat.S_IFCHR, os.makedev(1, 7))
        os.close(os.open(full, os.O_WRONLY))
    except PermissionError:
        full.unlink(missing_ok=True)
        pytest.skip("only root may make devices, on a file system that opens them")
    done = killed.run("report", "--html", "full")
    assert done.code == 2, done.errors
    assert "cannot write" in done.errors and "No space left" in done.errors, done.errors
    assert stat.S_ISCHR(os.lstat(full).st_mode)


def test_a_page_goes_through_a_pipe(killed):
    script = f"exec {killed.binary} report --html >(cat > piped.html)"
    done = killed.run("-c", script, argv0="/bin/bash")
    assert done.code == 0, done.errors
    wait_for(lambda: (killed.folder / "piped.html").exists() and
             "</html>" in (killed.folder / "piped.html").read_text(), what="the page")


def test_a_page_and_a_trace_of_an_active_run(robustrun):
    running = robustrun.start("--nproc-per-node=2", *lockstep(robustrun))
    wait_for(lambda: (robustrun.folder / "steps").exists(), what="a step")
    written(robustrun, "--html", "page.html", "--trace", "trace.json")
    data = PageReader((robustrun.folder / "page.html").read_text()).data()
    assert data["outcome"] == "unfinished"
    assert json.loads((robustrun.folder / "trace.json").read_text())["traceEvents"]
    running.process.send_signal(signal.SIGTERM)
    running.finish()


def test_a_browser_shows_the_page(killed, tmp_path):
    path = killed.folder / "page.html"
    with Browser(tmp_path / "profile") as browser:
        for width, dark in ((400, True), (800, False), (1400, False)):
            browser.open(path, width, dark=dark)
            for part in ("time", "timeline", "incidents", "numbers", "machines"):
                assert browser.value(f"document.getElementById('{part}') !== null"), part
            assert browser.value("document.documentElement.scrollWidth") <= width, "it fits"
            assert browser.value("document.querySelectorAll('.gantt path').length") > 10
        # A rate holds between two readings, with a gap where no step was done.
        rates = [(0, 1, 5), (1, 2, 4), (3, 4, 3)]  # from, to, value
        points = [{"from": begin, "at": at, "attempt": 0, "value": value}
                  for begin, at, value in rates]
        lines = browser.value(f"linesOf({json.dumps(points)}, 'rate', Number, Number)")
        assert [len(line) for line in lines] == [4, 2]
        # Keys and buttons zoom the timeline; the only incident is open, others open by a click.
        shown = "document.querySelector('.range').textContent"
        whole = browser.value(shown)
        browser.value("document.querySelector('.gantt').focus()")
        browser.press("+")
        closer = browser.value(shown)
        assert closer != whole
        browser.press("ArrowRight")
        assert browser.value(shown) != closer
        browser.press("0")
        assert browser.value(shown) == whole
        browser.click(".tools button[title^='Zoom in']")
        assert browser.value(shown) == closer
        browser.press("n")
        assert browser.value("document.querySelectorAll('.gantt .flag').length") == 1
        assert "SIGKILL" in browser.value("document.querySelector('.incident-row .body').innerText")
        browser.open(path, scripts=False)
        assert "succeeded" in browser.value("document.querySelector('noscript').innerText")
        assert browser.value("document.querySelector('main h1') !== null")
        assert browser.complaints == []
        assert set(browser.requests) == {path.resolve().as_uri()}
        check_accessibility(browser, path)
        for dark in (False, True):
            browser.open(path, dark=dark)
            load_axe(browser)
            assert browser.value(LABELS) == []


def test_hostile_output_is_inert(robustrun, tmp_path):
    robustrun.write("hostile.py", HOSTILE)
    finished = robustrun.run("--max-restarts=1", "hostile.py")
    assert finished.code == 0, finished.errors
    written(robustrun, "--html", "page.html", "--trace", "trace.json")
    path = robustrun.folder / "page.html"
    text = path.read_text()
    assert len(text) < 150_000
    assert not re.search("[\x00-\x08\x0b-\x1f\u202e]", text)
    reader = PageReader(text)
    assert [tag for tag, _ in reader.elements].count("script") == 2
    assert "</script>" in json.dumps(reader.data()["incidents"])
    json.loads((robustrun.folder / "trace.json").read_text())
    with Browser(tmp_path / "profile") as browser:
        browser.open(path)
        assert "owned" not in browser.value("document.title")
        assert browser.value("document.querySelectorAll('img, b > b').length") == 0
        assert browser.complaints == []
        assert browser.requests == [path.resolve().as_uri()]


def test_a_trace_keeps_the_rules_of_its_format(killed):
    trace = json.loads((killed.folder / "trace.json").read_text())
    names, spans = {}, {}
    for event in trace["traceEvents"]:
        assert event["ph"] in "XiMC" and isinstance(event["name"], str)
        assert isinstance(event["pid"], int) and isinstance(event["tid"], int)
        assert isinstance(event["ts"], int) and event["ts"] >= 0
        track = event["pid"], event["tid"]
        if event["ph"] == "X":
            spans.setdefault(track, []).append((event["ts"], -event["dur"], event["name"]))
        elif event["ph"] == "i":
            assert event["s"] in ("g", "p", "t")
        elif event["ph"] == "C":
            assert all(isinstance(value, (int, float)) for value in event["args"].values())
        else:
            names[event["name"], track] = event["args"].get("name")
    for track, own in spans.items():
        assert names["thread_name", track] and names["process_name", (track[0], 0)]
        open_until = []
        for begin, minus, name in sorted(own):
            while open_until and open_until[-1] <= begin:
                open_until.pop()
            assert not open_until or begin - minus <= open_until[-1], (track, name)
            open_until.append(begin - minus)
    assert {"rank 0", "rank 1", "stages", "time", "attempts"} <= set(names.values())
    assert any(event["ph"] == "i" and "SIGKILL" in event["name"]
               for event in trace["traceEvents"])


@pytest.mark.nightly
def test_a_page_of_100_incidents_on_64_nodes_is_accessible(tmp_path):
    path = tmp_path / "page.html"
    with path.open("wb") as file:
        subprocess.run([BUILD / "test-helpers/big_page", "64", "8", "100"], stdout=file, check=True)
    with Browser(tmp_path / "profile") as browser:

        def open_some():
            assert browser.value("document.querySelectorAll('.incident-row').length") == 100
            browser.value("[...document.querySelectorAll('.incident-row > summary')].slice(0, 5)"
                          ".forEach((row) => row.click())")
            browser.wait("document.querySelectorAll('.incident-row .body').length === 5")

        check_accessibility(browser, path, open_some)


def test_speedscope_shows_the_trace(killed, tmp_path):
    if not SPEEDSCOPE.exists():
        pytest.fail("no speedscope: scripts/install-deps.sh test installs it")
    text = (killed.folder / "trace.json").read_text()
    events = json.loads(text)["traceEvents"]
    tracks = {(event["pid"], event["tid"]) for event in events if event["ph"] == "X"}
    (run,) = [event["args"]["name"] for event in events
              if event["name"] == "process_name" and event["pid"] == 0]
    # As its command line passes a file on: in a script, because a page may not read files.
    script = tmp_path / "trace.js"
    encoded = base64.b64encode(text.encode()).decode()
    script.write_text(f"speedscope.loadFileFromBase64('trace.json', '{encoded}')")
    with Browser(tmp_path / "profile", webgl=True) as browser:
        browser.open(SPEEDSCOPE, fragment=f"#localProfilePath={script}")
        browser.wait("document.title.startsWith('trace.json')")
        browser.wait(f"document.body.innerText.includes('(1/{len(tracks)})')")
        words = browser.value("document.body.innerText")
        assert f"{run} (pid 0), time (tid 1)" in words
        assert "Something went wrong" not in words
        # It warns of spans that neither nest nor are disjoint; its driver, of being slow.
        told = {each for each in browser.complaints if "GL Driver Message" not in each}
        assert told <= {"console.log", "console.timeEnd"}


def test_open_calls_xdg_open_where_there_is_one(robustrun, tmp_path):
    robustrun.write("t.py", "")
    assert robustrun.run("--standalone", "t.py").code == 0
    empty = tmp_path / "empty"
    empty.mkdir()
    done = robustrun.run("report", "--open", env={"PATH": str(empty)})
    beside = robustrun.newest_run() / "report.html"
    assert done.code == 0 and beside.exists()
    assert "xdg-open is not on PATH" in done.errors
    opener = empty / "xdg-open"
    opener.write_text('#!/bin/sh\necho "$1" > "${0%/*}/opened.new"\n'
                      '/bin/mv "${0%/*}/opened.new" "${0%/*}/opened"\n')
    opener.chmod(opener.stat().st_mode | stat.S_IXUSR)
    done = robustrun.run("report", "--html=page.html", "--open", env={"PATH": str(empty)})
    assert done.code == 0, done.errors
    wait_for((empty / "opened").exists, what="xdg-open")
    assert (empty / "opened").read_text().strip() == str(robustrun.folder / "page.html")


@pytest.mark.parametrize("options, words", [
    (["--html=no/such/folder/page.html"], ["cannot write", "no/such/folder/page.html"]),
    (["--html="], ["--html"]),
    (["--trace="], ["--trace"]),
    (["--html=page.html", "--json"], ["--json", "--html"]),
    (["--trace=trace.json", "-v"], ["-v/--verbose", "--trace"]),
])
def test_bad_input(robustrun, options, words):
    robustrun.write("t.py", "")
    assert robustrun.run("--standalone", "t.py").code == 0
    refused = robustrun.run("report", *options)
    assert refused.code == 2
    for word in words:
        assert word in refused.errors
    assert not (robustrun.folder / "page.html").exists()
