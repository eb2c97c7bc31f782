"""Enforces docs/architecture.md and the style of the tree.

Each rule yields its violations as (path, detail). Entries of allow.txt are tolerated, and that list
may only shrink: an entry that no longer occurs fails too.
"""

import collections
import concurrent.futures
import os
import pathlib
import re
import shutil
import subprocess

import pytest
import rules
from source_tree import (
    ROOT,
    blank,
    circles,
    code,
    files,
    includes,
    lines_with,
    matching,
    python_imports,
    text,
)

CPP = (".h", ".cpp")
ALLOWED_MAX = 0  # entries in allow.txt; never raised


def allowed():
    listed = (pathlib.Path(__file__).parent / "allow.txt").read_text().splitlines()
    return {line for line in listed if line and not line.startswith("#")}


def room_of(name):
    rooms = [room for room in rules.LAYERS if name.startswith(room)]
    return max(rooms, key=len) if rooms else None


def is_in(name, places):
    return any(name.startswith(place) for place in places)


def rule_one_type_of_a_name():
    """No two headers define types of one name in one namespace: a program with both is broken, and
    no linker says so."""
    defined = {}
    for name in matching(".h"):
        namespace = None
        for line in code(name).splitlines():
            if opens := re.match(r"namespace ([\w:]+) \{", line):
                namespace = opens[1]
            elif kind := re.match(r"(?:struct|class) (\w+)(?!::)\b[^;]*\{", line):
                first = defined.setdefault((namespace, kind[1]), name)
                if first != name:
                    yield name, f"defines {namespace}::{kind[1]}, as {first} does"


def rule_layers():
    """A room includes only itself and the rooms that the table allows."""
    for name in matching(*CPP):
        room = room_of(name)
        for included in includes(name) if room else []:
            target = room_of(included)
            if target and target != room and not is_in(included, rules.LAYERS[room]):
                yield name, f"includes {included}"
            in_shim = name.startswith(rules.SHIM)
            if in_shim and target and not is_in(included, rules.SHIM_MAY_INCLUDE):
                yield name, f"includes {included}"


def sub_rooms_of(name, included):
    """The sub-folders of one folder of a room in which the two files lie; None if one of them lies
    in that folder itself, or in another room."""
    room = room_of(name)
    if not room or room != room_of(included):
        return None
    here, there = os.path.dirname(name).split("/"), os.path.dirname(included).split("/")
    same = len(os.path.commonprefix([here, there]))
    if same in (len(here), len(there)):
        return None
    return "/".join(here[:same + 1]) + "/", "/".join(there[:same + 1]) + "/"


def rule_sub_rooms():
    """Includes between the sub-rooms of a room, and of a sub-room, run one way."""
    uses = {}
    for name in matching(*CPP):
        for included in includes(name):
            if pair := sub_rooms_of(name, included):
                uses.setdefault(pair[0], {})[pair[1]] = f"{name} includes {included}"

    for here, there in circles(uses):
        yield here, f"is in a circle: {uses[here][there]}"


def python_layer_of(name):
    """The sub-package of a file, as named in the table; None for a module that users import."""
    inner = name[len(rules.PYTHON_PACKAGE):].split("/")
    return inner[0] + "/" if len(inner) > 1 else None


def rule_python_layers():
    """A sub-package of the Python package imports only itself and those that the table allows."""
    for name in matching(".py", under=rules.PYTHON_PACKAGE):
        layer = python_layer_of(name)
        if layer and layer not in rules.PYTHON_LAYERS:
            yield name, f"lies in {layer}, which the table does not have"
        for imported in python_imports(name) if layer in rules.PYTHON_LAYERS else []:
            if python_layer_of(imported) not in [layer, *rules.PYTHON_LAYERS[layer]]:
                yield name, f"imports {imported}"


def rule_python_circles():
    """Imports of modules of the Python package have no circles, not even inside functions."""
    uses = {name: python_imports(name) for name in matching(".py", under=rules.PYTHON_PACKAGE)}
    for name, imported in circles(uses):
        yield name, f"is in a circle: imports {imported}"


