#include "agent/output/line_metrics.h"

#include <algorithm>
#include <charconv>

#include "agent/output/limits.h"
#include "base/core/text.h"

namespace robustrun::agent {
namespace {

constexpr std::string_view kPlaceOfValue = "{value}";

// How many bytes at the start of `text` are groups of thousands: ",345,678" of ",345,678 tokens".
std::size_t groups_at(std::string_view text) {
  const auto is_digit = [&](std::size_t at) {
    return at < text.size() && text[at] >= '0' && text[at] <= '9';
  };
  std::size_t at = 0;
  while (at < text.size() && text[at] == ',' && is_digit(at + 1) && is_digit(at + 2) &&
         is_digit(at + 3) && !is_digit(at + 4)) {
    at += 4;
  }
  return at;
}

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

// As number_at, with groups of thousands.
std::optional<std::pair<double, std::size_t>> grouped_number_at(std::string_view text) {
  const auto plain = number_at(text);
  if (!plain) return plain;
  const std::size_t groups = groups_at(text.substr(plain->second));
  if (groups == 0) return plain;
  std::string digits(text.substr(0, plain->second + groups));
  std::erase(digits, ',');
  // A decimal fraction may follow.
  const std::string_view rest = text.substr(plain->second + groups);
  const std::size_t fraction =
      rest.starts_with('.') ? std::min(rest.find_first_not_of("0123456789", 1), rest.size()) : 0;
  digits.append(rest.substr(0, fraction));
  const auto whole = number_at(digits);
  if (!whole) return plain;
  return std::pair(whole->first, plain->second + groups + fraction);
}

// Without sequences such as "\x1b[31m".
std::string without_colours(std::string_view line) {
  std::string plain;
  while (!line.empty()) {
    const std::size_t escape = std::min(line.find("\x1b["), line.size());
    plain.append(line.substr(0, escape));
    line.remove_prefix(escape);
    if (line.empty()) break;
    const std::size_t end = line.find_first_not_of("0123456789;?", 2);
    line.remove_prefix(end == std::string_view::npos ? line.size() : end + 1);
  }
  return plain;
}

bool has_pieces(std::string_view line, const std::vector<std::string>& pieces) {
  std::size_t at = 0;
  for (const std::string& piece : pieces) {
    at = line.find(piece, at);
    if (at == std::string_view::npos) return false;
    at += piece.size();
  }
  return true;
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

base::Result<std::vector<std::string>> parse_line_text(std::string_view text) {
  std::vector<std::string> pieces;
  for (const std::string_view piece : base::split(text, '*')) {
    if (!piece.empty()) pieces.emplace_back(piece);
  }
  if (pieces.empty()) {
    return base::fail(base::Errc::kInvalidArgument, "it would match every line");
  }
  return pieces;
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
    const auto number = pattern.grouped ? grouped_number_at(rest) : number_at(rest);
    if (number && rest.substr(number->second).starts_with(pattern.after)) {
      return pattern.inverse ? pattern.factor / number->first : pattern.factor * number->first;
    }
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
  if (line.empty()) return;
  ++lines_read_;
  bool held = false;
  for (const LinePattern& pattern : patterns_) held = take(line, pattern) || held;
  if (!formats_.empty()) {
    const bool is_coloured = line.find('\x1b') != std::string_view::npos;
    held = take_formats(is_coloured ? without_colours(line) : line) || held;
  }
  if (held) ++lines_;
}

bool LineMetrics::take_formats(std::string_view line) {
  line = line.substr(0, kMetricLineBytesMax);
  bool held = false;
  for (std::size_t i = 0; i < formats_.size(); ++i) {
    const LineFormat& format = formats_[i];
    const auto fits = [&](const auto& pieces) { return has_pieces(line, pieces); };
    if (std::ranges::none_of(format.lines, fits)) continue;
    bool fitted = false;
    for (const LinePattern& pattern : format.values) fitted = take(line, pattern) || fitted;
    if (!fitted) continue;
    held = true;
    if (is_recognised_[i]) continue;
    is_recognised_[i] = true;
    if (on_format_) on_format_(format.project);
  }
  return held;
}

bool LineMetrics::take(std::string_view line, const LinePattern& pattern) {
  const auto value = value_in(line, pattern);
  if (!value) return false;
  using Named = std::pair<std::string, double>;
  const auto known = std::ranges::find(values_, pattern.name, &Named::first);
  if (known != values_.end()) {
    known->second = *value;
  } else {
    values_.emplace_back(pattern.name, *value);
  }
  return true;
}

}  // namespace robustrun::agent
