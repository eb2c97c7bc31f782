"""States that a loss of power may leave, made from the log of disk_recorder.so (tests/recorder).

Synced data survive. Of a file's later writes each sector survives or not, in any order, and its
length is any that it had since; of a folder's later changes each survives or not. A rename within a
folder is one change. Syncing a file does not sync its name.
"""

import os
import pathlib
import random
import struct

RECORD = struct.Struct("<8sQQQQ")


class File:
    def __init__(self):
        self.synced = bytearray()
        self.pending = []  # (offset, bytes), or (length, None)

    def after(self, luck):
        image, lengths = bytearray(self.synced), [len(self.synced)]
        sector = luck.sector()
        for at, data in self.pending:
            end = at if data is None else max(lengths[-1], at + len(data))
            lengths.append(end)
            image.extend(bytes(max(0, end - len(image))))
            if data is None:
                image[at:] = bytes(len(image) - at) if luck.keeps() else image[at:]
                continue
            begin = 0
            while begin < len(data):
                stop = min(len(data), (at + begin) // sector * sector + sector - at)
                if luck.keeps():
                    image[at + begin:at + stop] = data[begin:stop]
                begin = stop
        length = luck.one_of(lengths)
        return image[:length] + bytes(length - len(image[:length]))

    def sync(self):
        self.synced, self.pending = self.after(ALL), []


class Folder:
    def __init__(self):
        self.names = {}  # as a process sees it
        self.synced = {}
        self.pending = []  # changes, each {name: inode after it, or None}

    def apply(self, names):
        for name, what in names.items():
            if what is None:
                self.names.pop(name, None)
            else:
                self.names[name] = what
        self.pending.append(names)

    def sync(self):
        self.synced, self.pending = dict(self.names), []

    def after(self, luck):
        names = dict(self.synced)
        for change in luck.some_of(self.pending):
            names.update(change)
        return {name: what for name, what in names.items() if what is not None}


class Luck:
    """Decides which unsynced data survive."""

    def __init__(self, chance):
        self.chance = chance
        self.share = chance.choice((0, 0.1, 0.5, 0.9, 1))
        self.in_order = chance.random() < 0.5

    def keeps(self):
        return self.chance.random() < self.share

    def sector(self):
        return self.chance.choice((512, 4096))

    def one_of(self, lengths):
        return self.chance.choice(lengths) if 0 < self.share < 1 else lengths[-int(self.share)]

    def some_of(self, changes):
        if self.in_order:
            return changes[:round(len(changes) * self.share)]
        return [change for change in changes if self.keeps()]


class All:
    """Nothing is lost: the view of a process."""

    keeps = staticmethod(lambda: True)
    sector = staticmethod(lambda: 1 << 40)
    one_of = staticmethod(lambda lengths: lengths[-1])
    some_of = staticmethod(lambda changes: changes)


ALL = All()


class Disk:
    """The state after the first records of a log."""

    def __init__(self, roots):
        self.roots = {str(root): Folder() for root in roots}
        self.files = {}  # by inode

    def find(self, path):
        for root, folder in self.roots.items():
            if path == root:
                return folder
            if path.startswith(root + "/"):
                for name in path[len(root) + 1:].split("/"):
                    folder = folder.names[name]
                return folder
        raise KeyError(path)

    def around(self, path):
        return self.find(os.path.dirname(path)), os.path.basename(path)

    def apply(self, kind, inode, offset, first, second):
        if kind == "create":
            self.files[inode] = File()
            folder, name = self.around(first.decode())
            folder.apply({name: self.files[inode]})
        elif kind == "write":
            self.files[inode].pending.append((offset, first))
        elif kind == "size":
            self.files[inode].pending.append((offset, None))
        elif kind == "sync":
            path = first.decode()
            (self.files[inode] if inode in self.files else self.find(path)).sync()
        elif kind == "mkdir":
            folder, name = self.around(first.decode())
            folder.apply({name: Folder()})
        elif kind == "remove":
            folder, name = self.around(first.decode())
            folder.apply({name: None})
        elif kind in ("rename", "link"):
            (source, old), (target, new) = self.around(first.decode()), self.around(second.decode())
            what = source.names[old]
            gone = {old: None} if kind == "rename" else {}
            if source is target:
                source.apply({**gone, new: what})
            else:
                target.apply({new: what})
                source.apply(gone)
        else:
            assert kind == "mark", kind

    def leave(self, luck, target):
        """Writes the surviving files to folders of `target` with the names of the roots."""
        for root, folder in self.roots.items():
            make(folder, luck, pathlib.Path(target) / os.path.basename(root))


def make(folder, luck, path):
    path.mkdir()
    for name, what in folder.after(luck).items():
        if isinstance(what, Folder):
            make(what, luck, path / name)
        else:
            (path / name).write_bytes(what.after(luck))


def read_log(path):
    """[(kind, inode, offset, bytes, bytes)]"""
    data, records, at = pathlib.Path(path).read_bytes(), [], 0
    while at < len(data):
        kind, inode, offset, first, second = RECORD.unpack_from(data, at)
        at += RECORD.size
        records.append((kind.rstrip(b"\0").decode(), inode, offset, data[at:at + first],
                        data[at + first:at + first + second]))
        at += first + second
    return records


def states(records, roots, seed, count):
    """`count` possible states: (number of records before the loss, Disk, Luck). The moments right
    after a sync or a mark, and the last moment, are more frequent."""
    chance = random.Random(seed)
    moments = [i + 1 for i, record in enumerate(records) if record[0] in ("sync", "mark")]
    chosen = [chance.choice(moments) if chance.random() < 0.5 else
              chance.randrange(len(records) + 1) for _ in range(count - 1)]
    disk, done = Disk(roots), 0
    for moment in sorted([*chosen, len(records)]):
        for record in records[done:moment]:
            disk.apply(*record)
        done = moment
        yield moment, disk, Luck(chance)
