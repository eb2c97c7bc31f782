#pragma once
// Reads the part of Python's pickle format that dumps of torch's Flight Recorder use, as torch
// writes them (protocol 2) or as Python writes them again after loading (protocols 2 to 5). All
// other opcodes are refused, in particular those that could import or call anything. Pure.
//
// Sources: Lib/pickletools.py of CPython (opcodes); torch/csrc/jit/serialization/pickler.cpp (which
// opcodes torch writes).

#include <string_view>

#include "base/core/result.h"
#include "tracer/document.h"

namespace robustrun::tracer {

// Fails with kCorrupt if an opcode is refused (the error has its number and offset) or the bytes
// are cut short or malformed, and with kLimit if they exceed the bounds of limits.h.
[[nodiscard]] base::Result<Document> read_pickle(std::string_view bytes);

// Whether `bytes` begin like a pickle of protocol 5 or older.
[[nodiscard]] bool looks_like_pickle(std::string_view bytes);

}  // namespace robustrun::tracer
