"""Converts a script's state to named tensors and plain values, and restores it in place.

A state consists of dicts, lists and tuples that contain tensors, plain values, and objects with
state_dict() and load_state_dict(). Planning a load checks everything and changes nothing; an error
names all items that do not match.
"""

import collections

import torch

from . import codec, tensor_bytes
from .codec import Inline, Ref

PROBLEMS_SHOWN = 12
DICTS = (dict, collections.OrderedDict, collections.defaultdict, collections.Counter)


class StateMismatch(ValueError):
    """The checkpoint and the state do not have the same items."""


def child(path, key):
    return "%s/%s" % (path, key) if path else str(key)


def _is_object(value):
    return callable(getattr(value, "state_dict", None)) and not isinstance(value, type)


def flatten(state):
    """Splits a state into (tree of plain values with a Ref for each tensor, {name: tensor}). Tied
    weights, which share their bytes, appear once."""
    tensors, names = {}, {}

    def take(value, path, depth):
        if depth > codec.DEPTH_MAX:
            raise codec.NotNeutral("cannot save %s: nested too deep, or in itself" % path[:200])
        if isinstance(value, torch.Tensor):
            return put(value, path or "tensor")
        kind = type(value)
        if kind in DICTS:
            items = [(key, take(item, child(path, key), depth + 1)) for key, item in value.items()]
            return collections.Counter(dict(items)) if kind is collections.Counter else dict(items)
        if kind in (list, tuple):
            return kind([take(item, child(path, i), depth + 1) for i, item in enumerate(value)])
        return take(value.state_dict(), path, depth + 1) if _is_object(value) else value

    def put(tensor, path):
        tensor_bytes.check(tensor, path)
        known = tensor_bytes.identity(tensor)
        name = names.setdefault(known, path)
        if name == path:
            if path in tensors:
                raise codec.NotNeutral("cannot save two tensors that are both named '%s'" % path)
            tensors[path] = tensor
        return Ref(name, tensor_bytes.dtype_name(tensor.dtype), tuple(tensor.shape))

    return take(state, "", 0), tensors


def inline(value, path):
    """The state as plain values, with each tensor replaced by an Inline."""
    if isinstance(value, torch.Tensor):
        tensor_bytes.check(value, path)
        return Inline(tensor_bytes.dtype_name(value.dtype), tuple(value.shape),
                      tensor_bytes.to_bytes(value))
    if type(value) in DICTS:
        items = {key: inline(item, child(path, key)) for key, item in value.items()}
        return collections.Counter(items) if type(value) is collections.Counter else items
    if type(value) in (list, tuple):
        return type(value)([inline(item, child(path, i)) for i, item in enumerate(value)])
    return inline(value.state_dict(), path) if _is_object(value) else value


def outline(value):
    """The inverse of inline(). Raises ValueError if a tensor's bytes do not match its shape."""
    if type(value) is Inline:
        return tensor_bytes.from_bytes(*value)
    if isinstance(value, dict):
        made = {key: outline(item) for key, item in value.items()}
        return collections.Counter(made) if type(value) is collections.Counter else made
    if type(value) in (list, tuple):
        return type(value)([outline(item) for item in value])
    return value


def _is_bare(value):
    """Whether the value contains neither tensors nor objects, so that it can be replaced whole."""
    if isinstance(value, dict):
        return all(_is_bare(item) for item in value.values())
    if type(value) in (list, tuple):
        return all(_is_bare(item) for item in value)
    return codec.is_leaf(codec.plain(value))


