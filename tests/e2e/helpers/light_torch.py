"""Without the compiler: `import light_torch` before torch's parts halves a job's imports.

torch imports its compiler (torch._dynamo) for the first process group or optimizer, which takes as
long as torch itself. Jobs of tests compile nothing.
"""

import sys
import types

import torch


class Nothing(types.ModuleType):
    """Has every attribute, is a context, and returns the function that it decorates."""

    __path__ = ()

    def __getattr__(self, name):
        if name.startswith("__"):
            raise AttributeError(name)
        return Nothing(f"{self.__name__}.{name}")

    def __call__(self, function=None, *_, **__):
        return function if callable(function) else self

    def __bool__(self):
        return False

    def __enter__(self):
        return self

    def __exit__(self, *_):
        return None


sys.modules["torch._dynamo"] = torch._dynamo = Nothing("torch._dynamo")
