"""Tensors as bytes, for checkpoints: names of types, memory, identity."""

import ctypes

import torch

CPU = torch.device("cpu")

# Names of types in safetensors; other types have torch's name in a checkpoint.
_SAFETENSORS = {
    "float64": "F64", "float32": "F32", "float16": "F16", "bfloat16": "BF16", "int64": "I64",
    "int32": "I32", "int16": "I16", "int8": "I8", "uint8": "U8", "uint16": "U16", "uint32": "U32",
    "uint64": "U64", "bool": "BOOL", "complex64": "C64", "float8_e4m3fn": "F8_E4M3",
    "float8_e5m2": "F8_E5M2", "float8_e8m0fnu": "F8_E8M0"}
_TORCH = {name: torch_name for torch_name, name in _SAFETENSORS.items()}


class CannotSave(TypeError):
    """A tensor cannot be saved as it is; the message names it."""


def dtype_name(dtype):
    name = str(dtype).rpartition(".")[2]
    return _SAFETENSORS.get(name, name)


def dtype_of(name):
    """torch's type of that name; None if this version of torch has none."""
    found = getattr(torch, _TORCH.get(name, name), None)
    return found if isinstance(found, torch.dtype) else None


def byte_size(tensor):
    return tensor.numel() * tensor.element_size()


def identity(tensor):
    """Equal for tensors that share the same bytes: tied weights."""
    if tensor.numel() == 0:
        return id(tensor)
    return (str(tensor.device), tensor.data_ptr(), tuple(tensor.shape), tensor.stride(),
            tensor.dtype)


def check(tensor, path):
    """Raises CannotSave unless the tensor is plain memory."""
    why = None
    if tensor.layout is not torch.strided:
        why = "it is %s" % str(tensor.layout).rpartition(".")[2]
    elif tensor.is_quantized:
        why = "it is quantized"
    elif tensor.device.type == "meta":
        why = "it is on the meta device and has no values"
    elif is_wrapped(tensor):
        why = "it is a %s, distributed or wrapped; use robustrun.dcp" % type(tensor).__name__
    if why:
        raise CannotSave("cannot save tensor '%s': %s" % (path, why))


def is_wrapped(tensor):
    """Whether the values are not in the tensor's own memory, as with DTensor."""
    if type(tensor) in (torch.Tensor, torch.nn.Parameter):
        return False
    try:
        from torch.utils._python_dispatch import is_traceable_wrapper_subclass

        return is_traceable_wrapper_subclass(tensor)
    except ImportError:
        return True


def as_memory(tensor):
    """The values as a contiguous CPU tensor: the tensor itself if it is one, else a copy."""
    tensor = tensor.detach()
    if tensor.is_conj() or tensor.is_neg():
        tensor = tensor.resolve_conj().resolve_neg()
    if tensor.device.type != "cpu":
        tensor = tensor.cpu()
    return tensor.contiguous()


def is_memory(tensor, device=CPU):
    return tensor.device == device and tensor.is_contiguous() and \
        not tensor.is_conj() and not tensor.is_neg()


def to_bytes(tensor):
    memory = as_memory(tensor)
    return ctypes.string_at(memory.data_ptr(), byte_size(memory)) if memory.numel() else b""


def from_bytes(dtype, shape, data):
    """A new tensor with these bytes. Raises ValueError if their number does not match the shape."""
    kind = dtype_of(dtype)
    if kind is None:
        raise ValueError("this torch has no type %s" % dtype)
    count = 1
    for size in shape:
        count *= size
    if count * torch.empty((), dtype=kind).element_size() != len(data):
        raise ValueError("%d bytes are not a tensor of %s %s" % (len(data), dtype, tuple(shape)))
    tensor = torch.empty(tuple(shape), dtype=kind)
    if data:
        ctypes.memmove(tensor.data_ptr(), data, len(data))
    return tensor


def new(dtype, shape, device=None):
    kind = dtype_of(dtype)
    if kind is None:
        raise ValueError("this torch has no type %s" % dtype)
    return torch.empty(tuple(shape), dtype=kind, device=device)


def was_written(tensor):
    """Tells autograd that the tensor's memory was changed."""
    try:
        torch.autograd.graph.increment_version(tensor)
    except (AttributeError, RuntimeError):
        pass  # inference tensors have no version


def version(tensor):
    try:
        return tensor._version
    except RuntimeError:
        return None  # inference tensors have none


def random_states():
    """The states of the random number generators as plain values: Python's and torch's, and numpy's
    and CUDA's if they are in use."""
    import random
    import sys

    kind, words, gauss = random.getstate()
    states = {"python": (kind, words, gauss), "torch": to_bytes(torch.get_rng_state())}
    if "numpy" in sys.modules:
        name, keys, position, has_gauss, cached = sys.modules["numpy"].random.get_state()
        states["numpy"] = (name, keys.tobytes(), int(position), int(has_gauss), float(cached))
    if torch.cuda.is_available() and torch.cuda.is_initialized():
        states["cuda"] = to_bytes(torch.cuda.get_rng_state())
    return states


def set_random_states(states):
    import random
    import sys

    if "python" in states:
        random.setstate(states["python"])
    if "torch" in states:
        torch.set_rng_state(_byte_tensor(states["torch"]))
    if "numpy" in states and "numpy" in sys.modules:
        numpy = sys.modules["numpy"]
        name, keys, position, has_gauss, cached = states["numpy"]
        keys = numpy.frombuffer(keys, dtype=numpy.uint32)
        numpy.random.set_state((name, keys, position, has_gauss, cached))
    if "cuda" in states and torch.cuda.is_available():
        torch.cuda.set_rng_state(_byte_tensor(states["cuda"]))


def _byte_tensor(data):
    return from_bytes("U8", (len(data),), data)


def copy(target, source):
    """Copies the values of `source` to `target`, unless they share the same bytes."""
    if identity(target) != identity(source):
        with torch.no_grad():
            target.copy_(source)
