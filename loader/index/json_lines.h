#pragma once
// Finds the samples of a JSON lines file: one per line, except blank lines.

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/core/result.h"

namespace robustrun::loader {

inline constexpr std::uint64_t kJsonLineBytesMax = std::uint64_t{1} << 30U;

// Finds lines in a file that comes in parts of any size. Checks only that each line begins with
// '{'; `robustrun data prepare` parses the lines.
class JsonLineScanner {
 public:
  // kCorrupt: a line does not begin with '{'. kLimit: a line is longer than kJsonLineBytesMax. The
  // text has the line's number, from 1.
  [[nodiscard]] base::Status add(std::string_view part);
  void finish() { end_line(); }  // at the file's end

  // Length in bytes of each sample's line, without the line feed.
  [[nodiscard]] const std::vector<std::uint32_t>& sizes() const { return sizes_; }

 private:
  void end_line();
  base::Status look_at(std::string_view part);

  std::vector<std::uint32_t> sizes_;
  std::uint64_t line_ = 1;
  std::uint64_t size_ = 0;
  bool blank_ = true;
};

// JsonLineScanner::sizes() of a whole file. Blocks.
[[nodiscard]] base::Result<std::vector<std::uint32_t>> read_json_line_sizes(
    const std::string& path);

}  // namespace robustrun::loader
