"""Hides symbols of a shared library: a copy that exports fewer of them."""

import struct

SECTION_DYNSYM = 11
HEADER_SECTIONS, HEADER_SECTION_BYTES, HEADER_SECTION_COUNT = 40, 58, 60


def _sections(data):
    (at,) = struct.unpack_from("<Q", data, HEADER_SECTIONS)
    size, count = struct.unpack_from("<HH", data, HEADER_SECTION_BYTES)
    for number in range(count):
        # name, type, flags, address, offset, size, link, info, alignment, entry size
        yield struct.unpack_from("<IIQQQQIIQQ", data, at + number * size)


def hide(data, is_hidden):
    """The bytes of an ELF file of 64 bits in which the exported symbols for which
    `is_hidden(name)` holds have another name, so that dlsym() does not find them. The hash table
    keeps the place of the old name."""
    data = bytearray(data)
    sections = list(_sections(data))
    hidden = []
    for _, kind, _, _, offset, size, link, _, _, entry in sections:
        if kind != SECTION_DYNSYM:
            continue
        strings = sections[link][4]
        for at in range(offset, offset + size, entry):
            (name_at,) = struct.unpack_from("<I", data, at)
            start = strings + name_at
            name = data[start:data.index(0, start)].decode()
            if name and is_hidden(name):
                data[start] = ord("_")
                hidden.append(name)
    return bytes(data), hidden
