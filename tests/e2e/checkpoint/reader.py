"""A second reader of checkpoints, written from docs/checkpoint-format.md alone."""

import json
import struct
from pathlib import Path

_TABLE = []  # for two bytes at once
for _pair in range(1 << 16):
    for _ in range(16):
        _pair = (_pair >> 1) ^ 0x82F63B78 if _pair & 1 else _pair >> 1
    _TABLE.append(_pair)


def crc32c(data):
    crc = 0xFFFFFFFF
    even = len(data) & ~1
    for (pair,) in struct.iter_unpack("<H", data[:even]):
        crc = (crc >> 16) ^ _TABLE[(crc ^ pair) & 0xFFFF]
    for byte in data[even:]:
        crc ^= byte
        for _ in range(8):
            crc = (crc >> 1) ^ 0x82F63B78 if crc & 1 else crc >> 1
    return crc ^ 0xFFFFFFFF


class Fields:
    def __init__(self, data):
        self.data, self.at = data, 0

    def number(self, letter):
        (value,) = struct.unpack_from("<" + letter, self.data, self.at)
        self.at += struct.calcsize("<" + letter)
        return value

    def u32(self):
        return self.number("I")

    def u64(self):
        return self.number("Q")

    def bytes(self):
        size = self.u32()
        self.at += size
        assert self.at <= len(self.data)
        return self.data[self.at - size:self.at]

    def text(self):
        return self.bytes().decode()

    def list(self, one):
        return [one() for _ in range(self.u32())]


def read_document(data, magic):
    """The sections by kind; every CRC is checked."""
    assert data[:8] == magic and struct.unpack("<II", data[8:16]) == (1, 0)
    count, crc = struct.unpack("<II", data[-16:-8])
    assert data[-8:] == b"RRCK-END"
    index = data[len(data) - 16 - 24 * count:len(data) - 12]
    assert crc32c(data[:16] + index) == crc
    sections, end = {}, 16
    for row in range(count):
        kind, offset, length, section_crc = struct.unpack_from("<IQQI", index, 24 * row)
        assert offset == end
        end += length
        sections[kind] = data[offset:end]
        assert crc32c(sections[kind]) == section_crc
    assert end == len(data) - 16 - 24 * count
    return sections


def read_manifest(path):
    sections = read_document(Path(path).read_bytes(), b"RRMANIFE")
    head, files, shards, states = (Fields(sections[kind]) for kind in (1, 2, 3, 4))
    said = {"step": head.u64(), "generation": head.u64(), "attempt": head.text(),
            "sequence": head.u64(), "wall_time_ns": head.u64(), "world_size": head.u32(),
            "axes": head.list(lambda: {"name": head.text(), "size": head.u32()}),
            "mounts": head.list(head.text), "writers": head.list(head.text)}
    said["files"] = files.list(lambda: {
        "name": files.text(), "mount": files.u32(), "bytes": files.u64(),
        "header_bytes": files.u64(), "header_crc": files.u32(), "blocks": files.list(files.u32)})

    def shard():
        said = {"name": shards.text(), "dtype": shards.text(), "rank": shards.u32()}
        dimensions = range(shards.u32())
        for key in ("global_shape", "offsets", "shape"):
            said[key] = [shards.u64() for _ in dimensions]
        said["bytes"], said["crc"] = shards.u64(), shards.u32()
        said["pieces"] = shards.list(lambda: {"file": shards.u32(), "offset": shards.u64(),
                                              "bytes": shards.u64(), "crc": shards.u32()})
        return said

    said["shards"] = shards.list(shard)
    said["states"] = states.list(lambda: (states.u32(), states.text(), states.bytes()))
    groups = Fields(sections.get(6 | 1 << 31, bytes(4)))

    def member():
        return {"file": groups.u32(), "offset": groups.u64(), "bytes": groups.u64()}

    said["groups"] = groups.list(lambda: {"data": groups.list(member),
                                          "parity": groups.list(member)})
    nodes = Fields(sections.get(8 | 1 << 31, bytes(4)))
    said["nodes"] = dict(nodes.list(lambda: (nodes.text(), nodes.list(nodes.u32))))
    return said


def joined(shard, read):
    """A shard's bytes, by `read(index of file, offset, bytes)`; checks all CRCs."""
    data = b""
    for piece in shard["pieces"]:
        part = read(piece["file"], piece["offset"], piece["bytes"])
        assert crc32c(part) == piece["crc"]
        data += part
    assert len(data) == shard["bytes"] and crc32c(data) == shard["crc"]
    return data


def read_shard(manifest, folders, shard):
    """A shard's bytes when no file is lost."""
    def read(file, offset, size):
        name = manifest["files"][file]["name"]
        (path,) = [Path(folder) / name for folder in folders if (Path(folder) / name).exists()]
        return path.read_bytes()[offset:offset + size]

    return joined(shard, read)


def read_safetensors(path):
    """Reads a file strictly by the published format: name -> (dtype, shape, bytes)."""
    data = Path(path).read_bytes()
    (size,) = struct.unpack("<Q", data[:8])
    header = json.loads(data[8:8 + size])
    assert data[8:9] == b"{" and header.pop("__metadata__", {}).keys() <= {"format"}
    width = {"F64": 8, "I64": 8, "F32": 4, "F16": 2, "BF16": 2, "U8": 1}
    end, tensors = 0, {}
    for name, entry in sorted(header.items(), key=lambda item: item[1]["data_offsets"]):
        begin, stop = entry["data_offsets"]
        elements = 1
        for dimension in entry["shape"]:
            elements *= dimension
        assert begin == end and stop - begin == elements * width[entry["dtype"]]
        end = stop
        tensors[name] = (entry["dtype"], entry["shape"], data[8 + size + begin:8 + size + stop])
    assert 8 + size + end == len(data)
    return tensors
