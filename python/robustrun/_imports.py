"""Waits for modules that the script itself imports; imports nothing by itself."""

import sys

_waiting = {}  # name -> what is called with the module once it is there


def after_import(name, callback):
    """Calls `callback(module)` when the module has been executed; what it raises is dropped."""
    module = sys.modules.get(name)
    if module is not None:
        _tell([callback], module)
        return
    if not _waiting:
        sys.meta_path.insert(0, _ImportWatch)
    _waiting.setdefault(name, []).append(callback)


class _ImportWatch:
    """Import finder that finds nothing itself, and is gone once all modules came."""

    @staticmethod
    def find_spec(name, path=None, target=None):
        callbacks = _waiting.pop(name, None)
        if callbacks is None:
            return None
        if not _waiting:
            sys.meta_path.remove(_ImportWatch)
        spec = None
        for finder in sys.meta_path:
            if finder is not _ImportWatch:
                spec = finder.find_spec(name, path, target)
                if spec is not None:
                    break
        try:
            _tell_after_import(spec.loader, callbacks)
        except Exception:
            pass  # a loader of an unknown kind: we see nothing, but the module gets imported
        return spec


def _tell_after_import(loader, callbacks):
    exec_module = loader.exec_module

    def exec_and_tell(module):
        del loader.exec_module
        exec_module(module)
        _tell(callbacks, module)

    loader.exec_module = exec_and_tell


def _tell(callbacks, module):
    for callback in callbacks:
        try:
            callback(module)
        except Exception:
            pass  # the program matters more than our view of it
