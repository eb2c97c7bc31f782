"""The input of the tidy tests: files of the tree, and C++ text without comments and strings."""

import ast
import functools
import os
import pathlib
import re
import subprocess

ROOT = pathlib.Path(__file__).resolve().parents[2]
NOT_OURS = {".git", ".venv", ".venv-torches", "build", "node_modules", "robustrun-runs",
            "__pycache__"}


@functools.lru_cache(None)
def files():
    """All files that are or could be under version control, relative to the root."""
    try:
        listing = subprocess.run(["git", "ls-files", "-co", "--exclude-standard", "-z"], cwd=ROOT,
                                 capture_output=True, check=True).stdout.decode()
        names = [name for name in listing.split("\0") if name]
    except (OSError, subprocess.CalledProcessError):  # an unpacked archive
        names = []
        for folder, folders, found in os.walk(ROOT):
            folders[:] = [name for name in folders if name not in NOT_OURS]
            names += [os.path.relpath(os.path.join(folder, name), ROOT) for name in found]
    return sorted(name for name in set(names) if (ROOT / name).is_file())


def matching(*endings, under=""):
    return [name for name in files() if name.endswith(endings) and name.startswith(under)]


@functools.lru_cache(None)
def text(name):
    return (ROOT / name).read_bytes().decode("utf-8", "replace")


_SKIPPED = re.compile(
    r'R"(?P<mark>[^(\s]*)\(.*?\)(?P=mark)"|"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])+\''
    r"|//[^\n]*|/\*.*?\*/", re.DOTALL)


def blank(match):
    return re.sub(r"[^\n]", " ", match.group())


@functools.lru_cache(None)
def code(name):
    """The C++ text with comments and literals blanked; line numbers stay."""
    def blank_literal(match):
        before = match.string[match.start() - 1 : match.start()]
        if match.group().startswith("'") and before.isalnum():
            return match.group()  # a digit separator, 1'000
        return blank(match)

    includes = re.compile(r'(#include\s+)"([^"]*)"')
    kept = includes.sub(r"\1<\2>", text(name))
    return _SKIPPED.sub(blank_literal, kept)


def lines_with(pattern, content):
    """(line number, line) of each match."""
    lines = content.splitlines()
    numbers = {content.count("\n", 0, match.start()) for match in re.finditer(pattern, content)}
    return [(number + 1, lines[number].strip()) for number in sorted(numbers)]


def includes(name):
    return re.findall(r"#include\s+<([^>]*)>", code(name))


def python_imports(name):
    """The files below python/ that a Python file imports, at its top or in a function."""
    found = set()
    for node in ast.walk(ast.parse(text(name))):
        if isinstance(node, ast.Import):
            modules = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            folder = name.split("/")[1:-node.level] if node.level else []
            base = ".".join(folder + ([node.module] if node.module else []))
            modules = [base] + [f"{base}.{alias.name}" for alias in node.names]
        else:
            continue
        found |= {"python/" + module.replace(".", "/") + ".py" for module in modules}
    return sorted(found & set(files()))


def circles(uses):
    """(one, other) for each use that is part of a circle. `uses`: {one: others}."""
    def reachable(start):
        seen, left = set(), list(uses.get(start, ()))
        while left:
            each = left.pop()
            if each not in seen:
                seen.add(each)
                left += uses.get(each, ())
        return seen

    return [(one, other) for one, others in uses.items() for other in others
            if one in reachable(other) | {other}]
