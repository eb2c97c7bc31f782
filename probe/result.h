#pragma once
// The result of one test as JSON: one object on one line (docs/preflight.md). Pure.
//
// The libraries of the program that writes the result may print anything. The reader therefore
// takes the last line that begins like a result.

#include <string>
#include <string_view>

#include "base/core/gpu_facts.h"
#include "base/core/result.h"

namespace robustrun::probe {

// The line ends with a newline. GpuFacts::asked is not written: read_result() leaves it false.
[[nodiscard]] std::string write_result(const std::string& test, const base::GpuFacts& facts);

// Reads the result from `output`, the whole output of the program. kProtocol: `output` has no
// result of that test in this version of the format, or one longer than kResultBytesMax. Cuts lists
// and texts to the limits of limits.h. Omits malformed figures and sums, and those of GPUs that the
// result does not list. A result without an error and without GPUs gets the error "it tested no
// GPU". Texts may contain control characters, and may end within a character.
[[nodiscard]] base::Result<base::GpuFacts> read_result(const std::string& test,
                                                       std::string_view output);

}  // namespace robustrun::probe
