"""Marks of tests whose jobs need a package that the test itself does not import: torch takes 1.5 s
of a processor. They are skipped without it, in the words of pytest.importorskip."""

import importlib.util

import pytest

NEEDS_TORCH = pytest.mark.skipif(importlib.util.find_spec("torch") is None,
                                 reason="could not import 'torch'")
