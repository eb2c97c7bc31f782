#include "agent/output/line_metrics.h"

#include <algorithm>
#include <charconv>

#include "agent/output/limits.h"
#include "base/core/text.h"

namespace robustrun::agent {
namespace {

constexpr std::string_view kPlaceOfValue = "{value}";

// Without a plus sign, behind spaces: "2.31", "1e-3", "nan", "-inf".
std::optional<std::pair<double, std::size_t>> number_at(std::string_view text) {
  const std::size_t begin = text.find_first_not_of(' ');
  if (begin == std::string_view::npos) return std::nullopt;
  double value = 0;
  const char* const end = text.data() + text.size();
  const auto parsed = std::from_chars(text.data() + begin, end, value);
  if (parsed.ec != std::errc{}) return std::nullopt;
  return std::pair(value, static_cast<std::size_t>(parsed.ptr - text.data()));
}

}  // namespace

base::Result<LinePattern> parse_line_pattern(std::string_view text) {
  const auto wrong = [](const char* why) { return base::fail(base::Errc::kInvalidArgument, why); };
  const std::size_t equals = text.find('=');
  if (equals == std::string_view::npos || equals == 0) {
    return wrong("it has to be NAME=TEXT with {value} in the text");
  }
  LinePattern pattern;
  pattern.name = text.substr(0, equals);
  if (pattern.name.size() > kMetricNameBytesMax) return wrong("its name is longer than 24 bytes");
  std::string_view rest = text.substr(equals + 1);
  const std::size_t value = rest.find(kPlaceOfValue);
  if (value == std::string_view::npos) return wrong("it lacks {value}, where the number stands");
  pattern.after = rest.substr(value + kPlaceOfValue.size());
  if (pattern.after.find(kPlaceOfValue) != std::string::npos) return wrong("it has two {value}");
  if (pattern.after.find('*') != std::string::npos) {
    return wrong("a * behind {value} says nothing: leave out what follows the number");
  }
  for (const std::string_view piece : base::split(rest.substr(0, value), '*')) {
    pattern.before.emplace_back(piece);
  }
  if (std::ranges::all_of(pattern.before, &std::string::empty)) {
    return wrong("it needs some text before {value}: every number would fit");
  }
  return pattern;
}

std::optional<double> value_in(std::string_view line, const LinePattern& pattern) {
  line = line.substr(0, kMetricLineBytesMax);
  std::size_t at = 0;
  for (std::size_t i = 0; i + 1 < pattern.before.size(); ++i) {
    at = line.find(pattern.before[i], at);
    if (at == std::string_view::npos) return std::nullopt;
    at += pattern.before[i].size();
  }
  const std::string& last = pattern.before.back();
  for (at = line.find(last, at); at != std::string_view::npos; at = line.find(last, at + 1)) {
    const std::string_view rest = line.substr(at + last.size());
    const auto number = number_at(rest);
    if (number && rest.substr(number->second).starts_with(pattern.after)) return number->first;
  }
  return std::nullopt;
}

void LineMetrics::feed(bool is_stderr, std::string_view bytes) {
  std::string& rest = rest_[is_stderr ? 1 : 0];
  while (!bytes.empty()) {
    const std::size_t end = bytes.find_first_of("\r\n");
    const std::string_view piece = bytes.substr(0, end);
    if (end == std::string_view::npos || !rest.empty()) {
      rest.append(piece.substr(0, kMetricLineBytesMax - rest.size()));
    }
    if (end == std::string_view::npos) return;
    take(rest.empty() ? piece : rest);
    rest.clear();
    bytes.remove_prefix(end + 1);
  }
}

void LineMetrics::take(std::string_view line) {
  bool held = false;
  for (const LinePattern& pattern : patterns_) {
    const auto value = value_in(line, pattern);
    if (!value) continue;
    held = true;
    using Named = std::pair<std::string, double>;
    const auto known = std::ranges::find(values_, pattern.name, &Named::first);
    if (known != values_.end()) {
      known->second = *value;
    } else {
      values_.emplace_back(pattern.name, *value);
    }
  }
  if (held) ++lines_;
}

}  // namespace robustrun::agent