def rule_python_packages():
    """A sub-package of the Python package opens with its question, and has few files."""
    shown = {}
    for name in matching(".py", under=rules.PYTHON_PACKAGE):
        shown.setdefault(os.path.dirname(name) + "/", []).append(name)
    for folder, names in shown.items():
        if len(names) > rules.FILES_MAX:
            yield folder, f"{len(names)} files, at most {rules.FILES_MAX}"
        question = folder + "__init__.py"
        if folder == rules.PYTHON_PACKAGE:
            continue
        if question not in names or not re.fullmatch(r'"""[^"\n]+\?"""\n', text(question)):
            yield question, "is not one line, the question of the sub-package"


def rule_folders():
    """A folder has few enough files to be read at a glance."""
    shown = {}
    for name in [*matching(*CPP), *matching(".py", ".c", under="tests/")]:
        shown.setdefault(os.path.dirname(name), []).append(name)
    for folder, names in shown.items():
        limit = rules.TEST_FILES_MAX if is_in(folder, ["tests/"]) else rules.FILES_MAX
        if len(names) > limit:
            yield folder, f"{len(names)} files, at most {limit}"


def rule_pure_rooms():
    """The core knows no I/O, clock, thread or randomness."""
    for name in (name for room in rules.PURE_ROOMS for name in matching(*CPP, under=room)):
        for included in includes(name):
            if rules.PURE_FORBIDDEN_INCLUDES.match(included):
                yield name, f"includes <{included}>"


def rule_include_confinement():
    """Third-party libraries and threads stay in their rooms."""
    for name in matching(*CPP):
        for included in includes(name):
            for pattern, places in rules.INCLUDE_CONFINEMENT:
                if re.match(f"(?:{pattern})", included) and not is_in(name, places):
                    yield name, f"includes <{included}>"
            is_private = name.startswith("tests/") or name.endswith("impl.h")
            if (name.endswith(".h") and not is_private
                    and included.startswith("boost/") and included != rules.ASIO_IN_HEADERS):
                yield name, f"includes <{included}> in a header"


def rule_type_names():
    """A type's name stands once in its namespace: two would be merged by the linker, silently."""
    places = {}
    for name in matching(*CPP):
        scope = []
        for line in text(name).splitlines():
            if opened := re.fullmatch(r"(?:inline )?namespace ?([\w:]*) ?\{", line):
                scope.append(opened[1])
            elif line.startswith("}  // namespace"):
                scope.pop()
            defined = re.match(r"(?:struct|class|enum(?: class)?) (\w+)(?: final)?(?: : [^;]*)? \{",
                               line)
            if defined and scope and "" not in scope:
                places.setdefault(("::".join(scope), defined[1]), []).append(name)
    for (scope, type_name), names in places.items():
        for name in names[1:]:
            yield name, f"defines {scope}::{type_name}, as {names[0]} does"


def rule_heavy_headers_once():
    """A header that takes seconds to compile is included by one .cpp of a room."""
    for pattern in rules.ONE_CPP_PER_ROOM:
        users = {}
        for name in matching(*CPP):
            if room_of(name) and any(re.match(pattern, included) for included in includes(name)):
                users.setdefault(room_of(name), []).append(name)
        for names in users.values():
            for name in names[1:]:
                yield name, f"includes {pattern} besides {names[0]}"


def rule_token_confinement():
    """Processes, environment, time, randomness and threads only where the table says."""
    for name in matching(*CPP):
        for pattern, places in rules.TOKEN_CONFINEMENT:
            if not is_in(name, places):
                for line, found in lines_with(pattern, code(name)):
                    yield name, f"{line}: {found}"


def rule_columns():
    """A line of code fits into the columns of the formatters."""
    for name in matching(*CPP, ".py"):
        for number, line in enumerate(text(name).splitlines(), 1):
            if len(line) > rules.COLUMNS_MAX:
                yield name, f"{number}: {len(line)} columns"


