#pragma once
// The lines of a JSON lines file: one sample each. Blank lines are no samples.

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/core/result.h"

namespace robustrun::loader {

inline constexpr std::uint64_t kJsonLineBytesMax = std::uint64_t{1} << 30U;

// Finds lines in a file that comes in parts of any size. Of each line it checks only that it begins
// with '{'. The rest is parsed when the line is tokenized (`robustrun data prepare`).
class JsonLineScanner {
 public:
  // The error names the line's number, from 1.
  [[nodiscard]] base::Status add(std::string_view part);
  void finish() { end_line(); }  // at the file's end

  // Bytes of each sample's line, without its end.
  [[nodiscard]] const std::vector<std::uint32_t>& sizes() const { return sizes_; }

 private:
  void end_line();
  base::Status look_at(std::string_view part);

  std::vector<std::uint32_t> sizes_;
  std::uint64_t line_ = 1;
  std::uint64_t size_ = 0;
  bool blank_ = true;
};

// The sizes of the samples of a file, in bytes. Reads all of it. Blocks.
[[nodiscard]] base::Result<std::vector<std::uint32_t>> read_json_line_sizes(
    const std::string& path);

}  // namespace robustrun::loader
