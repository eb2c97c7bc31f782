#include "supervisor/core/report/page.h"

#include <fmt/core.h>

#include <algorithm>
#include <ctime>

#include "base/core/text.h"
#include "base/core/wrap.h"

namespace robustrun::supervisor {
namespace {

constexpr std::size_t kWidthMin = 40;
constexpr std::size_t kLabelColumns = 12;  // "  label     "
constexpr std::size_t kQuoteRowsMax = 4;
constexpr std::size_t kRowNameColumns = 20;
constexpr std::size_t kRowValueColumns = 11;
constexpr std::string_view kQuoteBar = "    | ";
constexpr std::string_view kCut = " ...";

bool continues_code_point(char byte) { return (static_cast<unsigned char>(byte) & 0xc0U) == 0x80U; }

std::size_t columns(std::string_view text) {
  return static_cast<std::size_t>(
      std::ranges::count_if(text, [](char byte) { return !continues_code_point(byte); }));
}

// Bytes of the first `count` code points.
std::size_t prefix_bytes(std::string_view text, std::size_t count) {
  std::size_t at = 0;
  for (; at < text.size(); ++at) {
    if (!continues_code_point(text[at]) && count-- == 0) break;
  }
  return at;
}

std::string_view without_end_spaces(std::string_view text) {
  return text.substr(0, text.find_last_not_of(' ') + 1);
}

const char* code_of(Ink ink) {
  switch (ink) {
    case Ink::kPlain: return "";
    case Ink::kDim: return "\x1b[2m";
    case Ink::kBold: return "\x1b[1m";
    case Ink::kGood: return "\x1b[1;32m";
    case Ink::kBad: return "\x1b[1;31m";
    case Ink::kWarn: return "\x1b[1;33m";
  }
  return "";
}

}  // namespace

Page::Page(bool colour, int width)
    : colour_(colour), width_(std::max(kWidthMin, static_cast<std::size_t>(std::max(width, 0)))) {}

void Page::heading(Ink ink, std::string_view text) {
  for (const std::string& line : base::wrap_words(plain_line(text), width_)) {
    add(ink, line);
    text_ += '\n';
  }
}

void Page::item(std::string_view label, std::string_view value) {
  if (value.empty()) return;
  std::string head = fmt::format("  {:<{}}", label, kLabelColumns - 2);
  for (const std::string_view part : base::split(value, '\n')) {
    for (const std::string& line : base::wrap_words(plain_line(part), width_ - kLabelColumns)) {
      add(Ink::kDim, line.empty() ? without_end_spaces(head) : std::string_view(head));
      text_ += line;
      text_ += '\n';
      head.assign(kLabelColumns, ' ');
    }
  }
}

void Page::quote(std::string_view line) {
  std::vector<std::string> rows = wrap(plain_line(line), width_ - kQuoteBar.size());
  if (rows.size() > kQuoteRowsMax) {
    rows.resize(kQuoteRowsMax);
    std::string& last = rows.back();
    last.resize(prefix_bytes(last, width_ - kQuoteBar.size() - kCut.size()));
    last += kCut;
  }
  for (const std::string& row : rows) {
    add(Ink::kDim, without_end_spaces(std::string(kQuoteBar) + row));
    text_ += '\n';
  }
}

void Page::row(std::string_view name, std::string_view value, Ink ink) {
  add(ink, fmt::format("    {:<{}}{:>{}}", name, kRowNameColumns, value, kRowValueColumns));
  text_ += '\n';
}

void Page::line(std::string_view text, Ink ink) {
  add(ink, base::printable(text));
  text_ += '\n';
}

void Page::gap() { text_ += '\n'; }

void Page::add(Ink ink, std::string_view text) {
  if (!colour_ || ink == Ink::kPlain) {
    text_ += text;
    return;
  }
  text_ += code_of(ink);
  text_ += text;
  text_ += "\x1b[0m";
}

std::vector<std::string> wrap(std::string_view text, std::size_t width) {
  std::vector<std::string> lines;
  while (columns(text) > width) {
    std::size_t end = prefix_bytes(text, width);
    // A break that leaves less than half a line is worse than a broken word.
    const std::size_t space = text.substr(0, end + 1).rfind(' ');
    if (space != std::string_view::npos && space >= end / 2) end = space;
    lines.emplace_back(without_end_spaces(text.substr(0, end)));
    text.remove_prefix(end);
    if (text.starts_with(' ')) text.remove_prefix(1);
  }
  lines.emplace_back(text);
  return lines;
}

std::string plain_line(std::string_view line) {
  std::string out;
  for (std::size_t i = 0; i < line.size(); ++i) {
    if (line[i] == '\t') {
      out += "    ";
    } else if (line.substr(i, 2) == "\x1b[") {
      const std::size_t end = line.find_first_not_of("0123456789;:?", i + 2);
      if (end == std::string_view::npos) break;
      i = end;
    } else {
      out += line[i];
    }
  }
  return base::printable(out);
}

std::string utc_words(base::Nanos unix_time) {
  if (unix_time.count() <= 0) return "";
  const std::time_t seconds = std::chrono::duration_cast<std::chrono::seconds>(unix_time).count();
  std::tm when{};
  ::gmtime_r(&seconds, &when);
  return fmt::format("{}-{:02}-{:02} {:02}:{:02}:{:02} UTC", when.tm_year + 1900, when.tm_mon + 1,
                     when.tm_mday, when.tm_hour, when.tm_min, when.tm_sec);
}

}  // namespace robustrun::supervisor
