"""Encodes and decodes the blobs of librobustrun.so (checkpoint/c_api/blobs.h)."""

import collections
import struct

# A box of a tensor as one rank holds it, row-major; shapes and offsets are tuples.
Shard = collections.namedtuple("Shard", "name dtype rank global_shape offsets shape bytes")


_SIZE = struct.Struct("<I").unpack_from
_RANK = struct.Struct("<II").unpack_from


def _box(dimensions, data):
    """(global shape, offsets, shape, bytes) of a shard."""
    sizes = struct.unpack("<%dQ" % (3 * dimensions + 1), data)
    return (sizes[:dimensions], sizes[dimensions:2 * dimensions],
            sizes[2 * dimensions:3 * dimensions], sizes[-1])


class Fields:
    """Reads the fields of a blob in order."""

    def __init__(self, data):
        self.data = data
        self.at = 0

    def numbers(self, form):
        values = struct.unpack_from("<" + form, self.data, self.at)
        self.at += struct.calcsize("<" + form)
        return values

    def number(self, form="I"):
        return self.numbers(form)[0]

    def raw(self):
        size = self.number()
        self.at += size
        return self.data[self.at - size:self.at]

    def text(self):
        return self.raw().decode("utf-8", "surrogateescape")

    def texts(self):
        return [self.text() for _ in range(self.number())]

    def shards(self):
        """A list of Shards. There may be tens of thousands, so this is written for speed, and
        values that many shards have in common are shared."""
        data, at = self.data, self.at + 4
        shards, types, boxes = [], {}, {}
        for _ in range(self.number()):
            begin = at + 4
            at = begin + _SIZE(data, at)[0]
            name = data[begin:at].decode("utf-8", "surrogateescape")
            begin = at + 4
            at = begin + _SIZE(data, at)[0]
            kind = data[begin:at]
            dtype = types.get(kind)
            if dtype is None:
                dtype = types[kind] = kind.decode("utf-8", "surrogateescape")
            rank, dimensions = _RANK(data, at)
            begin = at + 8
            at = begin + 8 + 24 * dimensions
            sizes = data[begin:at]
            box = boxes.get(sizes)
            if box is None:
                box = boxes[sizes] = _box(dimensions, sizes)
            shards.append(Shard(name, dtype, rank, *box))
        self.at = at
        return shards


def text(value):
    data = value if isinstance(value, bytes) else value.encode("utf-8", "surrogateescape")
    return struct.pack("<I", len(data)) + data


def texts(values):
    return struct.pack("<I", len(values)) + b"".join(text(value) for value in values)
