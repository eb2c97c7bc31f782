#pragma once
// Keeps the last kTailBytes of a worker's stream, whose last lines are reported if the worker
// fails.
//
// Pure. append() is cheap: it copies little more than the new bytes, and only lines() looks for
// lines. Holds no memory before the first byte, and at most 2 * kTailBytes after it.

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace robustrun::agent {

class TailBuffer {
 public:
  void append(std::string_view bytes);
  // The last `count` lines, oldest first, without line ends, each cut to kTailLineBytesMax. Of a
  // line that was overwritten ('\r', progress bars), only the last state is returned.
  [[nodiscard]] std::vector<std::string> lines(std::size_t count) const;

 private:
  std::string bytes_;
};

}  // namespace robustrun::agent
