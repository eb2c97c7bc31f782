"""robustrun.checkpoint in the test's own process, outside of any launcher."""

import os
import sys

import pytest
from helpers.runner import BUILD, ROOT

torch = pytest.importorskip("torch")
sys.path.insert(0, str(ROOT / "python"))
os.environ["ROBUSTRUN_BUILD_DIR"] = str(BUILD.resolve())
from robustrun import checkpoint  # noqa: E402
from robustrun._checkpoint import sessions  # noqa: E402


@pytest.fixture(autouse=True)
def plain_process(monkeypatch):
    for name in ("ROBUSTRUN_RUN_ID", "WORLD_SIZE", "RANK", checkpoint.DIRECTORY_VARIABLE):
        monkeypatch.delenv(name, raising=False)
    start_again()
    yield
    checkpoint._close()


def start_again():
    """The state of a process that has just started."""
    checkpoint._close()
    sessions._session = None
