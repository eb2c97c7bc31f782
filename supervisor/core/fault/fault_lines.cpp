#include "supervisor/core/fault/fault_lines.h"

#include <algorithm>
#include <array>
#include <charconv>

#include "base/core/text.h"
#include "supervisor/core/types/limits.h"

namespace robustrun::supervisor {
namespace {

constexpr std::string_view kTracebackHead = "Traceback (most recent call last):";
constexpr std::string_view kFrameHead = "  File \"";

constexpr bool is_name_byte(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' ||
         c == '.';
}

// Follows what Python prints, line by line.
class TracebackReader {
 public:
  void read(std::string_view whole, FaultLine::Source source) {
    std::string_view text = without_rank_prefix(whole.substr(0, kFaultLineBytesMax));
    while (text.ends_with('\r')) text.remove_suffix(1);
    if (text.starts_with(kTracebackHead) || text.starts_with(kFrameHead)) {
      in_frames_ = true;
      exception_ = {};
    } else if (in_frames_ && text.starts_with(' ')) {
      // a frame's source line, or the marks below it
    } else if (text.empty() || text.starts_with('[')) {
      in_frames_ = false;
      exception_ = {};
      if (!text.empty()) lines_.push_back({text, {}, false, source});
    } else {
      if (in_frames_) begin_exception(exception_type(text));
      in_frames_ = false;
      lines_.push_back({text, exception_, false, source});
    }
  }

  // Of the error file's message: all of it is the exception that ended the script.
  void begin_message(std::string_view type) { begin_exception(type); }
  void read_message(std::string_view line) {
    lines_.push_back(
        {line.substr(0, kFaultLineBytesMax), exception_, false, FaultLine::Source::kErrorFile});
  }

  std::vector<FaultLine> take() {
    for (std::size_t i = last_begin_; i < lines_.size(); ++i) {
      lines_[i].last_exception = !lines_[i].exception.empty();
    }
    return std::move(lines_);
  }

 private:
  void begin_exception(std::string_view type) {
    exception_ = type;
    if (!type.empty()) last_begin_ = lines_.size();
  }

  std::vector<FaultLine> lines_;
  std::size_t last_begin_ = 0;
  std::string_view exception_;
  bool in_frames_ = false;
};

// Index of the first of the last lines that are looked at.
std::size_t first_looked_at(const std::vector<std::string>& lines) {
  std::size_t bytes = 0;
  std::size_t first = lines.size();
  while (first > 0 && lines.size() - first < kFaultLinesMax) {
    bytes += std::min(lines[first - 1].size(), kFaultLineBytesMax) + 1;
    if (bytes > kFaultEvidenceBytesMax) break;
    --first;
  }
  return first;
}

}  // namespace

std::string_view without_rank_prefix(std::string_view line) {
  if (!line.starts_with("[rank")) return line;
  const std::size_t digits = line.find_first_not_of("0123456789", 5);
  if (digits == 5 || digits == std::string_view::npos) return line;
  if (line.substr(digits).starts_with("]: ")) return line.substr(digits + 3);
  return line.substr(digits) == "]:" ? std::string_view() : line;
}

std::string_view exception_type(std::string_view line) {
  const auto end =
      static_cast<std::size_t>(std::ranges::find_if_not(line, is_name_byte) - line.begin());
  if (end == 0 || (end < line.size() && !line.substr(end).starts_with(":"))) return {};
  const std::string_view name = line.substr(0, end);
  const std::size_t dot = name.rfind('.');
  return dot == std::string_view::npos ? name : name.substr(dot + 1);
}

std::vector<FaultLine> fault_lines(const WorkerExited& exited) {
  TracebackReader reader;
  const auto& tail = exited.stderr_tail;
  for (std::size_t i = first_looked_at(tail); i < tail.size(); ++i) {
    reader.read(tail[i], FaultLine::Source::kStderr);
  }
  const std::string_view message =
      std::string_view(exited.error_message).substr(0, kFaultEvidenceBytesMax);
  reader.begin_message(exception_type(message.substr(0, message.find('\n'))));
  std::size_t read = 0;
  for (const std::string_view line : base::split(message, '\n')) {
    if (base::trim(line).empty()) continue;
    if (++read > kFaultLinesMax) break;
    reader.read_message(line);
  }
  return reader.take();
}

bool is_programming_error(std::string_view exception) {
  static constexpr std::array<std::string_view, 22> kTypes = {
      "ArithmeticError",    "AssertionError",      "AttributeError",
      "ImportError",        "IndentationError",    "IndexError",
      "KeyError",           "LookupError",         "ModuleNotFoundError",
      "NameError",          "NotImplementedError", "OverflowError",
      "RecursionError",     "StopIteration",       "SyntaxError",
      "TabError",           "TypeError",           "UnboundLocalError",
      "UnicodeDecodeError", "UnicodeEncodeError",  "ValueError",
      "ZeroDivisionError"};
  return std::ranges::find(kTypes, exception) != kTypes.end();
}

bool contains_pattern(std::string_view text, std::string_view pattern) {
  std::size_t at = 0;
  for (;;) {
    const std::size_t star = pattern.find('*');
    const std::string_view piece = pattern.substr(0, star);
    const std::size_t found = text.find(piece, at);
    if (found == std::string_view::npos) return false;
    if (star == std::string_view::npos) return true;
    at = found + piece.size();
    pattern.remove_prefix(star + 1);
  }
}

std::optional<std::uint32_t> xid_of(std::string_view text) {
  constexpr std::string_view kHead = "NVRM: Xid (";
  const std::size_t head = text.find(kHead);
  if (head == std::string_view::npos) return std::nullopt;
  const std::size_t end = text.find("): ", head + kHead.size());
  if (end == std::string_view::npos) return std::nullopt;
  std::uint32_t code = 0;
  const char* const from = text.data() + end + 3;
  const auto parsed = std::from_chars(from, text.data() + text.size(), code);
  if (parsed.ec != std::errc{} || parsed.ptr == from) return std::nullopt;
  return code;
}

}  // namespace robustrun::supervisor
