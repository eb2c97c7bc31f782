"""Fixtures for tests of dependencies."""

import pytest
from staging.deps_site import plain_interpreter


@pytest.fixture(scope="module")
def plain(tmp_path_factory):
    return plain_interpreter(tmp_path_factory.mktemp("plain"))
