"""Data sets in Megatron-LM's format, and a specification with two sources of them."""

import struct

SPEC = """
seed = 5
[[source]]
name = "web"
paths = "web-*.idx"
[[source]]
name = "code"
paths = ["code.bin"]
[mixture]
web = [[0, 0.9], [10, 0.4]]
code = 0.3
[batch]
tokens = 6144
context = 128
micro = 2
[shuffle]
block = 16
window = 4
[balance]
cost = { a = 1.0, b = 0.01 }
"""


def write(prefix, samples, code=8, width="H"):
    """A data set of Megatron-LM with these samples."""
    offsets, end = [], 0
    for sample in samples:
        offsets.append(end)
        end += len(sample) * struct.calcsize(width)
    count = len(samples)
    prefix.with_suffix(".idx").write_bytes(
        b"MMIDIDX\0\0" + struct.pack("<QBQQ", 1, code, count, count + 1)
        + struct.pack(f"<{count}i", *map(len, samples)) + struct.pack(f"<{count}q", *offsets)
        + struct.pack(f"<{count + 1}q", *range(count + 1)))
    prefix.with_suffix(".bin").write_bytes(
        b"".join(struct.pack(f"<{len(sample)}{width}", *sample) for sample in samples))
