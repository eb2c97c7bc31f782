#pragma once
// The result of one test as JSON: one object on one line, as described in docs/preflight.md. Pure.
//
// The program that writes it is linked with libraries that may print anything. The reader therefore
// takes the last line of the output that begins like a result.

#include <string>
#include <string_view>

#include "base/core/gpu_facts.h"
#include "base/core/result.h"

namespace robustrun::probe {

// With a line end. `asked` is not written.
[[nodiscard]] std::string write_result(const std::string& test, const base::GpuFacts& facts);

// Reads the result from `output`, all that the program wrote. Fails when it has no result of that
// test, or one beyond limits.h. Omits malformed figures and figures of GPUs that the result does
// not list. Texts may hold any bytes.
[[nodiscard]] base::Result<base::GpuFacts> read_result(const std::string& test,
                                                       std::string_view output);

}  // namespace robustrun::probe
