"""Whether a page is usable with a screen reader, with the keyboard and with weak eyes, as far as
axe-core can tell."""

import itertools

import pytest
from helpers.runner import ROOT

AXE = ROOT / "node_modules/axe-core/axe.min.js"
WIDTHS = (1200, 420)
FINDINGS = """axe.run(document, {preload: false, resultTypes: ["violations"],
  rules: {"target-size": {enabled: true}}}).then(({violations}) =>
    violations.flatMap(({id, impact, nodes}) => nodes.map(({target, failureSummary}) =>
      [impact, id, target.join(" "), failureSummary].join("; "))))"""


def load_axe(browser):
    """Into the page that is open; it goes with the page."""
    if not AXE.exists():
        pytest.fail("no axe-core: scripts/install-deps.sh test installs it")
    browser.value(AXE.read_text() + ";0")


def check_accessibility(browser, path, prepare=None):
    """No finding of any impact, in light and in dark, on a wide and on a narrow screen. `prepare`
    brings the open page into the state that is meant."""
    for width, dark in itertools.product(WIDTHS, (False, True)):
        browser.open(path, width, dark=dark)
        if prepare:
            prepare()
        load_axe(browser)
        assert browser.value(FINDINGS) == [], (width, "dark" if dark else "light")
    assert browser.complaints == []
