"""Counts optimizer steps without a change to the script.

A step is a call of the optimizer instance that stepped first (wrappers step an inner one, GANs
have several); one that calls super().step() is counted once. The hook is torch's own global
post-step hook, registered the moment the script itself imports torch.
"""

import sys

from . import _imports, _record

_NESTING_FRAMES = 6  # how far up an enclosing step() of the same optimizer is looked for


def install():
    _imports.after_import("torch.optim.optimizer", _register)


def _register(module):  # torch older than 2.0 has no such hook
    module.register_optimizer_step_post_hook(_make_hook(sys.modules["torch"], module))


def _make_hook(torch, module):
    from weakref import ref

    # torch 2.2 and older know it only there; torch.compiler is imported later than torch.optim.
    is_compiling = getattr(module, "is_compiling", None)
    getframe = sys._getframe
    first = _no_optimizer

    def after_step(optimizer, args, kwargs):
        nonlocal first
        if (is_compiling or torch.compiler.is_compiling)():
            return  # traced, not run
        if first() is not optimizer:
            if first() is not None:
                return
            first = ref(optimizer)
        frame = getframe(1)
        step = frame.f_code
        for _ in range(_NESTING_FRAMES):
            frame = frame.f_back
            if frame is None:
                break
            if frame.f_code is step and frame.f_locals.get("self") is optimizer:
                return
        record = _record._current  # None in a forked child
        if record is not None and not record.by_script:
            record.count_step()

    return after_step


def _no_optimizer():
    return None
