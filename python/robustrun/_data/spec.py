"""The specification of training data (docs/data.md): from a file or a dictionary to plain values.

Only keys and types are checked here; librobustrun.so checks what they mean.
"""

import difflib
import math
import os

_SOURCE = {"name": str, "format": str, "paths": list, "bytes_per_token": int, "column": str,
           "tokenizer": str, "transform": str, "end": int, "max_skips": int}
_TABLES = {
    "batch": {"tokens": int, "context": int, "micro": int, "pack": str, "leftover": str,
              "long": str},
    "shuffle": {"block": int, "window": int},
    "balance": {"cost": dict, "sync": str},
    "resources": {"cpus": int},
}
_DEFAULTS = {
    "batch": {"tokens": 0, "context": 0, "micro": 1, "pack": "best-fit", "leftover": "carry",
              "long": "split"},
    "shuffle": {"block": 4096, "window": 8},
    "balance": {"cost": {"a": 1.0, "b": 0.0}, "sync": "step"},
}
_TOP = ("seed", "cache", "prepare", "source", "mixture", *_TABLES)
_PREPARE = ("before", "training")


class DataError(ValueError):
    """The specification, a source or a state cannot be used; the text says why."""


def _known(where, key, keys):
    if key in keys:
        return
    near = difflib.get_close_matches(str(key), keys, 1)
    raise DataError("%s: unknown key %r%s" % (where, key, "; did you mean %r?" % near[0]
                                              if near else ""))


_WIDE = ("seed", "batch.tokens")  # 64 bits; other numbers have 32


def _typed(where, key, value, kind):
    if kind is list and isinstance(value, str):
        return [value]
    if not isinstance(value, kind) or isinstance(value, bool):
        raise DataError("%s: %s must be %s, not %r" % (where, key, kind.__name__, value))
    most = 2 ** (63 if key in _WIDE else 32) - 1
    if kind is int and not 0 <= value <= most:
        raise DataError("%s: %s must be a whole number from 0 to %d" % (where, key, most))
    return value


def _number(where, key, value):
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not math.isfinite(value):
        raise DataError("%s: %s must be a number, not %r" % (where, key, value))
    if value < 0:
        raise DataError("%s: %s must not be below 0" % (where, key))
    return value


def is_while_training(spec):
    """Whether text is tokenized while the training runs."""
    return (spec.get("prepare") == "training"
            and any(source["format"] != "megatron" for source in spec["source"]))


def rounded(number):
    """The nearest integer; halves go up, as in the library."""
    return math.floor(number + 0.5)


def _weights(where, source, value):
    points = value if isinstance(value, list) else [[0, value]]
    out = []
    for point in points:
        if (not isinstance(point, list) or len(point) != 2 or not isinstance(point[0], int)
                or not 0 <= point[0] < 2 ** 63):
            raise DataError("%s: mixture.%s must be a weight, or points [step, weight]"
                            % (where, source))
        out.append([point[0], rounded(_number(where, "mixture." + source, point[1]) * 1e6)])
    return out


def normalized(given, where):
    """All keys of a specification with their values, defaults included. `where` is for messages."""
    for key in given:
        _known(where, key, _TOP)
    spec = {"seed": _typed(where, "seed", given.get("seed", 0), int),
            "cache": _typed(where, "cache", given.get("cache", "tokens"), str)}
    prepare = _typed(where, "prepare", given.get("prepare", "before"), str)
    if prepare not in _PREPARE:
        raise DataError("%s: prepare must be one of %s" % (where, ", ".join(_PREPARE)))
    if prepare != "before":  # a default is no part of states, which older versions can read
        spec["prepare"] = prepare
    sources = _typed(where, "source", given.get("source", []), list)
    names = []
    spec["source"] = []
    for source in sources:
        source = _typed(where, "source", source, dict)
        values = {"name": "", "format": "megatron", "paths": [], "bytes_per_token": 4}
        for key, value in source.items():
            _known(where + ", source", key, _SOURCE)
            values[key] = _typed(where, key, value, _SOURCE[key])
        if "max_skips" in values and (prepare == "before" or values["format"] == "megatron"):
            raise DataError("%s: max_skips of source %s needs text and prepare = \"training\""
                            % (where, values["name"]))
        names.append(values["name"])
        spec["source"].append(values)
    for table, kinds in _TABLES.items():
        if table not in given and table not in _DEFAULTS:
            continue
        spec[table] = dict(_DEFAULTS.get(table, {}))
        for key, value in _typed(where, table, given.get(table, {}), dict).items():
            _known("%s, %s" % (where, table), key, kinds)
            spec[table][key] = _typed(where, "%s.%s" % (table, key), value, kinds[key])
    cost = {"a": 0.0, "b": 0.0}
    for key, value in spec["balance"]["cost"].items():
        _known(where + ", balance.cost", key, cost)
        cost[key] = _number(where, "balance.cost." + key, value)
    spec["balance"]["cost"] = cost
    mixture = _typed(where, "mixture", given.get("mixture") or dict.fromkeys(names, 1), dict)
    for name in mixture:
        _known(where + ", mixture", name, names)
    spec["mixture"] = {name: _weights(where, name, weight) for name, weight in mixture.items()}
    return spec


