"""Reads a page of metrics as strictly as Prometheus (text format 0.0.4), and more: every
family has HELP and TYPE before its samples, once; counters end in _total; no sample comes twice."""

import re

NAME = r"[a-zA-Z_:][a-zA-Z0-9_:]*"
LABEL = r'[a-zA-Z_][a-zA-Z0-9_]*="(?:[^"\\\n]|\\["\\n])*"'
SAMPLE = re.compile(rf"({NAME})(?:\{{({LABEL}(?:,{LABEL})*)?\}})? (NaN|[+-]Inf|[-+0-9.e]+)")
UNESCAPED = {"\\\\": "\\", '\\"': '"', "\\n": "\n"}


def parse(page):
    """{(name, labels without run_id as sorted pairs): value}, and the ids of runs."""
    assert page.endswith("\n")
    values, runs, families = {}, set(), {}
    family = None
    for line in page[:-1].split("\n"):
        if line.startswith("# HELP "):
            family, text = line[7:].split(" ", 1)
            assert re.fullmatch(NAME, family) and text, line
            assert family not in families, f"{family} comes twice"
            families[family] = None
        elif line.startswith("# TYPE "):
            name, kind = line[7:].split(" ")
            assert name == family and families[family] is None, line
            assert kind in ("counter", "gauge"), line
            assert (kind == "counter") == name.endswith("_total"), line
            families[family] = kind
        else:
            found = SAMPLE.fullmatch(line)
            assert found, f"no sample: {line!r}"
            name, labels, value = found.groups()
            assert name == family and families[family], f"out of its family: {line!r}"
            assert families[family] != "counter" or float(value) >= 0, line
            pairs = dict(
                (key, re.sub(r"\\.", lambda m: UNESCAPED[m.group()], text))
                for key, text in re.findall(r'(\w+)="((?:[^"\\]|\\.)*)"', labels or ""))
            runs.add(pairs.pop("run_id"))
            key = (name.removeprefix("robustrun_"), *sorted(pairs.items()))
            assert name.startswith("robustrun_") and key not in values, line
            values[key] = float(value)
    return values, runs
