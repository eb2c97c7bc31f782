"""Notifies of modules that the script imports, and of the beginning and end of its imports. Imports
nothing by itself."""

import sys

_ModuleSpec = type(sys.__spec__)
_FINDS_LOADERS = sys.version_info < (3, 12)  # older ones ask finders without find_spec, too
_waiting = {}  # name -> callbacks for the imported module
_begins = _ended = None  # called before and after each import of the script
_is_importing = False  # an import of the script is running: nested imports belong to it


def after_import(name, callback):
    """Calls `callback(module)` once the module has been imported. Its exceptions are ignored."""
    module = sys.modules.get(name)
    if module is not None:
        _tell([callback], module)
        return
    _waiting.setdefault(name, []).append(callback)
    _watch()


def cancel(name, callback):
    """Undoes an after_import() that may still wait."""
    if callback in _waiting.get(name, ()):
        _waiting[name].remove(callback)
        if not _waiting[name]:
            del _waiting[name]
        _watch()


def watch_script(begins, ended):
    """Calls begins() and ended() around each import by code of __main__; None: stop."""
    global _begins, _ended
    _begins, _ended = begins, ended
    _watch()


def _watch():
    wanted = bool(_waiting) or _begins is not None
    if wanted and _ImportWatch not in sys.meta_path:
        sys.meta_path.insert(0, _ImportWatch)
    elif not wanted and _ImportWatch in sys.meta_path:
        sys.meta_path.remove(_ImportWatch)


class _ImportWatch:
    """An import finder that finds nothing itself. It is removed when no callback is left."""

    @staticmethod
    def find_spec(name, path=None, target=None):
        is_wanted = name in _waiting
        is_scripts = _begins is not None and not _is_importing and _is_asked_by_script()
        if not is_wanted and not is_scripts:
            return None
        spec = _found(name, path, target)
        try:
            if is_scripts and type(spec) is _ModuleSpec:
                spec.__class__ = _ScriptsSpec
            if is_wanted:
                _tell_after_import(spec.loader, name)
        except Exception:
            pass  # an unknown kind of loader: we see nothing, but the module is imported
        return spec


def _found(name, path, target):
    """What the import system would find; None also if it is left to find that itself."""
    for finder in sys.meta_path:
        if finder is _ImportWatch:
            continue
        if hasattr(finder, "find_spec"):
            spec = finder.find_spec(name, path, target)
            if spec is not None:
                return spec
        elif _FINDS_LOADERS and finder.find_module(name, path) is not None:
            return None
    return None


def _is_asked_by_script():
    frame = sys._getframe(2)
    while frame is not None and _is_of_import_system(frame.f_code):
        frame = frame.f_back
    return frame is not None and frame.f_globals.get("__name__") == "__main__"


def _is_of_import_system(code):
    file = code.co_filename
    return file.startswith("<frozen importlib") or (
        code.co_name == "import_module" and file.endswith("importlib/__init__.py"))


class _ScriptsSpec(_ModuleSpec):
    """A spec that notices when the module's code runs, because the import system records that in
    the spec. A wrapper function would be shown in tracebacks."""

    @property
    def _initializing(self):
        return self.__dict__.get("_initializing", False)

    @_initializing.setter
    def _initializing(self, value):
        global _is_importing
        self.__dict__["_initializing"] = value
        _is_importing = bool(value)
        call = _begins if value else _ended
        if not value:
            self.__class__ = _ModuleSpec
        if call is not None:
            call()


def _tell_after_import(loader, name):
    """The callbacks wait until the module runs: importlib.util.find_spec only asks for it."""
    exec_module = loader.exec_module

    def exec_and_tell(module):
        del loader.exec_module
        exec_module(module)
        callbacks = _waiting.pop(name, ())
        _watch()
        _tell(callbacks, module)

    loader.exec_module = exec_and_tell


def _tell(callbacks, module):
    for callback in callbacks:
        try:
            callback(module)
        except Exception:
            pass  # the program matters more than our view of it
