import importlib.util

import pytest


def pytest_configure(config):
    config.addinivalue_line(
        "markers", "needs(package): skipped without the package, which the test itself does not "
        "import: torch takes 1.5 s of a processor")


def pytest_runtest_setup(item):
    for marker in item.iter_markers("needs"):
        (package,) = marker.args
        if importlib.util.find_spec(package) is None:
            pytest.skip(f"could not import '{package}'")  # as importorskip says it
