"""The second reader of checkpoints: states of robustrun.checkpoint and robustrun.dcp as values, by
docs/checkpoint-format.md alone. Without torch."""

import collections
import hashlib

from checkpoint.reader import Fields

Named = collections.namedtuple("Named", "dtype")      # one of torch's types
Size = collections.namedtuple("Size", "sizes")        # a torch.Size
Ref = collections.namedtuple("Ref", "dtype shape name")
Tensor = collections.namedtuple("Tensor", "dtype shape data")


class Values(Fields):
    def byte(self):
        self.at += 1
        return self.data[self.at - 1:self.at]

    def sizes(self):
        return tuple(self.list(self.u64))

    def string(self):
        return self.bytes().decode("utf-8", "surrogatepass")

    def pairs(self):
        return self.list(lambda: (self.value(), self.value()))

    def value(self):
        return {
            b"N": lambda: None, b"T": lambda: True, b"F": lambda: False,
            b"i": lambda: int.from_bytes(self.bytes(), "little", signed=True),
            b"f": lambda: self.number("d"),
            b"s": self.string, b"b": self.bytes, b"D": lambda: Named(self.text()),
            b"l": lambda: self.list(self.value), b"t": lambda: tuple(self.list(self.value)),
            b"d": lambda: dict(self.pairs()),
            b"c": lambda: collections.Counter(dict(self.pairs())),
            b"S": lambda: Size(self.sizes()),
            b"r": lambda: Ref(self.text(), self.sizes(), self.string()),
            b"x": lambda: Tensor(self.text(), self.sizes(), self.bytes()),
        }[self.byte()]()


def decode(data):
    assert data[:1] == b"\1"
    values = Values(data)
    values.at = 1
    value = values.value()
    assert values.at == len(data)
    return value


def states_of(manifest, rank):
    """{name: value} of a rank's save; `tree` is rank 0's if all ranks hold the same."""
    kept = {(each, name): data for each, name, data in manifest["states"]}
    found = {name: decode(data) for (each, name), data in kept.items() if each == rank}
    about = found["robustrun"]
    whose = 0 if about["replicated"] else rank
    packed = kept[whose, "tree"]
    assert hashlib.blake2b(packed, digest_size=16).hexdigest() == about["tree"]
    return {**found, "tree": decode(packed)}


def state_of(manifest, rank, read_shard):
    """The state as that rank saved it, with Tensors; read_shard(shard) gives a shard's bytes."""
    states = states_of(manifest, rank)
    replicated = states["robustrun"]["replicated"]
    shards = {each["name"]: each for each in manifest["shards"]
              if replicated or each["rank"] == rank}

    def filled(value):
        if type(value) is Ref:
            shard = shards[value.name]
            assert (shard["dtype"], tuple(shard["shape"])) == (value.dtype, value.shape)
            assert shard["shape"] == shard["global_shape"] and not any(shard["offsets"])
            return Tensor(value.dtype, value.shape, read_shard(shard))
        if isinstance(value, dict):
            return type(value)({key: filled(each) for key, each in value.items()})
        return type(value)(map(filled, value)) if type(value) in (list, tuple) else value

    return filled(states["tree"])
