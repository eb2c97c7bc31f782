#pragma once
// The result of one test as JSON: one object on one line, as described in docs/preflight.md. Pure.
//
// The program that writes it is linked with libraries that may print anything. The reader therefore
// takes the last line that begins like a result, and ignores such text within a line.

#include <string>
#include <string_view>

#include "base/core/gpu_facts.h"
#include "base/core/result.h"

namespace robustrun::probe {

// Ends with a newline. `asked` is not written: read_result() leaves it false.
[[nodiscard]] std::string write_result(const std::string& test, const base::GpuFacts& facts);

// Reads the result from `output`, all that the program wrote. kProtocol: `output` has no result of
// that test, or one longer than kResultBytesMax. Cuts lists and texts to the bounds of limits.h,
// and omits malformed figures and sums, and those of GPUs that the result does not list. A result
// without an error and without GPUs gets the error "it tested no GPU". Texts may hold control
// characters, and may end within a character.
[[nodiscard]] base::Result<base::GpuFacts> read_result(const std::string& test,
                                                       std::string_view output);

}  // namespace robustrun::probe
