#pragma once
// --line-metrics: numbers that a script prints instead of calling robustrun.step.
//
// Pure. A pattern is NAME=TEXT: TEXT holds {value} once, in place of the number. Before it, `*`
// stands for any bytes and everything else for itself; the first fitting place counts. Matching
// does not backtrack (except that the last piece before {value} is tried again if no number
// follows) and looks at kMetricLineBytesMax of a line. A line that does not match is ignored.

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/core/result.h"

namespace robustrun::agent {

struct LinePattern {
  std::string name;
  std::vector<std::string> before;  // pieces in order; the last may be empty
  std::string after;  // directly after the number
};

// Parses "loss=step *, loss: {value}". Errors say what is wrong, without quoting the pattern.
[[nodiscard]] base::Result<LinePattern> parse_line_pattern(std::string_view text);
// The number in `line`, which may be nan or inf.
[[nodiscard]] std::optional<double> value_in(std::string_view line, const LinePattern& pattern);

class LineMetrics {
 public:
  explicit LineMetrics(std::vector<LinePattern> patterns) : patterns_(std::move(patterns)) {}
  // Bytes of one of the two streams; '\r' ends a line, too.
  void feed(bool is_stderr, std::string_view bytes);
  // The newest value of each name, in the order of the patterns; names without a value are left
  // out.
  [[nodiscard]] const std::vector<std::pair<std::string, double>>& values() const {
    return values_;
  }
  // Number of lines with at least one value.
  [[nodiscard]] std::uint64_t lines() const { return lines_; }
  // True if there were such lines since the last call.
  [[nodiscard]] bool has_news() { return std::exchange(reported_, lines_) != lines_; }

 private:
  void take(std::string_view line);

  std::vector<LinePattern> patterns_;
  std::array<std::string, 2> rest_;  // of lines whose ends have not come yet, at most
                                     // kMetricLineBytesMax of each
  std::vector<std::pair<std::string, double>> values_;
  std::uint64_t lines_ = 0;
  std::uint64_t reported_ = 0;
};

}  // namespace robustrun::agent
