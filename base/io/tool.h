#pragma once
// Short helper programs (an interpreter asked for a fact, numactl, scontrol): run to the end with
// a deadline, output captured. Boost.Process stays behind this header.

#include <chrono>
#include <string>
#include <string_view>
#include <vector>

#include "base/core/exit_status.h"
#include "base/core/result.h"

namespace robustrun::base {

struct ToolResult {
  ExitStatus status;
  std::string out;  // at most kToolOutputBytesMax each; the rest is read and dropped
  std::string err;
};

inline constexpr std::size_t kToolOutputBytesMax = std::size_t{1} << 20;

// Blocks: call it before the loop runs, or from the blocking pool. `input` is its standard input.
// kNotFound when `argv[0]` (absolute path) is no executable file, kTimeout when the deadline passed
// (it is then killed, with what it has started). When `stop_fd` becomes readable, that is like the
// deadline; -1: none.
Result<ToolResult> run_tool(const std::vector<std::string>& argv,
                            std::chrono::milliseconds deadline, std::string_view input = {},
                            int stop_fd = -1);

// The absolute path of `name` on `path` (a PATH value); kNotFound when there is none.
Result<std::string> find_executable(const std::string& name, const std::string& path);

}  // namespace robustrun::base
