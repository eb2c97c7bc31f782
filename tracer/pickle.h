#pragma once
// The part of Python's pickle format that a dump of torch's Flight Recorder needs: as torch writes
// it (protocol 2), or as Python does after loading it (protocols 2 to 5). An opcode that could
// import or call anything is refused by its name, as is every other one that neither uses.
// Pure.
//
// Opcodes: CPython, Lib/pickletools.py. Which of them torch writes:
// torch/csrc/jit/serialization/pickler.cpp.

#include <string_view>

#include "base/core/result.h"
#include "tracer/document.h"

namespace robustrun::tracer {

// kCorrupt: an opcode that is refused, with its name and offset, or bytes that are cut or wrong;
// kLimit: more than limits.h allows.
[[nodiscard]] base::Result<Document> read_pickle(std::string_view bytes);

// Whether they begin as such a pickle does.
[[nodiscard]] bool looks_like_pickle(std::string_view bytes);

}  // namespace robustrun::tracer
