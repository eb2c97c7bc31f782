#pragma once
// The last kTailBytes of a stream; its last lines are read when a worker has failed.
//
// Pure. Cheap at any rate: append() copies at most kTailBytes, and only lines() looks for lines.
// Holds no memory before the first byte, at most 2 * kTailBytes after it.

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace robustrun::agent {

class TailBuffer {
 public:
  void append(std::string_view bytes);
  // The last `count` lines, oldest first, without line ends, each cut to kTailLineBytesMax. A line
  // that was overwritten ('\r', progress bars) counts in its last state.
  [[nodiscard]] std::vector<std::string> lines(std::size_t count) const;

 private:
  std::string bytes_;
};

}  // namespace robustrun::agent
