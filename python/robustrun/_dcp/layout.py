"""Where the bytes of a box lie in a larger row-major box. Pure; sizes in elements, spans in bytes.

DCP requests boxes that may differ from the saved ones. The engine reads ranges of bytes, and must
read whole pieces to verify them. So rows closer together than a piece are read as one range,
including the bytes between them; rows farther apart are read separately.
"""

import itertools

APART_BYTES = 8 << 20  # the size of a piece (docs/checkpoint-format.md)


def strides_of(shape):
    strides = [1] * len(shape)
    for d in range(len(shape) - 2, -1, -1):
        strides[d] = strides[d + 1] * shape[d + 1]
    return strides


def is_inside(shape, offsets, lengths):
    return len(shape) == len(offsets) == len(lengths) and all(
        0 <= begin and 0 < length and begin + length <= size
        for size, begin, length in zip(shape, offsets, lengths))


def is_one_run(shape, lengths):
    """Whether the box's elements are contiguous."""
    partial = [d for d, size in enumerate(shape) if lengths[d] != size]
    return not partial or all(length == 1 for length in lengths[:partial[-1]])


def spans_of(shape, offsets, lengths, element_bytes, apart_bytes=APART_BYTES):
    """The spans [(begin, bytes)] that cover a box inside `shape`, ascending. The first begins with
    the box's first element, and the last ends with its last."""
    strides = strides_of(shape)
    outer = 0
    while outer < len(shape) and strides[outer] * element_bytes > apart_bytes \
            and any(length != size for length, size in zip(lengths[outer + 1:], shape[outer + 1:])):
        outer += 1
    first = sum(begin * stride for begin, stride in zip(offsets, strides))
    inner = 1 + sum((length - 1) * stride
                    for length, stride in zip(lengths[outer:], strides[outer:]))
    starts = (first + sum(index * stride for index, stride in zip(at, strides))
              for at in itertools.product(*map(range, lengths[:outer])))
    return [(start * element_bytes, inner * element_bytes) for start in starts]
