#pragma once
// --line-metrics: numbers that a script prints instead of calling robustrun.step.
//
// Pure. A pattern is NAME=TEXT: TEXT holds {value} once, where the number stands; before it `*`
// stands for any bytes, all else for itself, at the first place where it fits. Matching never goes
// back over a line (but tries the last piece before {value} again where no number follows), looks
// at kMetricLineBytesMax of it, and stops at nothing: a line that does not fit is another line.

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
  std::vector<std::string> before;  // pieces that come one after the other; the last may be empty
  std::string after;  // directly behind the number
};

// "loss=step *, loss: {value}". Errors say what is wrong with it, without quoting it.
[[nodiscard]] base::Result<LinePattern> parse_line_pattern(std::string_view text);
// The number in `line`, which may be nan or inf.
[[nodiscard]] std::optional<double> value_in(std::string_view line, const LinePattern& pattern);

class LineMetrics {
 public:
  explicit LineMetrics(std::vector<LinePattern> patterns) : patterns_(std::move(patterns)) {}
  // What came of one of the two streams; '\r' ends a line, too.
  void feed(bool is_stderr, std::string_view bytes);
  // Newest of each name, in the order of the patterns; names without a value are left out.
  [[nodiscard]] const std::vector<std::pair<std::string, double>>& values() const {
    return values_;
  }
  // That held at least one of them.
  [[nodiscard]] std::uint64_t lines() const { return lines_; }
  // There were such lines since the last time that this was asked.
  [[nodiscard]] bool has_news() { return std::exchange(told_, lines_) != lines_; }

 private:
  void take(std::string_view line);

  std::vector<LinePattern> patterns_;
  std::array<std::string, 2> rest_;  // of lines whose ends have not come yet, at most
                                     // kMetricLineBytesMax of each
  std::vector<std::pair<std::string, double>> values_;
  std::uint64_t lines_ = 0;
  std::uint64_t told_ = 0;
};

}  // namespace robustrun::agent
