#!/usr/bin/env python3
"""The units that clang-tidy checks: `lint_units.py FOLDER` prints "KEY<tab>FILE" for each.

FOLDER holds a compile_commands.json. A unit's key is a hash of everything that the verdict depends
on: the unit's text and the text of all our headers that it includes, without lines of comments
alone, its compiler options, .clang-tidy, and the version of clang-tidy. It is the same in every
clone, so verdicts are kept (scripts/lint.sh).
"""

import functools
import hashlib
import json
import pathlib
import re
import subprocess
import sys

ROOT = pathlib.Path.cwd()
INCLUDE = re.compile(rb'^\s*#\s*include\s+"([^"]+)"', re.MULTILINE)
COMMENT = re.compile(rb"^[ \t]*//(?!.*NOLINT).*(?:\n|\Z)", re.MULTILINE)


@functools.cache
def included(path):
    """The files of ours that `path` includes, and its text without the path of this clone."""
    text = path.read_bytes()
    names = (name.decode() for name in INCLUDE.findall(text))
    candidates = (ROOT / name for name in names)
    plain = COMMENT.sub(b"", text.replace(bytes(ROOT), b""))
    return [each for each in candidates if each.is_file()], plain


def key_of(path, common):
    seen, left = {}, [path]
    while left:
        one = left.pop()
        if one not in seen:
            more, seen[one] = included(one)
            left += more
    hashed = hashlib.sha256(common)
    for one in sorted(seen):
        hashed.update(hashlib.sha256(seen[one]).digest())
    return hashed.hexdigest()[:40]


def main():
    commands = json.loads((pathlib.Path(sys.argv[1]) / "compile_commands.json").read_text())
    version = subprocess.run(["clang-tidy-19", "--version"], capture_output=True, check=True).stdout
    settings = (ROOT / ".clang-tidy").read_bytes()
    for each in commands:
        path = pathlib.Path(each["file"])
        if path.is_relative_to(ROOT / "tests") or path.is_relative_to(ROOT / "build/tests"):
            continue
        command = each["command"].replace(str(ROOT), "").encode()
        print(key_of(path, version + settings + command), path, sep="\t")


if __name__ == "__main__":
    main()
