"""Journals and checkpoints taken apart, changed, and put together with right checksums, so that the
change reaches the code behind them (docs/formats/journal.md, docs/checkpoint-format.md)."""

import ctypes
import struct

from checkpoint.reader import crc32c

XXH3 = ctypes.CDLL("libxxhash.so.0").XXH3_64bits_withSeed
XXH3.restype, XXH3.argtypes = ctypes.c_uint64, (ctypes.c_char_p, ctypes.c_size_t, ctypes.c_uint64)

HEADER, KEY_AT = 64, 16
NUMBERS = (0, 1, 2, 3, 127, 128, 255, 1 << 16, (1 << 31) - 1, 1 << 31, (1 << 32) - 1, 1 << 32,
           1 << 40, (1 << 63) - 1, 1 << 63, (1 << 64) - 1)
TEXTS = (b"", b"\0", b"\x1b[2J\x1b]0;x\x07", "\u202e\u009b".encode(), b"\xff\xfe\xfd",
         b"A" * 70_000, b"../../../../etc/passwd", b"%s%n{}{0}", b"\n" * 1000, b"-1", b"9" * 400)
DEPTH_MAX = 6


def xxh3(data, seed=0):
    return XXH3(data, len(data), seed)


# Journals

def records_of(journal):
    """The header, and the records as [kind, payload]."""
    records, at = [], HEADER
    while at + 24 <= len(journal):
        size, kind, _ = struct.unpack_from("<IIQ", journal, at)
        records.append([kind, journal[at + 16:at + 16 + size]])
        at += 24 + size
    return journal[:HEADER], records


def journal_of(header, records):
    (seed,) = struct.unpack_from("<Q", header, KEY_AT)
    parts = [header[:56] + struct.pack("<Q", xxh3(header[:56]))]
    for sequence, (kind, payload) in enumerate(records):
        record = struct.pack("<IIQ", len(payload), kind, sequence) + payload
        parts.append(record + struct.pack("<Q", xxh3(record, seed)))
    return b"".join(parts)


def changed_journal(journal, draw):
    """A journal with some changes, and their names."""
    header, records = records_of(journal)
    done = []
    for _ in range(draw.choice((1, 1, 1, 2, 4))):
        how = draw.choice(("field", "field", "field", "field", "bytes", "drop", "repeat", "swap",
                           "kind", "many", "cut"))
        place = draw.randrange(len(records))
        kind, payload = records[place]
        if how == "field":
            records[place][1] = changed_message(payload, draw)
        elif how == "bytes":
            records[place][1] = changed_bytes(payload, draw)
        elif how == "drop" and len(records) > 1:
            del records[place]
        elif how == "repeat":
            records.insert(draw.randrange(len(records) + 1), [kind, payload])
        elif how == "swap":
            other = draw.randrange(len(records))
            records[place], records[other] = records[other], records[place]
        elif how == "kind":
            records[place][0] = draw.choice((*range(70), (1 << 32) - 1))
        elif how == "many":
            records[place:place] = [[kind, payload] for _ in range(1000)]
        else:
            del records[place + 1:]
        done.append(f"{how} of record {place} (kind {kind})")
    return journal_of(header, records), ", ".join(done)


# Messages in protobuf's wire format

def varint(number):
    parts = bytearray()
    while number > 0x7F:
        parts.append(number & 0x7F | 0x80)
        number >>= 7
    return bytes(parts) + bytes((number,))


def read_varint(data, at):
    number = shift = 0
    while True:
        byte = data[at]
        number |= (byte & 0x7F) << shift
        at, shift = at + 1, shift + 7
        if byte < 0x80:
            return number, at


def fields_of(data):
    """The fields as [number, wire type, value]; raises if the bytes are no message."""
    fields, at = [], 0
    while at < len(data):
        tag, at = read_varint(data, at)
        wire = tag & 7
        if wire == 0:
            value, at = read_varint(data, at)
        else:
            size, at = read_varint(data, at) if wire == 2 else ({1: 8, 5: 4}[wire], at)
            if at + size > len(data):
                raise ValueError("cut short")
            value, at = data[at:at + size], at + size
        fields.append([tag >> 3, wire, value])
    return fields


def message_of(fields):
    parts = []
    for number, wire, value in fields:
        parts.append(varint(number << 3 | wire))
        if wire == 0:
            parts.append(varint(value))
        else:
            parts += [varint(len(value)), value] if wire == 2 else [value]
    return b"".join(parts)


