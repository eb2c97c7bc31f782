"""Encodes plain Python values as bytes for checkpoints. Decoding executes nothing.

Values: None, bool, int, float, str, bytes, list, tuple, dict (OrderedDict and defaultdict become
dict), Counter, torch.dtype, torch.Size, and two kinds of tensors: a Ref names a tensor that is
stored elsewhere, an Inline contains its bytes. docs/checkpoints.md describes the format.
"""

import collections
import struct

DEPTH_MAX = 64
BYTES_MAX = 48 << 20  # per value; the engine takes at most 64 MiB for all values of a rank
INT_BYTES_MAX = 4096
VERSION = b"\x01"

Ref = collections.namedtuple("Ref", "name dtype shape")
Inline = collections.namedtuple("Inline", "dtype shape data")


class NotNeutral(TypeError):
    """A value has no neutral form; the message names it."""


class Damaged(ValueError):
    """The bytes are not an encoded value."""


def encode(value, path="value"):
    parts = [VERSION]
    _put(parts, value, path, 0)
    data = b"".join(parts)
    if len(data) > BYTES_MAX:
        raise NotNeutral("cannot save %s: %d bytes of plain values exceed the limit of %d"
                         % (path, len(data), BYTES_MAX))
    return data


def plain(value):
    """A numpy number as a Python number; any other value unchanged."""
    if type(value).__module__ == "numpy" and getattr(value, "shape", None) == ():
        return value.item()
    return value


def is_leaf(value):
    """Whether the value is plain and contains no other values."""
    return value is None or type(value) in (bool, int, float, str, bytes) or _torch_type(value)


def _torch_type(value):
    kind = type(value)
    return kind.__module__ == "torch" and kind.__name__ in ("dtype", "Size")


def _put(parts, value, path, depth):
    if depth > DEPTH_MAX:
        raise NotNeutral("cannot save %s: nested deeper than %d levels" % (path, DEPTH_MAX))
    value = plain(value)
    kind = type(value)
    if value is None:
        parts.append(b"N")
    elif kind is bool:
        parts.append(b"T" if value else b"F")
    elif kind is int:
        size = value.bit_length() // 8 + 1
        if size > INT_BYTES_MAX:
            raise NotNeutral("cannot save %s: an integer of more than 4096 bytes" % path)
        _put_bytes(parts, b"i", value.to_bytes(size, "little", signed=True))
    elif kind is float:
        parts.append(b"f" + struct.pack("<d", value))
    elif kind is str:
        _put_bytes(parts, b"s", value.encode("utf-8", "surrogatepass"))
    elif kind is bytes:
        _put_bytes(parts, b"b", value)
    elif kind in (list, tuple):
        _put_count(parts, b"l" if kind is list else b"t", value)
        for index, item in enumerate(value):
            _put(parts, item, "%s/%d" % (path, index), depth + 1)
    elif kind in (dict, collections.OrderedDict, collections.defaultdict, collections.Counter):
        _put_count(parts, b"c" if kind is collections.Counter else b"d", value)
        for key, item in value.items():
            _put(parts, key, "a key of %s" % path, depth + 1)
            _put(parts, item, "%s/%s" % (path, key), depth + 1)
    elif kind is Ref or kind is Inline:
        _put_bytes(parts, b"r" if kind is Ref else b"x", value.dtype.encode())
        _put_sizes(parts, value.shape)
        data = value.name.encode("utf-8", "surrogatepass") if kind is Ref else value.data
        _put_bytes(parts, b"", data)
    elif _torch_type(value) and kind.__name__ == "dtype":
        _put_bytes(parts, b"D", str(value).rpartition(".")[2].encode())
    elif _torch_type(value):
        parts.append(b"S")
        _put_sizes(parts, value)
    else:
        raise NotNeutral("cannot save %s: a %s.%s has no neutral form, and nothing is pickled"
                         % (path, kind.__module__, kind.__qualname__))


def _put_bytes(parts, tag, data):
    parts.append(tag + struct.pack("<I", len(data)) + data)


def _put_count(parts, tag, value):
    parts.append(tag + struct.pack("<I", len(value)))


def _put_sizes(parts, sizes):
    parts.append(struct.pack("<I%dQ" % len(sizes), len(sizes), *sizes))


def decode(data):
    """Decodes a value. Raises Damaged if the bytes are not valid. Memory use is limited to a small
    multiple of len(data)."""
    if len(data) > BYTES_MAX + len(VERSION) or data[:1] != VERSION:
        raise Damaged("cannot read plain values: they are of another version, or too large")
    reader = _Reader(data)
    try:
        value = reader.value(0)
    except (struct.error, UnicodeDecodeError, TypeError) as error:
        raise Damaged("cannot read plain values: %s" % error) from None
    if reader.at != len(data):
        raise Damaged("cannot read plain values: there are bytes after the end")
    return value


class _Reader:
    def __init__(self, data):
        self.data = data
        self.at = 1

    def value(self, depth):
        if depth > DEPTH_MAX:
            raise Damaged("cannot read plain values: nested too deep")
        tag = self.raw(1)
        if tag in _CONSTANTS:
            return _CONSTANTS[tag]
        if tag == b"f":
            return struct.unpack("<d", self.raw(8))[0]
        if tag == b"i":
            return int.from_bytes(self.sized(INT_BYTES_MAX), "little", signed=True)
        if tag in (b"s", b"b"):
            data = self.sized(BYTES_MAX)
            return data if tag == b"b" else data.decode("utf-8", "surrogatepass")
        if tag in (b"l", b"t"):
            items = [self.value(depth + 1) for _ in range(self.count(1))]
            return items if tag == b"l" else tuple(items)
        if tag in (b"d", b"c"):
            made = {} if tag == b"d" else collections.Counter()
            for _ in range(self.count(2)):
                key = self.value(depth + 1)
                made[key] = self.value(depth + 1)
            return made
        if tag in (b"r", b"x"):
            dtype, shape = self.sized(64).decode("ascii"), self.sizes()
            data = self.sized(BYTES_MAX)
            return Ref(data.decode("utf-8", "surrogatepass"), dtype, shape) if tag == b"r" \
                else Inline(dtype, shape, data)
        return self.torch_value(tag)

    def torch_value(self, tag):
        import torch

        if tag == b"S":
            return torch.Size(self.sizes())
        if tag == b"D":
            found = getattr(torch, self.sized(64).decode("ascii"), None)
            if isinstance(found, torch.dtype):
                return found
        raise Damaged("cannot read plain values: no such kind of value")

    def raw(self, size):
        data = self.data[self.at:self.at + size]
        if len(data) != size:
            raise Damaged("cannot read plain values: they are cut off")
        self.at += size
        return data

    def number(self):
        return struct.unpack("<I", self.raw(4))[0]

    def sized(self, size_max):
        size = self.number()
        if size > size_max:
            raise Damaged("cannot read plain values: a size is too large")
        return self.raw(size)

    def count(self, bytes_each):
        count = self.number()
        if count * bytes_each > len(self.data) - self.at:
            raise Damaged("cannot read plain values: they are cut off")
        return count

    def sizes(self):
        count = self.number()
        if count > 64:
            raise Damaged("cannot read plain values: too many dimensions")
        return struct.unpack("<%dQ" % count, self.raw(8 * count))


_CONSTANTS = {b"N": None, b"T": True, b"F": False}
