"""Records when the stages of a start begin and end (defined in docs/startup.md).

No function of torch is wrapped and no traceback shows our frames: dictionaries and an attribute
that torch uses at the right moment are replaced by ones that notify us once and then restore
themselves.
"""

from time import monotonic_ns

from . import imports, progress


def install():
    if progress.current() is None:
        return
    imports.watch_script(_import_begins, _import_ended)
    imports.after_import("torch.distributed.rendezvous", _watch_rendezvous)
    imports.after_import("torch.distributed.distributed_c10d", _watch_names)
    imports.after_import("torch.optim.optimizer", _watch_optimizers)


def load_begins():
    """Notes that a checkpoint load begins, unless the program is already training."""
    words = _words_before_the_step()
    if words is not None:
        _stamp_once(words, progress.LOAD_BEGIN_AT_NS)
        words[progress.LOAD_DONE_AT_NS] = 0


def load_ends():
    """Notes that a load has ended, successfully or not."""
    words = _words_before_the_step()
    if words is not None and words[progress.LOAD_BEGIN_AT_NS]:
        words[progress.LOAD_DONE_AT_NS] = monotonic_ns()


class loading:  # noqa: N801 (a context manager; contextlib would be one more import)
    def __enter__(self):
        load_begins()

    def __exit__(self, *exception):
        load_ends()


def _words_before_the_step():
    record = progress.current()  # None in a forked child
    return record.words if record is not None and not record.words[progress.STEPS] else None


def _stamp_once(words, place):
    imports.watch_script(None, None)  # later imports belong to later stages
    if not words[place]:
        words[place] = monotonic_ns()


def _stamp(place):
    words = _words_before_the_step()
    if words is not None:
        _stamp_once(words, place)


def _import_begins():
    words = _words_before_the_step()
    if words is not None:
        words[progress.IMPORTS_DONE_AT_NS] = 1  # an import is running


def _import_ended():
    words = _words_before_the_step()
    if words is not None:
        words[progress.IMPORTS_DONE_AT_NS] = monotonic_ns()


def _watch_rendezvous(module):
    if type(module._rendezvous_handlers) is dict:
        module._rendezvous_handlers = _Handlers(module)


class _Handlers(dict):
    """torch's rendezvous handlers by scheme, which init_process_group looks up first."""

    __slots__ = ("_module",)

    def __init__(self, module):
        dict.__init__(self, module._rendezvous_handlers)
        self._module = module

    def __getitem__(self, scheme):
        if self._module._rendezvous_handlers is self:
            self._module._rendezvous_handlers = dict(self)
        _stamp(progress.GROUP_BEGIN_AT_NS)
        return dict.__getitem__(self, scheme)


def _watch_names(c10d):
    if type(c10d._pg_names) is dict and not c10d._pg_names:
        c10d._pg_names = _Names(c10d)


class _Names(dict):
    """Group -> name: torch checks that a name is free, makes the group, and adds it."""

    __slots__ = ("_c10d",)

    def __init__(self, c10d):
        dict.__init__(self)
        self._c10d = c10d

    def values(self):
        _stamp(progress.GROUP_BEGIN_AT_NS)
        return dict.values(self)

    def __setitem__(self, group, name):
        dict.__setitem__(self, group, name)
        if self._c10d._pg_names is self:
            self._c10d._pg_names = dict(self)
        _stamp(progress.GROUP_DONE_AT_NS)


def _watch_optimizers(module):
    if "defaults" not in module.Optimizer.__dict__:
        module.Optimizer.defaults = _Defaults()


class _Defaults:
    """Replaces Optimizer.defaults, the first attribute that an optimizer sets, until one does."""

    def __get__(self, optimizer, kind=None):
        if optimizer is None:
            raise AttributeError("defaults")
        try:
            return optimizer.__dict__["defaults"]
        except KeyError:
            raise AttributeError("defaults") from None

    def __set__(self, optimizer, value):
        for kind in type(optimizer).__mro__:
            if kind.__dict__.get("defaults") is self:
                del kind.defaults
        optimizer.__dict__["defaults"] = value
        _stamp(progress.OPTIMIZER_AT_NS)
