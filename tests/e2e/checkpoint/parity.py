"""The second reader of checkpoints: rebuilds lost and damaged files, written from
docs/checkpoint-format.md ("Parity") alone."""

from pathlib import Path

from checkpoint.reader import crc32c, joined

BLOCK = 1 << 20


def times(a, b):
    """In GF(2^8), bit by bit."""
    product = 0
    while b:
        product ^= a if b & 1 else 0
        a = a << 1 ^ (0x11D if a & 0x80 else 0)
        b >>= 1
    return product


def inverse(a):
    return next(b for b in range(1, 256) if times(a, b) == 1)


def factor(r, c, k, m):
    return 1 if m == 1 else inverse(k + r ^ c)


def scaled(data, by):
    return data.translate(bytes(times(by, value) for value in range(256)))


def added(a, b):
    return (int.from_bytes(a, "little") ^ int.from_bytes(b, "little")).to_bytes(len(a), "little")


class Files:
    """The bytes of all files of a checkpoint, all of them checked. `rebuilt`: the names of files
    that were rebuilt from parity. AssertionError if too much is lost."""

    def __init__(self, manifest, folders):
        self.manifest, self.rebuilt = manifest, []
        self._contents, self._bad = [], []
        for file in manifest["files"]:
            paths = [Path(each) / file["name"] for each in folders]
            data = next((path.read_bytes() for path in paths if path.exists()), b"")
            self._contents.append(bytearray(data[:file["bytes"]].ljust(file["bytes"], b"\0")))
            self._bad.append(self._damage(len(self._bad)))
        lost = [index for index, bad in enumerate(self._bad) if bad and self._is_data(index)]
        for group in manifest["groups"]:
            self._rebuild(group)
        for index in lost:
            assert not self._damage(index), manifest["files"][index]["name"] + " cannot be rebuilt"
            self.rebuilt.append(manifest["files"][index]["name"])

    def read_shard(self, shard):
        return joined(shard, lambda file, offset, size: bytes(
            self._contents[file][offset:offset + size]))

    def _is_data(self, index):
        return any(each["file"] == index
                   for group in self.manifest["groups"] for each in group["data"])

    def _damage(self, index):
        """[(begin, end)] of the parts with a wrong CRC: the header, and blocks after it."""
        file, content = self.manifest["files"][index], self._contents[index]
        begins = range(file["header_bytes"], file["bytes"], BLOCK)
        assert len(begins) == len(file["blocks"])
        parts = [(0, file["header_bytes"], file["header_crc"])]
        parts += [(begin, min(begin + BLOCK, file["bytes"]), crc)
                  for begin, crc in zip(begins, file["blocks"], strict=True)]
        return [(begin, end) for begin, end, crc in parts if crc32c(content[begin:end]) != crc]

    def _is_lost(self, member):
        return any(begin < member["offset"] + member["bytes"] and member["offset"] < end
                   for begin, end in self._bad[member["file"]])

    def _range(self, member, size):
        """The files, padded with zeros to the length of the longest."""
        begin = member["offset"]
        return bytes(self._contents[member["file"]][begin:begin + member["bytes"]]).ljust(size,
                                                                                         b"\0")

    def _rebuild(self, group):
        data, parity = group["data"], group["parity"]
        k, m, size = len(data), len(parity), max(each["bytes"] for each in data)
        lost = [c for c in range(k) if self._is_lost(data[c])]
        rows = [r for r in range(m) if not self._is_lost(parity[r])][:len(lost)]
        assert all(each["bytes"] == size for each in parity) and len(rows) == len(lost)
        equations = []  # factors of the lost files, and their sum
        for r in rows:
            total = self._range(parity[r], size)
            for c in set(range(k)) - set(lost):
                total = added(total, scaled(self._range(data[c], size), factor(r, c, k, m)))
            equations.append(([factor(r, c, k, m) for c in lost], total))
        for c, found in zip(lost, solved(equations), strict=True):
            begin, length = data[c]["offset"], data[c]["bytes"]
            assert not any(found[length:])
            self._contents[data[c]["file"]][begin:begin + length] = found[:length]


def solved(equations):
    """Solves by Gaussian elimination."""
    for i in range(len(equations)):
        pivot = next(j for j in range(i, len(equations)) if equations[j][0][i])
        equations[i], equations[pivot] = equations[pivot], equations[i]
        by = inverse(equations[i][0][i])
        factors, total = [times(each, by) for each in equations[i][0]], scaled(equations[i][1], by)
        equations[i] = factors, total
        for j, (others, other_total) in enumerate(equations):
            if j != i and others[i]:
                by = others[i]
                equations[j] = ([a ^ times(b, by) for a, b in zip(others, factors, strict=True)],
                                added(other_total, scaled(total, by)))
    return [total for _, total in equations]
