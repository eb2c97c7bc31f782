#pragma once
// Text for a terminal: labelled items that wrap, quoted lines, aligned rows. Pure.
//
// All text except labels and that of row() is made printable first (base/core/text.h), so that no
// worker can move the cursor. Line ends in values start new lines. One code point counts as one
// column.

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/core/clock.h"

namespace robustrun::supervisor {

enum class Ink : std::uint8_t { kPlain, kDim, kBold, kGood, kBad, kWarn };

class Page {
 public:
  Page(bool colour, int width);

  void heading(Ink ink, std::string_view text);
  // "  label     value", the value wrapped with a hanging indent. An empty value adds nothing.
  void item(std::string_view label, std::string_view value);
  // A line of quoted output, dimmed, behind a vertical bar; at most four rows.
  void quote(std::string_view line);
  // "    name                 12.1 ms", right-aligned.
  void row(std::string_view name, std::string_view value, Ink ink = Ink::kPlain);
  // A line of a table as it is: neither wrapped nor cut.
  void line(std::string_view text, Ink ink = Ink::kPlain);
  void gap();

  std::string take() { return std::move(text_); }

 private:
  void add(Ink ink, std::string_view text);
  bool colour_;
  std::size_t width_;
  std::string text_;
};

// `text` in lines of at most `width` code points, each broken at a space in its second half if
// there is one.
std::vector<std::string> wrap(std::string_view text, std::size_t width);

// `line` without terminal colours (ESC [ … letter), with spaces instead of tabs, and otherwise made
// printable (base/core/text.h).
std::string plain_line(std::string_view line);

// "2026-08-01 10:00:00 UTC"; empty for an unknown time.
std::string utc_words(base::Nanos unix_time);

}  // namespace robustrun::supervisor
