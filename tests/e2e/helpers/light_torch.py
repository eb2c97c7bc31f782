"""Without the compiler: `import light_torch` before torch leaves two thirds of a job's imports out.

torch imports its compiler (torch._dynamo) for the first DDP model or optimizer, which takes as long
as torch itself. A third of torch's own import is for tensors without data, exported programs and
distributions. Jobs of tests use none of them.
"""

import sys
import types


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


for _name in ("torch._meta_registrations", "torch._export.wrappers", "torch.distributions"):
    sys.modules.setdefault(_name, Nothing(_name))

import torch  # noqa: E402

if hasattr(torch._C, "_set_generator_metaclass"):  # as torch._prims does, for torch.Generator
    from torch._opaque_base import OpaqueBaseMeta

    torch._C._set_generator_metaclass(OpaqueBaseMeta)
sys.modules["torch._dynamo"] = torch._dynamo = Nothing("torch._dynamo")
