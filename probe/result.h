#pragma once
// The result of one test as JSON: one object on one line, as docs/preflight.md describes it. Pure.
//
// It is written by a program beside other people's libraries, which print what they like, and read
// from whatever came out: the last line that begins like a result is the result.

#include <string>
#include <string_view>

#include "base/core/gpu_facts.h"
#include "base/core/result.h"

namespace robustrun::probe {

// With a line end. `asked` is not part of it.
[[nodiscard]] std::string write_result(const std::string& test, const base::GpuFacts& facts);

// Of all that the program wrote. Fails when there is no result of that test, or one beyond
// limits.h; GPUs that it does not count, and figures that are none, are left out. Texts may hold
// any bytes.
[[nodiscard]] base::Result<base::GpuFacts> read_result(const std::string& test,
                                                       std::string_view output);

}  // namespace robustrun::probe
