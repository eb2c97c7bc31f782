#pragma once
// The last lines of a worker's log.

#include <cstddef>
#include <string>
#include <vector>

namespace robustrun::cli {

struct LastLines {
  std::string
      file;  // stdout.log or stderr.log, whichever was written last; empty: there is neither
  std::vector<std::string> lines;  // any bytes; at most 64 KiB of them
};

// `folder`: of one rank and attempt (agent/spawn/attempt_dirs.h). Of a line that was redrawn with
// \r only the last picture counts.
[[nodiscard]] LastLines read_last_lines(const std::string& folder, std::size_t lines_max);

}  // namespace robustrun::cli