class Plan:
    """Which tensors to read, and the calls that complete the load once all bytes are verified."""

    def __init__(self):
        self.reads = []  # (Ref, tensor)
        self.fresh = []  # indices into reads of tensors that make_fresh() has yet to allocate
        self.after = []  # calls
        self.problems = []

    def restore(self, state, tree):
        """Plans the restoration of `state`. Raises StateMismatch naming what does not match."""
        placed = self._place(state, tree, "")
        if placed is not state:
            self.problems.append("the state must be a dict, a list, a tensor or an object")
        if self.problems:
            shown = self.problems[:PROBLEMS_SHOWN]
            if len(self.problems) > len(shown):
                shown.append("and %d more" % (len(self.problems) - len(shown)))
            raise StateMismatch("cannot load the checkpoint: " + "; ".join(shown))

    def _place(self, target, saved, path):
        """The object that should replace `target` in its container: usually `target` itself."""
        if isinstance(target, torch.Tensor):
            return self._place_tensor(target, saved, path)
        if callable(getattr(target, "load_state_dict", None)):
            return self._place_object(target, saved, path)
        if _is_bare(target) and _is_bare(saved):
            return self._place_values(target, saved, path)
        if type(target) in DICTS and isinstance(saved, dict):
            self._same_keys(target, saved, path)
            for key in [key for key in target if key in saved]:
                self._put_back(target, key, saved[key], path)
        elif type(target) is list and type(saved) is list and len(target) == len(saved):
            for index, item in enumerate(saved):
                self._put_back(target, index, item, path)
        elif type(target) is tuple and type(saved) is tuple and len(target) == len(saved):
            made = tuple([self._place(item, saved[index], child(path, index))
                          for index, item in enumerate(target)])
            if any(item is not target[index] for index, item in enumerate(made)):
                return made
        else:
            self.problems.append("'%s' is %s here and %s in the checkpoint"
                                 % (path, _described(target), _described(saved)))
        return target

    def _put_back(self, container, key, saved, path):
        item = self._place(container[key], saved, child(path, key))
        if item is not container[key]:
            self.after.append(lambda: container.__setitem__(key, item))

    def _place_values(self, target, saved, path):
        if type(target) in DICTS and isinstance(saved, dict):
            self.after.append(lambda: (target.clear(), target.update(saved)))
        elif type(target) is list and type(saved) is list:
            self.after.append(lambda: target.__setitem__(slice(None), saved))
        elif isinstance(target, (dict, list)) or isinstance(saved, (dict, list)):
            self.problems.append("'%s' is %s here and %s in the checkpoint"
                                 % (path, _described(target), _described(saved)))
        else:
            return saved
        return target

    def _place_tensor(self, target, saved, path):
        if type(saved) is not Ref:
            self.problems.append("'%s' is a tensor here and %s in the checkpoint"
                                 % (path, _described(saved)))
        elif tuple(target.shape) != saved.shape:
            self.problems.append("'%s' has shape %s here and %s in the checkpoint"
                                 % (path, tuple(target.shape), saved.shape))
        elif tensor_bytes.dtype_name(target.dtype) != saved.dtype:
            self.problems.append("'%s' is of type %s here and %s in the checkpoint"
                                 % (path, tensor_bytes.dtype_name(target.dtype), saved.dtype))
        else:
            self.reads.append((saved, target))
        return target

    def _place_object(self, target, saved, path):
        if isinstance(target, torch.nn.Module) and isinstance(saved, dict):
            own = target.state_dict()
            if _is_own_memory(target, own):
                self._same_keys(own, saved, path)
                for key in own:
                    if key in saved:
                        self._place_tensor(own[key], saved[key], child(path, key))
                return target
        built = self._build(saved, path)
        self.after.append(lambda: target.load_state_dict(_held(built)))
        return target

    def _build(self, saved, path):
        """The saved values, with a holder for a new tensor in place of each Ref."""
        if type(saved) is Ref:
            if tensor_bytes.dtype_of(saved.dtype) is None:
                self.problems.append("this torch has no type %s for '%s'" % (saved.dtype, path))
                return None
            self.fresh.append(len(self.reads))
            holder = _Holder()
            self.reads.append((saved, holder))
            return holder
        if isinstance(saved, dict):
            made = {key: self._build(item, child(path, key)) for key, item in saved.items()}
            made = collections.Counter(made) if type(saved) is collections.Counter else made
            return self._fill(made, list(made.items()))
        if type(saved) is list:
            made = [self._build(item, child(path, i)) for i, item in enumerate(saved)]
            return self._fill(made, list(enumerate(made)))
        if type(saved) is tuple:
            return tuple([self._build(item, child(path, i)) for i, item in enumerate(saved)])
        return saved

    def _fill(self, made, items):
        for key, item in items:
            if type(item) is _Holder or type(item) is tuple:
                self.after.append(lambda key=key, item=item:
                                  made.__setitem__(key, _held(item)))
        return made

    def _same_keys(self, here, there, path):
        for key in here:
            if key not in there:
                self.problems.append("'%s' is not in the checkpoint" % child(path, key))
        for key in there:
            if key not in here:
                self.problems.append("'%s' is in the checkpoint, but not in the state"
                                     % child(path, key))


class _Holder:
    """Holds the place of a tensor that is allocated after the checkpoint has been checked."""

    tensor = None


def _held(item):
    if type(item) is tuple:
        return tuple([_held(each) for each in item])
    return item.tensor if type(item) is _Holder else item


def make_fresh(plan):
    """Allocates the tensors that _build() left open."""
    for index in plan.fresh:
        ref, holder = plan.reads[index]
        holder.tensor = tensor_bytes.new(ref.dtype, ref.shape)
        plan.reads[index] = (ref, holder.tensor)


def _is_own_memory(module, own):
    """Whether writing to the tensors from state_dict() writes to the module. Not with hooks that
    make copies, nor with extra states that are not tensors."""
    def key(tensor):
        return (str(tensor.device), tensor.data_ptr(), tuple(tensor.shape), tensor.dtype)

    if not all(isinstance(value, torch.Tensor) and value.device.type != "meta"
               and not tensor_bytes.is_wrapped(value) for value in own.values()):
        return False
    mine = {key(each) for each in list(module.parameters()) + list(module.buffers())}
    return all(key(value) in mine for value in own.values())


def _described(value):
    if isinstance(value, torch.Tensor) or type(value) is Ref:
        return "a tensor"
    return "a %s" % type(value).__name__
