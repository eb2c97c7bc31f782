"""Counts optimizer steps without a change to the script.

A step is a call of the optimizer instance that stepped first (wrappers step an inner one, GANs
have several); one that calls super().step() is counted once. The hook is torch's own global
post-step hook, registered the moment the script itself imports torch.
"""

import sys

from . import _record

_TARGET = "torch.optim.optimizer"
_NESTING_FRAMES = 6  # how far up an enclosing step() of the same optimizer is looked for


def install():
    module = sys.modules.get(_TARGET)
    if module is not None:
        _register(module)
    else:
        sys.meta_path.insert(0, _ImportWatch)


class _ImportWatch:
    """Import finder that finds nothing itself: it waits for one module and then is gone."""

    @staticmethod
    def find_spec(name, path=None, target=None):
        if name != _TARGET:
            return None
        sys.meta_path.remove(_ImportWatch)
        spec = None
        for finder in sys.meta_path:
            spec = finder.find_spec(name, path, target)
            if spec is not None:
                break
        try:
            _register_after_import(spec.loader)
        except Exception:
            pass  # a loader of an unknown kind: no steps, but torch gets imported
        return spec


def _register_after_import(loader):
    exec_module = loader.exec_module

    def exec_and_register(module):
        del loader.exec_module
        exec_module(module)
        try:
            _register(module)
        except Exception:
            pass  # torch older than 2.0 has no such hook

    loader.exec_module = exec_and_register


def _register(module):
    module.register_optimizer_step_post_hook(_make_hook(sys.modules["torch"]))


def _make_hook(torch):
    from weakref import ref

    getframe = sys._getframe
    first = _no_optimizer

    def after_step(optimizer, args, kwargs):
        nonlocal first
        if torch.compiler.is_compiling():
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