def rule_markdown_columns():
    """A line of Markdown fits into a diff, except in code blocks (fenced or indented)."""
    for name in matching(".md"):
        if name in rules.LONG_LINES_PAGES:
            continue
        prose = re.sub(r"^ *```.*?^ *```", blank, text(name), flags=re.DOTALL | re.MULTILINE)
        for number, line in enumerate(prose.splitlines(), 1):
            is_row = line.lstrip().startswith("|")
            limit = rules.TABLE_ROW_COLUMNS_MAX if is_row else rules.COLUMNS_MAX
            if len(line.rstrip()) > limit and not line.startswith("    "):
                yield name, f"{number}: {len(line.rstrip())} columns, at most {limit}"


def rule_headers():
    """#pragma once, an opening comment, no `using namespace`."""
    for name in matching(".h"):
        opening = re.match(r"#pragma once\n((?://[^\n]*\n)+)", text(name))
        if not opening:
            yield name, "does not open with #pragma once and a comment"
        if re.search(r"\busing\s+namespace\b", code(name)):
            yield name, "has a using namespace"


def rule_text():
    """Plain text: no control characters, no blanks at line ends, no reminders."""
    endings = (*CPP, ".py", ".md", ".txt", ".cmake", ".toml", ".proto", ".json", ".sh", "Makefile")
    own_words = re.compile("|".join(rules.FORBIDDEN_WORDS))
    for name in matching(*endings):
        if is_in(name, ["tests/golden/", "tests/fixtures/"]):
            continue
        content = text(name)
        tabs = "" if name.endswith("Makefile") else "\t"
        if re.search(f"[\\x00-\\x08\\x0b-\\x1f\\x7f{tabs}]", content):
            yield name, "has a control character"
        if "\ufffd" in content:
            yield name, "is not UTF-8"
        if content and not content.endswith("\n"):
            yield name, "does not end with a line end"
        if not name.endswith(".md") and re.search(r" +$", content, re.MULTILINE):
            yield name, "has blanks at a line end"
        for line, found in lines_with(own_words, content):
            yield name, f"{line}: {found}"


def rule_readmes():
    """Each room has a README."""
    for room in rules.ROOMS_WITH_README:
        name = room + "README.md"
        if not is_in(room, files()) and not any(file.startswith(room) for file in files()):
            continue
        if not (ROOT / name).is_file():
            yield name, "is missing"


def headers_to_compile():
    """Headers that no .cpp of the tree proves self-contained by including them first."""
    proven = {includes(name)[0] for name in matching(".cpp") if includes(name)}
    return [name for name in matching(".h") if name not in proven and room_of(name)]


def rule_self_contained_headers():
    """Every header compiles alone."""
    # With objects, although they are not needed, because a compiler cache can serve them.
    cache = ["ccache"] if shutil.which("ccache") else []
    environment = {**os.environ, "CCACHE_BASEDIR": str(ROOT), "CCACHE_NOHASHDIR": "1"}

    def compile_alone(name):
        alone = ROOT / "build" / "headers" / (name + ".cpp")
        alone.parent.mkdir(parents=True, exist_ok=True)
        alone.write_text(f'#include "{name}"\n')
        command = [*cache, "g++", "-std=c++23", "-c", "-I", str(ROOT), str(alone),
                   "-o", str(alone.with_suffix(".o"))]
        done = subprocess.run(command, capture_output=True, text=True, env=environment)
        return name, done.returncode, done.stderr

    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        for name, status, errors in pool.map(compile_alone, headers_to_compile()):
            if status:
                yield name, errors.strip().splitlines()[0]


def rule_layer_table():
    """docs/architecture.md shows the current table of layers."""
    page = "docs/architecture.md"
    rows = re.findall(r"^\| `([a-z/]+/)` \|.*\| ([^|]*) \|$", text(page), re.MULTILINE)
    told = {room: re.findall(r"`([^`]+)`", may_use) for room, may_use in rows}
    for room in (rules.LAYERS.keys() | told.keys()) - {"python/robustrun/"}:
        real = [place.removesuffix("/") if not place.endswith("_") else place + "*"
                for place in rules.LAYERS.get(room, [])]
        if room not in told or room not in rules.LAYERS or told[room] != real:
            yield page, f"{room}: the page has {told.get(room)}, the rules {real}"