def changed_message(data, draw, depth=0):
    """The message with one field changed, at any depth."""
    try:
        fields = fields_of(data)
    except (ValueError, IndexError, KeyError):
        fields = []
    if not fields:
        return draw.choice(TEXTS)
    # By number first: some fields are repeated a hundred times.
    number = draw.choice(sorted({field[0] for field in fields}))
    field = draw.choice([field for field in fields if field[0] == number])
    how = draw.random()
    if how < 0.1:
        fields.remove(field)
    elif how < 0.2:
        fields += [field] * draw.choice((1, 10, 5000))
    elif field[1] == 0:
        field[2] = draw.choice((*NUMBERS, field[2] ^ 1 << draw.randrange(64)))
    elif field[1] == 2 and field[2] and depth < DEPTH_MAX and draw.random() < 0.8:
        field[2] = changed_message(field[2], draw, depth + 1)
    elif field[1] == 2:
        field[2] = draw.choice(TEXTS)
    else:
        field[2] = draw.randbytes(len(field[2]))
    return message_of(fields)


def changed_bytes(data, draw):
    """The bytes with one of them, or a few, overwritten, removed or inserted."""
    data = bytearray(data)
    at = draw.randrange(len(data) + 1)
    how = draw.choice(("number", "number", "byte", "remove", "insert", "text"))
    if how == "number":
        format_of = draw.choice(("<I", "<Q"))
        size = struct.calcsize(format_of)
        at -= at % 4
        data[at:at + size] = struct.pack(format_of, draw.choice(NUMBERS) % (1 << 8 * size))
    elif how == "byte":
        data[at:at + 1] = bytes((draw.choice((0, 1, 0x7F, 0x80, 0xFF)),))
    elif how == "remove":
        del data[at:at + draw.choice((1, 4, 8, 100))]
    else:
        data[at:at] = draw.choice(TEXTS) if how == "text" else draw.randbytes(draw.choice((1, 4)))
    return bytes(data)


# INTENT, parts and MANIFEST of checkpoints

def sections_of(document):
    """The start, and the sections as [kind, bytes]."""
    (count,) = struct.unpack_from("<I", document, len(document) - 16)
    index = len(document) - 16 - 24 * count
    rows = [struct.unpack_from("<IQQI", document, index + 24 * row) for row in range(count)]
    return document[:16], [[kind, document[at:at + size]] for kind, at, size, _ in rows]


def document_of(start, sections):
    rows, at = [], len(start)
    for kind, data in sections:
        rows.append(struct.pack("<IQQI", kind, at, len(data), crc32c(data)))
        at += len(data)
    index = b"".join(rows) + struct.pack("<I", len(rows))
    return (start + b"".join(data for _, data in sections) + index
            + struct.pack("<I", crc32c(start + index)) + b"RRCK-END")


def changed_document(document, draw):
    """A document with some changes, and their names."""
    start, sections = sections_of(document)
    done = []
    for _ in range(draw.choice((1, 1, 1, 2, 4))):
        how = draw.choice(("bytes", "bytes", "bytes", "bytes", "kind", "drop", "repeat", "start"))
        place = draw.randrange(len(sections))
        kind, data = sections[place]
        if how == "bytes":
            sections[place][1] = changed_bytes(data, draw)
        elif how == "kind":
            sections[place][0] = draw.choice((0, 1, 2, 3, 4, 5, 7, 9, 6 | 1 << 31, 8 | 1 << 31))
        elif how == "drop" and len(sections) > 1:
            del sections[place]
        elif how == "repeat":
            sections.insert(place, [kind, data])
        else:
            start = start[:8] + struct.pack("<II", draw.choice((0, 1, 2)), draw.choice((0, 1)))
        done.append(f"{how} of section {kind & 0xFFFF}")
    return document_of(start, sections), ", ".join(done)


def changed_line(line, draw):
    """A one-line file (FENCE, LATEST, VERIFIED) with other words and the right CRC."""
    words = line.rsplit(b" ", 1)[0].split(b" ")
    place = draw.randrange(len(words))
    words[place] = draw.choice((*TEXTS, *(str(number).encode() for number in NUMBERS)))
    text = b" ".join(words)
    return text + b" %08x\n" % crc32c(text), f"word {place} of the line"
