"""The tables behind test_tidy.py: which room may include which, and where names may occur.

docs/architecture.md has the reasons. A path that ends in "/" is a folder; any other path is the
beginning of file names.
"""

import re

# Room -> rooms it may include besides itself. Order as in docs/architecture.md.
LAYERS = {
    "base/core/": [],
    "base/io/": ["base/core/"],
    "base/glibc/": [],
    "topo/": ["base/core/"],
    "loader/plan/": ["base/core/"],
    "loader/": ["base/", "loader/plan/"],
    "wire/": ["base/"],
    "tracer/analysis/": ["base/core/"],
    "tracer/": ["base/", "tracer/analysis/"],
    "tracer/nccl/": ["base/core/", "tracer/analysis/operation.h", "tracer/progress_record.h",
                     "tracer/record_"],
    "checkpoint/": ["base/"],
    "bootstrap/": ["base/", "wire/"],
    "probe/": ["base/"],
    "agent/": ["base/", "wire/", "tracer/", "checkpoint/", "bootstrap/", "probe/"],
    "launcher/": ["base/", "topo/", "wire/"],
    "supervisor/core/": ["base/core/", "topo/", "tracer/analysis/", "wire/messages/facts.h"],
    "supervisor/": ["base/", "topo/", "wire/", "tracer/", "launcher/", "supervisor/core/"],
    "simulator/": ["base/core/", "supervisor/core/", "tracer/analysis/"],
    "cli/": ["base/", "topo/", "wire/", "tracer/", "checkpoint/", "bootstrap/", "agent/",
             "launcher/", "supervisor/", "simulator/", "loader/"],
}

# Sub-package of python/robustrun -> those that it may import besides itself. The modules beside
# them are what users import: these may import all of them, and no sub-package imports these.
PYTHON_PACKAGE = "python/robustrun/"
PYTHON_LAYERS = {
    "_progress/": [],
    "_trackers/": ["_progress/"],
    "_diagnose/": ["_progress/"],
    "_boot/": ["_api/", "_progress/", "_diagnose/", "_trackers/"],
    "_api/": ["_progress/"],
    "_state/": [],
    "_checkpoint/": ["_progress/", "_api/", "_state/"],
    "_data/": ["_progress/", "_api/", "_state/", "_checkpoint/"],
    "_dcp/": ["_api/", "_state/", "_checkpoint/"],
    "_align/": [],
    "integrations/": ["_api/", "_checkpoint/", None],  # None: what users import
}

# The shim is a static program of its own: of ours it has only what kills a tree of processes.
SHIM = "agent/shim/"
SHIM_MAY_INCLUDE = ["agent/shim/", "base/io/strays.h"]

# supervisor/core, topo and the analyzer: no I/O, no clock, no threads, no randomness.
PURE_ROOMS = ["supervisor/core/", "topo/", "tracer/analysis/", "simulator/", "loader/plan/"]
PURE_FORBIDDEN_INCLUDES = re.compile(
    r"boost/|spdlog/|sys/|unistd\.h|fcntl\.h|filesystem|fstream|iostream|cstdio"
    r"|thread|mutex|shared_mutex|atomic|condition_variable|future|random|unordered_")

# What is included -> where it may be.
INCLUDE_CONFINEMENT = [
    (r"boost/process", ["base/io/tool.cpp"]),
    (r"spdlog/", ["base/io/log.cpp"]),
    (r"google/protobuf/|\.pb\.h", ["wire/", "tests/wire/"]),
    (r"CLI/|toml\+\+", ["cli/"]),
    (r"openssl/|boost/asio/ssl", ["wire/", "base/io/"]),
    (r"libssh2", ["launcher/"]),
    (r"isa-l|liburing", ["checkpoint/"]),
    (r"fuse3?/", ["bootstrap/blocks/", "tests/helpers/"]),
    (r"curl/", ["base/io/http/curl_library.h"]),
    (r"base/io/http/curl_library", ["base/io/http/", "bootstrap/blocks/"]),
    (r"thread|mutex|shared_mutex|condition_variable|future|semaphore",
     ["base/io/blocking_pool.cpp", "base/io/log.cpp", "bootstrap/blocks/", "tests/"]),
    (r"cuda|cublas", ["probe/gpu/"]),
    (r"nccl\.h", ["probe/gpu/exchange.cpp"]),
    (r"xxhash\.h", ["base/core/hash.cpp"]),
    (r"random", ["tests/"]),
]
ONE_CPP_PER_ROOM = [r"nlohmann/", r"CLI/", r"toml\+\+", r"boost/beast"]
ASIO_IN_HEADERS = "boost/asio/any_io_executor.hpp"  # the only one