def read(source):
    """(specification, folder of its relative paths) of a dictionary or of a TOML file."""
    if isinstance(source, dict):
        return normalized(source, "the specification"), os.getcwd()
    path = os.fspath(source)
    try:
        import tomllib
    except ImportError:
        try:
            import tomli as tomllib
        except ImportError:
            raise DataError("cannot read %s: Python 3.11 or the package tomli is needed; or pass a "
                            "dictionary" % path) from None
    try:
        with open(path, "rb") as file:
            given = tomllib.load(file)
    except ValueError as error:  # of TOML, or of UTF-8
        raise DataError("%s: %s" % (path, error)) from None
    return normalized(given, path), os.path.dirname(os.path.abspath(path))


_MAY_DIFFER = ("batch.micro", "cache", "resources", "resources.cpus")


def differences(before, now):
    """What differs between two specifications, apart from places and micro-batches, which may."""
    lines = []

    def compare(key, a, b):
        if isinstance(a, dict) and isinstance(b, dict):
            for name in sorted(set(a) | set(b)):
                compare("%s.%s" % (key, name) if key else name, a.get(name), b.get(name))
        elif key == "source" and len(a) == len(b):
            for one, other in zip(a, b):
                compare("source " + one["name"], one, other)
        elif a != b and key not in _MAY_DIFFER and not key.endswith((".paths", ".max_skips")):
            lines.append("%s was %r and is %r" % (key, a, b))

    compare("", *({"prepare": "before", **spec} for spec in (before, now)))
    return lines


STATE_FORMAT = 1


def check_state(state, spec, fingerprints):
    """Raises DataError unless a loader's state is whole, and of this specification and data."""
    if not isinstance(state, dict):
        raise DataError("cannot use the state: it is damaged")
    if state.get("format") != STATE_FORMAT:
        raise DataError("cannot use the state: its format is %r, not %d"
                        % (state.get("format"), STATE_FORMAT))
    if not is_whole(state):
        raise DataError("cannot use the state: it is damaged")
    changed = differences(state["spec"], spec)
    if changed:
        raise DataError("cannot use the state: %s" % "; ".join(changed))
    for source, before, now in zip(spec["source"], state["fingerprints"], fingerprints):
        if before != now:
            raise DataError("cannot use the state: the samples of source %s have changed"
                            % source["name"])


def is_whole(state):
    """Whether all values of a loader's state are there, of their types and ranges."""
    if not isinstance(state, dict):
        return False
    spec, cursor = state.get("spec"), state.get("cursor")
    if not _is_specification(spec) or not isinstance(cursor, dict):
        return False
    sources = len(spec["source"])
    carry = cursor.get("carry")
    return (_are_numbers([state.get("ranks"), state.get("micro")], 2, 0, 2 ** 32)
            and _are_numbers([cursor.get("step"), cursor.get("dropped")], 2, 0, 2 ** 64)
            and _are_numbers(state.get("fingerprints"), sources, 0, 2 ** 64)
            and _are_numbers(cursor.get("positions"), sources, 0, 2 ** 64)
            and _are_numbers(cursor.get("owed"), sources, -2 ** 63, 2 ** 63)
            and isinstance(carry, list) and all(map(_is_piece, carry))
            and _are_skips(state.get("skips", {})))


def _are_skips(skips):
    return isinstance(skips, dict) and all(
        isinstance(found, list) and all(_are_numbers(each, 2, 0, 2 ** 63) for each in found)
        for found in skips.values())


def _is_specification(spec):
    """Whether it can be compared with one."""
    return (isinstance(spec, dict) and _is_plain(spec)
            and isinstance(spec.get("source"), list)
            and all(isinstance(source, dict) and isinstance(source.get("name"), str)
                    for source in spec["source"])
            and isinstance(spec.get("batch"), dict) and type(spec["batch"].get("micro")) is int)


def _is_plain(value):
    if isinstance(value, dict):
        return all(isinstance(key, str) for key in value) and all(map(_is_plain, value.values()))
    if isinstance(value, (list, tuple)):
        return all(map(_is_plain, value))
    return value is None or type(value) in (bool, int, float, str)


def _is_piece(piece):
    return (_are_numbers(piece, 4, 0, 2 ** 64)
            and all(number < 2 ** 32 for number in (piece[0], *piece[2:])))


def _are_numbers(values, count, least, end):
    return (isinstance(values, (list, tuple)) and len(values) == count
            and all(type(value) is int and least <= value < end for value in values))
