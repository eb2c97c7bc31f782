#pragma once
// --line-metrics: finds numbers that a script prints instead of calling robustrun.step. Pure.
//
// A pattern is NAME=TEXT, where TEXT contains {value} once, in place of the number. In the text
// before {value}, `*` stands for any bytes; it splits that text into pieces. Each piece is searched
// once, from the end of the previous piece on. Only the last piece is searched again, if a number
// and the text after {value} do not follow. The first kMetricLineBytesMax of a line are searched.
//
// A format has patterns for the log lines of one project, and texts by which such lines are
// recognised. Formats ignore colours (ECMA-48 sequences) in a line. Several formats may fit at the
// same time: HF Trainer prints lines of its own beside DeepSpeed's.

#include <array>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "agent/output/limits.h"
#include "base/core/result.h"

namespace robustrun::agent {

struct LinePattern {
  std::string name;
  std::vector<std::string> before;  // pieces in order; the last piece may be empty
  std::string after;  // text directly after the number
  double factor = 1;  // the value is the number times `factor`
  bool inverse = false;  // true: the value is `factor` divided by the number
  bool grouped = false;  // 2,345 is one number
};

struct LineFormat {
  std::string project;
  // A line is of this project if it has all pieces of one of these lists, in order.
  std::vector<std::vector<std::string>> lines;
  std::vector<LinePattern> values;
};

// Parses "loss=step *, loss: {value}". The text of an error does not quote the pattern.
[[nodiscard]] base::Result<LinePattern> parse_line_pattern(std::string_view text);
// Parses a text with * for any bytes into pieces. Error: the text would match every line.
[[nodiscard]] base::Result<std::vector<std::string>> parse_line_text(std::string_view text);
// The value in `line`, which may be nan or inf; nullopt: the line does not match.
[[nodiscard]] std::optional<double> value_in(std::string_view line, const LinePattern& pattern);

// Keeps the newest values in the two streams of one worker.
class LineMetrics {
 public:
  // `on_format` is called from feed() when a format fits for the first time.
  using OnFormat = std::function<void(const std::string& project)>;
  explicit LineMetrics(std::vector<LinePattern> patterns, std::vector<LineFormat> formats = {},
                       OnFormat on_format = {})
      : patterns_(std::move(patterns)),
        formats_(std::move(formats)),
        on_format_(std::move(on_format)),
        is_recognised_(formats_.size()) {}
  // Bytes of one of the two streams; '\r' ends a line, too.
  void feed(bool is_stderr, std::string_view bytes);
  // The newest value of each name, in the order in which the names were first found; names without
  // a value are left out.
  [[nodiscard]] const std::vector<std::pair<std::string, double>>& values() const {
    return values_;
  }
  // Number of lines with at least one value.
  [[nodiscard]] std::uint64_t lines() const { return lines_; }
  // Number of lines that were searched; empty ones do not count.
  [[nodiscard]] std::uint64_t lines_read() const { return lines_read_; }
  // True if there were lines with a value since the last call, and once if the first
  // kUnmatchedLines had none.
  [[nodiscard]] bool has_news() {
    const std::uint64_t unmatched = lines_read_ >= kUnmatchedLines ? 1 : 0;
    const std::uint64_t now = lines_ == 0 ? unmatched : lines_ + 1;
    return std::exchange(reported_, now) != now;
  }

 private:
  void take(std::string_view line);
  bool take(std::string_view line, const LinePattern& pattern);
  bool take_formats(std::string_view line);

  std::vector<LinePattern> patterns_;
  std::vector<LineFormat> formats_;
  OnFormat on_format_;
  std::vector<bool> is_recognised_;  // of formats_
  // The incomplete last line of each stream, at most kMetricLineBytesMax of it.
  std::array<std::string, 2> rest_;
  std::vector<std::pair<std::string, double>> values_;
  std::uint64_t lines_ = 0;
  std::uint64_t lines_read_ = 0;
  std::uint64_t reported_ = 0;
};

}  // namespace robustrun::agent