_SYSTEM = r"(?<![\w.>:])(?:::|std::)?(?:%s)\s*\("
_CALL = r"(?<![\w.>:])(?:::|std::)(?:%s)\s*\("

# What is written -> where it may be.
TOKEN_CONFINEMENT = [
    (_SYSTEM % "fork|vfork|clone3?|posix_spawnp?|exec[vl]p?e?|waitpid|waitid|wait[34]",
     ["base/io/child", "base/io/tool", "base/io/strays", "agent/shim/", "tests/"]),
    (_CALL % "kill|killpg|pidfd_send_signal|tgkill|raise",
     ["base/io/child", "base/io/tool", "base/io/strays", "agent/shim/", "cli/", "tests/"]),
    (_SYSTEM % "getenv|secure_getenv|setenv|unsetenv|putenv|quick_exit|atexit|system|popen",
     ["cli/", "tracer/nccl/attach.cpp", "bootstrap/blocks/http_origin.cpp", "tests/"]),
    (_CALL % "exit|_exit|_Exit|abort",
     ["cli/", "base/io/tool.cpp", "base/core/result.cpp", "agent/shim/", "probe/gpu/main.cpp",
      "bootstrap/blocks/main.cpp", "tests/"]),
    (r"\benviron\b", ["cli/", "base/io/tool.cpp", "base/io/marked.cpp", "agent/shim/",
                      "launcher/own_environment.cpp",
                      "tests/"]),
    (r"(?:steady|system|high_resolution)_clock::now|" + _CALL % "clock_gettime|gettimeofday|time",
     ["base/core/clock.cpp", "base/glibc/", "agent/shim/", "tracer/nccl/attach.cpp", "tests/"]),
    (r"\brandom_device\b|\bmt19937|" + _CALL % "rand|random|getrandom|getentropy",
     ["base/core/clock.cpp", "base/core/glibc_compat.cpp", "tests/"]),
    (r"std::(?:jthread|thread|async|mutex|condition_variable)\b",
     ["base/io/blocking_pool.cpp", "base/io/log.cpp", "bootstrap/blocks/", "tests/"]),
    (r"\bsleep_(?:for|until)\b|" + _SYSTEM % "sleep|usleep|nanosleep", ["tests/"]),
    (r"\bco_(?:await|yield|return)\b", []),
    (r"\bthrow\b(?!\s*\()", []),
    (r"\.detach\(\)", ["base/io/tool.cpp", "base/io/blocking_pool.cpp",
                          "bootstrap/blocks/block_clients.cpp",
                          "bootstrap/blocks/source_opening.cpp"]),
]

# Words that do not belong in the tree (written so that this file passes its own test).
FORBIDDEN_WORDS = [r"\bTOD[O]\b", r"\bFIXM[E]\b", r"\bXX[X]\b", r"<{7} ", r">{7} "]

# Phrases that stand for a noun, which a reader has to find. Python's `is None` is not one of them.
VAGUE_PHRASES = r"\b(?:(?i:whoeve[r]|nobod[y]|somebod[y]|is sai[d])|[Ii]s non[e])\b"
VAGUE_PHRASES_MAX = 60  # in .h, .cpp, .py and .md; may only be lowered

COLUMNS_MAX = 100
TABLE_ROW_COLUMNS_MAX = 200  # in Markdown
# Pages with longer lines: one is generated, one has a table of rules with long conditions.
LONG_LINES_PAGES = ["docs/cli.md"]
FILES_MAX = 40  # of C++, or of the Python package, in a folder
TEST_FILES_MAX = 60  # of C++ and Python in a folder of tests

ROOMS_WITH_README = ["base/", "topo/", "loader/", "wire/", "tracer/", "checkpoint/", "probe/",
                     "agent/", "launcher/",
                     "supervisor/", "simulator/", "cli/", "python/", "tests/", "bench/"]
