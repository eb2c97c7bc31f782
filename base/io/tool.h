#pragma once
// Runs short helper programs (an interpreter queried for a fact, scontrol) to the end, with a
// deadline and captured output. Boost.Process stays behind this header.

#include <chrono>
#include <string>
#include <string_view>
#include <vector>

#include "base/core/exit_status.h"
#include "base/core/result.h"

namespace robustrun::base {

struct ToolResult {
  ExitStatus status;
  std::string out;  // at most kToolOutputBytesMax; the rest is read and dropped
  std::string err;  // at most kToolErrorBytesMax; the rest is read and dropped
};

// A line of sinfo for each of 25,000 hosts in four partitions is 8 MiB.
inline constexpr std::size_t kToolOutputBytesMax = std::size_t{16} << 20;
inline constexpr std::size_t kToolErrorBytesMax = std::size_t{1} << 20;

// Blocks: call it before the loop runs, or from the blocking pool. `input` becomes the tool's
// standard input. The tool inherits the environment. kNotFound: `argv[0]` (absolute path) is not an
// executable file. kTimeout: the deadline passed, or `stop_fd` (-1: none) became readable; the tool
// is then killed with its process group.
Result<ToolResult> run_tool(const std::vector<std::string>& argv,
                            std::chrono::milliseconds deadline, std::string_view input = {},
                            int stop_fd = -1);

// The absolute path of `name` on `path` (a PATH value); kNotFound when no folder there has it. A
// `name` with a slash is itself a path; kNotFound when it is not an executable file.
Result<std::string> find_executable(const std::string& name, const std::string& path);

}  // namespace robustrun::base