def rule_citations():
    """Every page that is cited is in the repository."""
    pages = {name for name in files() if name.endswith(".md")}
    endings = (*CPP, ".py", ".md", ".txt", ".cmake", ".toml", ".proto", ".sh", "Makefile")
    for name in matching(*endings):
        for cited in set(re.findall(r"(?<![\w/.*{<-])[\w/.-]+\.md\b(?!\.)", text(name))):
            bare = cited.lstrip("./")
            if not any(page == bare or page.endswith("/" + bare) for page in pages):
                yield name, f"names {cited}"


def rule_named_files():
    """Every file of a room that a page of docs/ names is in the repository."""
    rooms = {room.split("/")[0] for room in rules.LAYERS} | {"bench", "scripts", "tests"}
    for name in matching(".md", under="docs/"):
        for named in set(re.findall(r"(?<![\w/.*{<-])[\w-]+(?:/[\w-]+)+\.\w+", text(name))):
            if named.split("/")[0] in rooms and not (ROOT / named).exists():
                yield name, f"names {named}"


def anchors(page):
    """The anchors of a page's headings, as GitHub makes them."""
    headings = re.findall(r"^#+ (.*)$", re.sub(r"```.*?```", "", text(page), flags=re.DOTALL),
                          re.MULTILINE)
    return {re.sub(r"[^\w -]", "", heading.lower()).replace(" ", "-") for heading in headings}


def rule_links():
    """A relative link leads to a file and a heading, and each page of docs/ is linked."""
    linked = set()
    for name in matching(".md"):
        prose = re.sub(r"```.*?```|`[^`\n]*`", "", text(name), flags=re.DOTALL)
        for target in re.findall(r"\]\(([^)\s]+)\)", prose):
            path, _, anchor = target.partition("#")
            page = os.path.normpath(os.path.join(os.path.dirname(name), path)) if path else name
            if re.match(r"[a-z]+:", target):
                continue
            if not (ROOT / page).exists():
                yield name, f"links {target}"
            elif anchor and anchor not in anchors(page):
                yield name, f"links {target}: there is no such heading"
            linked |= {page} - {name}
    for name in matching(".md", under="docs/"):
        if name not in linked:
            yield name, "is linked by no page"


RULES = [value for key, value in sorted(globals().items()) if key.startswith("rule_")]
violations_seen = {}


def violations(rule):
    if rule not in violations_seen:
        found = {}
        for path, detail in rule():
            found.setdefault(f"{rule.__name__[len('rule_'):]} {path}", []).append(detail)
        violations_seen[rule] = found
    return violations_seen[rule]


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.__name__[len("rule_"):])
def test_rule(rule):
    new = {key: details for key, details in violations(rule).items() if key not in allowed()}
    report = [f"{key}: {detail}" for key, details in new.items() for detail in details]
    assert not report, f"{rule.__doc__}\n" + "\n".join(report)


def test_the_allow_list_only_shrinks():
    still = {key for rule in RULES for key in violations(rule)}
    assert allowed() <= still, f"take out of allow.txt: {sorted(allowed() - still)}"
    assert len(allowed()) <= ALLOWED_MAX


def test_vague_phrases_only_become_fewer():
    counts = collections.Counter({name: len(re.findall(rules.VAGUE_PHRASES, text(name)))
                                  for name in matching(*CPP, ".py", ".md")})
    most = ", ".join(f"{name} {count}" for name, count in counts.most_common(20) if count)
    assert counts.total() <= rules.VAGUE_PHRASES_MAX, f"{counts.total()} of them: {most}"


def test_the_layer_table_has_no_circles():
    order = list(rules.LAYERS)
    for room, may_use in rules.LAYERS.items():
        used = {other for other in order for place in may_use if other.startswith(place)}
        later = set(order[order.index(room):]) - {room}
        assert not used & later, room


def test_the_table_of_python_layers_has_no_circles():
    assert circles(rules.PYTHON_LAYERS) == []
